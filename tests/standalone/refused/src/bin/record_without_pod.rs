// says: the trait bound `Row: Pod` is not satisfied
#[derive(npymap::Record)]
#[record(in_place)]
#[repr(C)]
struct Row {
    x: f32,
}

fn main() {}
