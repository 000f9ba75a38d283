//! Appending rows, and truncating and recovering files, against a list of rows.

use std::fs;
use std::path::Path;

use npymap::{Appender, CreateOptions, DType, MappedArray, Order, write::RecoverOptions};

use super::Source;

/// Bytes of a row.
const ROW: usize = 6;

/// Interprets the bytes as steps: append, flush, resize, reopen, truncate and
/// recover.
pub(crate) fn append(data: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.npy");
    let mut source = Source::new(data);
    let dtype: DType = "<u2".parse().unwrap();
    let options =
        CreateOptions::new().order(if source.byte() % 2 == 0 { Order::C } else { Order::F });
    let mut appender = Appender::create(&path, &dtype, &[3], &options).unwrap();
    let mut model: Vec<u8> = Vec::new();
    let mut steps = 0;
    while !source.is_empty() && steps < 200 {
        steps += 1;
        match source.below(8) {
            0..3 => {
                let rows = source.below(4);
                let bytes: Vec<u8> = (0..rows * ROW).map(|_| source.byte()).collect();
                appender.append_bytes(&bytes).unwrap();
                model.extend(bytes);
            }
            3 => {
                appender.flush().unwrap();
                assert_rows(&path, &model);
            }
            4 => {
                let rows = source.below(40);
                appender.resize(rows).unwrap();
                model.resize(rows * ROW, 0);
                assert_rows(&path, &model);
            }
            5 => {
                appender.close().unwrap();
                assert_rows(&path, &model);
                appender = Appender::open(&path).unwrap().with_capacity(source.below(64));
            }
            6 => {
                drop(appender);
                truncate_and_recover(&path, &mut model, source.below(64));
                appender = Appender::open(&path).unwrap();
            }
            _ => {
                let bad = vec![1; source.below(40)];
                let is_row = bad.len() % ROW == 0;
                assert_eq!(appender.append_bytes(&bad).is_ok(), is_row);
                if is_row {
                    model.extend(bad);
                }
            }
        }
        assert_eq!(appender.rows() * ROW, model.len());
    }
    appender.close().unwrap();
    assert_rows(&path, &model);
}

/// Cuts bytes off the end, or adds some, and recovers the complete rows.
fn truncate_and_recover(path: &Path, model: &mut Vec<u8>, bytes: usize) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let len = file.metadata().unwrap().len();
    let header = len - u64::try_from(model.len()).unwrap();
    let new = (len + 16).saturating_sub(u64::try_from(bytes).unwrap()).max(header);
    file.set_len(new).unwrap();
    let recovered = RecoverOptions::new().recover(path).unwrap();
    model.resize(usize::try_from((new - header) / 6 * 6).unwrap(), 0);
    assert_eq!(recovered.dropped, (new - header) % 6);
    assert_rows(path, model);
}

/// Asserts that the file's rows are the model's.
fn assert_rows(path: &Path, model: &[u8]) {
    let bytes = fs::read(path).unwrap();
    let array = MappedArray::from_bytes(bytes.as_slice()).unwrap();
    let offset = array.layout().offset();
    assert_eq!(array.nbytes(), model.len());
    assert_eq!(&bytes[offset..], model);
}
