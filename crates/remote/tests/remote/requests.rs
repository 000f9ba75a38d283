//! How many requests reads take, and how many of them at a time.

use std::time::{Duration, SystemTime};

use npymap::array::RawSpec;
use npymap::ndarray::Array2;
use npymap::npz::{Compression, Npz, NpzWriter};
use npymap::tar::TarFile;
use npymap::ten::{Ten, TenWriteOptions};
use npymap::{ErrorKind, MappedArray, OpenOptions, Order, RowSource as _, Source};
use npymap_remote::tokio::runtime;
use npymap_remote::{Remote, RemoteOptions};

use crate::server::{Action, Request, Server, Tags};
use crate::{array, assert_rows, npy, open, rows, take};

/// The first request for an object.
fn first() -> Request {
    request((0, 64 << 10), None)
}

/// A request for a range of the first version.
fn later(start: u64, end: u64) -> Request {
    request((start, end), Some("\"version 1\"".to_owned()))
}

fn request(range: (u64, u64), if_match: Option<String>) -> Request {
    let (method, path) = ("GET".to_owned(), "/a.npy".to_owned());
    Request { method, path, range: Some(range), if_match, if_none_match: None }
}

#[test]
fn a_header_is_one_request() {
    let server = Server::new(rows(1000));
    let file = open(&server).unwrap();
    assert_eq!((file.shape(), file.dtype().to_string().as_str()), (&[1000, 1024][..], "'<u4'"));
    assert_eq!(server.log(), [first()]);
    // So are the elements in the same block.
    assert_eq!(file.get::<u32>([3, 5]).unwrap(), 3 * 1024 + 5);
    take(&file, &[3, 0, 14, 14]).unwrap();
    assert_eq!(server.log(), []);
    // And a small file is all of them.
    let server = Server::new(rows(3));
    let object = Remote::open(&server.url("a.npy")).unwrap();
    assert_eq!((object.nbytes(), object.e_tag()), (128 + 3 * 4096, Some("\"version 1\"")));
    let whole = MappedArray::from_source(object.source()).unwrap();
    assert_rows(whole.as_slice().unwrap(), 0..3);
    assert_eq!(server.log(), [first()]);
}

#[test]
fn without_an_entity_tag_there_is_the_time_of_the_last_change() {
    // The server says that this is when the first version was stored.
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_370_401);
    for (tags, expected) in [(Tags::Strong, None), (Tags::Weak, None), (Tags::None, Some(time))] {
        let server = Server::failing(rows(3), tags, |_, _| Action::Answer);
        let object = Remote::open(&server.url("a.npy")).unwrap();
        assert_eq!(object.last_modified(), expected, "{tags:?}");
    }
}

#[test]
fn scattered_rows_are_requested_at_the_same_time() {
    let gather = |number, _: &Request| {
        if number == 0 { Action::Answer } else { Action::Together(256) }
    };
    let server = Server::failing(rows(256 * 20 + 16), Tags::Strong, gather);
    let file = open(&server).unwrap();
    let indices: Vec<usize> = (0..256).map(|i| 16 + 20 * (i * 97 % 256)).collect();
    take(&file, &indices).unwrap();
    assert_eq!(server.rounds(), 1);
    let mut log = server.log();
    assert_eq!(log.len(), 257);
    log.sort_by_key(|request| request.range);
    for (request, row) in log[1..].iter().zip((16..).step_by(20)) {
        assert_eq!(*request, later(128 + row * 4096, 128 + (row + 1) * 4096));
    }
}

#[test]
fn near_rows_are_requested_together() {
    let server = Server::new(rows(1000));
    let file = open(&server).unwrap();
    server.log();
    take(&file, &[130, 100, 116, 900, 899, 899]).unwrap();
    let mut log = server.log();
    log.sort_by_key(|request| request.range);
    let places =
        [(100, 131), (899, 901)].map(|(start, end)| (128 + start * 4096, 128 + end * 4096));
    assert_eq!(log, places.map(|(start, end)| later(start, end)));
}

#[test]
fn a_whole_array_is_requested_in_parts_at_the_same_time() {
    let gather = |number, _: &Request| {
        if number == 0 { Action::Answer } else { Action::Together(32) }
    };
    let server = Server::failing(rows(32 * 512), Tags::Strong, gather);
    let file = open(&server).unwrap();
    server.log();
    let whole = file.read().unwrap();
    assert_rows(whole.as_slice().unwrap(), 0..32 * 512);
    assert_eq!((server.log().len(), server.rounds()), (32, 1));
}

#[test]
fn slices_and_windows_request_their_rows() {
    let server = Server::new(rows(1000));
    let file = open(&server).unwrap();
    server.log();
    let slice = file.rows(100..120).unwrap();
    assert_rows(slice.as_slice().unwrap(), 100..120);
    assert_eq!(server.log(), [later(128 + 100 * 4096, 128 + 120 * 4096)]);
    let mut batch = vec![0_u32; 2 * 3 * 1024];
    file.windows(3).unwrap().take(&[500, 300], &mut batch).unwrap();
    assert_rows(&batch, (500..503).chain(300..303));
    assert_eq!(server.log().len(), 2);
    let some = file.select_rows(&[700, 200]).unwrap();
    assert_rows(some.as_slice().unwrap(), [700, 200]);
    assert_eq!(server.log().len(), 2);
}

#[test]
fn columns_of_fortran_order_are_requested_at_the_same_time() {
    let elements: Vec<u8> = (0..40 * 40_000_u32).flat_map(u32::to_le_bytes).collect();
    let server = Server::new(npy("<u4", &[40_000, 40], Order::F, &elements));
    let file = open(&server).unwrap();
    server.log();
    let mut batch = vec![0_u32; 2 * 40];
    file.take(&[30_000, 5], &mut batch).unwrap();
    let row = |row: u32| (0..40).map(move |column| column * 40_000 + row);
    assert!(batch.iter().copied().eq(row(30_000).chain(row(5))));
    assert!(server.log().len() <= 79);
}

#[test]
fn an_archive_of_a_thousand_members_is_listed_in_two_requests() {
    let mut writer = NpzWriter::new(Vec::new());
    for number in 0..1000 {
        let member = Array2::<f32>::from_elem((100, 10), 0.5);
        writer.write(&format!("layers.{number}.weight"), &member).unwrap();
    }
    let server = Server::new(writer.into_inner().unwrap());
    let object = Remote::open(&server.url("a.npz")).unwrap();
    let npz = Npz::open(object.source()).unwrap();
    assert_eq!(npz.names().count(), 1000);
    assert_eq!(server.log().len(), 2);
    // A member that is known, and another one.
    let member = npz.get("layers.0.weight").unwrap();
    assert_eq!(member.shape(), [100, 10]);
    assert_eq!(server.log().len(), 0);
    let member = npz.get("layers.500.weight").unwrap();
    assert!(member.view::<f32>().unwrap().iter().eq([0.5; 1000]));
    assert_eq!(server.log().len(), 1);
    assert_eq!(npz.get("none").unwrap_err().kind(), ErrorKind::NotFound);
}

/// Members of 100 KB, whose headers are too far apart to be requested together.
fn far_members() -> Vec<u8> {
    let mut writer = NpzWriter::new(Vec::new());
    for number in 0..60_u32 {
        let noise = (0..25_000).map(|n: u32| (n + number).wrapping_mul(2_654_435_761));
        let member = Array2::from_shape_vec((25_000, 1), noise.collect()).unwrap();
        let packed = if number % 2 == 0 { Compression::Stored } else { Compression::Deflated(6) };
        writer.compression(packed).page_aligned(number % 3 == 0);
        writer.write(&format!("layers.{number}"), &member).unwrap();
    }
    writer.into_inner().unwrap()
}

#[test]
fn headers_of_all_members_are_requested_at_the_same_time() {
    let file = far_members();
    let server = Server::new(file.clone());
    let object = Remote::open(&server.url("a.npz")).unwrap();
    let npz = Npz::open(object.source()).unwrap();
    let local = Npz::open(Source::bytes(file.clone())).unwrap();
    assert_eq!(server.log().len(), 2);
    npz.prefetch_headers().unwrap();
    let log = server.log();
    // The first and the last ones are known.
    assert!((55..60).contains(&log.len()), "{}", log.len());
    assert!(log.iter().all(|request| request.range.is_some_and(|(start, end)| end - start < 8192)));
    for (member, expected) in npz.members().zip(local.members()) {
        assert_eq!(member.header().unwrap(), expected.header().unwrap());
        assert_eq!(member.data_offset().unwrap(), expected.data_offset().unwrap());
    }
    assert_eq!(server.log().len(), 0);
    assert_eq!(
        npz.get("layers.3").unwrap().as_bytes().unwrap(),
        local.get("layers.3").unwrap().as_bytes().unwrap()
    );

    let awaited = log.len();
    let together = move |number, _: &Request| {
        if number < 2 { Action::Answer } else { Action::Together(awaited) }
    };
    let server = Server::failing(file, Tags::Strong, together);
    let object = Remote::open(&server.url("a.npz")).unwrap();
    Npz::open(object.source()).unwrap().prefetch_headers().unwrap();
    assert_eq!(server.rounds(), 1);
}

#[test]
fn headers_of_a_thousand_small_members_are_few_requests() {
    let mut writer = NpzWriter::new(Vec::new());
    for number in 0..1000 {
        let member = Array2::<f32>::from_elem((100, 10), 0.5);
        writer.write(&format!("layers.{number}.weight"), &member).unwrap();
    }
    let server = Server::new(writer.into_inner().unwrap());
    let object = Remote::open(&server.url("a.npz")).unwrap();
    let npz = Npz::open(object.source()).unwrap();
    npz.prefetch_headers().unwrap();
    assert!(npz.members().all(|member| member.header().unwrap().unwrap().shape == [100, 10]));
    // The start, the directory, and the headers.
    assert_eq!(server.log().len(), 3);
}

#[test]
fn starts_of_all_tar_members_are_requested_at_the_same_time() {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    let member = rows(40);
    header.set_size(u64::try_from(member.len()).unwrap());
    for number in 0..200 {
        archive.append_data(&mut header, format!("{number}.npy"), &member[..]).unwrap();
    }
    let server = Server::new(archive.into_inner().unwrap());
    let object = Remote::open(&server.url("a.tar")).unwrap();
    let tar = TarFile::open(object.source()).unwrap();
    server.log();
    tar.prefetch_headers().unwrap();
    assert!(server.log().len() <= 200);
    for member in tar.members() {
        assert!(!member.is_ten().unwrap());
        assert_eq!(member.header().unwrap().unwrap().shape, [40, 1024]);
    }
    assert_eq!(server.log().len(), 0);
}

#[test]
fn deflated_members_are_read_with_few_requests() {
    let numbers: Vec<i64> = (0..300_000).map(|n| n * n % 1_000_003).collect();
    let numbers = Array2::from_shape_vec((1000, 300), numbers).unwrap();
    let mut writer = NpzWriter::new(Vec::new());
    writer.compression(Compression::Deflated(6)).write("a", &numbers).unwrap();
    let server = Server::new(writer.into_inner().unwrap());
    let object = Remote::open(&server.url("a.npz")).unwrap();
    let npz = Npz::open(object.source()).unwrap();
    let member = npz.get("a").unwrap();
    assert!(member.view::<i64>().unwrap().iter().eq(numbers.iter().copied()));
    assert!(server.log().len() <= 8);
}

#[test]
fn raw_binary_and_empty_files_are_read() {
    let server = Server::new((0..=255).collect());
    let object = Remote::open(&server.url("a.bin")).unwrap();
    let options = OpenOptions::new().raw(RawSpec::new("u1".parse().unwrap()));
    let bytes = options.open(object.source()).unwrap();
    assert!(bytes.as_slice::<u8>().unwrap().iter().copied().eq(0..=255));
    let server = Server::new(Vec::new());
    let object = Remote::open(&server.url("a.npy")).unwrap();
    assert_eq!((object.nbytes(), server.log().len()), (0, 2));
    let error = array(&object).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert!(error.to_string().starts_with(&object.url().to_owned()), "{error}");
}

#[test]
fn requests_are_limited() {
    let server = Server::failing(rows(1000), Tags::Strong, |number, _| {
        if number == 0 { Action::Answer } else { Action::Together(2) }
    });
    let object = RemoteOptions::new().concurrency(2).open(&server.url("a.npy")).unwrap();
    take(&array(&object).unwrap(), &[100, 200, 300, 400, 500, 600]).unwrap();
    assert_eq!(server.rounds(), 3);
}

#[test]
fn calls_work_on_the_callers_runtime_and_inside_tasks() {
    let server = Server::new(rows(1000));
    let url = server.url("a.npy");
    // On a runtime of the program.
    let own = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let object = RemoteOptions::new().runtime(own.handle().clone()).open(&url).unwrap();
    take(&array(&object).unwrap(), &[900, 5]).unwrap();
    // As tasks may call it.
    let task = own.spawn_blocking(move || take(&array(&object).unwrap(), &[300, 500]));
    own.block_on(task).unwrap().unwrap();
    // On the only thread of a runtime, with the shared one.
    let single = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    single.block_on(async { take(&open(&server).unwrap(), &[900, 5]) }).unwrap();
}

#[test]
fn objects_are_shared_between_threads() {
    let server = Server::new(rows(1000));
    let file = open(&server).unwrap();
    std::thread::scope(|scope| {
        for start in 0..8 {
            let file = &file;
            scope.spawn(move || {
                for row in (start..1000).step_by(50) {
                    take(file, &[row, 999 - row]).unwrap();
                    let element = file.get::<u32>([row, 7]).unwrap();
                    assert_eq!(usize::try_from(element).unwrap(), row * 1024 + 7);
                }
            });
        }
    });
}

#[test]
fn tar_and_ten_files_are_opened_in_one_request() {
    let mut ten = Vec::new();
    let array = Array2::<f32>::from_elem((2, 3), 1.5);
    TenWriteOptions::new().write(&mut ten, &[&array]).unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    for (name, bytes) in [("a.npy", rows(2)), ("b.ten", ten.clone())] {
        header.set_size(u64::try_from(bytes.len()).unwrap());
        archive.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    let server = Server::new(archive.into_inner().unwrap());
    let object = Remote::open(&server.url("a.tar")).unwrap();
    let tar = TarFile::open(object.source()).unwrap();
    assert_rows(tar.get("a.npy").unwrap().as_slice().unwrap(), 0..2);
    assert_eq!(tar.member("b.ten").unwrap().ten().unwrap().get(0).unwrap().shape(), [2, 3]);
    assert_eq!(server.log().len(), 1);
    let server = Server::new(ten);
    let object = Remote::open(&server.url("a.ten")).unwrap();
    assert_eq!(Ten::open(object.source()).unwrap().get(0).unwrap().shape(), [2, 3]);
}
