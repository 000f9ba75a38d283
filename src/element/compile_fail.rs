//! Records the compiler refuses. What the derive refuses itself, its own
//! tests hold.
//!
//! The first is one it takes; each other one differs in one thing.
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
//! Padding that has no name:
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
//! A date whose unit nobody says:
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
//! No promise that any bytes are values:
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
//! A field of which not all bytes are values:
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
//! A field that is no element:
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
