//! Rows that could not be written or synced.

use super::*;

/// The number of rows in the header, and the length of the file.
fn stored(path: &Path) -> (usize, u64) {
    let file = File::open(path).unwrap();
    (Header::read(&file).unwrap().shape[0], file.metadata().unwrap().len())
}

#[test]
fn rows_that_could_not_be_written_do_not_appear_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.npy");
    let created = Appender::create(&path, &DType::of::<u8>(), &[], &CreateOptions::new());
    created.unwrap().close().unwrap();
    let empty = stored(&path);
    for syncs in [false, true] {
        let mut log = Appender::open(&path).unwrap();
        log.append_slice(&[1_u8, 2]).unwrap();
        let file = log.writer.swap_file(File::open(&path).unwrap());
        (if syncs { log.sync() } else { log.flush() }).unwrap_err();
        log.writer.swap_file(file);
        drop(log);
        assert_eq!(stored(&path), empty);
    }
    // They are written if the caller tries again, or continues.
    for flushes in [true, false] {
        let (rows, len) = stored(&path);
        let mut log = Appender::open(&path).unwrap();
        log.append_slice(&[1_u8, 2]).unwrap();
        let file = log.writer.swap_file(File::open(&path).unwrap());
        log.flush().unwrap_err();
        log.writer.swap_file(file);
        if flushes { log.flush() } else { log.append_slice(&[3_u8]) }.unwrap();
        drop(log);
        let added = if flushes { 2 } else { 3 };
        assert_eq!(stored(&path), (rows + added, len + u64::try_from(added).unwrap()));
    }
}

#[test]
fn rows_that_did_not_reach_the_disk_are_not_reported_as_synced_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.npy");
    let created = Appender::create(&path, &DType::of::<u8>(), &[], &CreateOptions::new());
    let mut log = created.unwrap();
    log.append_slice(&[1_u8, 2]).unwrap();
    log.flush().unwrap();
    // It cannot be synced.
    let file = log.writer.swap_file(File::open("/dev/null").unwrap());
    log.sync().unwrap_err();
    log.writer.swap_file(file);
    log.append_slice(&[3_u8]).unwrap();
    log.flush().unwrap();
    assert!(log.sync().unwrap_err().to_string().contains("failed before"));
    assert_eq!(stored(&path).0, 3);
}
