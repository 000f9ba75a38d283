// says: for a newtype `#[derive(npymap::Element)]` with `#[repr(transparent)]`
#[derive(npymap::Element)]
struct Id(u64);

fn main() {
    let array = npymap::MappedArray::zeros(&"<u8".parse().unwrap(), &[1]).unwrap();
    let _ = array.as_slice::<Id>();
}
