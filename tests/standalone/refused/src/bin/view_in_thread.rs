// says: `array` does not live long enough
fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let view = array.view::<u64>().unwrap();
    std::thread::spawn(move || view.sum());
}
