//! Each system call about a file fails once, in each of its ways; and the disk
//! is full from each of them on.

use crate::calls::{Kind, Watcher};
use crate::scene::{Ended, Job, Promise, Scene, each_job, step};
use crate::trace::{Action, Call, Tracer};

/// Makes one of the watched calls fail, or all from there on that take space.
struct Fault {
    watcher: Watcher,
    /// The calls so far.
    seen: Vec<&'static Kind>,
    at: usize,
    action: Action,
    is_full_disk: bool,
}

impl Fault {
    fn new(scene: &Scene, at: usize, action: Action) -> Fault {
        let watcher = Watcher::new(scene.root());
        Fault { watcher, seen: Vec::new(), at, action, is_full_disk: false }
    }
}

impl Tracer for Fault {
    fn before(&mut self, call: &Call) -> Action {
        let Some(kind) = self.watcher.kind(call) else { return Action::Continue };
        let number = self.seen.len();
        self.seen.push(kind);
        let fails = if self.is_full_disk {
            number >= self.at && kind.takes_space()
        } else {
            number == self.at
        };
        if fails { self.action } else { Action::Continue }
    }

    fn after(&mut self, call: &Call, result: i64) {
        self.watcher.after(call, result);
    }
}

/// The calls that a job makes without faults.
fn calls(scene: &Scene) -> Vec<&'static Kind> {
    let mut none = Fault::new(scene, usize::MAX, Action::Continue);
    let ended = scene.run(&mut none).unwrap();
    assert!(ended.status.success(), "{}", ended.error);
    scene.restore();
    none.seen
}

/// Runs a job with a fault, and describes what is wrong afterwards.
fn run(scene: &Scene, fault: &mut Fault) -> Result<(), String> {
    let Ended { status, error } = scene.run(fault).unwrap();
    let checked = match status.code() {
        Some(0) if scene.files() == scene.after => Ok(()),
        Some(0) => Err("it succeeded, with other files".to_owned()),
        Some(1) if error.is_empty() => Err("it failed without an error".to_owned()),
        Some(1) => check_failed(scene, fault.is_full_disk, &error),
        _ => Err(format!("it ended with {status}")),
    };
    scene.restore();
    checked.map_err(|problem| format!("{problem}; {error}"))
}

fn check_failed(scene: &Scene, is_full_disk: bool, error: &str) -> Result<(), String> {
    if scene.remove_unfinished() > 0 {
        return Err("a temporary file is left".to_owned());
    }
    let found = scene.files();
    let is_append = scene.job.arguments[0] == "append";
    if is_append && !is_full_disk && found != scene.before && found != scene.after {
        return Err("it failed after some of the rows were added".to_owned());
    }
    // Rows may be there only if the error says so.
    if is_append && found == scene.after && !error.contains("the rows were added") {
        return Err("it failed and added the rows".to_owned());
    }
    scene.check()
}

#[test]
fn a_system_call_that_fails_is_an_error_and_loses_nothing() {
    each_job(
        "faults",
        1000 / step(),
        |_| true,
        |job, first, found| {
            let scene = Scene::new(job);
            let calls = calls(&scene);
            for (at, kind) in calls.iter().enumerate().skip(first).step_by(step()) {
                for action in kind.faults() {
                    let mut fault = Fault::new(&scene, at, action);
                    if let Err(problem) = run(&scene, &mut fault) {
                        let (job, name) = (job.arguments.join(" "), kind.name);
                        found
                            .wrong
                            .push(format!("{job}: call {at}, {name}, {action:?}: {problem}"));
                    }
                    found.count += 1;
                }
            }
        },
    );
}

#[test]
fn a_disk_that_becomes_full_at_any_call_loses_nothing() {
    let fits = |job: &Job| job.promise != Promise::Elements;
    each_job("full disks", 1, fits, |job, first, found| {
        let scene = Scene::new(job);
        let calls = calls(&scene);
        let takes_space = calls.iter().enumerate().filter(|(_, kind)| kind.takes_space());
        for (at, _) in takes_space.skip(first / 2).step_by(step()) {
            let fault = Fault::new(&scene, at, Action::Fail(libc::ENOSPC));
            let mut fault = Fault { is_full_disk: true, ..fault };
            if let Err(problem) = run(&scene, &mut fault) {
                found.wrong.push(format!("{}: call {at}: {problem}", job.arguments.join(" ")));
            }
            found.count += 1;
        }
    });
}
