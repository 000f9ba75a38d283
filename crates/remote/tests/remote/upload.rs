//! Objects that are written: whole, or absent.

use std::io::Write as _;
use std::sync::Arc;

use npymap::WriteOptions;
use npymap::ndarray::{Array2, array, s};
use npymap::npz::{Npz, NpzWriter};
use npymap::{Appender, CreateOptions, DType, ErrorKind, MappedArray, Result};
use npymap_remote::RemoteAppender;
use npymap_remote::object_store::{ObjectStoreExt as _, memory::InMemory, path::Path};
use npymap_remote::{RemoteOptions, RemoteWriter, interruptible, tokio::runtime::Runtime};

use crate::s3::{Answer, Kind, S3};

/// The smallest part.
const PART: usize = 5 << 20;

fn options() -> RemoteOptions {
    RemoteOptions::new().part_bytes(PART)
}

/// Bytes in which no two parts are equal: random ones, repeated after a prime number.
fn bytes(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let random = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    });
    let period: Vec<u8> = random.take(65_537).collect();
    let mut bytes = period.repeat(len.div_ceil(period.len()));
    bytes.truncate(len);
    bytes
}

fn path() -> Path {
    Path::from("a.npy")
}

/// Writes an object in pieces of different lengths, without finishing it.
fn start(server: &S3, content: &[u8]) -> Result<RemoteWriter> {
    let mut writer = options().create_object(server.store(), path())?;
    let mut rest = content;
    for len in (1..).map(|n| n * 100_003) {
        let (piece, others) = rest.split_at(len.min(rest.len()));
        writer.write_all(piece)?;
        assert!(server.objects().objects.is_empty(), "nothing is visible");
        rest = others;
        if rest.is_empty() {
            break;
        }
    }
    Ok(writer)
}

fn write(server: &S3, content: &[u8]) -> Result<()> {
    start(server, content)?.finish()
}

#[track_caller]
fn assert_written(server: &S3, content: &[u8]) {
    let objects = server.objects();
    assert!(objects.objects["/bucket/a.npy"] == content);
    assert_eq!(objects.uploads.len(), 0);
}

/// The kinds of requests that a large object needs, except the first.
const LARGE: [Kind; 4] = [Kind::Head, Kind::Start, Kind::Part, Kind::Finish];

#[test]
fn small_objects_are_one_request_and_large_ones_are_sent_in_parts() {
    for (len, parts) in [
        (0, 0),
        (7, 0),
        (PART - 1, 0),
        (PART, 1),
        (PART + 1, 2),
        (3 * PART, 3),
        (11 * PART + 5, 12),
    ] {
        let (server, content) = (S3::new(), bytes(len));
        write(&server, &content).unwrap();
        assert_written(&server, &content);
        let counts =
            [Kind::Put, Kind::Start, Kind::Part, Kind::Finish].map(|kind| server.count(kind));
        let expected = if parts == 0 { [1, 0, 0, 0] } else { [0, 1, parts, 1] };
        assert_eq!(counts, expected, "{len}");
    }
}

#[test]
fn failed_requests_are_repeated() {
    let content = bytes(2 * PART + 100);
    for kind in LARGE {
        for answer in [Answer::Status(500), Answer::Status(503), Answer::Closed] {
            // The store repeats a request that may have had an effect only if that is harmless.
            if answer == Answer::Closed && matches!(kind, Kind::Start | Kind::Finish) {
                continue;
            }
            let server =
                S3::failing(
                    move |before, asked| {
                        if asked == kind && before < 2 { answer } else { Answer::Normal }
                    },
                );
            write(&server, &content).unwrap();
            assert_written(&server, &content);
        }
    }
    // A part that arrived, but the answer to which was lost, is sent again.
    let server =
        S3::failing(
            |before, asked| {
                if asked == Kind::Part && before == 1 { Answer::Lost } else { Answer::Normal }
            },
        );
    write(&server, &content).unwrap();
    assert_written(&server, &content);
    assert_eq!(server.count(Kind::Part), 4);
    for answer in [Answer::Status(500), Answer::Status(429)] {
        let server =
            S3::failing(
                move |before, asked| {
                    if asked == Kind::Put && before < 2 { answer } else { Answer::Normal }
                },
            );
        write(&server, &content[..1000]).unwrap();
        assert_written(&server, &content[..1000]);
    }
}

#[test]
fn nothing_is_visible_after_a_failure() {
    let content = bytes(3 * PART);
    for kind in LARGE {
        for answer in [Answer::Status(500), Answer::Status(403), Answer::Closed] {
            let server = S3::failing(move |before, asked| {
                let fails = asked == kind && (kind != Kind::Head || before > 0);
                if fails { answer } else { Answer::Normal }
            });
            let error = write(&server, &content).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{kind:?} {answer:?}");
            let text = error.to_string();
            assert!(
                text.starts_with("AmazonS3(bucket)/a.npy: cannot write the object: "),
                "{text}"
            );
            let objects = server.objects();
            assert_eq!(
                (objects.objects.len(), objects.uploads.len()),
                (0, 0),
                "{kind:?} {answer:?}"
            );
        }
    }
    let server = S3::failing(
        |_, asked| {
            if asked == Kind::Put { Answer::Status(500) } else { Answer::Normal }
        },
    );
    assert_eq!(write(&server, b"abc").unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(server.objects().objects.len(), 0);
}

#[test]
fn a_writer_that_failed_accepts_no_more() {
    let server =
        S3::failing(
            |_, asked| {
                if asked == Kind::Part { Answer::Status(403) } else { Answer::Normal }
            },
        );
    let mut writer = options().create_object(server.store(), path()).unwrap();
    let content = bytes(12 * PART);
    writer.write_all(&content).unwrap_err();
    assert_eq!(server.count(Kind::Abort), 1);
    let text = "AmazonS3(bucket)/a.npy: cannot write the object: an earlier part could not be sent, and the upload was removed";
    assert_eq!(writer.write_all(b"more").unwrap_err().to_string(), text);
    assert_eq!(writer.finish().unwrap_err().to_string(), text);
    assert_eq!(server.objects().objects.len(), 0);
}

#[test]
fn dropping_a_writer_removes_its_parts() {
    let server = S3::new();
    let writer = start(&server, &bytes(3 * PART)).unwrap();
    assert_eq!(server.objects().uploads.len(), 1);
    drop(writer);
    let objects = server.objects();
    assert_eq!((objects.objects.len(), objects.uploads.len()), (0, 0));
    drop(objects);
    assert_eq!(server.count(Kind::Abort), 1);
    drop(start(&server, b"small").unwrap());
    assert_eq!(server.objects().objects.len(), 0);
}

#[test]
fn an_interrupted_writer_removes_its_parts() {
    let server =
        S3::failing(|_, asked| if asked == Kind::Part { Answer::Nothing } else { Answer::Normal });
    let started = start(&server, &bytes(3 * PART)).unwrap();
    assert_eq!(server.objects().uploads.len(), 1);
    let error = interruptible(|| true, || started.finish()).unwrap_err();
    assert!(error.to_string().ends_with("the wait for the server was interrupted"), "{error}");
    let objects = server.objects();
    assert_eq!((objects.objects.len(), objects.uploads.len()), (0, 0));
}

#[test]
fn objects_are_only_replaced_if_asked() {
    let text = "AmazonS3(bucket)/a.npy: already exists: choose another name, or allow replacing it with `RemoteOptions::overwrite`";
    for len in [10, PART + 1] {
        let (server, content) = (S3::new(), bytes(len));
        write(&server, &content).unwrap();
        let error = write(&server, b"other").unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::AlreadyExists, text));
        assert_written(&server, &content);
        // One that appears while it is written.
        server.objects().objects.clear();
        let writer = start(&server, &content).unwrap();
        server.objects().objects.insert("/bucket/a.npy".to_owned(), b"other".to_vec());
        let error = writer.finish().unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::AlreadyExists, text));
        assert_written(&server, b"other");
        let mut writer = options().overwrite(true).create_object(server.store(), path()).unwrap();
        writer.write_all(&content).unwrap();
        writer.finish().unwrap();
        assert_written(&server, &content);
    }
}

#[test]
fn urls_are_written() {
    let server = S3::new();
    let options = RemoteOptions::new()
        .option("aws_endpoint", &server.endpoint)
        .option("AWS_ALLOW_HTTP", "true")
        .option("aws_skip_signature", "true");
    let mut writer = options.create("s3://bucket/folder/a.npy").unwrap();
    assert_eq!(writer.url(), "s3://bucket/folder/a.npy");
    WriteOptions::new().write_to(&mut writer, &array![1_u8, 2]).unwrap();
    writer.finish().unwrap();
    assert_eq!(server.objects().objects["/bucket/folder/a.npy"].len(), 130);
    let error = options.create("http://127.0.0.1:1/a.npy").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "http://127.0.0.1:1/a.npy: web servers can only be read: write to s3://, gs://, az:// or abfs://, or to a file"
    );
    assert_eq!(options.create("a.npy").unwrap_err().kind(), ErrorKind::InvalidInput);
    let error = options.part_bytes(PART - 1).create("s3://bucket/a.npy").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "parts of 5242879 bytes: expected from 5 MiB (5242880) to 1 GiB");
}

#[test]
fn archives_are_written_to_stores() {
    let store = Arc::new(InMemory::new());
    let mut npz = NpzWriter::new(options().create_object(store.clone(), path()).unwrap());
    let large = Array2::from_shape_fn((1000, 1000), |(i, j)| u64::try_from(i * 1000 + j).unwrap());
    npz.write("large", &large).unwrap();
    npz.write("small", &array![1.5, 2.5]).unwrap();
    npz.into_inner().unwrap().finish().unwrap();
    let object = RemoteOptions::new().open_object(store, path()).unwrap();
    let npz = Npz::open(object.source()).unwrap();
    assert_eq!(npz.get("small").unwrap().as_slice::<f64>().unwrap(), [1.5, 2.5]);
    let read = npz.get("large").unwrap();
    assert_eq!(read.view::<u64>().unwrap().to_vec(), large.into_raw_vec_and_offset().0);
}

/// Appends rows to an object and to a file, and compares them.
fn assert_appended(descr: &str, append: impl Fn(&mut dyn FnMut(&Array2<f64>))) {
    let (store, dtype) = (Arc::new(InMemory::new()), descr.parse::<DType>().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.npy");
    let writer = options().create_object(store.clone(), path()).unwrap();
    let mut remote = RemoteAppender::new(writer, &dtype, &[50]).unwrap();
    let mut local = Appender::create(&file, &dtype, &[50], &CreateOptions::new()).unwrap();
    append(&mut |rows| {
        remote.append(rows).unwrap();
        local.append(rows).unwrap();
        assert_eq!((remote.shape(), remote.rows()), (local.shape(), local.rows()));
    });
    let runtime = Runtime::new().unwrap();
    runtime.block_on(store.head(&path())).unwrap_err();
    remote.finish().unwrap();
    local.close().unwrap();
    let written = runtime.block_on(async { store.get(&path()).await?.bytes().await }).unwrap();
    assert!(written == std::fs::read(file).unwrap());
}

#[test]
fn rows_are_appended_as_to_a_file() {
    let rows =
        Array2::from_shape_fn((2000, 50), |(i, j)| f64::from(u32::try_from(i * 50 + j).unwrap()));
    for descr in ["<f8", ">f8"] {
        assert_appended(descr, |_| {});
        assert_appended(descr, |append| append(&rows.slice(s![..3, ..]).to_owned()));
        assert_appended(descr, |append| {
            // More than two parts, in any memory order.
            (0..15).for_each(|_| append(&rows));
            append(&rows.t().to_owned().reversed_axes());
            append(&rows.slice(s![..1, ..]).to_owned());
        });
    }
}

#[test]
fn rows_that_do_not_fit_are_not_appended() {
    let store = Arc::new(InMemory::new());
    let writer = options().create_object(store.clone(), path()).unwrap();
    let mut log = RemoteAppender::new(writer, &DType::of::<u8>(), &[3]).unwrap();
    log.append_slice(&[1_u8, 2, 3]).unwrap();
    log.append(&array![4_u8, 5, 6]).unwrap();
    log.append_bytes(&[7, 8, 9, 10, 11, 12]).unwrap();
    assert_eq!(log.append_slice(&[1_u8, 2]).unwrap_err().kind(), ErrorKind::ShapeMismatch);
    assert_eq!(log.append_bytes(&[1]).unwrap_err().kind(), ErrorKind::ShapeMismatch);
    assert_eq!(log.append(&array![[1_u8, 2]]).unwrap_err().kind(), ErrorKind::ShapeMismatch);
    let error = log.append_slice(&[1_f32, 2.0, 3.0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DTypeMismatch);
    assert!(error.to_string().starts_with("InMemory/a.npy: "), "{error}");
    assert_eq!((log.shape(), log.dtype()), (&[4, 3][..], &DType::of::<u8>()));
    log.finish().unwrap();
    let object = RemoteOptions::new().open_object(store.clone(), path()).unwrap();
    let read = MappedArray::from_source(object.source()).unwrap();
    assert_eq!(read.as_slice::<u8>().unwrap(), (1..=12).collect::<Vec<_>>());

    let mut writer = options().overwrite(true).create_object(store, path()).unwrap();
    writer.write_all(b"x").unwrap();
    let error = RemoteAppender::new(writer, &DType::of::<u8>(), &[3]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = "a writer with bytes: expected one to which nothing was written";
    assert_eq!(error.to_string(), text);
}

/// Writes to the store that `.ci/remote.py` names, which then reads it with NumPy.
#[test]
fn objects_of_other_servers_are_written() {
    let Ok(folder) = std::env::var("NPYMAP_TEST_WRITE") else { return };
    let writer = options().create(&format!("{folder}/rows.npy")).unwrap();
    let mut rows = RemoteAppender::new(writer, &DType::of::<u32>(), &[2]).unwrap();
    for start in (0..3_000_000).step_by(100_000) {
        rows.append_slice(&(start..start + 100_000).collect::<Vec<u32>>()).unwrap();
    }
    rows.finish().unwrap();
    let mut npz = NpzWriter::new(options().create(&format!("{folder}/a.npz")).unwrap());
    npz.write("a", &array![1.5, 2.5]).unwrap();
    npz.into_inner().unwrap().finish().unwrap();
    let error = options().create(&format!("{folder}/a.npz")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

/// Without the permission to list objects, it is not known whether one exists.
#[test]
fn objects_are_created_without_the_permission_to_list() {
    let deny = |_, kind| if kind == Kind::Head { Answer::Status(403) } else { Answer::Normal };
    let server = S3::failing(deny);
    write(&server, b"small").unwrap();
    assert_written(&server, b"small");
    let mut writer = options().create_object(server.store(), path()).unwrap();
    writer.write_all(b"other").unwrap();
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_written(&server, b"small");
    // One of several requests would replace an object.
    let server = S3::failing(deny);
    let error = write(&server, &bytes(PART + 1)).unwrap_err();
    assert!(error.to_string().contains("denies access"), "{error}");
    assert_eq!((server.count(Kind::Start), server.count(Kind::Part)), (0, 0));
}
