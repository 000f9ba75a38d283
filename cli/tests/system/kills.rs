//! The process is killed before each of its system calls about files.

use crate::calls::Watcher;
use crate::scene::{Scene, each_job, step};
use crate::trace::{Action, Call, Tracer};

/// Kills the process at one of the watched calls.
struct Killer {
    watcher: Watcher,
    left: usize,
}

impl Tracer for Killer {
    fn before(&mut self, call: &Call) -> Action {
        if self.watcher.kind(call).is_none() {
            return Action::Continue;
        }
        let is_last = self.left == 0;
        self.left = self.left.wrapping_sub(1);
        if is_last { Action::Kill } else { Action::Continue }
    }

    fn after(&mut self, call: &Call, result: i64) {
        self.watcher.after(call, result);
    }
}

#[test]
fn a_process_killed_at_any_system_call_loses_nothing() {
    each_job(
        "kills",
        300 / step(),
        |_| true,
        |job, first, found| {
            let scene = Scene::on_disk(job);
            for at in (first..).step_by(step()) {
                let mut killer = Killer { watcher: Watcher::new(scene.root()), left: at };
                let ended = scene.run(&mut killer).unwrap();
                if ended.status.success() {
                    scene.restore();
                    break;
                }
                let checked = match scene.remove_unfinished() {
                    0 | 1 => scene.check(),
                    left => Err(format!("{left} unfinished files")),
                };
                if let Err(problem) = checked {
                    found.wrong.push(format!("{}: call {at}: {problem}", job.arguments.join(" ")));
                }
                scene.restore();
                found.count += 1;
            }
        },
    );
}
