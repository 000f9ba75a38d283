//! `descr`: a dtype as the Python literal that stands in a header.
//!
//! Reading follows `numpy.lib.format.descr_to_dtype`, writing
//! `dtype_to_descr` (NumPy 2.4).

use compact_str::CompactString;

use super::{DType, DTypeRepr, Field, Kind, typestr};
use crate::dtype::literal::{self, Items, Reader, quoted};
use crate::error::{DTypeError, Error, Result};

/// Reads the descr that is next.
pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<DType> {
    match reader.peek() {
        Some(b'[') => list(reader),
        Some(b'(') => pair(reader),
        Some(b'{') => dictionary(reader),
        Some(b'\'' | b'"' | b'u' | b'U') => typestr::parse(&reader.string()?).map(DType::from),
        _ => Err(reader.error("a type string, a list of fields, or a pair of type and shape")),
    }
}

/// Reads `[(name, descr), (name, descr, shape), …]`.
fn list(reader: &mut Reader<'_>) -> Result<DType> {
    let mut fields = Vec::new();
    let mut end = 0_usize;
    let Some(mut items) = reader.open(b'[')? else {
        return Err(reader.error("a list of fields"));
    };
    while reader.next_item(&mut items)? {
        let (name, dtype) = item(reader)?;
        let offset = end;
        end = end.saturating_add(dtype.itemsize());
        let unnamed = matches!(&name, FieldName::Alone(name) if name.is_empty());
        if unnamed && matches!(dtype.kind(), Kind::Void | Kind::Subarray) {
            continue;
        }
        let (name, title) = match name {
            FieldName::Alone(name) => (name, None),
            FieldName::Titled(title, name) => (name, title),
        };
        fields.push(Field { name, title, offset, dtype });
    }
    DType::from_fields(fields, end, 1)
}

/// Enters a tuple or a list.
fn either(reader: &mut Reader<'_>) -> Result<Option<Items>> {
    let open = if reader.peek() == Some(b'[') { b'[' } else { b'(' };
    reader.open(open)
}

/// How a field is named. An empty name is padding only when it stands alone.
enum FieldName {
    Alone(CompactString),
    Titled(Option<String>, CompactString),
}

/// What a field looks like.
const FIELD: &str = "a field such as ('x', '<f8') or ('x', '<f8', (3,))";

/// Reads one field: a tuple (or list) of two or three items.
fn item(reader: &mut Reader<'_>) -> Result<(FieldName, DType)> {
    if reader.peek() == Some(b'(') {
        if let Some((name, typestr)) = reader.plain_pair() {
            return Ok((FieldName::Alone(name.into()), typestr::parse(typestr)?.into()));
        }
    }
    let here = *reader;
    let mut items = either(reader)?.ok_or_else(|| here.error(FIELD))?;
    if !reader.next_item(&mut items)? {
        return Err(here.error(FIELD));
    }
    let name = field_name(reader)?;
    if !reader.next_item(&mut items)? {
        return Err(here.error(FIELD));
    }
    let mut dtype = parse(reader)?;
    if reader.next_item(&mut items)? {
        dtype = with_shape(dtype, reader)?;
        if reader.next_item(&mut items)? {
            return Err(here.error(FIELD));
        }
    }
    Ok((name, dtype))
}

/// Reads `'name'` or `('title', 'name')`.
fn field_name(reader: &mut Reader<'_>) -> Result<FieldName> {
    const NAME: &str = "a field's name, or a pair of title and name";
    let here = *reader;
    let Some(mut items) = reader.open(b'(')? else {
        return match reader.peek() {
            Some(b'\'' | b'"' | b'u' | b'U') => Ok(FieldName::Alone(reader.string()?.into())),
            _ => Err(here.error(NAME)),
        };
    };
    if !reader.next_item(&mut items)? {
        return Err(here.error(NAME));
    }
    let title = title(reader)?;
    if !reader.next_item(&mut items)? {
        return Err(here.error(NAME));
    }
    let name = reader.string()?.into();
    if reader.next_item(&mut items)? {
        Err(here.error(NAME))
    } else {
        Ok(FieldName::Titled(title, name))
    }
}

/// Reads `(descr, shape)`.
fn pair(reader: &mut Reader<'_>) -> Result<DType> {
    const PAIR: &str = "a pair of type and shape such as ('<f8', (3,))";
    let here = *reader;
    let mut items = reader.open(b'(')?.ok_or_else(|| here.error(PAIR))?;
    if !reader.next_item(&mut items)? {
        return Err(here.error(PAIR));
    }
    let base = parse(reader)?;
    if !reader.next_item(&mut items)? {
        return Err(here.error(PAIR));
    }
    let dtype = with_shape(base, reader)?;
    if reader.next_item(&mut items)? { Err(here.error(PAIR)) } else { Ok(dtype) }
}

/// Reads a subarray's shape: `(2, 3)`, `[2, 3]` or `3`.
///
/// For a base of no bytes NumPy takes the number as its size instead, in
/// characters: `('|S0', 3)` is `'|S3'`.
fn with_shape(base: DType, reader: &mut Reader<'_>) -> Result<DType> {
    let here = *reader;
    let sized = base.is_unsized();
    let Some(mut items) = either(reader)? else {
        let size = dim(reader)?;
        let is_scalar = sized && base.scalar().is_some();
        return if is_scalar { with_size(&base, size) } else { DType::array(base, &[size]) };
    };
    let is_tuple = items.closes_with(b')');
    let mut shape = Vec::new();
    while reader.next_item(&mut items)? {
        shape.push(dim(reader)?);
    }
    match (shape.as_slice(), sized) {
        ([], false) if is_tuple => Ok(base),
        ([], _) => Err(here.error("a shape such as (2, 3)")),
        (_, true) => Err(here.error("a single number as the itemsize")),
        _ => DType::array(base, &shape),
    }
}

/// Gives bytes, text or void of no size one.
fn with_size(base: &DType, size: usize) -> Result<DType> {
    let letter = match base.kind() {
        Kind::Unicode => 'U',
        Kind::Bytes => 'S',
        _ => 'V',
    };
    let sized = typestr::parse(&format!("{letter}{size}"))?;
    Ok(DType::from(sized).with_byte_order(base.byte_order()))
}

fn dim(reader: &mut Reader<'_>) -> Result<usize> {
    let here = *reader;
    let dim = reader.integer()?;
    usize::try_from(dim)
        .map_err(|_| here.error("the length of a subarray's axis, from 0 to 2147483647"))
}

/// Reads `{'names': […], 'formats': […], …}`, which NumPy 1.14 and a few
/// releases after it read; no writer is known to emit it.
fn dictionary(reader: &mut Reader<'_>) -> Result<DType> {
    let here = *reader;
    let (mut names, mut formats, mut offsets, mut titles) = (None, None, None, None);
    let (mut itemsize, mut align) = (None, false);
    let Some(mut items) = reader.open(b'{')? else { return Err(reader.error("a dictionary")) };
    while reader.next_item(&mut items)? {
        let key = reader.string()?;
        reader.expect(b':', "`:`")?;
        match &*key {
            "names" => names = Some(sequence(reader, |r| Ok(CompactString::from(r.string()?)))?),
            "formats" => formats = Some(sequence(reader, parse)?),
            "offsets" => offsets = Some(sequence(reader, dim)?),
            "titles" => titles = Some(sequence(reader, title)?),
            "itemsize" => itemsize = Some(dim(reader)?),
            "aligned" => {
                align = match reader.name() {
                    "True" => true,
                    "False" => false,
                    _ => return Err(here.error("True or False for the key aligned")),
                }
            }
            _ => {
                return Err(here
                    .error("only the keys names, formats, offsets, titles, itemsize and aligned"));
            }
        }
    }
    let same = "equal numbers of names, formats, offsets and titles";
    let (Some(names), Some(formats)) = (names, formats) else {
        return Err(here.error("the keys names and formats"));
    };
    let count = names.len();
    let titles = titles.unwrap_or_else(|| vec![None; count]);
    let offsets_fit = offsets.as_ref().is_none_or(|offsets| offsets.len() == count);
    if formats.len() != count || titles.len() != count || !offsets_fit {
        return Err(here.error(same));
    }
    let parts = names
        .into_iter()
        .zip(titles)
        .zip(formats)
        .map(|((name, title), dtype)| (name, title, dtype));
    let DType(DTypeRepr::Struct(laid)) = DType::consecutive(parts.collect(), align)? else {
        return Err(here.error(same));
    };
    let mut laid = (*laid).clone();
    if let Some(offsets) = offsets {
        for (field, offset) in laid.fields.iter_mut().zip(offsets) {
            field.offset = offset;
        }
    }
    let end =
        laid.fields.iter().map(|field| field.offset.saturating_add(field.dtype.itemsize())).max();
    let itemsize = itemsize.unwrap_or(end.unwrap_or(0));
    if end.is_some_and(|end| end > itemsize) {
        return Err(here.error("an itemsize that covers all fields"));
    }
    DType::from_fields(laid.fields, itemsize, laid.alignment)
}

/// Reads a title: a string or `None`.
fn title(reader: &mut Reader<'_>) -> Result<Option<String>> {
    match reader.peek() {
        Some(b'N') if reader.name() == "None" => Ok(None),
        _ => reader.string().map(|title| Some(title.into_owned())),
    }
}

fn sequence<'a, T>(
    reader: &mut Reader<'a>,
    mut one: impl FnMut(&mut Reader<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let here = *reader;
    let mut all = Vec::new();
    let mut items = either(reader)?.ok_or_else(|| here.error("a list"))?;
    while reader.next_item(&mut items)? {
        all.push(one(reader)?);
    }
    Ok(all)
}

/// Prints the descr NumPy writes for a dtype.
///
/// # Errors
///
/// [`InvalidInput`](crate::ErrorKind::InvalidInput) when fields overlap or are
/// out of order: no descr says that, and NumPy refuses to save such arrays.
pub(crate) fn to_descr(dtype: &DType) -> Result<String> {
    match &dtype.0 {
        DTypeRepr::Scalar(scalar) => Ok(format!("'{scalar}'")),
        DTypeRepr::Subarray(array) => Ok(format!("({})", with_axes(&array.base, &array.shape)?)),
        DTypeRepr::Struct(fields) => {
            let mut items = Vec::with_capacity(fields.fields.len());
            let mut end = 0;
            for field in &fields.fields {
                let gap = field.offset.checked_sub(end).ok_or_else(|| overlapping(dtype, field))?;
                items.extend(padding(gap));
                items.push(field_text(field)?);
                end = field.offset + field.dtype.itemsize();
            }
            items.extend(padding(fields.itemsize.saturating_sub(end)));
            Ok(format!("[{}]", items.join(", ")))
        }
    }
}

/// Prints the descr, or NumPy's dictionary form where there is none.
pub(super) fn to_text(dtype: &DType) -> String {
    to_descr(dtype).unwrap_or_else(|_| dictionary_text(dtype, to_text))
}

/// The field that stands for bytes no other field covers.
fn padding(bytes: usize) -> Option<String> {
    (bytes > 0).then(|| format!("('', '|V{bytes}')"))
}

/// Prints `descr, shape`.
fn with_axes(base: &DType, shape: &[usize]) -> Result<String> {
    Ok(format!("{}, {}", to_descr(base)?, literal::tuple(shape)))
}

/// Prints `('name', descr)` or `('name', descr, shape)`.
fn field_text(field: &Field) -> Result<String> {
    let descr = match field.dtype.subarray() {
        Some((base, shape)) => with_axes(base, shape)?,
        None => to_descr(&field.dtype)?,
    };
    Ok(format!("({}, {descr})", name_text(field)))
}

/// Prints `'name'` or `('title', 'name')`.
fn name_text(field: &Field) -> String {
    let name = quoted(field.name());
    match &field.title {
        Some(title) => format!("({}, {name})", quoted(title)),
        None => name,
    }
}

fn overlapping(dtype: &DType, field: &Field) -> Error {
    let reason = format!(
        "field `{}` at byte {} overlaps the one before it or is out of order, which a .npy header cannot express: copy the array to a dtype with its fields in order",
        field.name, field.offset
    );
    DTypeError::Invalid { descr: dictionary_text(dtype, to_text), reason }.into()
}

/// Prints the argument that makes `np.dtype` return this type: a type string as
/// it is, and anything else as a literal for `ast.literal_eval`.
#[cfg(feature = "serde")]
pub(super) fn to_argument(dtype: &DType) -> String {
    match dtype.scalar() {
        Some(scalar) => scalar.to_string(),
        None => argument_literal(dtype),
    }
}

/// The same as a literal. Structs with padding or nameless fields need the
/// dictionary: in a list `np.dtype` gives these a name.
#[cfg(feature = "serde")]
fn argument_literal(dtype: &DType) -> String {
    match &dtype.0 {
        DTypeRepr::Scalar(scalar) => format!("'{scalar}'"),
        DTypeRepr::Subarray(array) => {
            format!("({}, {})", argument_literal(&array.base), literal::tuple(&array.shape))
        }
        DTypeRepr::Struct(fields) if is_list(fields) => {
            let field = |field: &Field| {
                format!("({}, {})", name_text(field), argument_literal(&field.dtype))
            };
            let items: Vec<_> = fields.fields.iter().map(field).collect();
            format!("[{}]", items.join(", "))
        }
        DTypeRepr::Struct(_) => dictionary_text(dtype, argument_literal),
    }
}

/// Whether all fields have a name and follow each other without padding.
#[cfg(feature = "serde")]
fn is_list(fields: &super::Struct) -> bool {
    let mut end = 0;
    for field in &fields.fields {
        if field.name.is_empty() || field.offset != end {
            return false;
        }
        end += field.dtype.itemsize();
    }
    end == fields.itemsize
}

/// Prints NumPy's dictionary form, which can say any struct.
fn dictionary_text(dtype: &DType, format: fn(&DType) -> String) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    let fields = dtype.fields();
    let title = |field: &Field| field.title.as_deref().map_or_else(|| "None".to_owned(), quoted);
    let titles = if fields.iter().any(|field| field.title.is_some()) {
        format!(", 'titles': {}", list(fields.iter().map(title).collect()))
    } else {
        String::new()
    };
    format!(
        "{{'names': {}, 'formats': {}, 'offsets': {}{titles}, 'itemsize': {}}}",
        list(fields.iter().map(|field| quoted(field.name())).collect()),
        list(fields.iter().map(|field| format(&field.dtype)).collect()),
        list(fields.iter().map(|field| field.offset.to_string()).collect()),
        dtype.itemsize()
    )
}
