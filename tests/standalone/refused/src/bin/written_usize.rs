// says: use `u64` for `usize`
fn main() {
    npymap::write_npy("x.npy", &npymap::ndarray::array![1_usize]).unwrap();
}
