//! Arrays that are borrowed if they can be and copied otherwise, typed copies,
//! and the last axis as Rust arrays.

use std::fmt::Debug;

use npymap::ndarray::{Array1, Array2, ArrayD, Ix1, Ix2, IxDyn, s};
use npymap::{
    Be, DType, Element, ErrorKind, Le, MappedArray, OpenOptions, Order, View, WriteOptions,
    array::RawSpec,
    bytemuck,
    element::{Bool, Casting, InPlace, Number},
    layout::Layout,
};

use crate::support::{directory, file, foreign, is_error, native, npy, open, open_mut};

const SHAPES: [&[usize]; 7] = [&[], &[5], &[0], &[4, 3], &[3, 0], &[2, 3, 4], &[2, 1, 3, 2, 2]];

/// A copy has the elements of the view, and is borrowed exactly if ndarray can
/// view them.
fn borrows_or_copies<T: InPlace + PartialEq + Debug>(dtype: &str) {
    for (shape, order) in SHAPES.iter().flat_map(|&shape| [(shape, Order::C), (shape, Order::F)]) {
        for offset in [0, 1, 2, 4, 8] {
            let layout = Layout::new(dtype.parse().unwrap(), shape, order, offset).unwrap();
            let mut memory = vec![0_u128; (layout.offset() + layout.nbytes()).div_ceil(16) + 1];
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
            bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 29 % 97) as u8);
            let array = MappedArray::from_parts(&*bytes, layout).unwrap();
            let view = array.view::<T>().unwrap();
            let what = format!("{dtype} {shape:?} {order:?} at {offset}");
            let cow = array.view::<T>().unwrap().to_cow::<IxDyn>().unwrap();
            assert_eq!(cow.is_view(), array.as_ndarray::<T, IxDyn>().is_ok(), "{what}");
            assert_eq!(cow.shape(), shape, "{what}");
            assert!(cow.iter().copied().eq(view.iter()), "{what}");
            let turned = view.t().to_cow::<IxDyn>().unwrap();
            assert_eq!(turned, cow.t(), "{what}");
            let copy: ArrayD<T> = view.to_ndarray().unwrap();
            assert!(copy == cow && copy.is_standard_layout(), "{what}");
        }
    }
}

#[test]
fn elements_are_borrowed_if_possible_and_copied_otherwise() {
    for order in ['<', '>'] {
        borrows_or_copies::<f32>(&format!("{order}f4"));
        borrows_or_copies::<f64>(&format!("{order}f8"));
        borrows_or_copies::<i64>(&format!("{order}i8"));
        borrows_or_copies::<[i16; 3]>(&format!("('{order}i2', (3,))"));
    }
    borrows_or_copies::<Le<u32>>("<u4");
    borrows_or_copies::<Be<u32>>(">u4");
    borrows_or_copies::<u8>("|u1");
    borrows_or_copies::<Bool>("|b1");
    borrows_or_copies::<[u8; 5]>("|S5");
}

/// Larger in memory than in a file without its padding.
#[cfg(feature = "derive")]
#[derive(
    Clone, Copy, Debug, PartialEq, npymap::bytemuck::Pod, npymap::bytemuck::Zeroable, npymap::Record,
)]
#[record(in_place)]
#[bytemuck(crate = "npymap::bytemuck")]
#[repr(C)]
struct Padded {
    a: u8,
    pad: npymap::element::Pad<3>,
    x: f32,
}

#[cfg(feature = "derive")]
#[test]
fn records_of_another_size_are_copied() {
    let dtype: DType = "[('a', '|u1'), ('x', '<f4')]".parse().unwrap();
    for (len, step) in [(1, 1), (3, 1), (3, 2), (9, 8)] {
        let mut array = MappedArray::zeros(&dtype, &[len]).unwrap();
        array.view_mut::<(u8, f32)>().unwrap().set([len - 1], (7, 0.5)).unwrap();
        let view = array.view::<Padded>().unwrap();
        let view = view.slice(s![..;step]).unwrap();
        assert_eq!(view.as_ndarray::<Ix1>().unwrap_err().kind(), ErrorKind::DTypeMismatch);
        let cow = view.to_cow::<Ix1>().unwrap();
        assert!(cow.is_owned() && cow.len() == view.len());
        let last = cow.last().unwrap();
        assert_eq!((last.a, last.x), (7, 0.5));
        let mut array = MappedArray::zeros(&dtype, &[len]).unwrap();
        let error = array.view_mut::<Padded>().unwrap().into_ndarray::<Ix1>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DTypeMismatch);
    }
}

#[test]
fn strides_that_ndarray_lacks_are_copied() {
    let records = MappedArray::zeros(&"[('a', '|u1'), ('b', '<u2')]".parse().unwrap(), &[4]);
    let records = records.unwrap();
    let field = records.dyn_view().unwrap().field("b").unwrap().view::<Le<u16>>().unwrap();
    assert!(field.as_ndarray::<Ix1>().is_err());
    let cow = field.to_cow::<Ix1>().unwrap();
    assert!(cow.is_owned() && cow.len() == 4);
    let reversed = field.slice(s![..;-1]).unwrap().to_cow::<Ix1>().unwrap();
    assert!(reversed.is_owned());
    let bytes = MappedArray::zeros(&"|u1".parse().unwrap(), &[4]).unwrap();
    let reversed = bytes.view::<u8>().unwrap().slice(s![..;-1]).unwrap();
    assert!(reversed.to_cow::<Ix1>().unwrap().is_view());
}

#[test]
fn a_wrong_type_or_number_of_axes_is_an_error_in_every_copy() {
    let array = MappedArray::zeros(&foreign("f4").parse().unwrap(), &[2, 3]).unwrap();
    let view = array.view::<f32>().unwrap();
    let errors = [
        view.to_cow::<Ix1>().unwrap_err(),
        view.to_ndarray::<Ix1>().unwrap_err(),
        view.to_ndarray_as::<f64, Ix1>(Casting::Safe).unwrap_err(),
        array.dyn_view().unwrap().to_ndarray_as::<f64, Ix1>(Casting::Safe).unwrap_err(),
    ];
    for error in errors {
        let what = "shape (2, 3) has 2 axes, asked for 1: use `Ix2`, or `IxDyn` for any number";
        assert!(is_error(&error, ErrorKind::ShapeMismatch, what), "{error}");
    }
    let error = array.view::<f64>().unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "asked for `f64`"), "{error}");
}

#[test]
fn numbers_are_cast_to_arrays_of_fixed_axes() {
    let directory = directory();
    let numbers: Vec<u8> = [1.5_f64, -2.0, 300.0].into_iter().flat_map(f64::to_be_bytes).collect();
    let path = file(&directory, "a.npy", &npy(">f8", &[3], Order::C, &numbers));
    let array = open(&path).unwrap();
    let view = array.view::<f64>().unwrap();
    let cast: Array1<f32> = view.to_ndarray_as(Casting::SameKind).unwrap();
    assert_eq!(cast.to_vec(), [1.5, -2.0, 300.0]);
    assert!(view.to_ndarray_as::<f32, Ix1>(Casting::Safe).is_err());
    let error = view.to_ndarray_as::<i32, Ix1>(Casting::SameValue).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

/// Reading a file with a cast equals opening it and casting the view.
fn reads_as<U: Number + PartialEq + Debug>(dtype: &str, shape: &[usize]) {
    let directory = directory();
    let len: usize = shape.iter().product::<usize>() * dtype.parse::<DType>().unwrap().itemsize();
    let bytes: Vec<u8> = (0..len).map(|i| (i % 2 * (i / 7 % 100)) as u8).collect();
    for order in [Order::C, Order::F] {
        let path = file(&directory, "a.npy", &npy(dtype, shape, order, &bytes));
        let array = open(&path).unwrap();
        for casting in [Casting::No, Casting::Equiv, Casting::Safe, Casting::Unsafe] {
            let expected = array.dyn_view().unwrap().to_ndarray_as::<U, IxDyn>(casting);
            let what = format!("{dtype} {shape:?} {order:?} {casting} to {}", U::dtype());
            match (OpenOptions::new().read_ndarray_as::<U, IxDyn>(&path, casting), expected) {
                (Ok(found), Ok(expected)) => {
                    // Not `==`: some of the numbers are NaN.
                    let [found_text, expected_text] = [&found, &expected]
                        .map(|array| format!("{:?}", array.iter().collect::<Vec<_>>()));
                    assert_eq!(found_text, expected_text, "{what}");
                    assert_eq!(found.shape(), shape, "{what}");
                }
                (Err(found), Err(expected)) => {
                    assert_eq!(found.kind(), expected.kind(), "{what}: {found}, {expected}");
                }
                (found, expected) => panic!("{what}: {found:?}, {expected:?}"),
            }
        }
    }
}

#[test]
fn files_are_read_and_cast_as_views_are() {
    for dtype in ["|b1", "|i1", "<u2", ">i4", "<i8", "<f2", ">f4", "<f8", ">c8", "<c16", "|S3"] {
        for shape in [&[][..], &[7], &[0], &[3, 4], &[2, 0, 3]] {
            reads_as::<f64>(dtype, shape);
            reads_as::<f32>(dtype, shape);
            reads_as::<u8>(dtype, shape);
            reads_as::<i64>(dtype, shape);
        }
    }
    // More than one block.
    reads_as::<f64>("<u2", &[300, 201]);
}

#[test]
fn a_cast_while_reading_is_checked_like_every_other() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    WriteOptions::new()
        .write(&path, &Array2::from_shape_fn((300, 100), |(i, j)| (i * 100 + j) as i32))
        .unwrap();
    let wide: Array2<f64> = OpenOptions::new().read_ndarray_as(&path, Casting::Safe).unwrap();
    assert_eq!(wide[[299, 99]], 29999.0);
    let error = OpenOptions::new().read_ndarray_as::<f32, Ix2>(&path, Casting::Safe).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "allow it with casting `same_kind`"));
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    let error =
        OpenOptions::new().read_ndarray_as::<u8, Ix2>(&path, Casting::SameValue).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidValue, "256"), "{error}");
    let error = OpenOptions::new().read_ndarray_as::<f64, Ix1>(&path, Casting::Safe).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, "asked for 1: use `Ix2`"), "{error}");
    let raw = RawSpec::new(DType::of::<i32>()).shape(&[2]).offset(128);
    let part: Array1<i64> =
        OpenOptions::new().raw(raw).read_ndarray_as(&path, Casting::Safe).unwrap();
    assert_eq!(part.to_vec(), [0, 1]);
    std::fs::File::options().write(true).open(&path).unwrap().set_len(5000).unwrap();
    let error = OpenOptions::new().read_ndarray_as::<f64, Ix2>(&path, Casting::Safe).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
}

#[test]
fn text_is_not_cast_while_reading() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|S3", &[1], Order::C, b"1.5"));
    let error = OpenOptions::new().read_ndarray_as::<f64, Ix1>(&path, Casting::Unsafe).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "only numbers can be cast"), "{error}");
}

#[cfg(feature = "npz")]
fn read<D: npymap::source::Mapping, T: Element, N: npymap::ndarray::Dimension>(
    npz: &npymap::Npz<D>,
    name: &str,
) -> npymap::Result<npymap::ndarray::Array<T, N>> {
    npz.member(name)?.read_ndarray()
}

#[cfg(feature = "npz")]
#[test]
fn members_are_read_from_every_source_stored_and_deflated() {
    use npymap::ndarray::{Ix0, ShapeBuilder as _};
    use npymap::{Npz, Source, npz};
    let directory = directory();
    let stored = directory.path().join("stored.npz");
    let deflated = directory.path().join("deflated.npz");
    let table = Array2::from_shape_fn((400, 30), |(i, j)| (i * j) as f64);
    let columns = Array2::from_shape_fn((400, 30).f(), |index| table[index]);
    let none = Array1::<u16>::zeros(0);
    let scalar = npymap::ndarray::arr0(0.5_f32);
    let text = Array1::from(vec![npymap::element::Bytes::<3>::new(b"abc").unwrap()]);
    let members: [(&str, &dyn npymap::write::Save); 5] = [
        ("table", &table),
        ("columns", &columns),
        ("none", &none),
        ("scalar", &scalar),
        ("text", &text),
    ];
    npz::savez(&stored, &members).unwrap();
    crate::support::savez_deflated(&deflated, &members);
    for path in [&stored, &deflated] {
        fn check<D: npymap::source::Mapping>(npz: &Npz<D>, table: &Array2<f64>) {
            assert_eq!(read::<_, f64, Ix2>(npz, "table").unwrap(), table);
            let columns: Array2<f64> = npz.member("columns.npy").unwrap().read_ndarray().unwrap();
            assert!(columns == table && columns.t().is_standard_layout());
            assert_eq!(read::<_, u16, Ix1>(npz, "none").unwrap().len(), 0);
            assert_eq!(read::<_, f32, Ix0>(npz, "scalar").unwrap().into_scalar(), 0.5);
            assert_eq!(read::<_, String, Ix1>(npz, "text").unwrap()[0], "abc");
            let error = read::<_, f64, Ix1>(npz, "table").unwrap_err();
            let what = "[table]: shape (400, 30) has 2 axes, asked for 1: use `Ix2`";
            assert!(is_error(&error, ErrorKind::ShapeMismatch, what), "{error}");
            let error = read::<_, f32, Ix2>(npz, "table").unwrap_err();
            assert!(is_error(&error, ErrorKind::DTypeMismatch, "asked for `f32`"), "{error}");
            assert_eq!(read::<_, f64, Ix2>(npz, "x").unwrap_err().kind(), ErrorKind::NotFound);
        }
        check(&Npz::open(Source::open(path).unwrap()).unwrap(), &table);
        check(&Npz::open(Source::bytes(std::fs::read(path).unwrap())).unwrap(), &table);
        #[cfg(not(target_family = "wasm"))]
        check(&Npz::open(crate::support::map(path).unwrap()).unwrap(), &table);
    }
    let npz = npz::NpzOptions::new().max_inflated(1000);
    let error = npz.open(Source::open(&deflated).unwrap()).unwrap();
    let error = read::<_, f64, Ix2>(&error, "table").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);

    let mut bytes = std::fs::read(&stored).unwrap();
    // Written in the byte order of the machine.
    let last: f64 = table[[399, 29]];
    let last = if cfg!(target_endian = "big") { last.to_be_bytes() } else { last.to_le_bytes() };
    let at = bytes.windows(8).position(|window| window == last).unwrap();
    bytes[at] ^= 1;
    let npz = Npz::open(Source::bytes(bytes)).unwrap();
    let error = read::<_, f64, Ix2>(&npz, "table").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

/// The last axis as arrays of `N` has the numbers of the view.
fn arrays_of<T: Element + Copy + PartialEq + Debug, const N: usize>(view: &View<'_, T>) {
    if view.shape().last() != Some(&N) {
        return;
    }
    let arrays = view.as_arrays::<N>().unwrap();
    assert_eq!(arrays.shape(), &view.shape()[..view.ndim() - 1]);
    assert_eq!(arrays.len() * N, view.len());
    assert_eq!(arrays.to_vec().concat(), view.to_vec());
    assert_eq!(arrays.iter().collect::<Vec<_>>().concat(), view.to_vec());
}

#[test]
fn the_last_axis_is_viewed_as_arrays() {
    for (dtype, len) in ["<f4", ">f4", "<i8", ">i8", "|u1", "<i2", ">i2", ">f2"]
        .into_iter()
        .flat_map(|dtype| [2, 3, 4, 8].map(|len| (dtype, len)))
    {
        for shape in [&[len][..], &[5, len], &[0, len], &[2, 5, len], &[2, 0, len]] {
            let mut array = MappedArray::zeros(&dtype.parse().unwrap(), shape).unwrap();
            npymap::with_type!(array.dtype().clone(), number T => {
                let mut numbers = 0_u8;
                let mapped = array.view_mut::<T>().unwrap().map_inplace(|_| {
                    numbers += 1;
                    npymap::element::Number::cast(numbers)
                });
                mapped.unwrap();
                let view = array.view::<T>().unwrap();
                let last = view.ndim() - 1;
                for view in [
                    view.clone(),
                    view.slice(&s![..;-1, ..].as_ref()[..last]).unwrap(),
                    view.slice(&s![..;2, ..;3].as_ref()[..last]).unwrap(),
                ] {
                    arrays_of::<T, 2>(&view);
                    arrays_of::<T, 3>(&view);
                    arrays_of::<T, 4>(&view);
                    arrays_of::<T, 8>(&view);
                }
            }, _ => unreachable!());
        }
    }
}

#[test]
fn points_are_borrowed_and_written_as_arrays() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy(&native("f4"), &[4, 3], Order::C, &[0; 48]));
    let mut array = open_mut(&path).unwrap();
    let points: &mut [[f32; 3]] =
        array.view_mut().unwrap().into_arrays().unwrap().into_slice().unwrap();
    points[2] = [1.0, 2.0, 3.0];
    array.view_mut::<f32>().unwrap().into_arrays::<3>().unwrap().set(0, [0.5; 3]).unwrap();
    let again = open(&path).unwrap();
    let error = again.view::<[f32; 3]>().unwrap_err();
    let advice = "asked for `[f32; 3]`: use `f32` and then `View::as_arrays`";
    assert_eq!(error.message().to_string(), format!("stored as '{}', {advice}", native("f4")));
    let points: &[[f32; 3]] = again.view().unwrap().as_arrays().unwrap().as_slice().unwrap();
    assert_eq!(points, [[0.5; 3], [0.0; 3], [1.0, 2.0, 3.0], [0.0; 3]]);
    let nested = again.view::<f32>().unwrap().reshape(&[2, 2, 3]).unwrap();
    let nested = nested.as_arrays::<3>().unwrap().as_arrays::<2>().unwrap();
    assert_eq!(nested.as_slice().unwrap()[1][0], [1.0, 2.0, 3.0]);
    let big = MappedArray::zeros(&">f4".parse().unwrap(), &[2, 3]).unwrap();
    let big: &[[Be<f32>; 3]] = big.view().unwrap().as_arrays().unwrap().as_slice().unwrap();
    assert_eq!(big.len(), 2);
    let ndarray = again.view::<f32>().unwrap().as_arrays::<3>().unwrap();
    assert_eq!(ndarray.as_ndarray::<Ix1>().unwrap()[2], [1.0, 2.0, 3.0]);
}

#[test]
fn a_last_axis_that_is_no_array_is_refused() {
    let array = MappedArray::zeros(&DType::of::<f32>(), &[5, 4]).unwrap();
    let view = array.view::<f32>().unwrap();
    let what = "the last axis of shape (5, 4) cannot be viewed as arrays of 3: its length differs";
    let error = view.as_arrays::<3>().unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, what), "{error}");
    let what = "arrays of 5: it is not contiguous, copy to C order first";
    let error = view.t().as_arrays::<5>().unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, what), "{error}");
    let error = view.slice(s![0, 0]).unwrap().as_arrays::<1>().unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, "there is no last axis"), "{error}");
    assert!(view.slice(s![.., ..;-1]).unwrap().as_arrays::<4>().is_err());
    assert!(view.slice(s![.., 1..2]).unwrap().as_arrays::<1>().is_ok());
}

#[test]
fn arrays_of_length_0_have_no_bytes() {
    let array = MappedArray::zeros(&DType::of::<f32>(), &[5, 0]).unwrap();
    let view = array.view::<f32>().unwrap();
    for arrays in
        [view.as_arrays::<0>().unwrap(), view.slice(s![3.., ..]).unwrap().as_arrays().unwrap()]
    {
        assert_eq!(arrays.to_vec().len(), arrays.len());
        assert_eq!(arrays.at(arrays.len() - 1), [0.0_f32; 0]);
        assert_eq!(arrays.as_slice().unwrap().len(), arrays.len());
        assert_eq!(arrays.iter().count(), arrays.len());
    }
    assert_eq!(view.as_arrays::<0>().unwrap().len(), 5);
}
