// notes: `MappedArray<MapMut>`
fn main() {
    let array = npymap::MappedArray::load("x.npy").unwrap().into_read_only().unwrap();
    array.flush().unwrap();
}
