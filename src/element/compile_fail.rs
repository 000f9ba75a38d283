//! Records that the compiler must reject. The derive's own tests cover structs
//! that it rejects itself.
//!
//! The first record compiles. Each of the others differs from it in one point.
//!
//! ```
//! use npymap::{Record, bytemuck::{Pod, Zeroable}, element::{Pad, Ticks}};
//!
//! #[derive(Clone, Copy, Pod, Zeroable, Record)]
//! #[record(in_place)]
//! #[repr(C)]
//! struct Row {
//!     #[record(dtype = "<M8[s]")]
//!     at: Ticks,
//!     x: f32,
//!     pad: Pad<4>,
//! }
//! ```
//!
//! Implicit padding:
//!
//! ```compile_fail
//! use npymap::{Record, bytemuck::{Pod, Zeroable}, element::{Pad, Ticks}};
//!
//! #[derive(Clone, Copy, Pod, Zeroable, Record)]
//! #[record(in_place)]
//! #[repr(C)]
//! struct Row {
//!     #[record(dtype = "<M8[s]")]
//!     at: Ticks,
//!     x: f32,
//! }
//! ```
//!
//! A date without a unit:
//!
//! ```compile_fail
//! use npymap::{Record, bytemuck::{Pod, Zeroable}, element::{Pad, Ticks}};
//!
//! #[derive(Clone, Copy, Pod, Zeroable, Record)]
//! #[record(in_place)]
//! #[repr(C)]
//! struct Row {
//!     at: Ticks,
//!     x: f32,
//!     pad: Pad<4>,
//! }
//! ```
//!
//! Not `Pod`:
//!
//! ```compile_fail
//! use npymap::{Record, bytemuck::{Pod, Zeroable}, element::{Pad, Ticks}};
//!
//! #[derive(Clone, Copy, Zeroable, Record)]
//! #[record(in_place)]
//! #[repr(C)]
//! struct Row {
//!     #[record(dtype = "<M8[s]")]
//!     at: Ticks,
//!     x: f32,
//!     pad: Pad<4>,
//! }
//! ```
//!
//! A field that is not `Pod`:
//!
//! ```compile_fail
//! use npymap::{Record, bytemuck::{Pod, Zeroable}, element::{Pad, Ticks}};
//!
//! #[derive(Clone, Copy, Pod, Zeroable, Record)]
//! #[record(in_place)]
//! #[repr(C)]
//! struct Row {
//!     #[record(dtype = "<M8[s]")]
//!     at: Ticks,
//!     x: f32,
//!     flag: bool,
//!     pad: Pad<3>,
//! }
//! ```
//!
//! A field that is not an element:
//!
//! ```compile_fail
//! use npymap::Record;
//!
//! #[derive(Record)]
//! struct Row {
//!     x: f32,
//!     path: std::path::PathBuf,
//! }
//! ```
