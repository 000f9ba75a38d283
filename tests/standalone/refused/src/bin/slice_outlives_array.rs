// says: `array` does not live long enough
fn main() {
    let slice = {
        let array = npymap::MappedArray::load("x.npy").unwrap();
        array.as_slice::<f64>().unwrap()
    };
    println!("{}", slice.len());
}
