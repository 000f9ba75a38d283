// notes: use the `move` keyword
use npymap::RowSource as _;

fn main() {
    let rows =
        npymap::MappedArray::load("x.npy").unwrap().into_read_only().unwrap().rows().unwrap();
    let read = |indices: &[usize], batch: &mut Vec<f64>| rows.take_vec(indices, batch);
    let _ = npymap::BatchOptions::new().start([vec![0]], read);
}
