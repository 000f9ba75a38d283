//! Checks that need neither a file system nor memory maps, threads or a clock,
//! as in a browser. `.ci/wasm` calls these functions there.

use std::fmt::Debug;

use ndarray::{Array2, Axis, Ix2, array, s};
use npymap::{
    Be, DType, ErrorKind, Le, MappedArray, OpenOptions, Order, Result, RowSource as _, Source,
    WriteOptions,
    element::{InPlace, Scalar, Typed},
    layout::Layout,
    source::MapMut,
    ten::{Ten, TenWriteOptions},
};

/// Runs everything here.
pub(crate) fn all() -> Result<()> {
    arrays()?;
    records()?;
    #[cfg(feature = "npz")]
    npz()?;
    ten()?;
    #[cfg(feature = "tar")]
    tar()?;
    stored_members()?;
    rows()?;
    missing_files_are_errors();
    Ok(())
}

fn table() -> Array2<f64> {
    array![[1.5, -2.0, 3.25], [4.0, 5.0, -6.5]]
}

fn arrays() -> Result<()> {
    let mut bytes = Vec::new();
    WriteOptions::new().write_to(&mut bytes, &table())?;
    assert_eq!(OpenOptions::new().read_ndarray_from::<f64, Ix2>(&*bytes)?, table());

    let mut copy = MappedArray::from_source(Source::bytes(bytes.clone()))?;
    copy.as_slice_mut::<f64>()?[0] = 7.0;
    assert_eq!(copy.view::<f64>()?.slice(s![.., 0])?.to_vec(), [7.0, 4.0]);

    let array = MappedArray::from_bytes(&bytes)?;
    assert_eq!(array.shape(), [2, 3]);
    assert_eq!(array.view::<f64>()?.to_vec(), table().into_raw_vec_and_offset().0);

    // Elements in new memory are always aligned.
    for dtype in ["<f8", ">c16", "<U3", "|u1"] {
        let array = MappedArray::zeros(&dtype.parse()?, &[3])?;
        assert_eq!(array.as_bytes()?.as_ptr().addr() % 16, 0);
    }
    Ok(())
}

fn records() -> Result<()> {
    let dtype: DType = "[('t', '<M8[s]'), ('x', '>f4', (2,)), ('name', '<U8')]".parse()?;
    let mut events = MappedArray::zeros(&dtype, &[2])?;
    events.dyn_view_mut()?.into_field("x")?.into_view::<f32>()?.fill(&0.5)?;
    let first = events.dyn_view()?.at(0).to_string();
    assert_eq!(first, "('1970-01-01T00:00:00', [0.5, 0.5], '')");
    Ok(())
}

#[cfg(feature = "npz")]
fn npz() -> Result<()> {
    use npymap::npz::Compression;
    use npymap::{Npz, npz::NpzWriter};

    let mut writer = NpzWriter::new(Vec::new());
    writer.write("stored", &table())?;
    writer.compression(Compression::Deflated(6)).write("deflated", &table())?;
    let npz = Npz::open(Source::bytes(writer.into_inner()?))?;
    npz.members().try_for_each(|member| member.verify())?;
    for name in ["stored", "deflated"] {
        assert_eq!(npz.get(name)?.as_ndarray::<f64, Ix2>()?, table());
    }
    Ok(())
}

fn ten() -> Result<()> {
    let mut bytes = Vec::new();
    TenWriteOptions::new().write(&mut bytes, &[&table()])?;
    let array = Ten::open(Source::bytes(bytes))?.get(0)?;
    assert_eq!(array.view::<f64>()?.to_vec(), table().into_raw_vec_and_offset().0);
    Ok(())
}

#[cfg(feature = "tar")]
fn tar() -> Result<()> {
    let mut member = Vec::new();
    WriteOptions::new().write_to(&mut member, &table())?;
    let bytes = tar_file(&[("a.npy", &member)]);
    let array = npymap::tar::TarFile::open(Source::bytes(bytes))?.member("a.npy")?.open()?;
    assert_eq!(array.view::<f64>()?.to_vec(), table().into_raw_vec_and_offset().0);
    Ok(())
}

#[cfg(feature = "tar")]
fn tar_file(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, member) in members {
        // A header has the name, the size and a checksum.
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", member.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(member);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// The shape of stored members: the last chunks, slices and blocks are shorter.
const SHAPE: [usize; 2] = [3, 5];

/// A `.npy`; if it is ragged, its elements are not aligned.
fn npy(descr: &str, order: Order, is_ragged: bool, elements: &[u8]) -> Vec<u8> {
    let fortran = if order == Order::F { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (3, 5), }}");
    let len = if is_ragged { 84 } else { 117 };
    let text = format!("{text:len$}\n");
    let len = u16::try_from(text.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &len[..], text.as_bytes(), elements].concat()
}

/// Members of archives that are not deflated, of each byte order and memory order,
/// in copies and in place. Miri runs these checks.
fn stored_members() -> Result<()> {
    // Miri takes a minute for one type.
    #[cfg(not(miri))]
    stored_members_of(i16::to_le_bytes, i16::to_be_bytes)?;
    stored_members_of(f64::to_le_bytes, f64::to_be_bytes)
}

fn stored_members_of<T, const N: usize>(
    little: fn(T) -> [u8; N],
    big: fn(T) -> [u8; N],
) -> Result<()>
where
    T: InPlace + Scalar + Typed + PartialEq + Debug + From<u8>,
{
    let expected = Array2::from_shape_fn(SHAPE, |(i, j)| T::from((SHAPE[1] * i + j) as u8));
    for (encode, sign) in [(little, '<'), (big, '>')] {
        // Miri takes a quarter of a minute for each.
        let orders = if sign == '<' { [Order::C, Order::F] } else { [Order::F, Order::C] };
        for order in orders.into_iter().take(if cfg!(miri) { 1 } else { 2 }) {
            let text = T::dtype().to_string();
            let descr = text.trim_matches('\'').replace(['<', '>', '|'], &sign.to_string());
            let in_order = if order == Order::C { expected.view() } else { expected.t() };
            let elements: Vec<u8> = in_order.iter().flat_map(|&value| encode(value)).collect();
            let member = npy(&descr, order, order == Order::F, &elements);
            let array = MappedArray::from_bytes(&member[..])?;
            check_views(&array, &expected)?;
            check_endian_views(&array, &expected, sign == '<')?;
            for (archive, copy, at) in archives(&member)? {
                check_views(&copy, &expected)?;
                check_in_place(&archive, copy.layout(), at, &expected)?;
                check_edit(copy, &expected)?;
            }
        }
    }
    Ok(())
}

/// An archive, its member copied from it, and the place of the member's elements.
type Opened = (Vec<u8>, MappedArray<MapMut>, u64);

/// Archives of each format with a `.npy` as their member.
fn archives(member: &[u8]) -> Result<Vec<Opened>> {
    let array = MappedArray::from_bytes(member)?;
    let mut all = Vec::new();
    #[cfg(feature = "npz")]
    {
        let mut writer = npymap::npz::NpzWriter::new(Vec::new());
        writer.write("a", &array)?;
        let bytes = writer.into_inner()?;
        let npz = npymap::Npz::open(Source::bytes(bytes.clone()))?;
        npz.members().try_for_each(|member| member.verify())?;
        all.push((bytes, npz.get("a")?, npz.member("a")?.data_offset()?.unwrap()));
    }
    #[cfg(feature = "tar")]
    {
        let bytes = tar_file(&[("a.txt", b"text"), ("a.npy", member)]);
        let shard = npymap::tar::TarFile::open(Source::bytes(bytes.clone()))?;
        let copy = shard.member("a.npy")?.open()?;
        let at = copy.data_offset().unwrap();
        all.push((bytes, copy, at));
    }
    let mut bytes = Vec::new();
    TenWriteOptions::new().write(&mut bytes, &[&array])?;
    let ten = Ten::open(Source::bytes(bytes.clone()))?;
    all.extend([(bytes, ten.get(0)?, ten.data_offset(0)?)]);
    Ok(all)
}

/// Views elements where they lie in an archive, at two addresses, and in an archive
/// that ends too early.
fn check_in_place<T>(archive: &[u8], layout: &Layout, at: u64, expected: &Array2<T>) -> Result<()>
where
    T: InPlace + PartialEq + Debug,
{
    let order = if layout.is_c_contiguous() { Order::C } else { Order::F };
    for shift in [0, 1] {
        let moved = [&[0; 1][..shift], archive].concat();
        let layout = Layout::new(layout.dtype().clone(), &SHAPE, order, at as usize + shift)?;
        check_views(&MappedArray::from_parts(&moved[..], layout.clone())?, expected)?;
        let end = layout.offset() + layout.nbytes();
        assert!(MappedArray::from_parts(&moved[..end], layout.clone()).is_ok());
        assert!(MappedArray::from_parts(&moved[..end - 1], layout).is_err());
    }
    Ok(())
}

/// Compares views of an array, their parts and what borrows their elements with ndarray's.
fn check_views<T, D>(array: &MappedArray<D>, expected: &Array2<T>) -> Result<()>
where
    T: InPlace + PartialEq + Debug,
    D: AsRef<[u8]>,
{
    let view = array.view::<T>()?;
    assert_eq!(view.to_ndarray::<Ix2>()?, expected);
    assert_eq!(view.to_cow::<Ix2>()?, expected);
    assert!(view.t().iter().eq(expected.t().iter().copied()));
    for slice in [s![..;-1, 1..;3], s![1.., ..;-2], s![2.., 4..]] {
        assert_eq!(view.slice(slice)?.to_ndarray::<Ix2>()?, expected.slice(slice));
    }
    for axis in 0..2 {
        let parts = view.axis_chunks(axis, 2)?;
        let parts = parts.map(|part| part.to_ndarray::<Ix2>().unwrap());
        assert!(parts.eq(expected.axis_chunks_iter(Axis(axis), 2)));
    }
    let mut found = Vec::new();
    let mut blocks = view.blocks();
    while let Some(block) = blocks.next() {
        found.extend_from_slice(block);
    }
    let in_order = if array.layout().is_c_contiguous() { view.clone() } else { view.t() };
    assert_eq!(found, in_order.to_vec());
    if let Ok(borrowed) = array.as_ndarray::<T, Ix2>() {
        assert_eq!(borrowed, expected);
        assert_eq!(in_order.as_slice()?, found);
    }
    Ok(())
}

/// Types with a byte order are borrowed at any address.
fn check_endian_views<T>(
    array: &MappedArray<&[u8]>,
    expected: &Array2<T>,
    is_little: bool,
) -> Result<()>
where
    T: InPlace + Scalar + PartialEq + Debug,
{
    if is_little {
        assert_eq!(array.as_ndarray::<Le<T>, Ix2>()?.mapv(Le::get), expected);
    } else {
        assert_eq!(array.as_ndarray::<Be<T>, Ix2>()?.mapv(Be::get), expected);
    }
    // Some rows of an array in Fortran order are scattered.
    match array.row_range(1..) {
        Ok(rest) => check_views(&rest, &expected.slice(s![1.., ..]).to_owned()),
        Err(error) if error.kind() == ErrorKind::ShapeMismatch => Ok(()),
        Err(error) => Err(error),
    }
}

/// Elements of a copy can be changed.
fn check_edit<T>(mut copy: MappedArray<MapMut>, expected: &Array2<T>) -> Result<()>
where
    T: InPlace + PartialEq + Debug + From<u8>,
{
    let mut expected = expected.clone();
    expected.slice_mut(s![1..;2, ..;-3]).fill(T::from(7));
    copy.view_mut::<T>()?.slice(s![1..;2, ..;-3])?.fill(&T::from(7))?;
    check_views(&copy, &expected)
}

fn rows() -> Result<()> {
    let mut bytes = Vec::new();
    WriteOptions::new().write_to(&mut bytes, &table())?;
    let array = MappedArray::from_source(Source::bytes(bytes))?.into_read_only()?;
    let mut taken = [0.0; 6];
    array.rows()?.take(&[1, 0], &mut taken)?;
    assert_eq!(taken, [4.0, 5.0, -6.5, 1.5, -2.0, 3.25]);
    Ok(())
}

fn missing_files_are_errors() {
    assert!(MappedArray::load("no such file.npy").is_err());
    assert!(npymap::Source::open("no such file.npy").is_err());
}

#[test]
fn checks_pass_in_memory() {
    all().unwrap();
}

#[test]
fn stored_members_are_viewed_in_memory() {
    stored_members().unwrap();
}
