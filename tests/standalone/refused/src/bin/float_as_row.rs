// says: use an integer such as `usize` or `i64`
use npymap::RowSource as _;

fn main() {
    let rows =
        npymap::MappedArray::load("x.npy").unwrap().into_read_only().unwrap().rows().unwrap();
    let _ = rows.take_array::<f64>(&[1.0]);
}
