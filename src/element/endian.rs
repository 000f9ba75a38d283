//! Numbers stored in a fixed byte order, at any address.
#![expect(clippy::multiple_bound_locations, reason = "bytemuck's derive adds one")]

use std::fmt;

use bytemuck::{Pod, Zeroable};

use super::fast_path::{FastPath, plain_element};
use super::scalar::Scalar;
use super::{Element, InPlace, Typed, type_mismatch};
use crate::dtype::{ByteOrder, DType};
use crate::error::Result;

macro_rules! stored {
    ($name:ident, $adjective:literal, $order:ident, $from:ident, $to:ident) => {
        #[doc = concat!("A number stored ", $adjective, "-endian, at any address.")]
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use npymap::", stringify!($name), ";")]
        ///
        #[doc = concat!("let mut stored = ", stringify!($name), "::new(1.5_f32);")]
        /// stored.set(stored.get() + 1.0);
        /// assert_eq!(stored.get(), 2.5);
        /// assert_eq!(align_of_val(&stored), 1);
        /// ```
        #[derive(Clone, Copy, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name<T: Scalar>(T::ByteArray);

        impl<T: Scalar> $name<T> {
            /// Stores a value.
            #[must_use]
            pub fn new(value: T) -> Self {
                $name(value.$to())
            }

            /// Returns the stored value.
            #[must_use]
            pub fn get(self) -> T {
                T::$from(self.0)
            }

            /// Stores another value.
            pub fn set(&mut self, value: T) {
                self.0 = value.$to();
            }
        }

        impl<T: Scalar> From<T> for $name<T> {
            fn from(value: T) -> Self {
                $name::new(value)
            }
        }

        impl<T: Scalar> Default for $name<T> {
            fn default() -> Self {
                Zeroable::zeroed()
            }
        }

        impl<T: Scalar> PartialEq for $name<T> {
            fn eq(&self, other: &Self) -> bool {
                self.get() == other.get()
            }
        }

        impl<T: Scalar + Eq> Eq for $name<T> {}

        impl<T: Scalar> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.get(), f)
            }
        }

        impl<T: Scalar + fmt::Display> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.get(), f)
            }
        }

        impl<T: Scalar + Typed> Typed for $name<T> {
            fn dtype() -> DType {
                T::dtype().with_byte_order(ByteOrder::$order)
            }
        }

        plain_element!([T: Scalar] $name<T>, dtype => {
            let order = dtype.byte_order();
            T::is(dtype) && [ByteOrder::$order, ByteOrder::NotApplicable].contains(&order)
        }, format!("{}<{}>", stringify!($name), T::NAME));
    };
}

stored!(Le, "little", Little, from_le, to_le);
stored!(Be, "big", Big, from_be, to_be);
