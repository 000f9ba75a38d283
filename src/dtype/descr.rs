//! `descr`: the Python literal that describes a dtype in a header.
//!
//! Reading follows `numpy.lib.format.descr_to_dtype`, writing
//! `dtype_to_descr` (NumPy 2.4).

use compact_str::CompactString;

use super::compound::field_end;
use super::{DType, DTypeRepr, Field, Kind, typestr};
use crate::dtype::literal::{self, Items, Reader, quoted};
use crate::error::{DTypeError, Result};

/// Reads a descr.
pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<DType> {
    match reader.peek() {
        Some(b'[') => read_struct(reader),
        Some(b'(') => read_subarray(reader),
        Some(b'{') => read_dictionary(reader),
        Some(b'\'' | b'"' | b'u' | b'U') => typestr::parse(&reader.string()?).map(DType::from),
        _ => Err(reader.error("a type string, a list of fields, or a pair of type and shape")),
    }
}

/// Reads `[(name, descr), (name, descr, shape), …]`.
#[inline]
fn read_struct(reader: &mut Reader<'_>) -> Result<DType> {
    let mut fields = Vec::new();
    let mut end = 0;
    let Some(mut items) = reader.open(b'[')? else {
        return Err(reader.error("a list of fields"));
    };
    while reader.next_item(&mut items)? {
        let (field, is_unnamed) = match reader.plain_pair() {
            Some((name, typestr)) => {
                (Field::new(name, end, typestr::parse(typestr)?.into()), name.is_empty())
            }
            None => read_field(reader, end)?,
        };
        end = field_end(end, &field.dtype)?;
        // Padding.
        if is_unnamed && matches!(field.dtype.kind(), Kind::Void | Kind::Subarray) {
            continue;
        }
        fields.push(field);
    }
    DType::from_fields(fields, end, 1)
}

/// Enters a tuple or a list.
#[inline]
fn open_sequence(reader: &mut Reader<'_>) -> Result<Option<Items>> {
    let open = if reader.peek() == Some(b'[') { b'[' } else { b'(' };
    reader.open(open)
}

/// The expected form of a field.
const FIELD: &str = "a field such as ('x', '<f8') or ('x', '<f8', (3,))";

/// Reads one field: a tuple (or list) of two or three items. Also returns whether its
/// name is empty, without a title, as that of padding.
fn read_field(reader: &mut Reader<'_>, offset: usize) -> Result<(Field, bool)> {
    let start = *reader;
    let mut items = open_sequence(reader)?.ok_or_else(|| start.error(FIELD))?;
    if !reader.next_item(&mut items)? {
        return Err(start.error(FIELD));
    }
    let has_pair = reader.peek() == Some(b'(');
    let (title, name) = read_field_name(reader)?;
    if !reader.next_item(&mut items)? {
        return Err(start.error(FIELD));
    }
    let mut dtype = parse(reader)?;
    if reader.next_item(&mut items)? {
        dtype = with_shape(dtype, reader)?;
        if reader.next_item(&mut items)? {
            return Err(start.error(FIELD));
        }
    }
    let is_unnamed = name.is_empty() && !has_pair;
    Ok((Field { name, title, offset, dtype }, is_unnamed))
}

/// Reads `'name'` or `('title', 'name')`.
#[inline]
fn read_field_name(reader: &mut Reader<'_>) -> Result<(Option<String>, CompactString)> {
    const NAME: &str = "a field's name, or a pair of title and name";
    let start = *reader;
    let Some(mut items) = reader.open(b'(')? else {
        return match reader.peek() {
            Some(b'\'' | b'"' | b'u' | b'U') => Ok((None, reader.string()?.into())),
            _ => Err(start.error(NAME)),
        };
    };
    if !reader.next_item(&mut items)? {
        return Err(start.error(NAME));
    }
    let title = read_title(reader)?;
    if !reader.next_item(&mut items)? {
        return Err(start.error(NAME));
    }
    let name = reader.string()?.into();
    if reader.next_item(&mut items)? { Err(start.error(NAME)) } else { Ok((title, name)) }
}

/// Reads `(descr, shape)`.
#[inline]
fn read_subarray(reader: &mut Reader<'_>) -> Result<DType> {
    const PAIR: &str = "a pair of type and shape such as ('<f8', (3,))";
    let start = *reader;
    let mut items = reader.open(b'(')?.ok_or_else(|| start.error(PAIR))?;
    if !reader.next_item(&mut items)? {
        return Err(start.error(PAIR));
    }
    let base = parse(reader)?;
    if !reader.next_item(&mut items)? {
        return Err(start.error(PAIR));
    }
    let dtype = with_shape(base, reader)?;
    if reader.next_item(&mut items)? { Err(start.error(PAIR)) } else { Ok(dtype) }
}

/// Reads a subarray's shape: `(2, 3)`, `[2, 3]` or `3`.
///
/// If the base is unsized, NumPy uses the number as its size in characters
/// instead: `('|S0', 3)` is `'|S3'`.
fn with_shape(base: DType, reader: &mut Reader<'_>) -> Result<DType> {
    let start = *reader;
    let is_unsized = base.is_unsized();
    let Some(mut items) = open_sequence(reader)? else {
        let size = read_dim(reader)?;
        let is_scalar = is_unsized && base.scalar().is_some();
        return if is_scalar { with_size(&base, size) } else { DType::array(base, &[size]) };
    };
    let is_tuple = items.close == b')';
    let mut shape = Vec::new();
    while reader.next_item(&mut items)? {
        shape.push(read_dim(reader)?);
    }
    match (shape.as_slice(), is_unsized) {
        ([], false) if is_tuple => Ok(base),
        ([], _) => Err(start.error("a shape such as (2, 3)")),
        (_, true) => Err(start.error("a single number as the itemsize")),
        _ => DType::array(base, &shape),
    }
}

/// Sets the size of unsized bytes, text or void.
#[inline]
fn with_size(base: &DType, size: usize) -> Result<DType> {
    let (letter, _) = base.kind().texts();
    let sized = typestr::parse(&format!("{letter}{size}"))?;
    Ok(DType::from(sized).with_byte_order(base.byte_order()))
}

fn read_dim(reader: &mut Reader<'_>) -> Result<usize> {
    let start = *reader;
    let dim = reader.integer()?;
    usize::try_from(dim)
        .map_err(|_| start.error("the length of a subarray's axis, from 0 to 2147483647"))
}

/// Reads `{'names': […], 'formats': […], …}`, which NumPy 1.14 and a few later
/// releases accept; no writer is known to emit it.
#[inline]
fn read_dictionary(reader: &mut Reader<'_>) -> Result<DType> {
    let start = *reader;
    let (mut names, mut formats, mut offsets, mut titles) = (None, None, None, None);
    let (mut itemsize, mut align) = (None, false);
    let Some(mut items) = reader.open(b'{')? else { return Err(reader.error("a dictionary")) };
    while reader.next_item(&mut items)? {
        let key = reader.string()?;
        reader.expect(b':', "`:`")?;
        match &*key {
            "names" => {
                names = Some(read_sequence(reader, |r| Ok(CompactString::from(r.string()?)))?);
            }
            "formats" => formats = Some(read_sequence(reader, parse)?),
            "offsets" => offsets = Some(read_sequence(reader, read_dim)?),
            "titles" => titles = Some(read_sequence(reader, read_title)?),
            "itemsize" => itemsize = Some(read_dim(reader)?),
            "aligned" => {
                align = match reader.name() {
                    "True" => true,
                    "False" => false,
                    _ => return Err(start.error("True or False for the key aligned")),
                };
            }
            _ => {
                return Err(start
                    .error("only the keys names, formats, offsets, titles, itemsize and aligned"));
            }
        }
    }
    let equal_lengths = "equal numbers of names, formats, offsets and titles";
    let (Some(names), Some(formats)) = (names, formats) else {
        return Err(start.error("the keys names and formats"));
    };
    let count = names.len();
    let titles = titles.unwrap_or_else(|| vec![None; count]);
    let offsets_fit = offsets.as_ref().is_none_or(|offsets| offsets.len() == count);
    if formats.len() != count || titles.len() != count || !offsets_fit {
        return Err(start.error(equal_lengths));
    }
    let columns = names
        .into_iter()
        .zip(titles)
        .zip(formats)
        .map(|((name, title), dtype)| (name, title, dtype));
    let DType(DTypeRepr::Struct(packed)) = DType::consecutive(columns.collect(), align)? else {
        return Err(start.error(equal_lengths));
    };
    let mut layout = (*packed).clone();
    if let Some(offsets) = offsets {
        for (field, offset) in layout.fields.iter_mut().zip(offsets) {
            field.offset = offset;
        }
    }
    if align && layout.fields.iter().any(|field| field.offset % field.dtype.alignment() != 0) {
        return Err(start.error("offsets that are multiples of the fields' alignments"));
    }
    let mut end = 0;
    for field in &layout.fields {
        end = end.max(field_end(field.offset, &field.dtype)?);
    }
    let end = end.next_multiple_of(layout.alignment);
    let itemsize = itemsize.unwrap_or(end);
    if end > itemsize || itemsize % layout.alignment != 0 {
        return Err(start.error("an itemsize that covers all fields and their alignment"));
    }
    DType::from_fields(layout.fields, itemsize, layout.alignment)
}

/// Reads a title: a string or `None`.
#[inline]
fn read_title(reader: &mut Reader<'_>) -> Result<Option<String>> {
    let mut after_name = *reader;
    if after_name.name() == "None" {
        *reader = after_name;
        return Ok(None);
    }
    reader.string().map(|title| Some(title.into_owned()))
}

fn read_sequence<'a, T>(
    reader: &mut Reader<'a>,
    mut read_item: impl FnMut(&mut Reader<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let start = *reader;
    let mut all = Vec::new();
    let mut items = open_sequence(reader)?.ok_or_else(|| start.error("a list"))?;
    while reader.next_item(&mut items)? {
        all.push(read_item(reader)?);
    }
    Ok(all)
}

/// Prints the descr NumPy writes for a dtype.
///
/// # Errors
///
/// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if fields overlap
/// or are out of order, which a descr cannot express; NumPy cannot save such
/// arrays either.
#[inline]
pub(crate) fn to_descr(dtype: &DType) -> Result<String> {
    list_form(dtype).map_err(|(inner, field)| {
        let reason = format!(
            "field `{}` at byte {} overlaps the one before it or is out of order, which a .npy header cannot express: copy the array to a dtype with its fields in order",
            field.name, field.offset
        );
        DTypeError::Invalid { descr: dictionary_text(inner, to_text), reason }.into()
    })
}

/// A struct in a dtype, and its field that overlaps or precedes the one before it.
type Overlap<'a> = (&'a DType, &'a Field);

/// Prints the descr. The error has no text yet: the text of every level of a
/// nested struct would contain the text of all levels in it.
fn list_form(dtype: &DType) -> std::result::Result<String, Overlap<'_>> {
    match &dtype.0 {
        DTypeRepr::Scalar(scalar) => Ok(format!("'{scalar}'")),
        DTypeRepr::Subarray(array) => Ok(format!("({})", with_axes(&array.base, &array.shape)?)),
        DTypeRepr::Struct(fields) => {
            let mut items = Vec::with_capacity(fields.fields.len());
            let mut end = 0;
            for field in &fields.fields {
                let gap = field.offset.checked_sub(end).ok_or((dtype, field))?;
                items.extend(padding(gap));
                items.push(field_text(field)?);
                end = field.offset + field.dtype.itemsize();
            }
            items.extend(padding(fields.itemsize - end));
            Ok(format!("[{}]", items.join(", ")))
        }
    }
}

/// Prints the descr, or NumPy's dictionary form if a descr cannot express the
/// dtype.
pub(super) fn to_text(dtype: &DType) -> String {
    list_form(dtype).unwrap_or_else(|_| dictionary_text(dtype, to_text))
}

/// The unnamed field that covers bytes between the other fields.
#[inline]
fn padding(bytes: usize) -> Option<String> {
    (bytes > 0).then(|| format!("('', '|V{bytes}')"))
}

/// Prints `descr, shape`.
fn with_axes<'a>(base: &'a DType, shape: &[usize]) -> std::result::Result<String, Overlap<'a>> {
    Ok(format!("{}, {}", list_form(base)?, literal::tuple(shape)))
}

/// Prints `('name', descr)` or `('name', descr, shape)`.
#[inline]
fn field_text(field: &Field) -> std::result::Result<String, Overlap<'_>> {
    let descr = match field.dtype.subarray() {
        Some((base, shape)) => with_axes(base, shape)?,
        None => list_form(&field.dtype)?,
    };
    Ok(format!("({}, {descr})", name_text(field)))
}

/// Prints `'name'` or `('title', 'name')`.
#[inline]
fn name_text(field: &Field) -> String {
    let name = quoted(field.name());
    match &field.title {
        Some(title) => format!("({}, {name})", quoted(title)),
        None => name,
    }
}

/// Prints the argument that makes `np.dtype` return this type: a bare type
/// string, or a literal for `ast.literal_eval`.
#[cfg(feature = "serde")]
#[inline]
pub(super) fn to_argument(dtype: &DType) -> String {
    match dtype.scalar() {
        Some(scalar) => scalar.to_string(),
        None => argument_literal(dtype),
    }
}

/// Prints the argument as a literal. Structs with padding or unnamed fields
/// need the dictionary form, since `np.dtype` names unnamed fields in a list.
#[cfg(feature = "serde")]
#[inline]
fn argument_literal(dtype: &DType) -> String {
    match &dtype.0 {
        DTypeRepr::Scalar(scalar) => format!("'{scalar}'"),
        DTypeRepr::Subarray(array) => {
            format!("({}, {})", argument_literal(&array.base), literal::tuple(&array.shape))
        }
        DTypeRepr::Struct(fields) if is_packed(fields) => list_text(&fields.fields, |field| {
            format!("({}, {})", name_text(field), argument_literal(&field.dtype))
        }),
        DTypeRepr::Struct(_) => dictionary_text(dtype, argument_literal),
    }
}

/// Whether all fields have names and follow each other without padding.
#[cfg(feature = "serde")]
#[inline]
fn is_packed(fields: &super::Struct) -> bool {
    let mut end = 0;
    for field in &fields.fields {
        if field.name.is_empty() || field.offset != end {
            return false;
        }
        end += field.dtype.itemsize();
    }
    end == fields.itemsize
}

/// Prints NumPy's dictionary form, which can express any struct.
fn dictionary_text(dtype: &DType, format: fn(&DType) -> String) -> String {
    let fields = dtype.fields();
    let titles = if fields.iter().any(|field| field.title.is_some()) {
        let text = |field: &Field| field.title.as_deref().map_or("None".to_owned(), quoted);
        format!(", 'titles': {}", list_text(fields, text))
    } else {
        String::new()
    };
    format!(
        "{{'names': {}, 'formats': {}, 'offsets': {}{titles}, 'itemsize': {}}}",
        list_text(fields, |field| quoted(field.name())),
        list_text(fields, |field| format(&field.dtype)),
        list_text(fields, |field| field.offset.to_string()),
        dtype.itemsize()
    )
}

/// Prints a list with one item per field.
fn list_text(fields: &[Field], text: impl Fn(&Field) -> String) -> String {
    let items: Vec<String> = fields.iter().map(text).collect();
    format!("[{}]", items.join(", "))
}
