//! The machine loses power after each system call: any part of the data that was
//! not synced may be on the disk.
//!
//! The log of a job is the state of its files after each call, and which of them
//! were synced. The states that a disk may then have are built from it: blocks
//! of a file in any of the states since it was synced, and the names of any
//! state since the directory was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::calls::Watcher;
use crate::scene::{Files, Job, Promise, Scene, Syncs, each_job};
use crate::trace::{Action, Call, Tracer};

/// The bytes that a disk writes at once.
const BLOCK: usize = 512;

/// The number of random states after each call.
const MIXED: u64 = 4;

type Inode = u64;

/// The files at one moment.
#[derive(Clone, Default)]
struct State {
    names: BTreeMap<String, Inode>,
    contents: BTreeMap<Inode, Arc<Vec<u8>>>,
}

/// Logs the states of the files of a directory.
struct Log {
    watcher: Watcher,
    root: PathBuf,
    /// The first one is that before the job.
    states: Vec<State>,
    /// For each state, the files and directories that were synced by the call
    /// before it.
    synced: Vec<Option<Inode>>,
}

impl Log {
    fn new(root: &Path) -> Log {
        let (watcher, root) = (Watcher::new(root), root.to_owned());
        let mut log = Log { watcher, root, states: Vec::new(), synced: Vec::new() };
        let first = log.state(None);
        log.states.push(first);
        log.synced.push(None);
        log
    }

    /// The files now: those with a name, and those that the process has open.
    fn state(&self, process: Option<i32>) -> State {
        let mut state = State::default();
        for entry in fs::read_dir(&self.root).unwrap() {
            let entry = entry.unwrap();
            let inode = entry.metadata().unwrap().ino();
            state.names.insert(entry.file_name().into_string().unwrap(), inode);
            self.add(&mut state, inode, &entry.path());
        }
        let open = process.and_then(|process| fs::read_dir(format!("/proc/{process}/fd")).ok());
        for entry in open.into_iter().flatten().flatten() {
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            let Ok(metadata) = fs::metadata(entry.path()) else { continue };
            if target.starts_with(&self.root) && metadata.is_file() {
                self.add(&mut state, metadata.ino(), &entry.path());
            }
        }
        state
    }

    fn add(&self, state: &mut State, inode: Inode, path: &Path) {
        let bytes = fs::read(path).unwrap();
        let last = self.states.last().and_then(|last| last.contents.get(&inode));
        let same = last.filter(|last| ***last == bytes).map(Arc::clone);
        state.contents.insert(inode, same.unwrap_or_else(|| Arc::new(bytes)));
    }
}

impl Tracer for Log {
    fn before(&mut self, _: &Call) -> Action {
        Action::Continue
    }

    fn after(&mut self, call: &Call, result: i64) {
        self.watcher.after(call, result);
        let Some(kind) = self.watcher.kind(call).filter(|_| result >= 0) else { return };
        let file = format!("/proc/{}/fd/{}", call.thread, call.arguments[0]);
        // `msync` syncs the file of a map, but here only whole files are.
        let is_sync = kind.is_sync() && kind.name != "msync";
        let synced = is_sync.then(|| fs::metadata(file).unwrap().ino());
        self.states.push(self.state(Some(call.thread)));
        self.synced.push(synced);
    }
}

/// The states that the disk may have if the power fails after a state.
struct Crash<'a> {
    log: &'a Log,
    at: usize,
}

impl Crash<'_> {
    /// The last state in which a file or the directory was synced.
    fn synced(&self, inode: Inode) -> usize {
        let mut before = self.log.synced[..=self.at].iter();
        before.rposition(|synced| *synced == Some(inode)).unwrap_or(0)
    }

    /// All states of the names, which a journal writes in order.
    fn names(&self) -> Vec<&BTreeMap<String, Inode>> {
        let directory = fs::metadata(&self.log.root).unwrap().ino();
        let mut all: Vec<_> = self.log.states[self.synced(directory)..=self.at]
            .iter()
            .map(|state| &state.names)
            .collect();
        all.dedup();
        all
    }

    /// The content of a file: none or all of the data written since it was synced,
    /// or random blocks of it.
    fn content(&self, inode: Inode, choice: &mut Choice) -> Vec<u8> {
        let first = self.synced(inode);
        let states = self.log.states[first..=self.at].iter();
        let mut versions: Vec<&[u8]> =
            states.filter_map(|state| state.contents.get(&inode)).map(|bytes| &***bytes).collect();
        let is_new = !self.log.states[0].contents.contains_key(&inode);
        if first == 0 && is_new {
            versions.insert(0, &[]);
        }
        if versions.windows(2).all(|pair| std::ptr::eq(pair[0], pair[1])) {
            return versions[0].to_vec();
        }
        let len = choice.pick(&versions).len();
        let mut content = vec![0; len];
        for (number, block) in content.chunks_mut(BLOCK).enumerate() {
            let version = choice.pick(&versions);
            let start = version.len().min(number * BLOCK);
            let end = version.len().min(start + block.len());
            block[..end - start].copy_from_slice(&version[start..end]);
        }
        content
    }

    /// The files with these names.
    fn files(&self, names: &BTreeMap<String, Inode>, choice: &mut Choice) -> Files {
        names.iter().map(|(name, &inode)| (name.clone(), self.content(inode, choice))).collect()
    }
}

/// Which version of a block is on the disk.
enum Choice {
    First,
    Last,
    Random(u64),
}

impl Choice {
    fn pick<'a>(&mut self, versions: &[&'a [u8]]) -> &'a [u8] {
        let at = match self {
            Choice::First => 0,
            Choice::Last => versions.len() - 1,
            Choice::Random(state) => {
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (*state >> 33) as usize % versions.len()
            }
        };
        versions[at]
    }
}

/// All choices for one moment.
fn choices() -> impl Iterator<Item = Choice> {
    [Choice::First, Choice::Last].into_iter().chain((1..=MIXED).map(Choice::Random))
}

#[test]
fn files_survive_a_loss_of_power_at_any_system_call() {
    let fits = |job: &Job| job.syncs != Syncs::Nothing || job.promise == Promise::Elements;
    each_job("losses of power", 200, fits, |job, _, found| {
        let scene = Scene::new(job);
        let mut log = Log::new(scene.root());
        assert!(scene.run(&mut log).unwrap().status.success());
        let last = log.states.len() - 1;
        let mut seen = std::collections::BTreeSet::new();
        for at in 0..=last {
            let crash = Crash { log: &log, at };
            for names in crash.names() {
                for mut choice in choices() {
                    let mut files = crash.files(names, &mut choice);
                    // Unfinished files may be left, with any content.
                    files.retain(|name, _| !name.starts_with(".npymap-"));
                    if at < last && !seen.insert(files.clone()) {
                        continue;
                    }
                    scene.replace_files(&files);
                    let checked = if at == last && job.syncs == Syncs::All && files != scene.after {
                        Err("it had succeeded".to_owned())
                    } else if job.promise == Promise::Rows {
                        // Any bytes may follow them.
                        scene.check_counted()
                    } else {
                        scene.check()
                    };
                    if let Err(problem) = checked {
                        found
                            .wrong
                            .push(format!("{}: call {at}: {problem}", job.arguments.join(" ")));
                    }
                    found.count += 1;
                }
            }
        }
        scene.restore();
    });
}
