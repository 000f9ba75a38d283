// says: requires unsafe block
fn main() {
    let _ = npymap::MappedArray::open("x.npy");
}
