//! What `tests/views.rs`, `tests/views_mut.rs` and `tests/inplace.rs` check, for all types of
//! elements.

use proptest::prelude::*;

use crate::inplace::{OTHER_SCALARS, OTHER_STRUCTS, SCALARS, STRUCTS, check};
use crate::inplace_types::all_rows;
use crate::model::{specs, visit_other};
use crate::support::rounds;
use crate::{views, views_mut};

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(3000), failure_persistence: None, ..Default::default() })]

    #[test]
    fn views_read_the_same_elements_as_ndarray(spec in specs()) {
        visit_other(spec.case, &mut views::Reading(&spec));
    }

    #[test]
    fn views_write_to_the_same_elements_as_ndarray(spec in specs()) {
        visit_other(spec.case, &mut views_mut::Writing(&spec));
    }
}

#[test]
fn elements_are_borrowed_exactly_as_their_type() {
    let (scalars, structs) = ([SCALARS, OTHER_SCALARS].concat(), [STRUCTS, OTHER_STRUCTS].concat());
    check(&scalars, &structs, &all_rows());
}
