//! Elements can be borrowed as a type exactly when their bytes are values of
//! that type, for any byte order, axes and address.

use npymap::ndarray::{Ix0, Ix1, Ix2, Ix3, IxDyn};
use npymap::{Be, DType, ErrorKind, Header, Le, MappedArray, Order, dtype::Kind, layout::Layout};

use crate::inplace_types::{Row, rows};
use crate::support::{
    NATIVE, directory, file, is_error, native, npy, open, open_mut, quick, raw, text,
};

/// Kinds and sizes whose types are in [`rows`], without byte order.
pub(crate) const SCALARS: &[&str] = &[
    "b1", "i1", "i4", "u2", "f8", "c8", "M8", "m8", "M8[ns]", "m8[25s]", "S0", "S1", "S3", "S8",
    "U0", "V0", "V2", "V8",
];

/// The others, whose types are in [`all_rows`](crate::inplace_types::all_rows).
pub(crate) const OTHER_SCALARS: &[&str] =
    &["i2", "i8", "u1", "u4", "u8", "f2", "f4", "f16", "c16", "c32", "U1", "V4"];

pub(crate) const STRUCTS: &[&str] =
    &["[('re', '>f4'), ('im', '>f4')]", "[('a', '|u1'), ('b', '<f8')]", "[]"];

pub(crate) const OTHER_STRUCTS: &[&str] =
    &["[('a', '<i2')]", "[('a', '<f4', (3,)), ('', '|V4'), ('b', '<f8')]"];

const SHAPES: [&[usize]; 10] = [
    &[],
    &[5],
    &[0],
    &[2, 3],
    &[3, 0],
    &[1, 4],
    &[2, 3, 4],
    &[2, 0, 3],
    &[2, 1, 3, 2],
    &[0, 0, 0, 0],
];

/// Whether the bytes of these elements are values of the type.
fn holds_values_of(row: &Row, dtype: &DType, code: &str, order: char) -> bool {
    if row.name.starts_with('[') {
        return row.size == dtype.itemsize();
    }
    // Plain bytes have no byte order: they are treated as little-endian.
    if row.name == "bf16" && NATIVE == '>' {
        return false;
    }
    // Single bytes and plain bytes have no byte order.
    let ordered = dtype.itemsize() != 1 && dtype.kind() != Kind::Void;
    row.stands_on.contains(&code) && (!ordered || row.order.is_none_or(|own| own == order))
}

/// The value of one element as an integer, from its bytes alone.
fn number(row: &Row, dtype: &DType, order: char, bytes: &[u8]) -> u128 {
    let own = row.order.filter(|_| dtype.kind() == Kind::Void).unwrap_or(order);
    match dtype.kind() {
        _ if row.name.starts_with('[') => fold(&bytes[..bytes.len().min(16)], false),
        Kind::Bool => u128::from(bytes[0] != 0),
        Kind::Complex => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            fold(re, own == '>') << (4 * bytes.len()) | fold(im, own == '>')
        }
        _ => fold(bytes, own == '>'),
    }
}

fn fold(bytes: &[u8], big: bool) -> u128 {
    let mut bytes = bytes.to_vec();
    if !big {
        bytes.reverse();
    }
    bytes.into_iter().fold(0, |number, byte| number << 8 | u128::from(byte))
}

/// The address of each element in the buffer, in C order of the indices.
fn places(shape: &[usize], order: Order) -> Vec<usize> {
    let len: usize = shape.iter().product();
    (0..len)
        .map(|mut rank: usize| {
            let mut index = vec![0; shape.len()];
            for (i, dim) in index.iter_mut().zip(shape).rev() {
                (*i, rank) = (rank % dim, rank / dim);
            }
            let mut axes: Vec<_> = index.into_iter().zip(shape).collect();
            if order == Order::F {
                axes.reverse();
            }
            axes.into_iter().fold(0, |place, (i, dim)| place * dim + i)
        })
        .collect()
}

/// A buffer aligned to 16 bytes.
struct Aligned(Vec<u128>);

impl Aligned {
    /// Assorted bytes, the same each time; some are 0.
    fn new(len: usize) -> Aligned {
        let mut buffer = Aligned(vec![0; len.div_ceil(16)]);
        for (i, byte) in buffer.bytes().iter_mut().enumerate() {
            *byte = u8::try_from(i * 37 % 251 * (i % 5) % 256).unwrap();
        }
        buffer
    }

    fn bytes(&mut self) -> &mut [u8] {
        npymap::bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// An array, and the type to view it as.
struct Case<'a> {
    row: &'a Row,
    dtype: &'a DType,
    order: char,
    layout: &'a Layout,
    lies: Order,
}

impl Case<'_> {
    fn name(&self) -> String {
        let Case { row, dtype, layout, lies, .. } = self;
        format!("{dtype} {:?} {lies:?} at {} as {}", layout.shape(), layout.offset(), row.name)
    }

    fn element<'b>(&self, bytes: &'b [u8], place: usize) -> &'b [u8] {
        let size = self.row.size;
        &bytes[self.layout.offset() + place * size..][..size]
    }

    fn values(&self, bytes: &[u8]) -> Vec<u128> {
        places(self.layout.shape(), self.lies)
            .into_iter()
            .map(|place| number(self.row, self.dtype, self.order, self.element(bytes, place)))
            .collect()
    }

    /// Borrows the elements, checks their values, and stores to them.
    fn check_borrows(&self, buffer: &mut Aligned) {
        let name = self.name();
        let values = self.values(buffer.bytes());
        assert_eq!((self.row.ndarray)(buffer.bytes(), self.layout).unwrap(), values, "{name}");
        let slice = (self.row.slice)(buffer.bytes(), self.layout);
        if self.layout.is_c_contiguous() {
            assert_eq!(slice.unwrap(), values, "{name}");
            (self.row.reverse)(buffer.bytes(), self.layout).unwrap();
            let reversed: Vec<_> = values.into_iter().rev().collect();
            assert_eq!(self.values(buffer.bytes()), reversed, "{name}");
        } else {
            assert!(
                is_error(&slice.unwrap_err(), ErrorKind::ShapeMismatch, "in Fortran order"),
                "{name}"
            );
        }
        self.check_fill(buffer, &name);
    }

    fn check_fill(&self, buffer: &mut Aligned, name: &str) {
        let before = buffer.bytes().to_vec();
        (self.row.fill)(buffer.bytes(), self.layout).unwrap();
        let mut expected = before.clone();
        if let Some(last) = self.layout.len().checked_sub(1) {
            let last = self.element(&before, last);
            let elements = self.layout.offset()..(self.layout.offset() + self.layout.nbytes());
            expected[elements].copy_from_slice(&last.repeat(self.layout.len()));
        }
        assert!(buffer.bytes() == expected, "{name}");
    }

    /// Asserts that every way of borrowing is an error; returns the type that
    /// the error suggests.
    fn suggested_type(&self, buffer: &mut Aligned) -> String {
        let name = self.name();
        let error = (self.row.ndarray)(buffer.bytes(), self.layout).unwrap_err();
        let fill = (self.row.fill)(buffer.bytes(), self.layout).unwrap_err();
        assert_eq!(error.to_string(), fill.to_string(), "{name}");
        if self.layout.is_c_contiguous() {
            let slice = (self.row.slice)(buffer.bytes(), self.layout).unwrap_err();
            let reverse = (self.row.reverse)(buffer.bytes(), self.layout).unwrap_err();
            assert_eq!(
                [slice, reverse].map(|e| e.to_string()),
                [(); 2].map(|()| error.to_string())
            );
        }
        assert_eq!(error.kind(), ErrorKind::DTypeMismatch, "{name}: {error}");
        let (text, name) = (error.to_string(), &self.row.name);
        let stored = format!("stored as {}, asked for `{name}`", self.dtype);
        let align = self.row.align;
        let aligned =
            format!("elements are not aligned to {align} bytes, asked for `{name}` in place");
        assert!(text.starts_with(&stored) || text.starts_with(&aligned), "{name}: {text}");
        let (_, works) = text.split_once("use `").unwrap();
        works.split_once('`').unwrap().0.to_owned()
    }
}

/// Tries each type at every alignment.
fn table(dtype: &DType, code: &str, order: char, rows: &[Row]) {
    // Types that don't fit give the same advice at any offset.
    let advised = if quick() { 1 } else { 2 };
    // Each third has no axes, several axes, and no elements.
    let shapes = SHAPES.iter().step_by(if quick() { 3 } else { 1 });
    for (shape, lies) in shapes.flat_map(|shape| [(*shape, Order::C), (*shape, Order::F)]) {
        for offset in if quick() { vec![0, 1, 4] } else { vec![0, 1, 2, 4, 8] } {
            let layout = Layout::new(dtype.clone(), shape, lies, offset).unwrap();
            let mut buffer = Aligned::new((layout.offset() + layout.nbytes()) + 16);
            for row in rows {
                let case = Case { row, dtype, order, layout: &layout, lies };
                let fits = holds_values_of(row, dtype, code, order);
                // Without bytes, any address is aligned.
                let aligned = layout.is_empty() || offset % row.align == 0;
                if fits && aligned {
                    case.check_borrows(&mut buffer);
                } else if fits || offset < advised {
                    advice(&case, &mut buffer, rows);
                }
            }
        }
    }
}

fn row_named<'a>(rows: &'a [Row], name: &str) -> &'a Row {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no type {name}"))
}

/// The type that an error suggests works, or is an error about its alignment
/// that suggests one that works.
fn advice(case: &Case<'_>, buffer: &mut Aligned, rows: &[Row]) {
    let mut row = row_named(rows, &case.suggested_type(buffer));
    if !case.layout.is_empty() && case.layout.offset() % row.align != 0 {
        row = row_named(rows, &Case { row, ..*case }.suggested_type(buffer));
    }
    Case { row, ..*case }.check_borrows(buffer);
}

/// Checks scalars in both byte orders, and structs, as all these types.
pub(crate) fn check(scalars: &[&str], structs: &[&str], rows: &[Row]) {
    for (code, order) in scalars.iter().flat_map(|&code| ['<', '>'].map(|order| (code, order))) {
        table(&format!("{order}{code}").parse().unwrap(), code, order, rows);
    }
    for descr in structs {
        table(&descr.parse().unwrap(), descr, '<', rows);
    }
}

#[test]
fn elements_are_borrowed_exactly_as_their_type() {
    check(SCALARS, STRUCTS, &rows());
}

#[test]
fn files_with_elements_at_odd_offsets_are_borrowed_at_any_address() {
    let directory = directory();
    let elements = [1.5_f64, -2.0, 3.25];
    for (len, descr) in (58..76).flat_map(|len| [(len, "'<f8'"), (len, "'>f8'")]) {
        let bytes = match descr {
            "'<f8'" => elements.map(f64::to_le_bytes).concat(),
            _ => elements.map(f64::to_be_bytes).concat(),
        };
        let path = file(&directory, "a.npy", &raw(&text(descr, "(3,)", Order::C, len), &bytes));
        let array = open(&path).unwrap();
        assert_eq!(array.data_offset(), Some(10 + len as u64));
        if descr == "'<f8'" {
            let stored = array.as_slice::<Le<f64>>().unwrap();
            assert_eq!(stored.iter().map(|v| v.get()).collect::<Vec<_>>(), elements);
            let aligned = (10 + len) % align_of::<f64>() == 0;
            assert_eq!(array.as_slice::<f64>().is_ok(), aligned && cfg!(target_endian = "little"));
        } else {
            let stored = array.as_ndarray::<Be<f64>, Ix1>().unwrap();
            assert_eq!(stored.iter().map(|v| v.get()).collect::<Vec<_>>(), elements);
        }
        open_mut(&path).unwrap().as_slice_mut::<[u8; 8]>().unwrap()[2] = [0; 8];
        assert_eq!(array.as_slice::<[u8; 8]>().unwrap()[2], [0; 8]);
    }
}

#[test]
fn empty_files_are_borrowed_as_their_type() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy(&native("f8"), &[0, 3], Order::C, b""));
    assert_eq!(open(&path).unwrap().as_slice::<f64>().unwrap(), [0.0; 0]);
    assert_eq!(open(&path).unwrap().as_ndarray::<f64, Ix2>().unwrap().shape(), [0, 3]);
    assert!(open(&path).unwrap().as_slice::<f32>().is_err());
    assert!(open_mut(&path).unwrap().as_slice_mut::<f64>().unwrap().is_empty());
    let mut anonymous = MappedArray::zeros(&DType::of::<f64>(), &[0]).unwrap();
    assert!(anonymous.as_ndarray_mut::<f64, Ix1>().unwrap().is_empty());
}

#[test]
fn a_wrong_number_of_axes_names_the_right_one() {
    let bytes = npy("|u1", &[2, 3], Order::C, b"abcdef");
    let mut bytes = bytes;
    let mut array = MappedArray::from_bytes(&mut bytes[..]).unwrap();
    assert_eq!(array.as_ndarray::<u8, Ix2>().unwrap()[[1, 2]], b'f');
    assert_eq!(array.as_ndarray::<u8, IxDyn>().unwrap()[[1, 2]], b'f');
    let errors = [
        (0, array.as_ndarray::<u8, Ix0>().unwrap_err()),
        (3, array.as_ndarray_mut::<u8, Ix3>().unwrap_err()),
    ];
    for (asked, error) in errors {
        let text = format!("has 2 axes, asked for {asked}: use `Ix2`, or `IxDyn` for any number");
        assert!(is_error(&error, ErrorKind::ShapeMismatch, &text), "{error}");
    }
    let seven = MappedArray::zeros(&DType::of::<u8>(), &[1; 7]).unwrap();
    let error = seven.as_ndarray::<u8, Ix1>().unwrap_err();
    assert!(
        is_error(&error, ErrorKind::ShapeMismatch, "has 7 axes, asked for 1: use `IxDyn`"),
        "{error}"
    );
}

#[test]
fn zero_sized_elements_are_borrowed_in_any_number() {
    let many = isize::MAX.unsigned_abs();
    for descr in ["|V0", "|S0", "<U0", "[]", "[('a', '<f8', (0,))]"] {
        for (shape, order) in [(vec![many], Order::C), (vec![many / 3, 3], Order::F)] {
            let header = Header::new(descr.parse().unwrap(), &shape, order).unwrap();
            let mut bytes = header.encode(None).unwrap().bytes;
            let mut array = MappedArray::from_bytes(&mut bytes[..]).unwrap();
            let len = shape.iter().product::<usize>();
            assert_eq!((array.len(), array.nbytes()), (len, 0));
            assert_eq!(array.as_ndarray::<[u8; 0], IxDyn>().unwrap().len(), len, "{descr}");
            assert_eq!(array.as_ndarray_mut::<[u8; 0], IxDyn>().unwrap().shape(), shape);
            if order == Order::C {
                assert_eq!(array.as_slice::<[u8; 0]>().unwrap().len(), len);
                assert_eq!(array.as_slice_mut::<[u8; 0]>().unwrap().len(), len);
            }
            assert!(array.as_ndarray::<u8, IxDyn>().is_err());
        }
    }
}
