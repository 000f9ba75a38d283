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
        let mut name = kind_name(self.kind()).to_owned();
        let is_unsized = self.itemsize() == 0
            && matches!(
                self.kind(),
                Kind::Bytes | Kind::Unicode | Kind::Void | Kind::Struct | Kind::Subarray
            );
        if self.kind() != Kind::Bool && !is_unsized {
            // Elements have fewer than 2³¹ bytes.
            name += &(to_u64(self.itemsize()) * 8).to_string();
        }
        match self.unit() {
            Some(unit) => format!("{name}[{unit}]"),
            None => name,
        }
    }
}

#[inline]
fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::UInt => "uint",
        Kind::Float => "float",
        Kind::Complex => "complex",
        Kind::TimeDelta => "timedelta",
        Kind::DateTime => "datetime",
        Kind::Bytes => "bytes",
        Kind::Unicode => "str",
        Kind::Void | Kind::Struct | Kind::Subarray => "void",
    }
}
