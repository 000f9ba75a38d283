//! Writers whose system calls fail, that are killed at each of them, and whose
//! machine loses power at each of them.
//!
//! The program, and the library in processes of this test program, run under
//! `ptrace`. Only calls about files in the directory of a test count.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    unsafe_code,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

mod calls;
mod faults;
mod kills;
mod power;
mod refusals;
mod roles;
mod scene;
mod trace;
