//! Complete files: those that open are read and written in every way.

use std::fmt::Debug;

use npymap::half::f16;
use npymap::ndarray::{ArrayD, IxDyn, s};
use npymap::num_complex::Complex;
use npymap::{
    Be, DType, Element, Le, MappedArray, OpenOptions, Value,
    element::{Bool, InPlace, Ticks},
    view::DynView,
};

/// The number of elements that are read.
const MAX_ELEMENTS: usize = 500;

/// Interprets the bytes as a `.npy` file.
pub(crate) fn npy(data: &[u8]) {
    let array = match MappedArray::from_bytes(data) {
        Ok(array) => array,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let layout = array.layout().clone();
    assert!((layout.offset() + layout.nbytes()) <= data.len());
    read_view(&array.dyn_view().unwrap(), 0);
    if array.len() <= MAX_ELEMENTS {
        let _ = OpenOptions::new().read_ndarray_from::<f64, IxDyn>(data);
        let _ = OpenOptions::new().read_ndarray_from::<String, IxDyn>(data);
        if let Ok(values) = OpenOptions::new().read_ndarray_from::<Value, IxDyn>(data) {
            assert_eq!(values.shape(), array.shape());
        }
    }
    write_back(data);
}

/// Reads a view in all ways, and its fields.
fn read_view(view: &DynView<'_>, depth: usize) {
    read_as_all_types(view);
    reshape_view(view);
    let values: Vec<String> =
        view.iter().take(MAX_ELEMENTS).map(|value| value.to_string()).collect();
    assert_eq!(values.len(), view.len().min(MAX_ELEMENTS));
    if depth < 4 {
        for field in view.dtype().fields().iter().take(8) {
            if let Ok(part) = view.getfield(&field.dtype, field.offset) {
                read_as_all_types(&part);
            }
            if let Ok(part) = view.field(field.name()) {
                read_view(&part, depth + 1);
            }
        }
        let names: Vec<&str> =
            view.dtype().fields().iter().rev().map(npymap::dtype::Field::name).collect();
        if let Ok(part) = view.fields(&names) {
            assert_eq!(part.shape(), view.shape());
        }
    }
}

/// Changes the geometry of a view in all ways.
fn reshape_view(view: &DynView<'_>) {
    let transposed = view.t();
    assert_eq!(transposed.len(), view.len());
    assert_eq!(transposed.t().shape(), view.shape());
    let _ = transposed.as_bytes();
    if view.ndim() > 0 {
        assert!(view.index_axis(0, view.shape()[0]).is_err());
        let (low, high) = view.split_at(0, view.shape()[0] / 2).unwrap();
        assert_eq!(low.len() + high.len(), view.len());
        let _ = view.outer_iter().take(3).map(|part| part.len()).sum::<usize>();
        for part in view.axis_chunks(0, 2).unwrap().take(3) {
            assert_eq!(part.ndim(), view.ndim());
        }
        let reversed = view.slice(s![..;-1, ..].as_ref().get(..1).unwrap()).unwrap();
        assert_eq!(reversed.len(), view.len());
        if let Some(last) = reversed.iter().next() {
            let first = reversed.len() / view.shape()[0];
            assert_eq!(
                last.to_string(),
                view.index_axis(0, view.shape()[0] - 1).unwrap().iter().next().unwrap().to_string(),
                "{first}"
            );
        }
    }
    if let Ok(flat) = view.reshape(&[view.len()]) {
        assert_eq!(flat.ndim(), 1);
        if view.len() <= MAX_ELEMENTS {
            assert_eq!(texts(&flat), texts(view));
        }
    }
    if view.len() <= MAX_ELEMENTS {
        let (mut count, mut blocks) = (0, view.blocks());
        while let Some(block) = blocks.next() {
            count += block.len();
        }
        assert_eq!(count, view.len());
        assert_eq!(view.to_vec().len(), view.len());
        assert_eq!(view.to_ndarray::<IxDyn>().unwrap().shape(), view.shape());
        assert_eq!(texts(&transposed.t()), texts(view));
    }
}

fn texts(view: &DynView<'_>) -> Vec<String> {
    view.iter().map(|value| value.to_string()).collect()
}

/// Reads a view as elements of all types; those that work agree.
fn read_as_all_types(view: &DynView<'_>) {
    macro_rules! decoded { ($($type:ty),*) => { $(decode::<$type>(view);)* } }
    macro_rules! in_place { ($($type:ty),*) => { $(decode::<$type>(view); borrow::<$type>(view);)* } }
    decoded!(bool, String, Value, (u8, f32), [f64; 2], [[i16; 2]; 2], npymap::element::DateTime64);
    in_place!(Bool, u8, i8, i16, u32, i64, f16, f32, f64, Complex<f32>, Complex<f64>, Ticks);
    in_place!(
        Le<u16>,
        Be<u16>,
        Le<f64>,
        Be<f64>,
        Be<Complex<f64>>,
        [u8; 0],
        [u8; 1],
        [u8; 4],
        [u8; 8]
    );
    for dtype in ["|u1", "<u2", ">f8", "|V3", "('|u1', (2,))", "|S0"] {
        let dtype: DType = dtype.parse().unwrap();
        if let Ok(other) = view.view_as(&dtype) {
            assert!(other.iter().take(MAX_ELEMENTS).count() <= other.len());
        }
    }
    let _ = view.imag().map(|imag| imag.len());
    let _ = view.real().len();
}

/// Decodes the elements as `T`, if possible.
fn decode<T: Element + Debug + Clone>(view: &DynView<'_>) {
    let Ok(view) = view.view::<T>() else { return };
    let count = view.iter().take(MAX_ELEMENTS).count();
    assert_eq!(count, view.len().min(MAX_ELEMENTS));
    if view.len() <= MAX_ELEMENTS {
        let looped: Vec<T> = view.iter().collect();
        let folded = view.iter().fold(Vec::new(), |mut all, value| {
            all.push(value);
            all
        });
        let copied = view.to_vec();
        assert_eq!(format!("{looped:?}"), format!("{folded:?}"));
        assert_eq!(format!("{looped:?}"), format!("{copied:?}"));
        let array: ArrayD<T> = view.to_ndarray().unwrap();
        assert_eq!(format!("{:?}", array.iter().collect::<Vec<_>>()), format!("{looped:?}"));
        let transposed: ArrayD<T> = view.t().to_ndarray().unwrap();
        let transposed = transposed.reversed_axes();
        assert_eq!(format!("{:?}", transposed.iter().collect::<Vec<_>>()), format!("{looped:?}"));
    }
}

/// Borrows the elements in place as `T`, if possible.
fn borrow<T: InPlace + Debug>(view: &DynView<'_>) {
    let Ok(view) = view.view::<T>() else { return };
    if let Ok(slice) = view.as_slice() {
        assert_eq!(slice.len(), view.len());
        if slice.len() <= MAX_ELEMENTS {
            assert_eq!(format!("{slice:?}"), format!("{:?}", view.to_vec()));
        }
    }
    if let Ok(array) = view.as_ndarray::<IxDyn>() {
        assert_eq!(array.shape(), view.shape());
        if view.len() <= MAX_ELEMENTS {
            let values: Vec<_> = array.iter().collect();
            assert_eq!(format!("{values:?}"), format!("{:?}", view.to_vec()));
        }
    }
}

/// Stores every element in its own place, which changes nothing.
fn write_back(data: &[u8]) {
    let mut copy = data.to_vec();
    let mut array = MappedArray::from_bytes(&mut *copy).unwrap();
    if array.len() > MAX_ELEMENTS {
        return;
    }
    let layout = array.layout().clone();
    let before = MappedArray::from_parts(data, layout).unwrap();
    let before = texts(&before.dyn_view().unwrap());
    let mut view = array.dyn_view_mut().unwrap();
    let stored = view.map_inplace(|value| value);
    if let Ok(()) = stored {
        assert_eq!(texts(&view.as_view()), before);
    }
    if let Some(value) = view.as_view().iter().next() {
        if view.fill(&value).is_ok() {
            let all = texts(&view.as_view());
            assert!(all.iter().all(|text| *text == before[0]), "{all:?} of {}", before[0]);
        }
    }
    let end = array.layout().offset() + array.layout().nbytes();
    let start = array.layout().offset();
    drop(array);
    assert_eq!((&copy[..start], &copy[end..]), (&data[..start], &data[end..]));
}
