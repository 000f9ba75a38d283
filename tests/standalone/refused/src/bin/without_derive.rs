// notes: the item is gated behind the `derive` feature
// features: none
#[derive(npymap::Record)]
struct Row {
    x: f32,
}

fn main() {
    println!("{}", Row { x: 1.0 }.x);
}
