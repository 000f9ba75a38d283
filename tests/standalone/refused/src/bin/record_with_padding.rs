// says: derive(Pod) was applied to a type with padding
#[derive(Clone, Copy, npymap::bytemuck::Pod, npymap::bytemuck::Zeroable, npymap::Record)]
#[bytemuck(crate = "npymap::bytemuck")]
#[record(in_place)]
#[repr(C)]
struct Row {
    id: u8,
    x: f32,
}

fn main() {}
