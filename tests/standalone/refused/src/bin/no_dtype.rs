// says: `String` does not determine a dtype: parse one, such as `"<U8".parse::<DType>()`
fn main() {
    let _ = npymap::DType::of::<String>();
}
