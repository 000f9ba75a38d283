//! Serde implementations for the fields of a
//! [`Description`](crate::array::Description).

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::layout::Order;
use crate::source::mode::Mode;

/// Serialized as NumPy's name of the mode.
impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Mode, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Serialized as `"C"` or `"F"`.
impl Serialize for Order {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match self {
            Order::C => "C",
            Order::F => "F",
        })
    }
}

impl<'de> Deserialize<'de> for Order {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Order, D::Error> {
        match String::deserialize(from)?.as_str() {
            "C" => Ok(Order::C),
            "F" => Ok(Order::F),
            other => {
                Err(D::Error::custom(format_args!("order {other:?}, expected \"C\" or \"F\"")))
            }
        }
    }
}
