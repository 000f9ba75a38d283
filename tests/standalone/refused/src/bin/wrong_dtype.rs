// says: `<Q9` is not a dtype: expected a type string such as `<f8`
#[derive(npymap::Record)]
struct Row {
    #[record(dtype = "<Q9")]
    x: u64,
}

fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.view::<Row>().unwrap().at(0).x;
}
