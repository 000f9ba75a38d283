//! The library's writers, in processes of this test program.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use npymap::ndarray::{Array2, arr2, s};
use npymap::npz::{self, Compression, NpzWriter};
use npymap::source::{AtomicFile, Locking};
use npymap::write::{RecoverOptions, resize};
use npymap::{Appender, CreateOptions, DType, MappedArray, Npz, Result, WriteOptions, ten};

use crate::scene::{Job, Promise, Syncs, atomic, flushed, job};

/// Selects the role of a process.
const ROLE: &str = "NPYMAP_TEST_ROLE";
/// Its directory.
const DIRECTORY: &str = "NPYMAP_TEST_DIRECTORY";

/// The library's writers.
pub(crate) const ROLES: &[Job] = &[
    job(&["role", "append"], Promise::Rows),
    job(&["role", "append rows"], Promise::Rows),
    flushed(&["role", "append and sync"], Promise::Rows),
    job(&["role", "append parts"], Promise::Rows),
    job(&["role", "resize to more rows"], Promise::Rows),
    atomic(&["role", "resize to fewer rows"]),
    flushed(&["role", "recover"], Promise::Rows),
    Job { syncs: Syncs::Nothing, ..atomic(&["role", "write"]) },
    Job { syncs: Syncs::Nothing, ..atomic(&["role", "create"]) },
    Job { syncs: Syncs::Nothing, ..atomic(&["role", "savez"]) },
    atomic(&["role", "deflated members"]),
    Job { syncs: Syncs::Nothing, ..atomic(&["role", "archive in an atomic file"]) },
    Job { syncs: Syncs::Nothing, ..atomic(&["role", "ten"]) },
    atomic(&["role", "update"]),
    atomic(&["role", "atomic file"]),
    flushed(&["role", "store"], Promise::Elements),
    flushed(&["role", "write elements"], Promise::Elements),
    flushed(&["role", "fill"], Promise::Elements),
];

/// A command that plays a role in a directory.
pub(crate) fn command(role: &str, directory: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "roles::child_process", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(DIRECTORY, directory);
    command
}

/// Plays a role, if one is selected.
#[test]
fn child_process() {
    let Ok(role) = env::var(ROLE) else { return };
    let directory = PathBuf::from(env::var(DIRECTORY).unwrap());
    if let Err(error) = play(&role, &directory) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn play(role: &str, directory: &Path) -> Result<()> {
    let [file, new, archive, list] =
        ["file.npy", "new.npy", "file.npz", "file.ten"].map(|name| directory.join(name));
    match role {
        "append" => append(&file, 1 << 16),
        "append rows" => append(&file, 0),
        "append and sync" => {
            let mut appender = Appender::open(&file)?;
            appender.append_slice(&[2.0; 20])?;
            appender.sync()?;
            appender.append_slice(&[3.0; 20])?;
            appender.sync()
        }
        "append parts" => {
            let mut appender = Appender::open(&file)?;
            appender.append_parts(8, |put| (0..8).try_for_each(|_| put(&[7; 40])))?;
            appender.close()
        }
        "resize to more rows" => resize(&file, 300),
        "resize to fewer rows" => resize(&file, 2),
        "recover" => RecoverOptions::new().recover(directory.join("torn.npy")).map(drop),
        "write" => WriteOptions::new().write(&file, &rows(50)).map(drop),
        "create" => create(&file),
        "savez" => npz::savez(&archive, &[("a", &rows(3)), ("b", &rows(400))]),
        "deflated members" => {
            let mut writer = NpzWriter::create(&archive)?;
            writer.compression(Compression::Deflated(6)).write("a", &rows(3))?;
            writer.finish()
        }
        "archive in an atomic file" => {
            let mut writer = NpzWriter::new_seekable(AtomicFile::create(&archive)?)?;
            writer.write("a", &rows(400))?;
            writer.into_inner()?.commit().map(drop)
        }
        "ten" => ten::TenWriteOptions::new().save(&list, &[&rows(3), &rows(400)]),
        "update" => {
            let mut update = Npz::update(&archive, Locking::Wait)?;
            let added = rows(30);
            update.set("arr_0", &added)?.set("more", &added)?;
            update.commit()
        }
        "atomic file" => {
            use std::io::Write as _;
            let mut file = AtomicFile::update(&new, Locking::Wait)?;
            file.write_all(b"all of it")?;
            file.commit_sync().map(drop)
        }
        "store" => {
            // SAFETY: nobody else uses the directory.
            let mut array = unsafe { MappedArray::open_mut(&file) }?;
            array.as_slice_mut::<f64>()?.fill(7.0);
            array.flush()?;
            array.close()
        }
        "write elements" => {
            // SAFETY: nobody else uses the directory.
            let mut array = unsafe { MappedArray::open_mut(&file) }?;
            let writer = array.element_writer()?;
            writer.write(&[1, 2], &[7.0, 8.0])?;
            writer.write(&[3, 0], &[7.0; 5])?;
            array.write_fill_slice(s![4.., ..;2], None, &9.0)?;
            array.close()
        }
        "fill" => {
            // SAFETY: nobody else uses the directory.
            let mut array = unsafe { MappedArray::open_mut(&file) }?;
            array.write_fill_slice([], None, &7.0)?;
            array.flush_rows(1..3)?;
            array.flush_async()?;
            array.close()
        }
        other => panic!("{other}"),
    }
}

fn rows(count: usize) -> Array2<f64> {
    Array2::from_elem((count, 5), 4.0)
}

fn append(path: &Path, buffer: usize) -> Result<()> {
    let mut appender = Appender::open(path)?.with_capacity(buffer);
    appender.append_slice(&[2.0; 15])?;
    appender.append(&arr2(&[[3.0; 5], [4.0; 5]]))?;
    appender.flush()?;
    appender.append_slice(&[5.0; 5])?;
    appender.close()
}

fn create(path: &Path) -> Result<()> {
    let options = CreateOptions::new().overwrite(true);
    // SAFETY: nobody else uses the directory.
    let array = unsafe { options.create(path, &DType::of::<f64>(), &[70, 5]) }?;
    array.close()
}
