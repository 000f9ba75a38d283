//! Runs the bodies of the fuzz targets over the inputs in `fuzz/corpus`.

use std::fs;
use std::path::Path;

use crate::support::some;

#[path = "../fuzz/bodies/mod.rs"]
mod bodies;

#[test]
fn fuzz_targets_hold_for_their_corpora() {
    for (name, body) in bodies::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
        let mut inputs = 0;
        for entry in some(fs::read_dir(&folder).unwrap()) {
            body(&fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "{}", folder.display());
    }
}
