// says: `String` for `&str`
fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.view::<&str>();
}
