//! Misuse of arrays and views that the compiler rejects, and the types that are
//! `Send` and `Sync`.
//!
//! Each example fails with the error it names. This one compiles:
//!
//! ```
//! let mut array = npymap::MappedArray::zeros(&"<f8".parse()?, &[4])?;
//! array.as_slice_mut::<f64>()?[0] = 1.0;
//! let view = array.view::<f64>()?;
//! let again = array.view::<f64>()?;
//! assert_eq!(view.at(0), again.at(0));
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Writing through a read-only array:
//!
//! ```compile_fail,E0599
//! let array = npymap::MappedArray::zeros(&"<f8".parse()?, &[4])?.into_read_only()?;
//! let mut array = array;
//! array.as_slice_mut::<f64>()?[0] = 1.0;
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! A view that outlives its array:
//!
//! ```compile_fail,E0505
//! let array = npymap::MappedArray::zeros(&"<f8".parse()?, &[4])?;
//! let view = array.view::<f64>()?;
//! drop(array);
//! view.at(0);
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Two mutable views at once:
//!
//! ```compile_fail,E0499
//! let mut array = npymap::MappedArray::zeros(&"<f8".parse()?, &[4])?;
//! let mut one = array.view_mut::<f64>()?;
//! let mut other = array.view_mut::<f64>()?;
//! one.set(0, 1.0)?;
//! other.set(0, 2.0)?;
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Reading elements while they are mutably borrowed:
//!
//! ```compile_fail,E0502
//! let mut array = npymap::MappedArray::zeros(&"<f8".parse()?, &[4])?;
//! let elements = array.as_slice_mut::<f64>()?;
//! let view = array.view::<f64>()?;
//! elements[0] = view.at(1);
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Mapping a file outside an `unsafe` block:
//!
//! ```compile_fail,E0133
//! let array = npymap::MappedArray::open("data/penguins.npy")?;
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Arrays and views can be sent to other threads and shared between them:
//!
//! ```
//! use npymap::view::{Blocks, DynView};
//! use npymap::*;
//!
//! fn assert_send_sync<T: Send + Sync>() {}
//! assert_send_sync::<MappedArray>();
//! assert_send_sync::<MappedArrayMut>();
//! assert_send_sync::<View<'_, f64>>();
//! assert_send_sync::<ViewMut<'_, String>>();
//! assert_send_sync::<DynView<'_>>();
//! assert_send_sync::<Blocks<'_, f32>>();
//! assert_send_sync::<Rows>();
//! assert_send_sync::<ArrayFile>();
//! assert_send_sync::<Appender>();
//! assert_send_sync::<DType>();
//! assert_send_sync::<Error>();
//! ```
