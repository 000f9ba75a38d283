//! Arrays of which parts are in memory while they are read or written.

use std::convert::Infallible;

use npymap::view::{DynView, ResolvedIndex};
use npymap::{DType, IndexExpr, MappedArray, Source};

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
    let (all, outline) = (array.dyn_view().unwrap(), stored.outline().unwrap());
    for slice in [":, ::4, :3", "::-1, 1::7, 5", "::9", "::40, 7, ::-1", "3:, ::100, 63"] {
        let index: IndexExpr = slice.parse().unwrap();
        let ResolvedIndex { slices, .. } = index.resolve(all.shape()).unwrap();
        let [expected, own] = [&all, &outline].map(|all| all.try_slice(&slices).unwrap());
        for (expected, own) in [(expected.clone(), own.clone()), (expected.t(), own.t())] {
            assert_eq!(bytes(&stored.window(&own).unwrap().view()), bytes(&expected), "{slice}");
        }
    }
    let swapped = outline.slice(s![.., 5..8, ..]).permuted_axes(&[1, 2, 0]).unwrap();
    let expected = all.slice(s![.., 5..8, ..]).permuted_axes(&[1, 2, 0]).unwrap();
    assert_eq!(bytes(&stored.window(&swapped).unwrap().view()), bytes(&expected));
}
