// notes: Dim<[usize; 2]>
fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.as_ndarray::<u64, (usize, usize)>();
}
