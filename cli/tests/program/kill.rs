//! Killing the program at any moment leaves files as they were, or complete, on
//! the disk and in memory.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::run::{path_in, run_ok};

/// The number of times each command is killed in each directory; `NPYMAP_TEST_KILLS` sets
/// another.
fn kills() -> u64 {
    std::env::var("NPYMAP_TEST_KILLS").map_or(6, |text| text.parse().expect("a number"))
}

/// A directory on the disk, and one in memory if the system has a place for it.
fn directories() -> impl Iterator<Item = tempfile::TempDir> {
    let in_memory = tempfile::tempdir_in("/dev/shm").ok();
    std::iter::once(tempfile::tempdir().unwrap()).chain(in_memory)
}

/// Writes the files that commands work on, which are created once.
fn write_files(directory: &Path) {
    static FILES: LazyLock<Vec<(OsString, Vec<u8>)>> = LazyLock::new(|| {
        let directory = tempfile::tempdir().unwrap();
        create_files(directory.path());
        let entries = fs::read_dir(directory.path()).unwrap().map(Result::unwrap);
        entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
    });
    for (name, bytes) in &*FILES {
        fs::write(directory.join(name), bytes).unwrap();
    }
}

fn create_files(directory: &Path) {
    let [file, other, npz] =
        ["file.npy", "other.npy", "file.npz"].map(|name| path_in(directory, name));
    run_ok(["create", &file, "--shape", "(9, 300)", "--fill", "1"]);
    run_ok(["create", &other, "--shape", "(700, 300)", "--fill", "2"]);
    run_ok(["convert", &file, &path_in(directory, "file.ten")]);
    run_ok(["npz", "pack", &file, &other, "--name", "arr_0", "--name", "more", "-o", &npz]);
    // Their writers died.
    let rows = &fs::read(&other).unwrap()[128..1_000_001];
    let torn = [&fs::read(&file).unwrap(), rows].concat();
    fs::write(directory.join("file.torn.npy"), torn).unwrap();
    let torn = fs::read(&npz).unwrap();
    fs::write(directory.join("file.torn.npz"), &torn[..torn.len() / 2]).unwrap();
}

/// The files that a command works on, and the content of the first one before
/// and after.
struct Scene {
    directory: tempfile::TempDir,
    file: PathBuf,
    before: Vec<u8>,
    after: Vec<u8>,
    /// How long the command took.
    duration: Duration,
}

impl Scene {
    /// A scene in each directory.
    fn all(command: &[&str]) -> impl Iterator<Item = Scene> {
        directories().map(|directory| Scene::new(directory, command))
    }

    /// Writes the files and runs the command once, to completion.
    fn new(directory: tempfile::TempDir, command: &[&str]) -> Scene {
        write_files(directory.path());
        let mut names = command.iter().filter_map(|word| word.split('[').next());
        let name = names.rfind(|name| name.starts_with("file.")).unwrap();
        let file = directory.path().join(name);
        let before = fs::read(&file).unwrap();
        let (after, duration) = (Vec::new(), Duration::ZERO);
        let mut scene = Scene { directory, file, before, after, duration };
        let started = Instant::now();
        assert!(scene.command(command).status().unwrap().success());
        scene.duration = started.elapsed();
        scene.after = fs::read(&scene.file).unwrap();
        assert_ne!(scene.before, scene.after);
        scene
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = crate::run::command();
        command.current_dir(self.directory.path()).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn file_count(&self) -> usize {
        fs::read_dir(self.directory.path()).unwrap().count()
    }

    /// Kills the command repeatedly, at random moments until it would have ended.
    fn kill(&self, command: &[&str], check: impl Fn(&[u8])) {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let (mut duration, mut killed, mut unfinished) = (self.duration, 0, 0);
        for round in 0..kills() {
            fs::write(&self.file, &self.before).unwrap();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round | 1);
            let part = f64::from(u32::try_from(random >> 33).unwrap()) / f64::from(1_u32 << 31);
            let moment = duration.mul_f64(1.2 * part);
            let mut child = self.command(command).spawn().unwrap();
            let started = Instant::now();
            while started.elapsed() < moment && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_micros(50));
            }
            child.kill().unwrap();
            if child.wait().unwrap().success() {
                // It may take longer next time.
                duration = (duration + started.elapsed()).div_f64(2.0);
            } else {
                killed += 1;
            }
            let found = fs::read(&self.file).unwrap();
            unfinished += u32::from(found != self.after);
            check(&found);
            remove_unfinished(self.directory.path());
        }
        let directory = self.directory.path().parent().unwrap().display();
        println!("{directory}: killed {killed} times, {unfinished} unfinished: {command:?}");
    }
}

/// Removes unfinished files, at most one of them.
fn remove_unfinished(directory: &Path) {
    let others = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let others: Vec<_> = others
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(".npymap-"))
        .collect();
    assert!(others.len() <= 1, "{others:?}");
    for path in others {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn replaced_files_are_old_or_new() {
    for command in [
        &["create", "--overwrite", "--shape", "(500, 301)", "--fill", "3", "file.npy"][..],
        &["convert", "--overwrite", "--order", "F", "--byte-order", "big", "other.npy", "file.npy"],
        &["concat", "--overwrite", "file.npy", "other.npy", "-o", "file.npy"],
        &["convert", "--overwrite", "other.npy", "file.npz"],
        &["convert", "--overwrite", "other.npy", "file.ten"],
        &["set", "file.npz[arr_0]", "...", "7"],
        &["shuffle", "--overwrite", "--seed", "7", "other.npy", "file.npy"],
        &["npz", "add", "file.npz", "other.npy"],
        &["npz", "rm", "file.npz", "more"],
        &["npz", "mv", "file.npz", "arr_0", "first"],
        &["npz", "pack", "--overwrite", "other.npy", "-o", "file.npz"],
        &["npz", "recover", "--overwrite", "file.torn.npz", "-o", "file.npz"],
    ] {
        for scene in Scene::all(command) {
            scene.kill(command, |found| {
                assert!(found == scene.before || found == scene.after, "{command:?}");
            });
        }
    }
}

/// Returns whether the file system has unnamed files, which vanish with the
/// process.
#[cfg(target_os = "linux")]
fn has_unnamed_files(directory: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt as _;

    // O_TMPFILE
    fs::File::options().write(true).custom_flags(0o20_200_000).open(directory).is_ok()
}

#[cfg(target_os = "linux")]
#[test]
fn a_new_file_that_is_killed_leaves_nothing() {
    let scene = Scene::new(tempfile::tempdir().unwrap(), &["set", "file.npy", ":", "8"]);
    if !has_unnamed_files(scene.directory.path()) {
        return eprintln!("nothing was tested, the file system has no unnamed files");
    }
    let before = scene.file_count();
    for command in [
        &["create", "--shape", "(500, 301)", "--fill", "3", "new.npy"][..],
        &["convert", "--order", "F", "other.npy", "new.npy"],
        &["convert", "--deflate", "other.npy", "new.npz"],
    ] {
        scene.kill(command, |_| {
            let new = ["new.npy", "new.npz"].map(|name| scene.directory.path().join(name));
            let is_there = new.iter().any(|path| fs::remove_file(path).is_ok());
            assert_eq!(scene.file_count(), before, "{command:?}, and the new file: {is_there}");
        });
    }
}

#[test]
fn appended_rows_are_complete_or_absent() {
    let command = ["append", "file.npy", "other.npy"];
    for scene in Scene::all(&command) {
        scene.kill(&command, |found| {
            let is_old = found[..scene.before.len()] == scene.before[..];
            assert!(found == scene.after || is_old && found.len() <= scene.after.len());
            run_ok(["recover", scene.file.to_str().unwrap()]);
            let recovered = fs::read(&scene.file).unwrap();
            let rows = (recovered.len() - 128) / 2400;
            assert_eq!(recovered.len(), 128 + rows * 2400);
            assert_eq!(recovered[128..], scene.after[128..recovered.len()]);
            let info = run_ok(["info", "--json", scene.file.to_str().unwrap()]);
            assert!(info.contains(&format!(r#""shape":[{rows},300]"#)), "{info}");
        });
    }
}

#[test]
fn a_recovery_that_is_killed_can_be_repeated() {
    let command = ["recover", "file.torn.npy"];
    for scene in Scene::all(&command) {
        scene.kill(&command, |_| {
            run_ok(["recover", scene.file.to_str().unwrap()]);
            assert!(fs::read(&scene.file).unwrap() == scene.after);
        });
    }
}

#[test]
fn elements_that_are_set_are_old_or_new() {
    for command in [&["set", "file.npy", ":", "7"][..], &["set", "file.npy", ":, ::2", "8"]] {
        for scene in Scene::all(command) {
            scene.kill(command, |found| {
                assert_eq!(found.len(), scene.before.len());
                assert_eq!(found[..128], scene.before[..128]);
                let old = scene.before.chunks(8).zip(scene.after.chunks(8));
                assert!(found.chunks(8).zip(old).all(|(now, (old, new))| now == old || now == new));
            });
        }
    }
}
