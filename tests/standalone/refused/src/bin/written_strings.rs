// says: write with `WriteOptions::new(dtype)`
fn main() {
    npymap::write_npy("x.npy", &npymap::ndarray::array!["a".to_owned()]).unwrap();
}
