// says: records have one with `#[record(typed)]`
#[derive(npymap::Record)]
struct Row {
    x: f32,
}

fn main() {
    let _ = npymap::DType::of::<Row>();
}
