//! Arrays of which parts are in memory while they are read or written.

use std::convert::Infallible;

use npymap::element::Casting;
use npymap::ndarray::s;
use npymap::view::{DynView, ResolvedIndex};
use npymap::{DType, IndexExpr, MappedArray, Source, Value};

use crate::support::directory;

fn bytes(view: &DynView<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(()) = view.byte_blocks().try_for_each(|block| {
        bytes.extend_from_slice(block);
        Ok::<(), Infallible>(())
    });
    bytes
}

/// Longer than what is mapped at once, so that it is copied, or read one by one.
#[test]
fn windows_have_the_elements_of_views() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let mut array = MappedArray::zeros(&DType::of::<u16>(), &[160, 1024, 64]).unwrap();
    let all = array.as_slice_mut::<u16>().unwrap();
    all.iter_mut().zip(0_u32..).for_each(|(number, at)| *number = (at / 3) as u16);
    npymap::WriteOptions::new().write(&path, &array).unwrap();
    let source = Source::open(&path).unwrap().into_read_only().on_demand();
    let stored = MappedArray::from_source(source).unwrap();
    let (all, outline) = (array.dyn_view().unwrap(), stored.outline());
    for slice in [":, ::4, :3", "::-1, 1::7, 5", "::9", "::40, 7, ::-1", "3:, ::100, 63"] {
        let index: IndexExpr = slice.parse().unwrap();
        let ResolvedIndex { slices, .. } = index.resolve(all.shape()).unwrap();
        let expected = all.slice(&slices).unwrap();
        let own = outline.slice(&slices).unwrap();
        for (expected, own) in [(expected.clone(), own.clone()), (expected.t(), own.t())] {
            assert_eq!(bytes(&stored.window(&own).unwrap().view()), bytes(&expected), "{slice}");
        }
    }
    let swapped = outline.slice(s![.., 5..8, ..]).unwrap().permuted_axes(&[1, 2, 0]).unwrap();
    let expected = all.slice(s![.., 5..8, ..]).unwrap().permuted_axes(&[1, 2, 0]).unwrap();
    assert_eq!(bytes(&stored.window(&swapped).unwrap().view()), bytes(&expected));
}

/// More elements than are written one by one.
#[test]
#[cfg(not(target_family = "wasm"))]
fn scattered_elements_are_stored_in_parts_of_a_file() {
    const ROWS: usize = 5000;
    let directory = directory();
    let path = directory.path().join("a.npy");
    let dtype: DType = "[('x', '<i4'), ('y', '<f8'), ('rest', 'V4084')]".parse().unwrap();
    let mut array = MappedArray::zeros(&dtype, &[ROWS]).unwrap();
    array.as_bytes_mut().unwrap().fill(7);
    npymap::WriteOptions::new().write(&path, &array).unwrap();
    // SAFETY: nobody else knows of the file.
    let source = unsafe { Source::map_mut(&path).unwrap() }.write_only();
    let mut file: MappedArray<_> = npymap::OpenOptions::new().open(source).unwrap();
    let mut numbers = MappedArray::zeros(&DType::of::<f64>(), &[ROWS]).unwrap();
    let values = numbers.as_slice_mut::<f64>().unwrap();
    values.iter_mut().zip(0_u16..).for_each(|(value, at)| *value = at.into());
    let numbers = numbers.dyn_view().unwrap();
    assert_eq!(file.write_fill_slice(s![..;-1], Some("x"), &-5).unwrap(), ROWS);
    assert_eq!(file.write_slice([], Some("y"), &numbers, Casting::Equiv).unwrap(), ROWS);
    let view = array.dyn_view_mut().unwrap();
    view.into_field("x").unwrap().fill(&Value::Int(-5)).unwrap();
    let view = array.dyn_view_mut().unwrap();
    view.into_field("y").unwrap().assign_as(&numbers, Casting::Equiv).unwrap();
    file.close().unwrap();
    let found = MappedArray::load(&path).unwrap();
    assert!(found.as_bytes().unwrap() == array.as_bytes().unwrap());
}
