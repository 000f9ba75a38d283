// says: use `u64` for `usize`
fn main() {
    npymap::WriteOptions::new().write("x.npy", &npymap::ndarray::array![1_usize]).unwrap();
}
