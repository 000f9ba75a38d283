// notes: `MappedArray<MapMut>`
fn main() {
    let array = npymap::MappedArray::read("x.npy").unwrap().into_read_only().unwrap();
    array.flush().unwrap();
}
