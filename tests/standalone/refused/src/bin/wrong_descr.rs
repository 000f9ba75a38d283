// says: `[('x', '<f8'), ('x', '<f4')]` is not a dtype: expected fields such as `[('x', '<f8'),
#[derive(npymap::Record)]
struct Row {
    #[record(dtype = "[('x', '<f8'), ('x', '<f4')]")]
    inner: npymap::Value,
}

fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.view::<Row>().unwrap().at(0).inner;
}
