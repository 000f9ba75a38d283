//! Sandboxes and file systems that refuse a system call whenever it is made.

use libc::{EACCES, EBUSY, EINVAL, EOPNOTSUPP, EPERM, c_long};

use crate::calls::Watcher;
use crate::scene::{Ended, Job, Promise, Scene, each_job, step};
use crate::trace::{Action, Call, Tracer};

/// Makes all of some calls about files fail.
struct Refusal {
    watcher: Watcher,
    calls: &'static [c_long],
    error: i32,
    count: usize,
}

impl Refusal {
    fn new(scene: &Scene, calls: &'static [c_long], error: i32) -> Refusal {
        Refusal { watcher: Watcher::new(scene.root()), calls, error, count: 0 }
    }
}

impl Tracer for Refusal {
    fn before(&mut self, call: &Call) -> Action {
        if self.watcher.kind(call).is_none() || !self.calls.contains(&call.number) {
            return Action::Continue;
        }
        self.count += 1;
        Action::Fail(self.error)
    }

    fn after(&mut self, call: &Call, result: i64) {
        self.watcher.after(call, result);
    }
}

fn is_atomic(job: &Job) -> bool {
    job.promise == Promise::Atomic
}

#[test]
fn files_are_written_where_links_are_refused() {
    const LINK: &[c_long] = &[libc::SYS_linkat];
    // Nor can files be renamed without replacing one.
    const ALL: &[c_long] = &[libc::SYS_linkat, libc::SYS_renameat2];
    let cases = [(LINK, EACCES), (LINK, EPERM), (LINK, EOPNOTSUPP), (ALL, EPERM), (ALL, EINVAL)];
    let step = step().min(3);
    each_job("refused links", 100 / step, is_atomic, |job, first, found| {
        let scene = Scene::new(job);
        for (calls, error) in cases.into_iter().skip(first % step).step_by(step) {
            let mut refusal = Refusal::new(&scene, calls, error);
            let Ended { status, error: text } = scene.run(&mut refusal).unwrap();
            assert!(refusal.count > 0, "{job:?} links no file");
            if !status.success() || scene.files() != scene.after {
                found.wrong.push(format!("{}: error {error}: {text}", job.arguments.join(" ")));
            }
            found.count += 1;
            scene.restore();
        }
    });
}

#[test]
fn a_mount_point_that_cannot_be_replaced_is_named() {
    const RENAMES: &[c_long] = &[libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2];
    each_job("mount points", 10, is_atomic, |job, _, found| {
        let scene = Scene::new(job);
        let mut refusal = Refusal::new(&scene, RENAMES, EBUSY);
        let Ended { status, error } = scene.run(&mut refusal).unwrap();
        if refusal.count == 0 {
            // It replaces no file.
            return;
        }
        found.count += 1;
        let is_named = error.contains("cannot replace a mount point") && error.contains("in place");
        if status.code() != Some(1) || !is_named || scene.files() != scene.before {
            found.wrong.push(format!("{}: {status}: {error}", job.arguments.join(" ")));
        }
        scene.restore();
    });
}
