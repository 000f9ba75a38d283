//! The commands, one file each: they parse arguments, call the rest and print.

pub(crate) mod append;
pub(crate) mod completions;
pub(crate) mod concat;
pub(crate) mod convert;
pub(crate) mod create;
pub(crate) mod diff;
pub(crate) mod get;
pub(crate) mod head;
pub(crate) mod header;
pub(crate) mod info;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod npz_add;
pub(crate) mod npz_extract;
pub(crate) mod npz_members;
pub(crate) mod npz_pack;
pub(crate) mod npz_recover;
pub(crate) mod npz_verify;
pub(crate) mod recover;
pub(crate) mod sample;
pub(crate) mod set;
pub(crate) mod show;
pub(crate) mod shuffle;
pub(crate) mod stats;
pub(crate) mod tail;
