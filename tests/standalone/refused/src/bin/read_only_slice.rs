// says: is read-only: open the file with `MappedArray::open_mut` to edit it
fn main() {
    let array = npymap::MappedArray::load("x.npy").unwrap().into_read_only().unwrap();
    let mut array = array;
    array.as_slice_mut::<f64>().unwrap()[0] = 1.0;
}
