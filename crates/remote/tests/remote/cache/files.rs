//! The files of a cache: who may use them, and what others put in their place.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::mpsc;

use super::*;

/// The permissions of a file or a directory.
fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn files_are_for_their_owner_whatever_the_umask() {
    let server = Server::new(rows(1000));
    for umask in ["000", "022", "077"] {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("new/cache");
        let starting = STARTING.lock().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "umask $1; exec \"$0\" --exact cache::child_process"])
            .arg(std::env::current_exe().unwrap())
            .arg(umask)
            .env("NPYMAP_TEST_CACHE", &directory)
            .env("NPYMAP_TEST_URL", server.url("a.npy"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        drop(starting);
        assert!(child.wait().unwrap().success());
        for path in [directory.parent().unwrap(), &directory] {
            assert_eq!(mode(path), 0o700, "{umask}");
        }
        let files = fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path());
        let modes: Vec<_> = files.map(|path| mode(&path)).collect();
        assert_eq!(modes, [0o600; 3], "{umask}");
    }
}

/// Fails, instead of waiting forever, if something takes a minute.
fn soon(run: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        run();
        sender.send(()).unwrap();
    });
    let done = receiver.recv_timeout(Duration::from_secs(60));
    assert_ne!(done, Err(mpsc::RecvTimeoutError::Timeout), "it hangs");
    thread.join().unwrap();
}

/// Whoever may write to the directory of a cache can't make its user write elsewhere.
#[test]
fn links_in_place_of_files_are_not_followed() {
    for name in ["data", "blocks"] {
        let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let server = Server::new(rows(100));
        take(&array(&open(&server, &cache(directory.path()))).unwrap(), &[50]).unwrap();
        // A link to a file that could be that of the cache.
        let (path, target) = (file(directory.path(), name), other.path().join("target"));
        fs::rename(&path, &target).unwrap();
        symlink(&target, &path).unwrap();
        let before = fs::read(&target).unwrap();
        let object = open(&server, &cache(directory.path()));
        take(&array(&object).unwrap(), &(0..100).collect::<Vec<_>>()).unwrap();
        object.download().unwrap();
        assert!(fs::read(&target).unwrap() == before, "{name}");
        assert!(fs::symlink_metadata(&path).unwrap().is_file(), "{name}");
    }
    // The lock, which is not created elsewhere either.
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = other.path().join("target");
    symlink(&target, directory.path().join("lock")).unwrap();
    let server = Server::new(rows(100));
    let object = open(&server, &cache(directory.path()));
    take(&array(&object).unwrap(), &[50]).unwrap();
    fs::write(&target, "").unwrap();
    take(&array(&open(&server, &cache(directory.path()))).unwrap(), &[50]).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is kept");
}

#[test]
fn pipes_in_place_of_files_are_not_waited_for() {
    soon(|| {
        for name in ["data", "blocks", "lock"] {
            let directory = tempfile::tempdir().unwrap();
            let server = Server::new(rows(100));
            take(&array(&open(&server, &cache(directory.path()))).unwrap(), &[50]).unwrap();
            let lock = directory.path().join("lock");
            let path = if name == "lock" { lock } else { file(directory.path(), name) };
            fs::remove_file(&path).unwrap();
            let starting = STARTING.lock().unwrap();
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            drop(starting);
            let object = open(&server, &cache(directory.path()));
            take(&array(&object).unwrap(), &(0..100).collect::<Vec<_>>()).unwrap();
            drop(object);
            // It is not taken for a file: the version that was kept is not known.
            assert!(server.log().iter().all(|request| request.if_none_match.is_none()), "{name}");
            // A pipe in place of the lock stays.
            assert_eq!(fs::symlink_metadata(&path).unwrap().is_file(), name != "lock");
        }
    });
}

#[test]
fn a_lock_that_others_hold_only_costs_a_second() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::new(rows(100));
    drop(cache(directory.path()));
    // Reading the file is enough for this lock.
    let lock = fs::File::open(directory.path().join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockShared).unwrap();
    let (path, url) = (directory.path().to_owned(), server.url("a.npy"));
    soon(move || {
        let options = RemoteOptions::new().cache(&cache(&path));
        let start = Instant::now();
        for _ in 0..10 {
            let object = options.open(&url).unwrap();
            take(&array(&object).unwrap(), &[50, 3]).unwrap();
        }
        // Not once for each of them.
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "nothing is kept");
    });
    drop(lock);
    open(&server, &cache(directory.path())).download().unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
}
