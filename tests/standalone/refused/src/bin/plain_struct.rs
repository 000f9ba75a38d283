// says: #[derive(npymap::Record)]
struct Row {
    x: f32,
}

fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.view::<Row>().unwrap().at(0).x;
}
