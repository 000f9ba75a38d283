//! What the borrow checker refuses of arrays and views, and which types go to
//! other threads.
//!
//! Each is refused for the error it names, and taken without what is wrong:
//!
//! ```
//! let mut array = npymap::MappedArray::anonymous(&"<f8".parse()?, &[4])?;
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
//! let array = npymap::MappedArray::anonymous(&"<f8".parse()?, &[4])?.into_read_only()?;
//! let mut array = array;
//! array.as_slice_mut::<f64>()?[0] = 1.0;
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! A view that outlives its array:
//!
//! ```compile_fail,E0505
//! let array = npymap::MappedArray::anonymous(&"<f8".parse()?, &[4])?;
//! let view = array.view::<f64>()?;
//! drop(array);
//! view.at(0);
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Two views to be written at once:
//!
//! ```compile_fail,E0499
//! let mut array = npymap::MappedArray::anonymous(&"<f8".parse()?, &[4])?;
//! let mut one = array.view_mut::<f64>()?;
//! let mut other = array.view_mut::<f64>()?;
//! one.set(0, 1.0)?;
//! other.set(0, 2.0)?;
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Elements read while they are lent to be written:
//!
//! ```compile_fail,E0502
//! let mut array = npymap::MappedArray::anonymous(&"<f8".parse()?, &[4])?;
//! let elements = array.as_slice_mut::<f64>()?;
//! let view = array.view::<f64>()?;
//! elements[0] = view.at(1);
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Mapping without a promise:
//!
//! ```compile_fail,E0133
//! let array = npymap::MappedArray::open("data/penguins.npy")?;
//! # Ok::<(), npymap::Error>(())
//! ```
//!
//! Arrays and views go to other threads and are shared among them:
//!
//! ```
//! use npymap::view::{Blocks, DynView};
//! use npymap::*;
//!
//! fn goes<T: Send + Sync>() {}
//! goes::<MappedArray>();
//! goes::<MappedArrayMut>();
//! goes::<View<'_, f64>>();
//! goes::<ViewMut<'_, String>>();
//! goes::<DynView<'_>>();
//! goes::<Blocks<'_, f32>>();
//! goes::<Rows>();
//! goes::<ArrayFile>();
//! goes::<Appender>();
//! goes::<DType>();
//! goes::<Error>();
//! ```
