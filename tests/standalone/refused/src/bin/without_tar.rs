// notes: the item is gated behind the `tar` feature
// features: none
use npymap::tar::Shard;

fn main() {
    let _ = Shard::<npymap::source::Map>::open;
}
