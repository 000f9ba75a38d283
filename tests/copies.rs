//! Arrays copied into files by writes, and the bytes of elements in any order.

use npymap::array::CopyOptions;
use npymap::element::Casting;
use npymap::{ByteOrder, CreateOptions, DType, MappedArray, MappedArrayMut, Order, Value};

use crate::support::*;

const DTYPES: [&str; 9] = [
    "|u1",
    ">i2",
    "<f8",
    ">c16",
    ">U3",
    "|S5",
    ">f16",
    "[('a', '>u2'), ('', '|V1'), ('b', '<f4', (2,))]",
    "|V24",
];

const SHAPES: [&[usize]; 7] =
    [&[], &[7], &[3, 5], &[40, 1, 30], &[9, 8, 7], &[0, 4], &[2, 3, 4, 5]];

/// Creates an array in a directory.
fn new(
    directory: &tempfile::TempDir,
    dtype: &DType,
    shape: &[usize],
    order: Order,
) -> MappedArrayMut {
    let path = directory.path().join(format!("{order:?}.npy"));
    let options = CreateOptions::new().order(order).overwrite(true);
    create(&path, &dtype.to_string(), shape, &options).unwrap()
}

/// All bytes differ, so that no value is right by chance.
fn filled(mut array: MappedArrayMut) -> MappedArray {
    let bytes: Vec<u8> = (0..array.nbytes()).map(|at| (at * 31 % 251) as u8 + 1).collect();
    let layout =
        npymap::layout::Layout::new(DType::of::<u8>(), &[bytes.len()], Order::C, 0).unwrap();
    let own = array.layout().clone();
    let mut raw = MappedArray::from_parts(array.into_data(), layout).unwrap();
    raw.element_writer().unwrap().write(&[0], &bytes).unwrap();
    array = MappedArray::from_parts(raw.into_data(), own).unwrap();
    array.into_read_only().unwrap()
}

/// Writes one array to the file of another, which is all zeros if
/// `over_zeros`, and returns the number of bytes reported.
fn write(to: &mut MappedArrayMut, from: &MappedArray, casting: Casting, over_zeros: bool) -> usize {
    let mut done = 0;
    let options = casting_to(casting).over_zeros(over_zeros);
    to.write_array(from, &options, |bytes| done += bytes).unwrap();
    done
}

fn casting_to(casting: Casting) -> CopyOptions {
    CopyOptions::new().casting(casting)
}

/// The bytes of all elements in C order, one after the other.
fn c_order(array: &MappedArray) -> Vec<u8> {
    array.dyn_view().unwrap().element_bytes().flatten().copied().collect()
}

#[test]
fn arrays_are_written_in_any_order_byte_for_byte() {
    let (from_here, to_there) = (directory(), directory());
    for descr in DTYPES {
        let dtype: DType = descr.parse().unwrap();
        for shape in SHAPES {
            for (own, other) in [
                (Order::C, Order::F),
                (Order::F, Order::C),
                (Order::C, Order::C),
                (Order::F, Order::F),
            ] {
                let from = filled(new(&from_here, &dtype, shape, own));
                for zeros in [false, true] {
                    let mut to = new(&to_there, &dtype, shape, other);
                    let done = write(&mut to, &from, Casting::Equiv, zeros);
                    assert_eq!(done, from.nbytes(), "{descr} {shape:?}");
                    assert!(
                        c_order(&to.into_read_only().unwrap()) == c_order(&from),
                        "{descr} {shape:?}"
                    );
                }
                for (threads, memory) in [(1, 100), (3, 1000)] {
                    let mut to = new(&to_there, &dtype, shape, other);
                    let options = CopyOptions::new().threads(threads).memory(memory);
                    to.write_array(&from, &options, |_| {}).unwrap();
                    assert!(
                        c_order(&to.into_read_only().unwrap()) == c_order(&from),
                        "{descr} {shape:?} {threads}"
                    );
                }
            }
        }
    }
}

#[test]
fn progress_is_reported_after_the_write() {
    let (from_here, to_there) = (directory(), directory());
    let dtype = DType::of::<u16>();
    for order in [Order::C, Order::F] {
        let from = filled(new(&from_here, &dtype, &[5, 6], Order::C));
        let mut to = new(&to_there, &dtype, &[5, 6], order);
        let path = to.path().unwrap().to_owned();
        let mut done = 0;
        to.write_array(&from, &casting_to(Casting::Equiv), |nbytes| {
            done += nbytes;
            let file = std::fs::read(&path).unwrap();
            assert!(!file[file.len() - 60..][..done].contains(&0), "{order:?}");
        })
        .unwrap();
        assert_eq!(done, 60);
    }
}

#[test]
fn numbers_are_written_in_the_byte_order_of_the_file() {
    let (from_here, to_there) = (directory(), directory());
    for descr in DTYPES {
        let dtype: DType = descr.parse().unwrap();
        let from = filled(new(&from_here, &dtype, &[5, 6], Order::C));
        for bytes in [ByteOrder::Little, ByteOrder::Big] {
            for order in [Order::C, Order::F] {
                let mut to = new(&to_there, &dtype.with_byte_order(bytes), &[5, 6], order);
                to.write_array(&from, &casting_to(Casting::Equiv), |_| {}).unwrap();
                let to = to.into_read_only().unwrap();
                let (a, b) = (from.dyn_view().unwrap(), to.dyn_view().unwrap());
                let blocks = a.byte_blocks().byte_order(bytes);
                let mut expected = Vec::new();
                blocks
                    .try_for_each(|block| {
                        expected.extend_from_slice(block);
                        Ok::<(), ()>(())
                    })
                    .unwrap();
                assert!(c_order(&to) == expected, "{descr} {bytes:?}");
                // As by `DType::with_byte_order`, nothing changes.
                let [unchanged, plain] =
                    [a.byte_blocks().byte_order(ByteOrder::NotApplicable), a.byte_blocks()].map(
                        |blocks| {
                            let mut all = Vec::new();
                            let kept = blocks.try_for_each(|block| {
                                all.extend_from_slice(block);
                                Ok::<(), ()>(())
                            });
                            kept.map(|()| all)
                        },
                    );
                assert!(unchanged == plain, "{descr}");
                if !matches!(descr, ">f16" | ">U3" | ">c16") && !descr.contains("f4") {
                    assert!(a.iter().eq(b.iter()), "{descr} {bytes:?}");
                }
            }
        }
    }
}

#[test]
fn byte_blocks_equal_numpys_tobytes() {
    let place = directory();
    let from = filled(new(&place, &">u8".parse().unwrap(), &[1100, 1000], Order::F));
    let view = from.dyn_view().unwrap();
    let (mut c, mut f, mut most) = (Vec::new(), Vec::new(), 0);
    collect_blocks(&view, &mut c, &mut most);
    collect_blocks(&view.t(), &mut f, &mut most);
    assert!(c == c_order(&from) && f == from.as_bytes().unwrap());
    assert!(most <= 8 << 20);
    let stopped = view.byte_blocks().try_for_each(|_| Err("enough"));
    assert_eq!(stopped, Err("enough"));
}

fn collect_blocks(view: &npymap::view::DynView<'_>, all: &mut Vec<u8>, most: &mut usize) {
    let blocks = view.byte_blocks().zero_padding();
    blocks
        .try_for_each(|block| {
            *most = block.len().max(*most);
            all.extend_from_slice(block);
            Ok::<(), ()>(())
        })
        .unwrap();
}

#[test]
fn other_shapes_and_dtypes_are_rejected_before_writing() {
    let (from_here, to_there) = (directory(), directory());
    let from = filled(new(&from_here, &"<f4".parse().unwrap(), &[2, 3], Order::C));
    for (descr, shape) in [("<f4", &[3, 2][..]), ("<f8", &[2, 3]), ("<i4", &[2, 3])] {
        let mut to = new(&to_there, &descr.parse().unwrap(), shape, Order::C);
        to.write_array(&from, &casting_to(Casting::Equiv), |_| panic!("written")).unwrap_err();
        assert!(to.as_bytes().unwrap().iter().all(|&byte| byte == 0));
    }
    let mut memory = MappedArray::zeros(&"<f4".parse().unwrap(), &[2, 3]).unwrap();
    assert!(
        memory
            .write_array(&from, &casting_to(Casting::Equiv), |_| {})
            .unwrap_err()
            .to_string()
            .contains("not written to a file")
    );
}

#[test]
fn equal_dtypes_are_assigned_byte_for_byte() {
    let place = directory();
    let dtype: DType = "[('a', '>u2'), ('b', '<f4', (2,))]".parse().unwrap();
    let from = filled(new(&place, &dtype, &[4, 6], Order::C));
    let mut to = MappedArray::zeros(&dtype, &[6, 4]).unwrap();
    to.dyn_view_mut()
        .unwrap()
        .permuted_axes(&[1, 0])
        .unwrap()
        .assign_as(&from.dyn_view().unwrap(), npymap::element::Casting::No)
        .unwrap();
    let turned: Vec<u8> = to.dyn_view().unwrap().t().element_bytes().flatten().copied().collect();
    assert!(turned == c_order(&from));
}

#[cfg(target_os = "linux")]
#[test]
fn holes_are_detected_and_kept() {
    use std::os::unix::fs::MetadataExt as _;
    let place = directory();
    let path = place.path().join("sparse.npy");
    let options = CreateOptions::new().sparse(true).overwrite(true);
    let mut array = create(&path, "<f4", &[1000, 10_000], &options).unwrap();
    array.element_writer().unwrap().write(&[900, 7], &[1.5_f32, 2.5]).unwrap();
    drop(array);
    let from = open(&path).unwrap();
    let stored = from.stored_ranges().unwrap();
    let at = (900 * 10_000 + 7) * 4;
    assert!(stored.iter().any(|range| range.contains(&at)), "{stored:?}");
    assert!(stored.iter().map(ExactSizeIterator::len).sum::<usize>() < 1 << 20, "{stored:?}");
    let copy = place.path().join("copy.npy");
    for order in [Order::C, Order::F] {
        let options = options.clone().order(order);
        let mut to = create(&copy, "<f4", &[1000, 10_000], &options).unwrap();
        let mut done = 0;
        let options = CopyOptions::new().over_zeros(true);
        to.write_array(&from, &options, |bytes| done += bytes).unwrap();
        let view = to.dyn_view().unwrap();
        assert_eq!([view.at([900, 7]), view.at([900, 8])], [Value::F32(1.5), Value::F32(2.5)]);
        assert_eq!(done, to.nbytes(), "{order:?}");
        drop(to);
        assert!(std::fs::metadata(&copy).unwrap().blocks() * 512 < 1 << 20, "{order:?}");
    }
}

#[test]
fn changes_of_a_copy_on_write_array_are_not_taken_for_holes() {
    let place = directory();
    let path = place.path().join("sparse.npy");
    let options = CreateOptions::new().sparse(true).overwrite(true);
    drop(create(&path, "<u4", &[1 << 20], &options).unwrap());
    let mut array = open_copy_on_write(&path).unwrap();
    array.view_mut::<u32>().unwrap().set([1 << 19], 7).unwrap();
    let array = array.into_read_only().unwrap();
    assert_eq!(array.mode(), Some(npymap::Mode::CopyOnWrite));
    assert_eq!(array.stored_ranges().unwrap()[0], 0..4 << 20);
    let copy = place.path().join("copy.npy");
    let mut to = create(&copy, "<u4", &[1 << 20], &options).unwrap();
    to.write_array(&array, &CopyOptions::new().over_zeros(true), |_| ()).unwrap();
    assert_eq!(to.view::<u32>().unwrap().at([1 << 19]), 7);
}

#[test]
fn casts_while_writing_equal_assign_as() {
    let (from_here, to_there) = (directory(), directory());
    let path = from_here.path().join("from.npy");
    let numbers = [1.5_f32, -2.5, 7.0];
    for order in [Order::C, Order::F] {
        let options = CreateOptions::new().sparse(true).overwrite(true).order(order);
        let mut array = create(&path, "<f4", &[70, 3, 50], &options).unwrap();
        array.element_writer().unwrap().write(&[60, 2, 40], &numbers).unwrap();
        drop(array);
        let from = open(&path).unwrap();
        // The last one writes zeros as nonzero bytes, so it must also read the
        // holes.
        for (descr, casting) in [
            (">f8", Casting::Safe),
            ("<i2", Casting::Unsafe),
            (">f8", Casting::SameValue),
            ("|S8", Casting::Unsafe),
        ] {
            let dtype: DType = descr.parse().unwrap();
            let mut expected = MappedArray::zeros(&dtype, from.shape()).unwrap();
            let values = from.dyn_view().unwrap();
            expected.dyn_view_mut().unwrap().assign_as(&values, casting).unwrap();
            let expected = c_order(&expected.into_read_only().unwrap());
            for order in [Order::C, Order::F] {
                for zeros in [false, true] {
                    let mut to = new(&to_there, &dtype, from.shape(), order);
                    let done = write(&mut to, &from, casting, zeros);
                    assert_eq!(done, to.nbytes(), "{descr} {order:?}");
                    let to = to.into_read_only().unwrap();
                    assert!(c_order(&to) == expected, "{descr} {order:?}");
                }
            }
        }
    }
}

#[test]
fn structs_are_cast_field_by_field_while_they_are_written() {
    let (from_here, to_there) = (directory(), directory());
    let dtype: DType = "[('a', '<i4'), ('', '|V4'), ('b', '>f4')]".parse().unwrap();
    let from = filled(new(&from_here, &dtype, &[7, 5], Order::F));
    for descr in
        ["[('a', '>i4'), ('', '|V4'), ('b', '>f4')]", "[('a', '<i8'), ('b', '<f8'), ('', '|V3')]"]
    {
        let dtype: DType = descr.parse().unwrap();
        let casting = Casting::SameValue;
        let mut expected = MappedArray::zeros(&dtype, from.shape()).unwrap();
        expected.dyn_view_mut().unwrap().assign_as(&from.dyn_view().unwrap(), casting).unwrap();
        for order in [Order::C, Order::F] {
            let mut to = new(&to_there, &dtype, from.shape(), order);
            to.write_array(&from, &casting_to(casting), |_| {}).unwrap();
            let (to, expected) = (to.dyn_view().unwrap(), expected.dyn_view().unwrap());
            assert!(to.iter().eq(expected.iter()), "{descr} {order:?}");
        }
    }
    let mut to = new(&to_there, &"[('a', '<i4')]".parse().unwrap(), from.shape(), Order::C);
    let error =
        to.write_array(&from, &casting_to(Casting::Unsafe), |_| panic!("written")).unwrap_err();
    assert_eq!(error.kind(), npymap::ErrorKind::DTypeMismatch);
}

#[test]
fn a_value_that_cannot_be_cast_is_an_error_about_its_array() {
    let (from_here, to_there) = (directory(), directory());
    let path = from_here.path().join("from.npy");
    let mut array = create(&path, "<f4", &[2, 3], &CreateOptions::new()).unwrap();
    array.element_writer().unwrap().write(&[1, 1], &[2.5_f32]).unwrap();
    drop(array);
    let from = open(&path).unwrap();
    for order in [Order::C, Order::F] {
        let mut to = new(&to_there, &"<i2".parse().unwrap(), from.shape(), order);
        let error =
            to.write_array(&from, &casting_to(Casting::Safe), |_| panic!("written")).unwrap_err();
        assert_eq!(error.kind(), npymap::ErrorKind::DTypeMismatch);
        let error = to.write_array(&from, &casting_to(Casting::SameValue), |_| {}).unwrap_err();
        assert_eq!(error.kind(), npymap::ErrorKind::InvalidValue);
        assert!(error.to_string().contains("from.npy: 2.5: expected"), "{error}");
    }
}

#[test]
fn the_first_value_that_cannot_be_cast_is_the_error_of_any_number_of_threads() {
    let (from_here, to_there) = (directory(), directory());
    let path = from_here.path().join("from.npy");
    let mut array = create(&path, "<f4", &[500, 300], &CreateOptions::new()).unwrap();
    array.element_writer().unwrap().write(&[1, 7], &[2.5_f32]).unwrap();
    array.element_writer().unwrap().write(&[400, 200], &[1.25_f32]).unwrap();
    drop(array);
    let from = open(&path).unwrap();
    for (threads, order) in [(1, Order::F), (2, Order::F), (4, Order::C)] {
        let mut to = new(&to_there, &"<i2".parse().unwrap(), from.shape(), order);
        let options = casting_to(Casting::SameValue).threads(threads).memory(4000);
        let error = to.write_array(&from, &options, |_| {}).unwrap_err();
        assert!(error.to_string().contains("from.npy: 2.5: expected"), "{error}");
    }
}

#[test]
fn a_cast_to_any_strides_stores_what_precedes_a_changed_value() {
    let values = [1.0, -2.0, 3.0, 4.0, 5.5, 6.0];
    let mut from = MappedArray::zeros(&">f8".parse().unwrap(), &[2, 3]).unwrap();
    from.view_mut::<f64>().unwrap().copy_from_slice(&values).unwrap();
    for (dtype, step) in [(">i2", 1), ("<i4", 1), ("|i1", 2), (">i8", -1), ("<c16", -2)] {
        let shape = [2, 3 * usize::try_from(i32::abs(step)).unwrap()];
        let mut array = MappedArray::zeros(&dtype.parse().unwrap(), &shape).unwrap();
        let steps = npymap::ndarray::Slice::new(0, None, isize::try_from(step).unwrap());
        let mut to = array.dyn_view_mut().unwrap().slice(npymap::ndarray::s![.., steps]).unwrap();
        let result = to.assign_as(&from.dyn_view().unwrap(), Casting::SameValue);
        let kept = if dtype == "<c16" { result.map(|()| 6).unwrap() } else { 4 };
        let found =
            to.as_view().to_ndarray_as::<f64, npymap::ndarray::IxDyn>(Casting::Unsafe).unwrap();
        let expected =
            values.iter().enumerate().map(|(i, value)| if i < kept { *value } else { 0.0 });
        assert!(found.iter().copied().eq(expected), "{dtype} {step}: {found}");
    }
}

#[test]
fn numbers_in_text_are_exact_or_the_nearest() {
    for (text, dtype, is_kept) in [
        ("16777217", "<f4", false),
        ("16777216", "<f4", true),
        ("1e400", "<f8", false),
        ("-inf", "<f4", true),
        ("0.1", "<f4", true),
        ("65520", "<f2", false),
        ("-0", "<f8", true),
        ("9007199254740993", "<f8", false),
        ("170141183460469231731687303715884105727", "<f8", false),
        ("9999999999999999999999999999999999999999", "<f8", false),
        ("+0001208925819614629174706176", "<f8", true),
        ("16777217", "<c8", false),
        ("16777216", "<c8", true),
        ("1e400", "<c16", false),
        ("0.1+infj", "<c16", true),
        ("nan", "<c8", true),
    ] {
        let mut from = MappedArray::zeros(&"<U40".parse().unwrap(), &[1]).unwrap();
        from.dyn_view_mut().unwrap().set([0], npymap::Value::Text(text.into())).unwrap();
        let mut to = MappedArray::zeros(&dtype.parse().unwrap(), &[1]).unwrap();
        let from = from.dyn_view().unwrap();
        let mut view = to.dyn_view_mut().unwrap();
        let exact = view.assign_as(&from, Casting::SameValue);
        assert_eq!(exact.is_ok(), is_kept, "{text} {dtype}: {exact:?}");
        view.assign_as(&from, Casting::Unsafe).unwrap();
    }
}

/// `NaT` is stored as the least integer of 64 bits, but has another value.
#[test]
fn nat_is_no_number_of_the_same_value() {
    let least = i64::MIN.to_string();
    for (value, from, to, is_kept) in [
        ("NaT", "<M8[D]", "<i8", false),
        ("NaT", ">m8[s]", "<f8", false),
        ("NaT", "<M8[D]", "<c16", false),
        ("NaT", "<M8[D]", "|b1", false),
        ("2020-02-29", "<M8[D]", ">i8", true),
        (&least, "<i8", "<M8[D]", false),
        ("-9223372036854775808.0", "<f8", ">m8[s]", false),
        ("-9223372036854775808", "<c16", "<m8[s]", false),
        ("nan", "<f8", "<M8[D]", true),
        ("7", "<i8", "<m8[s]", true),
        ("NaT", "<m8", "<m8[s]", true),
        (&least, "<i8", ">i8", true),
    ] {
        let from: DType = from.parse().unwrap();
        let mut array = MappedArray::zeros(&from, &[2]).unwrap();
        let parsed = npymap::Value::parse(value, &from).unwrap();
        array.dyn_view_mut().unwrap().set([1], parsed).unwrap();
        let from = array.dyn_view().unwrap();
        let mut cast = MappedArray::zeros(&to.parse().unwrap(), &[2]).unwrap();
        let mut view = cast.dyn_view_mut().unwrap();
        let exact = view.assign_as(&from, Casting::SameValue);
        assert_eq!(exact.is_ok(), is_kept, "{value} to {to}: {exact:?}");
        view.assign_as(&from, Casting::Unsafe).unwrap();
    }
}

#[test]
fn any_number_of_threads_may_be_asked_for() {
    let directory = directory();
    let from = MappedArray::zeros(&"<f8".parse().unwrap(), &[4, 6]).unwrap();
    let from = from.into_read_only().unwrap();
    let mut to = new(&directory, &"<f8".parse().unwrap(), &[4, 6], Order::F);
    to.write_array(&from, &CopyOptions::new().threads(usize::MAX), |_| {}).unwrap();
}

/// The system cannot read the bytes of a map after the end of its file, and says so to who
/// writes them: the error names the file that was truncated, not the one that is written.
#[cfg(all(target_os = "linux", feature = "npz"))]
#[test]
fn errors_name_the_file_that_was_truncated_while_it_was_mapped() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy, archive] =
        ["a.npy", "copy.npy", "a.npz"].map(|name| directory.path().join(name));
    let zeros = npymap::ndarray::Array1::<f64>::zeros(100_000);
    npymap::WriteOptions::new().write(&path, &zeros).unwrap();
    // SAFETY: the bytes that are lost are only passed to the system.
    let array = unsafe { MappedArray::open(&path).unwrap() };
    // SAFETY: nobody else knows of the file.
    let created = unsafe { MappedArray::create(&copy, array.dtype(), array.shape()) };
    let mut to = created.unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(128).unwrap();
    let copied = to.write_array(&array, &CopyOptions::new(), |_| {}).unwrap_err();
    let saved = npymap::npz::savez(&archive, &[("a", &array)]).unwrap_err();
    let ten = directory.path().join("a.ten");
    let sent = npymap::ten::TenWriteOptions::new().save(&ten, &[&array]).unwrap_err();
    for error in [copied, saved, sent] {
        assert_eq!(error.kind(), npymap::ErrorKind::Changed, "{error}");
        assert_eq!(error.path(), Some(&*path), "{error}");
        assert!(error.to_string().contains("was truncated while it was mapped"), "{error}");
    }
}
