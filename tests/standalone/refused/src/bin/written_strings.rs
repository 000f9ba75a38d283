// says: write `WithDType::new(&array, dtype)`
fn main() {
    npymap::WriteOptions::new().write("x.npy", &npymap::ndarray::array!["a".to_owned()]).unwrap();
}
