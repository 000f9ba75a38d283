// says: is not a number that can be cast: use `u64` for `usize`
use npymap::RowSource as _;

fn main() {
    let rows =
        npymap::MappedArray::load("x.npy").unwrap().into_read_only().unwrap().rows().unwrap();
    let _ = rows.take_as(&[1_usize], &mut [0_usize]);
}
