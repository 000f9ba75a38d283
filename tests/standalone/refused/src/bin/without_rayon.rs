// notes: the item is gated behind the `rayon` feature
// features: none
use npymap::rayon::prelude::*;

fn main() {
    println!("{}", [1, 2].par_iter().sum::<i32>());
}
