// says: use `npymap::element::Bool` for `bool`
fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.as_slice::<bool>();
}
