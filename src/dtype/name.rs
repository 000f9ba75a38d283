//! NumPy's names of dtypes: `float32`.

use super::{DType, Kind};
use crate::error::invariant::to_u64;

impl DType {
    /// Returns NumPy's `dtype.name`, which is the kind and the size in bits,
    /// without the byte order. Structs and subarrays are `void` with the size of an element.
    ///
    /// [`Display`](std::fmt::Display) prints the `descr`, which describes the
    /// dtype completely.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::DType;
    ///
    /// let dtypes = ["|b1", ">f4", "<M8[25s]", "<U3", "[('x', '<f8'), ('y', '<f8')]"];
    /// let names = dtypes.map(|dtype| dtype.parse::<DType>().unwrap().name());
    /// assert_eq!(names, ["bool", "float32", "datetime64[25s]", "str96", "void128"]);
    /// ```
    #[must_use]
    #[inline]
    pub fn name(&self) -> String {
        let (_, name) = self.kind().texts();
        let mut name = name.to_owned();
        if self.kind() != Kind::Bool && self.itemsize() > 0 {
            // Elements have fewer than 2³¹ bytes.
            name += &(to_u64(self.itemsize()) * 8).to_string();
        }
        match self.unit() {
            Some(unit) => format!("{name}[{unit}]"),
            None => name,
        }
    }
}

impl Kind {
    /// The letter of type strings, and the start of the name.
    pub(super) fn texts(self) -> (char, &'static str) {
        match self {
            Kind::Bool => ('b', "bool"),
            Kind::Int => ('i', "int"),
            Kind::UInt => ('u', "uint"),
            Kind::Float => ('f', "float"),
            Kind::Complex => ('c', "complex"),
            Kind::TimeDelta => ('m', "timedelta"),
            Kind::DateTime => ('M', "datetime"),
            Kind::Bytes => ('S', "bytes"),
            Kind::Unicode => ('U', "str"),
            Kind::Void | Kind::Struct | Kind::Subarray => ('V', "void"),
        }
    }
}
