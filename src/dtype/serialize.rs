//! Serde support for dtypes.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use super::{DType, descr};

/// Serializes a dtype as a string: a type string (`<f4`) for `np.dtype(text)`,
/// or the Python literal of a struct or subarray for
/// `np.dtype(ast.literal_eval(text))`.
impl Serialize for DType {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&descr::to_argument(self))
    }
}

/// Deserializes the same strings, and descrs as in headers.
impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<DType, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
