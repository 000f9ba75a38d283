//! A dtype on the command line that elements are stored with.

use npymap::{DType, Result};

/// The types of `ml_dtypes` that NumPy stores as void of one byte. It cannot read
/// `float8_e5m2`, which it stores as `f1`.
const ONE_BYTE: &str = "\
    float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2fnuz \
    float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 int2 int1 uint4 uint2 uint1";

fn is_one_byte(name: &str) -> bool {
    ONE_BYTE.split(' ').any(|known| known == name)
}

/// Returns whether this is a type of `ml_dtypes`.
pub(crate) fn is_of_ml_dtypes(name: &str) -> bool {
    ["bfloat16", "float8_e5m2"].contains(&name) || is_one_byte(name)
}

/// Parses what the library does, and the names of `ml_dtypes` as the void that NumPy
/// stores their elements as. Casts would copy the bytes of numbers to it, so this is not
/// for dtypes to convert to.
pub(crate) fn parse(text: &str) -> Result<DType> {
    match text {
        "bfloat16" => "V2".parse(),
        name if is_one_byte(name) => "V1".parse(),
        _ => text.parse(),
    }
}
