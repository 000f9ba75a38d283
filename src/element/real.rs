//! Numbers that have an order.

use half::{bf16, f16};

use super::Element;

/// Numbers with an order and a nearest `f64`: booleans, integers and floats.
/// Sealed.
pub trait Real: Element + Copy + PartialOrd + sealed::Sealed {
    /// The nearest `f64`.
    fn to_f64(self) -> f64;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! real {
    ($($type:ty, $value:ident => $wide:expr;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Real for $type {
            fn to_f64(self) -> f64 {
                let $value = self;
                $wide
            }
        }
    )*};
}

real! {
    bool, value => f64::from(u8::from(value));
    i8, value => f64::from(value);
    i16, value => f64::from(value);
    i32, value => f64::from(value);
    i64, value => nearest(&value);
    u8, value => f64::from(value);
    u16, value => f64::from(value);
    u32, value => f64::from(value);
    u64, value => nearest(&value);
    f16, value => value.into();
    bf16, value => value.into();
    f32, value => f64::from(value);
    f64, value => value;
}

fn nearest(value: &impl num_traits::ToPrimitive) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}
