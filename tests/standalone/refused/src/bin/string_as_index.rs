// says: is not the index of an element: use `usize`, `[usize; N]` or `&[usize]`
fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.view::<u64>().unwrap().at("0");
}
