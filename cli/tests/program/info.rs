//! `info` lists the fields of records.

use crate::run::run_ok;

#[test]
fn fields_are_listed_with_their_offsets() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.npy").to_str().unwrap().to_owned();
    let dtype = "[('id', '|u1'), ('', '|V3'), (('time', 't'), '>M8[ns]'), ('in', [('x', '<f4'), ('m', '<f8', (2, 3))], (4,))]";
    run_ok(["create", &path, "--shape", "2", "--dtype", dtype]);
    let text = run_ok(["info", &path]);
    let fields = text.split_once("\n  field").map(|(_, fields)| fields).unwrap();
    assert_eq!(
        fields,
        "  byte  dtype                                 axes    title\n  \
           id        0  '|u1'\n  \
           t         4  '>M8[ns]'                                     time\n  \
           in       12  [('x', '<f4'), ('m', '<f8', (2, 3))]  (4,)\n  \
           in.x     12  '<f4'\n  \
           in.m     16  '<f8'                                 (2, 3)\n"
    );
}
