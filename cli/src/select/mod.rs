//! Which part of an array: indices and conditions, and casts of what they select.

pub(crate) mod axis_arg;
pub(crate) mod bfloat16;
pub(crate) mod cast;
pub(crate) mod edited;
pub(crate) mod fields;
pub(crate) mod filter;
pub(crate) mod layout_args;
pub(crate) mod leaf_fields;
pub(crate) mod limits;
pub(crate) mod matching;
pub(crate) mod new_value;
pub(crate) mod origins;
pub(crate) mod rows;
pub(crate) mod selection;
pub(crate) mod set_matching;
