// notes: the item is gated behind the `tar` feature
// features: none
use npymap::tar::TarFile;

fn main() {
    let _ = TarFile::<npymap::source::Map>::open;
}
