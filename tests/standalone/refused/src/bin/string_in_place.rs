// says: `String` cannot be borrowed in place: use `npymap::element::Bool` for `bool`, `npymap::element::Bytes` or
fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.as_slice::<String>();
}
