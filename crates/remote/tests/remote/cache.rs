//! Objects that are kept on the local disk.

mod files;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use npymap::{ErrorKind, MappedArray, Source};
use npymap_remote::object_store::{ObjectStoreExt as _, memory::InMemory, path};
use npymap_remote::{Cache, Remote, RemoteOptions, tokio::runtime};

use crate::server::{Server, Tags};
use crate::{array, assert_rows, rows, take};

const BLOCK: u64 = 64 << 10;

/// The length of the header of marks.
const HEADER: usize = 4096;

fn cache(directory: &Path) -> Cache {
    Cache::open(directory, 1 << 30).unwrap()
}

fn open(server: &Server, cache: &Cache) -> Remote {
    RemoteOptions::new().cache(cache).open(&server.url("a.npy")).unwrap()
}

/// Held while a process is started: until it runs its program, it has the files of other
/// tests open, which locks them.
static STARTING: Mutex<()> = Mutex::new(());

/// The only file of a directory with this extension.
fn file(directory: &Path, extension: &str) -> PathBuf {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|found| found == extension));
    let file = files.next().unwrap();
    assert_eq!(files.next(), None);
    file
}

/// The bytes that the files of a directory take.
fn disk_usage(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().metadata().unwrap());
    files.map(|metadata| metadata.blocks() * 512).sum()
}

/// The bytes that were requested, and the number of requests.
fn requested(server: &Server) -> (u64, usize) {
    let log = server.log();
    let bytes = log.iter().filter_map(|request| request.range).map(|(start, end)| end - start);
    (bytes.sum(), log.len())
}

#[test]
fn bytes_are_requested_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::new(rows(1000));
    let object = open(&server, &cache(directory.path()));
    take(&array(&object).unwrap(), &[100, 900, 101]).unwrap();
    // The start, and a block for each place: rows 100 and 101 are in one, row 900 in another.
    assert_eq!(requested(&server), (3 * BLOCK, 3));
    take(&array(&object).unwrap(), &[900, 102]).unwrap();
    assert_eq!(array(&object).unwrap().get::<u32>([903, 5]).unwrap(), 903 * 1024 + 5);
    assert_eq!(requested(&server), (0, 0));
    drop(object);
    // Another process asks for the version, and gets no bytes.
    let object = open(&server, &cache(directory.path()));
    take(&array(&object).unwrap(), &[0, 100, 900]).unwrap();
    let log = server.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].if_none_match.as_deref(), Some("\"version 1\""));
    assert_eq!(object.nbytes(), 1000 * 4096 + 128);
    // A whole array requests the rest, in parts of whole blocks.
    let whole = array(&object).unwrap().read().unwrap();
    assert_rows(whole.as_slice().unwrap(), 0..1000);
    assert_eq!(requested(&server).0, object.nbytes() - 3 * BLOCK);
    let whole = MappedArray::from_source(object.source()).unwrap();
    assert_rows(whole.as_slice().unwrap(), 0..1000);
    assert_eq!(requested(&server), (0, 0));
    let data = fs::read(file(directory.path(), "data")).unwrap();
    assert!(data == rows(1000));
}

#[test]
fn a_downloaded_object_is_mapped() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::new(rows(1000));
    let object = open(&server, &cache(directory.path()));
    take(&array(&object).unwrap(), &[100, 900]).unwrap();
    server.log();
    let file = object.download().unwrap();
    let (bytes, _) = requested(&server);
    assert_eq!(bytes, object.nbytes() - 3 * BLOCK);
    // SAFETY: nobody changes the file.
    #[allow(unsafe_code)]
    let source = unsafe { Source::map_file(file) }.unwrap();
    let mapped = MappedArray::from_source(source).unwrap();
    assert_rows(mapped.as_slice().unwrap(), 0..1000);
    object.download().unwrap();
    assert_eq!(requested(&server), (0, 0));
    // While it is mapped, nothing removes it.
    drop(object);
    let small = Cache::open(directory.path(), 1 << 20).unwrap();
    let other = RemoteOptions::new().cache(&small).open(&server.url("b.npy")).unwrap();
    assert_eq!(other.download().unwrap_err().kind(), ErrorKind::Io);
    assert_rows(mapped.as_slice().unwrap(), 0..1000);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 5);
    let _none_starts = STARTING.lock().unwrap();
    drop(mapped);
    let small = Cache::open(directory.path(), 1 << 20).unwrap();
    let other = RemoteOptions::new().cache(&small).open(&server.url("b.npy")).unwrap();
    take(&array(&other).unwrap(), &[500]).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
}

#[test]
fn objects_open_offline_if_they_are_complete() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(directory.path());
    let server = Server::new(rows(100));
    let options = RemoteOptions::new().cache(&cache).offline(true);
    let url = server.url("a.npy");
    // Some of it is missing: the server is asked.
    take(&array(&options.open(&url).unwrap()).unwrap(), &[90]).unwrap();
    take(&array(&options.open(&url).unwrap()).unwrap(), &[90]).unwrap();
    assert_eq!(server.log().len(), 3);
    options.open(&url).unwrap().download().unwrap();
    server.log();
    let object = options.open(&url).unwrap();
    assert_eq!((object.nbytes(), object.e_tag()), (100 * 4096 + 128, Some("\"version 1\"")));
    let indices: Vec<_> = (0..100).collect();
    take(&array(&object).unwrap(), &indices).unwrap();
    assert_eq!(server.log(), []);
    // A new version is seen without the option.
    server.replace(rows(50));
    assert_eq!(options.open(&url).unwrap().nbytes(), 100 * 4096 + 128);
    assert_eq!(open(&server, &cache).nbytes(), 50 * 4096 + 128);
}

#[test]
fn the_server_is_part_of_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(directory.path());
    let servers = [Server::new(rows(100)), Server::new(rows(50))];
    let objects = servers.each_ref().map(|server| {
        let url = server.url("");
        let options = RemoteOptions::new().cache(&cache).offline(true);
        let options = options.option("google_base_url", url.trim_end_matches('/'));
        let options = options.option("google_skip_signature", "true").option("allow_http", "true");
        let object = options.open("gs://bucket/a.npy").unwrap();
        object.download().unwrap();
        object.nbytes()
    });
    assert_eq!(objects, [100 * 4096 + 128, 50 * 4096 + 128]);
}

/// Stores that keep old versions number them, but equal tags are equal bytes.
#[test]
fn the_number_of_a_version_does_not_matter() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(directory.path());
    let server = Server::new(rows(100));
    let url = server.url("");
    let options = RemoteOptions::new().cache(&cache).option("aws_skip_signature", "true");
    let options = options.option("aws_endpoint", url.trim_end_matches('/'));
    let options = options.option("allow_http", "true");
    for row in [10, 90] {
        let object = options.open("s3://bucket/a.npy").unwrap();
        take(&array(&object).unwrap(), &[row]).unwrap();
    }
}

#[test]
fn an_object_is_downloaded_when_there_is_space_again() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::open(directory.path(), 4 << 20).unwrap();
    let server = Server::new(rows(700));
    let open = |name: &str| RemoteOptions::new().cache(&cache).open(&server.url(name)).unwrap();
    let (first, second) = (open("1.npy"), open("2.npy"));
    first.download().unwrap();
    let error = second.download().unwrap_err();
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::StorageFull);
    drop(first);
    second.download().unwrap();
}

#[test]
fn a_new_version_replaces_the_old_one() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(directory.path());
    let server = Server::new(vec![1; 300_000]);
    let old = open(&server, &cache);
    old.download().unwrap();
    server.replace(vec![2; 300_001]);
    let new = open(&server, &cache);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut new.download().unwrap(), &mut bytes).unwrap();
    assert!(bytes == vec![2; 300_001]);
    // What is open stays what it was.
    assert_eq!(old.download().unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(fs::metadata(file(directory.path(), "data")).unwrap().len(), 300_001);
}

/// The server says that the object is unchanged, but meets no condition.
#[test]
fn an_object_whose_tag_became_weak_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache(directory.path());
    let server = Server::new(rows(10_000));
    take(&array(&open(&server, &cache)).unwrap(), &[50]).unwrap();
    server.set_tags(Tags::Weak);
    let known = array(&open(&server, &cache)).unwrap();
    assert_eq!(take(&known, &[9_000]).unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "only the lock");
    take(&array(&open(&server, &cache)).unwrap(), &[9_000]).unwrap();
}

#[test]
fn objects_without_a_strong_tag_are_not_cached() {
    for tags in [Tags::Weak, Tags::None] {
        let directory = tempfile::tempdir().unwrap();
        let server = Server::failing(rows(100), tags, |_, _| crate::server::Action::Answer);
        let object = open(&server, &cache(directory.path()));
        take(&array(&object).unwrap(), &[50]).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "only the lock");
        let error = object.download().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(
            error.message().to_string(),
            "cannot download: it is not cached: set `RemoteOptions::cache` to a directory that can be written and has space, and use a store that sends strong entity tags"
        );
    }
}

#[test]
fn signatures_are_not_part_of_the_key_and_other_queries_are_not_cached() {
    let server = Server::new(rows(100));
    for (query, other, requests, files) in [
        ("?X-Amz-Signature=1", "?X-Amz-Signature=2", 1, 3),
        ("?X-Amz-Algorithm=4&X-Amz-Signature=1&x-id=GetObject", "", 1, 3),
        ("?sv=1&sig=1", "", 1, 3),
        ("?part=1", "?part=2", 2, 1),
        ("?X-Amz-Signature=1&versionId=1", "?X-Amz-Signature=2&versionId=2", 2, 1),
        ("?file=1&sig=1", "?file=2&sig=2", 2, 1),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path());
        let options = RemoteOptions::new().cache(&cache);
        let read = |query: &str| {
            let object = options.open(&server.url(&format!("a.npy{query}"))).unwrap();
            take(&array(&object).unwrap(), &[50]).unwrap();
        };
        read(query);
        assert_eq!(server.log().len(), 2);
        read(other);
        assert_eq!(server.log().len(), requests, "{query}");
        let found: Vec<_> = fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
        assert_eq!(found.len(), files);
        let blocks =
            found.iter().find(|file| file.path().extension().is_some_and(|e| e == "blocks"));
        if let Some(blocks) = blocks {
            let text = fs::read(blocks.path()).unwrap();
            assert!(!text.windows(3).any(|part| part == b"=1\0" || part == b"sig"), "no secrets");
        }
    }
}

#[test]
fn damaged_and_foreign_files_are_not_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::new(rows(100));
    let read = |path: &Path| {
        let object = open(&server, &cache(path));
        take(&array(&object).unwrap(), &(0..100).collect::<Vec<_>>()).unwrap();
        object.download().unwrap();
    };
    read(directory.path());
    let files = ["data", "blocks"].map(|extension| file(directory.path(), extension));
    let [data, blocks] = files.each_ref().map(|path| fs::read(path).unwrap());
    assert_eq!(blocks.len(), HEADER + 7);
    let changes: Vec<[Option<Vec<u8>>; 2]> = vec![
        [None, Some(blocks.clone())],
        [Some(vec![0; data.len()]), None],
        [Some(data[..70_000].to_vec()), Some(blocks.clone())],
        [Some([&data[..], b"more"].concat()), Some(blocks.clone())],
        [Some(Vec::new()), Some(Vec::new())],
        [Some(vec![7; data.len()]), Some(blocks[..HEADER + 6].to_vec())],
        [Some(vec![7; data.len()]), Some([&blocks[..], &[1]].concat())],
        [Some(vec![7; data.len()]), Some(blocks[..50].to_vec())],
        [Some(vec![7; data.len()]), Some(vec![0xff; blocks.len()])],
        [Some(vec![7; data.len()]), Some(vec![0; blocks.len()])],
        // Of another object, or a length that no file has.
        [Some(vec![7; data.len()]), Some(replaced(&blocks, "a.npy", "b.npy"))],
        [Some(vec![7; data.len()]), Some(replaced(&blocks, "409728", "999999"))],
        [Some(vec![7; data.len()]), Some(replaced(&blocks, "version 1", "version 7"))],
        [Some(vec![7; data.len()]), Some(replaced(&blocks, "cache 2", "cache 3"))],
        // Marks that mean nothing.
        [Some(vec![7; data.len()]), Some([&blocks[..HEADER], &[3, 0, 255, 4, 0, 7, 9]].concat())],
    ];
    for (number, change) in changes.into_iter().enumerate() {
        for (path, bytes) in files.iter().zip(change) {
            let _ = fs::remove_file(path);
            let _ = bytes.map(|bytes| fs::write(path, bytes).unwrap());
        }
        read(directory.path());
        assert!(fs::read(&files[0]).unwrap() == data, "{number}");
    }
    // Directories in place of files, and other files.
    for path in &files {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        fs::write(path.join("x"), "").unwrap();
    }
    fs::write(directory.path().join("x.data"), "other").unwrap();
    let object = open(&server, &cache(directory.path()));
    take(&array(&object).unwrap(), &[99, 3]).unwrap();
    assert_eq!(fs::read(directory.path().join("x.data")).unwrap(), b"other");
}

/// Replaces a text in bytes by another one of the same length.
fn replaced(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    let at = bytes.windows(old.len()).position(|part| part == old.as_bytes()).unwrap();
    let mut bytes = bytes.to_vec();
    bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
    bytes
}

#[test]
fn only_blocks_on_the_disk_count_after_a_restart_of_the_system() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::new(rows(100));
    open(&server, &cache(directory.path())).download().unwrap();
    let blocks = file(directory.path(), "blocks");
    let data = file(directory.path(), "data");
    let mut marks = fs::read(&blocks).unwrap();
    assert_eq!(marks[HEADER..], [2; 7], "all are known to be on the disk");
    // Some were only written when the power failed, and their bytes are lost.
    marks[HEADER + 1..HEADER + 4].copy_from_slice(&[1, 2, 1]);
    let other = "00000000-0000-0000-0000-000000000000";
    let boot = std::str::from_utf8(&marks[15..15 + other.len()]).unwrap().to_owned();
    fs::write(&blocks, replaced(&marks, &boot, other)).unwrap();
    let mut bytes = fs::read(&data).unwrap();
    for block in [1, 3] {
        bytes[block * (64 << 10)..(block + 1) * (64 << 10)].fill(0);
    }
    fs::write(&data, bytes).unwrap();
    server.log();
    let object = open(&server, &cache(directory.path()));
    assert_eq!(fs::read(&blocks).unwrap()[HEADER..], [2, 0, 2, 0, 2, 2, 2]);
    take(&array(&object).unwrap(), &(0..100).collect::<Vec<_>>()).unwrap();
    // With the block in between, which costs less than another request.
    assert_eq!(server.log()[1].range, Some((BLOCK, 4 * BLOCK)));
    assert_eq!(fs::read(&blocks).unwrap()[HEADER..], [2, 1, 1, 1, 2, 2, 2]);
    assert!(fs::read(&data).unwrap() == rows(100));
    drop(object);
    assert_eq!(fs::read(&blocks).unwrap()[HEADER..], [2; 7]);
}

#[test]
fn the_size_is_bounded_by_removing_what_was_not_used_for_longest() {
    let directory = tempfile::tempdir().unwrap();
    let limit = 4 << 20;
    let cache = Cache::open(directory.path(), limit).unwrap();
    // 400 KiB each.
    let server = Server::new(rows(100));
    let open = |number: usize| {
        let options = RemoteOptions::new().cache(&cache);
        options.open(&server.url(&format!("{number}.npy"))).unwrap()
    };
    let kept = open(0);
    kept.download().unwrap();
    for number in 1..30 {
        open(number).download().unwrap();
        assert!(disk_usage(directory.path()) <= limit, "{}", disk_usage(directory.path()));
    }
    server.log();
    // The last ones, and the one that is open.
    for number in [0, 29, 28, 27, 26] {
        take(&array(&open(number)).unwrap(), &[50]).unwrap();
    }
    assert!(server.log().iter().all(|request| request.if_none_match.is_some()));
    open(1);
    assert_eq!(server.log()[0].if_none_match, None);
    // An object that is larger than the cache is read, and partly kept.
    let server = Server::new(rows(2000));
    let large = RemoteOptions::new().cache(&cache).open(&server.url("large.npy")).unwrap();
    for start in (0..2000).step_by(100) {
        let some = array(&large).unwrap().rows(start..start + 100).unwrap();
        assert_rows(some.as_slice().unwrap(), start..start + 100);
    }
    assert!(disk_usage(directory.path()) <= limit, "{}", disk_usage(directory.path()));
    let error = large.download().unwrap_err();
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::StorageFull);
    drop(kept);
}

#[test]
fn threads_with_caches_of_their_own_share_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::new(rows(1000));
    let rounds = std::env::var("NPYMAP_TEST_ROUNDS").map_or(4, |text| text.parse().unwrap());
    thread::scope(|scope| {
        for start in 0..6 {
            let (server, path) = (&server, directory.path());
            scope.spawn(move || {
                // Two of them have little space.
                let cache = Cache::open(path, if start < 2 { 1 << 20 } else { 1 << 30 }).unwrap();
                for round in 0..rounds {
                    let object = open(server, &cache);
                    let indices: Vec<_> =
                        (0..20).map(|i| (i * 53 + round * 7 + start) % 1000).collect();
                    take(&array(&object).unwrap(), &indices).unwrap();
                    let other =
                        RemoteOptions::new().cache(&cache).open(&server.url("b.npy")).unwrap();
                    take(&array(&other).unwrap(), &indices).unwrap();
                }
            });
        }
    });
    open(&server, &cache(directory.path())).download().unwrap();
}

/// Reads all rows, if this is the child process of the next test.
#[test]
fn child_process() {
    let Ok(directory) = std::env::var("NPYMAP_TEST_CACHE") else { return };
    let url = std::env::var("NPYMAP_TEST_URL").unwrap();
    let cache = cache(Path::new(&directory));
    let object = RemoteOptions::new().cache(&cache).open(&url).unwrap();
    for row in (0..1000).rev() {
        take(&array(&object).unwrap(), &[row]).unwrap();
    }
}

#[test]
fn processes_that_are_killed_leave_a_cache_that_is_right() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::new(rows(1000));
    let start = || {
        let _starting = STARTING.lock().unwrap();
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cache::child_process"])
            .env("NPYMAP_TEST_CACHE", directory.path())
            .env("NPYMAP_TEST_URL", server.url("a.npy"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    for time in [5, 20, 30, 40] {
        let mut children = [start(), start()];
        thread::sleep(Duration::from_millis(time));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let object = open(&server, &cache(directory.path()));
        let some: Vec<_> = (0..1000).rev().step_by(150).collect();
        take(&array(&object).unwrap(), &some).unwrap();
    }
    assert!(start().wait().unwrap().success());
    server.log();
    let object = open(&server, &cache(directory.path()));
    let whole = array(&object).unwrap().read().unwrap();
    assert_rows(whole.as_slice().unwrap(), 0..1000);
    assert_eq!(requested(&server).1, 1);
}

#[test]
fn objects_of_stores_are_cached_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let (store, path) = (Arc::new(InMemory::new()), path::Path::from("a.npy"));
    let runtime = runtime::Runtime::new().unwrap();
    runtime.block_on(store.put(&path, rows(100).into())).unwrap();
    let options = RemoteOptions::new().cache(&cache(directory.path()));
    let error = options.open_object(store.clone(), path.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        error.to_string(),
        "a cache for an object without a name: expected a unique one, set by `RemoteOptions::name`"
    );
    let options = options.name("memory of this test");
    let object = options.open_object(store.clone(), path.clone()).unwrap();
    assert_eq!(object.url(), "memory of this test");
    object.download().unwrap();
    drop(object);
    let options = options.offline(true);
    runtime.block_on(store.delete(&path)).unwrap();
    let object = options.open_object(store, path).unwrap();
    take(&array(&object).unwrap(), &[50]).unwrap();
}

#[test]
fn a_cache_needs_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Cache::open(&file, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = "is a file: the cache needs a directory, which is created if there is none";
    assert_eq!(error.to_string(), format!("{}: {text}", file.display()));
    Cache::open(directory.path().join("a/b"), 1).unwrap();
}
