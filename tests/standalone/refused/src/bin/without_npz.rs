// notes: the item is gated behind the `npz` feature
// features: none
fn main() {
    let _ = npymap::Npz::open;
}
