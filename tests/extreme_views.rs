//! Views with extreme shapes, steps and repetitions give an error or the right
//! elements, and never panic.

use npymap::ndarray::{IxDyn, SliceInfoElem};
use npymap::{
    DType, ErrorKind, MappedArray, Order, View,
    layout::Layout,
    loader::{Concat, Ragged, RowSource, Windows},
    view::DynView,
};

use crate::support::is_error;

fn view<'a>(bytes: &'a [u8], dtype: &str, shape: &[usize]) -> View<'a, u8> {
    View::from_bytes(bytes, &Layout::new(dtype.parse().unwrap(), shape, Order::C, 0).unwrap())
        .unwrap()
}

#[test]
fn empty_shapes_with_too_many_elements_are_rejected() {
    let empty = view(&[], "|u1", &[0]);
    assert!(empty.reshape(&[0, 1 << 32, 1 << 32]).is_err());
    assert!(empty.reshape(&[0; 65]).is_err());
    assert!(empty.reshape(&[usize::MAX, 0]).is_err());
    let one = view(&[7], "|u1", &[1]);
    assert!(one.broadcast(&[1; 65]).is_err());
    assert!(one.reshape(&[1; 65]).is_err());
    assert!(one.slice([SliceInfoElem::NewAxis; 64]).is_err());
    assert_eq!(one.slice([SliceInfoElem::NewAxis; 63]).unwrap().ndim(), 64);
}

#[test]
fn copies_of_shapes_with_too_many_elements_are_rejected() {
    let empty = view(&[], "|u1", &[0, 1 << 62, 1]);
    assert!(empty.select(2, &[0_usize; 3]).is_err());
    assert_eq!(empty.select(2, &[0_usize]).unwrap().shape(), [0, 1 << 62, 1]);
}

/// Random numbers, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

const DIMS: [usize; 9] = [0, 1, 1, 2, 3, 4, 1 << 31, 1 << (usize::BITS - 3), usize::MAX];

const STEPS: [isize; 9] = [1, 1, -1, 2, -2, isize::MAX, -isize::MAX, isize::MIN, 1 << 30];

fn shape(chance: &mut Chance, ndim: usize) -> Vec<usize> {
    (0..ndim).map(|_| chance.of(&DIMS)).collect()
}

fn slices(chance: &mut Chance, shape: &[usize]) -> Vec<SliceInfoElem> {
    let mut info = Vec::new();
    for &dim in shape {
        let dim = isize::try_from(dim).unwrap();
        info.push(match chance.below(5) {
            0 => SliceInfoElem::NewAxis,
            1 => SliceInfoElem::Index(chance.of(&[0, -1, dim / 2])),
            _ => {
                let start = chance.of(&[0, 0, dim / 2, dim, -dim]);
                let end = chance.of(&[None, None, Some(dim), Some(dim / 2), Some(0)]);
                SliceInfoElem::Slice { start, end, step: chance.of(&STEPS) }
            }
        });
    }
    info.truncate(shape.len());
    info
}

/// A view derived from another, or the same one if that was an error.
fn changed<'a>(view: DynView<'a>, chance: &mut Chance) -> DynView<'a> {
    let own = view.shape().to_vec();
    let axis = chance.below(own.len() + 1);
    let made = match chance.below(9) {
        0 | 1 => view.slice(slices(chance, &own)),
        2 => {
            let added = chance.below(3);
            let mut to = shape(chance, added);
            to.extend(own.iter().map(|&dim| if dim == 1 { chance.of(&DIMS) } else { dim }));
            view.broadcast(&to)
        }
        3 => {
            let ndim = chance.below(4);
            view.reshape(&shape(chance, ndim))
        }
        4 => {
            let mut to = own.clone();
            to.push(1);
            to.rotate_right(chance.below(3).min(own.len()));
            view.reshape(&to)
        }
        5 => Ok(view.t()),
        6 => view.split_at(axis, chance.below(3)).map(|(_, high)| high),
        _ => {
            let dtype: DType = chance.of(&["|u1", "<u2", "|V3", "<u4"]).parse().unwrap();
            view.view_as(&dtype)
        }
    };
    made.unwrap_or(view)
}

/// All methods that read every element agree.
fn read(view: &DynView<'_>, chance: &mut Chance) {
    let (shape, axis) = (view.shape().to_vec(), chance.below(view.ndim() + 1));
    drop(view.view_as(&"|V1".parse().unwrap()));
    drop(view.select(axis, &[0_usize; 0]));
    drop(view.index_axis(axis, 0));
    drop(view.axis_chunks(axis, chance.of(&DIMS)).map(|mut chunks| chunks.next()));
    if view.len() > 4096 {
        return;
    }
    drop(view.select(axis, &[0_usize, 0]));
    let all = view.to_vec();
    assert_eq!(all.len(), view.len());
    assert!(view.iter().eq(all.iter().cloned()));
    assert_eq!(view.indexed_iter().count(), all.len());
    assert_eq!(view.iter().fold(0, |count, _| count + 1), all.len());
    assert_eq!(view.element_bytes().count(), all.len());
    let array = view.to_ndarray::<IxDyn>().unwrap();
    assert_eq!(array.shape(), shape);
    assert!(array.iter().eq(&all));
    if let Ok(numbers) = view.view::<u8>() {
        let lent = numbers.as_ndarray::<npymap::ndarray::IxDyn>().unwrap();
        assert!(lent.iter().copied().eq(numbers.iter()));
        let (mut count, mut blocks) = (0, numbers.blocks());
        while let Some(block) = blocks.next() {
            count += block.len();
        }
        assert_eq!(count, all.len());
        let sum = numbers.iter().map(f64::from).sum::<f64>();
        assert_eq!(numbers.sum(), sum);
        drop(numbers.as_slice());
        let others: Vec<_> = shape.iter().enumerate().filter(|(i, _)| *i != axis).collect();
        if others.iter().map(|(_, dim)| **dim as u128).product::<u128>() < 4096 {
            if let Ok(sums) = numbers.sum_axis(axis) {
                assert_eq!(sums.sum(), sum);
            }
        }
    }
}

#[test]
fn any_sequence_of_slices_broadcasts_and_reshapes_can_be_read() {
    let mut chance = Chance(7);
    let bytes: Vec<u8> = (0..=255).collect();
    for start in [&[4, 6, 2][..], &[48], &[0], &[3, 0, 5], &[0, 1 << 31], &[], &[1, 1]] {
        let layout = Layout::new("|u1".parse().unwrap(), start, Order::C, 5).unwrap();
        for _ in 0..100 {
            let mut view = DynView::from_bytes(&bytes, &layout).unwrap();
            for _ in 0..6 {
                view = changed(view, &mut chance);
                read(&view, &mut chance);
            }
        }
    }
}

#[test]
fn edits_of_zero_sized_elements_do_not_iterate_over_them() {
    for (dtype, shape) in [("|V0", &[1 << 62][..]), ("[]", &[10, 1 << 40])] {
        let layout = Layout::new(dtype.parse().unwrap(), shape, Order::C, 0).unwrap();
        let mut view = npymap::view::DynViewMut::from_bytes(&mut [], &layout).unwrap();
        view.map_inplace(|value| value).unwrap();
        let values = DynView::from_bytes(&[], &layout).unwrap();
        view.assign(&values).unwrap();
        let first = values.at(vec![0; shape.len()].as_slice());
        view.fill(&first).unwrap();
        view.assign_as(&values, npymap::element::Casting::No).unwrap();
        assert!(view.axis_chunks(shape.len() - 1, 1).is_err());
        let mut view = npymap::ViewMut::<[u8; 0]>::from_bytes(&mut [], &layout).unwrap();
        view.map_inplace(|value| value).unwrap();
        let values = View::<[u8; 0]>::from_bytes(&[], &layout).unwrap();
        view.assign(&values).unwrap();
        view.copy_from_slice(values.as_slice().unwrap()).unwrap();
        view.copy_from(values.as_ndarray::<npymap::ndarray::IxDyn>().unwrap()).unwrap();
        let mut out = vec![[0_u8; 0]; 4 * (values.len() / shape[0])];
        // At most 2^20 elements are copied.
        let taken = values.take(&[0_usize; 4], &mut out);
        assert_eq!(taken.is_ok(), out.len() == 4);
    }
}

/// The message that copying all elements panics with, if it does.
fn panic_of_copy<T: npymap::Element>(dtype: &str, shape: &[usize]) -> Option<String> {
    let layout = Layout::new(dtype.parse().unwrap(), shape, Order::C, 0).unwrap();
    let view = View::<T>::from_bytes(&[], &layout).unwrap();
    let copy = std::panic::AssertUnwindSafe(|| assert_eq!(view.to_vec().len(), view.len()));
    let array = view.to_ndarray::<IxDyn>().map(|array| array.len());
    let Err(panic) = std::panic::catch_unwind(copy) else {
        assert_eq!(array.unwrap(), view.len());
        return None;
    };
    assert_eq!(array.unwrap_err().kind(), npymap::ErrorKind::LimitExceeded);
    Some(panic.downcast_ref::<String>().unwrap().clone())
}

#[test]
fn at_most_a_million_elements_of_no_bytes_are_copied() {
    type Copy = fn(&str, &[usize]) -> Option<String>;
    let copies: [(&str, Copy); 4] = [
        ("|V0", panic_of_copy::<[u8; 0]>),
        ("('<f4', (0,))", panic_of_copy::<[f32; 0]>),
        ("|S0", panic_of_copy::<String>),
        ("[]", panic_of_copy::<npymap::Value>),
    ];
    for (dtype, panic_of) in copies {
        assert_eq!(panic_of(dtype, &[1 << 10, 1 << 10]), None, "{dtype}");
        for shape in [&[1 << 62][..], &[1 << 30, 1 << 32], &[(1 << 20) + 1]] {
            let panic = panic_of(dtype, shape).unwrap();
            assert!(panic.contains("at most 1048576 are read into memory"), "{dtype}: {panic}");
        }
    }
    let layout = Layout::new("|V0".parse().unwrap(), &[1 << 62], Order::C, 0).unwrap();
    let view = View::<[u8; 0]>::from_bytes(&[], &layout).unwrap();
    let slice: &[[u8; 0]] = view.as_slice().unwrap();
    assert_eq!(slice.len(), 1 << 62);
    let mut out = vec![[0_u8; 0]; slice.len()];
    view.copy_to_slice(&mut out).unwrap();
}

#[test]
fn a_value_that_does_not_fit_zero_sized_elements_is_rejected() {
    let layout = Layout::new("|V0".parse().unwrap(), &[1 << 62], Order::C, 0).unwrap();
    let mut view = npymap::view::DynViewMut::from_bytes(&mut [], &layout).unwrap();
    let layout = Layout::new("|u1".parse().unwrap(), &[1], Order::C, 0).unwrap();
    let values = DynView::from_bytes(&[1], &layout).unwrap().broadcast(&[1 << 62]).unwrap();
    assert!(view.assign(&values).is_err());
}

#[test]
fn types_nest_only_as_deep_as_they_can_be_printed_and_read() {
    let byte: DType = "|u1".parse().unwrap();
    let wraps: [fn(DType) -> npymap::Result<DType>; 3] = [
        |dtype| DType::array(dtype, &[1]),
        |dtype| DType::packed([("x", dtype)]),
        |dtype| DType::packed([("x", DType::array(dtype, &[1])?)]),
    ];
    for wrap in wraps {
        let mut dtype = byte.clone();
        let refused = loop {
            match wrap(dtype.clone()) {
                Ok(deeper) => dtype = deeper,
                Err(error) => break error,
            }
        };
        assert!(refused.to_string().contains("at most 199 nested brackets"), "{refused}");
        assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
        assert_eq!(dtype.with_byte_order(npymap::ByteOrder::Big), dtype);
        let layout = Layout::new(dtype, &[2], Order::C, 0).unwrap();
        let view = DynView::from_bytes(&[1, 2], &layout).unwrap();
        assert_ne!(view.at(0).to_string(), view.at(1).to_string());
    }
}

#[test]
fn windows_with_too_many_bytes_are_rejected() {
    let rows = MappedArray::zeros(&"|S4096".parse().unwrap(), &[8192]).unwrap();
    let mut rows = rows.into_read_only().unwrap().rows().unwrap();
    let mut source: Box<dyn RowSource> = Box::new(rows.clone());
    for len in [4096, 2048, 1024] {
        rows = rows.windows(len).unwrap();
        source = Box::new(Windows::new(source, len).unwrap());
    }
    for error in [rows.windows(512).unwrap_err(), Windows::new(source, 512).err().unwrap()] {
        assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
    }
}

#[test]
fn subarrays_without_elements_whose_strides_are_too_large_are_rejected() {
    let field = |shape: &str| {
        let dtype = format!("[('a', '<f8', {shape}), ('b', '<f8')]").parse().unwrap();
        let array = MappedArray::zeros(&dtype, &[2]).unwrap();
        array.dyn_view().unwrap().field("a").map(|view| view.byte_strides().to_vec())
    };
    assert_eq!(
        field("(0, 3, 2147483647)").unwrap()[1..],
        [8 * 3 * 0x7fff_ffff, 8 * 0x7fff_ffff, 8]
    );
    let error = field("(0, 2147483647, 2147483647)").unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
}

#[test]
fn rows_without_bytes_whose_offsets_are_too_large_are_rejected() {
    let data = MappedArray::zeros(&"|S0".parse().unwrap(), &[1 << 62]).unwrap();
    let mut offsets = MappedArray::zeros(&DType::of::<i64>(), &[2]).unwrap();
    offsets.view_mut::<i64>().unwrap().set(1, 1 << 62).unwrap();
    let [data, offsets] =
        [data, offsets].map(|array| array.into_read_only().unwrap().rows().unwrap());
    let ragged = Ragged::new(data, offsets).unwrap();
    assert_eq!(ragged.take_bytes(&[0; 3], &mut Vec::new()).unwrap()[3], 3 << 62);
    let error = ragged.take_bytes(&[0; 4], &mut Vec::new()).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
}

#[test]
fn stacked_arrays_with_too_many_rows_are_rejected() {
    let most = || MappedArray::zeros(&"|S0".parse().unwrap(), &[1 << 62]).unwrap();
    let most = || most().into_read_only().unwrap();
    assert_eq!(Concat::new([most()]).unwrap().row_count(), 1 << 62);
    let error = Concat::new([most(), most()]).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
}

#[test]
fn a_copy_that_no_memory_can_hold_panics_with_its_size() {
    let bytes = [7];
    let bytes = view(&bytes, "|u1", &[1]).broadcast(&[1 << 50]).unwrap();
    let copy = std::panic::AssertUnwindSafe(|| bytes.to_vec());
    let panic = std::panic::catch_unwind(copy).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert_eq!(text, "not enough memory for 1125899906842624 elements of 1 byte");
}
