// says: `with_type!` has no set `unsigned`: expected `integer`, `float`, `real`, `complex`, `number` or `any`
fn main() {
    let dtype = npymap::DType::of::<u8>();
    println!("{}", npymap::with_type!(dtype, unsigned T => size_of::<T>(), _ => 0));
}
