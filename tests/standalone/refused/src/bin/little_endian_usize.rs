// says: use `u64` for `usize`
fn main() {
    let _ = npymap::Le::new(1_usize);
}
