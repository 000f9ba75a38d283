//! Stops a program before and after each of its system calls.

use std::collections::HashMap;
use std::ffi::c_uint;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use libc::{pid_t, user_regs_struct};

/// The longest path that is read from the program.
const PATH_LEN: usize = 4096;

/// The treatment of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Continue,
    /// It is not made, and returns this error.
    Fail(i32),
    /// The number in this argument is halved.
    Shorten(usize),
    /// The program is killed before it.
    Kill,
}

/// Decides about system calls.
pub(crate) trait Tracer {
    fn before(&mut self, call: &Call) -> Action;

    /// Called with the result of the call, which is negative for errors.
    fn after(&mut self, call: &Call, result: i64);
}

/// A system call of a thread of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) thread: pid_t,
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

impl Call {
    /// The path that an argument points to.
    pub(crate) fn path(&self, argument: usize) -> Option<PathBuf> {
        let memory = File::open(format!("/proc/{}/mem", self.thread)).ok()?;
        let mut bytes = Vec::new();
        let mut block = [0; 64];
        while bytes.len() < PATH_LEN {
            let at = self.arguments[argument].checked_add(bytes.len() as u64)?;
            // Blocks that do not cross a page.
            let len = 64 - at as usize % 64;
            let found = memory.read_at(&mut block[..len], at).ok()?;
            let end = block[..found].iter().position(|&byte| byte == 0);
            bytes.extend_from_slice(&block[..end.unwrap_or(found)]);
            if end.is_some() {
                return String::from_utf8(bytes).ok().map(PathBuf::from);
            }
        }
        None
    }

    /// The file of an argument that is a descriptor.
    pub(crate) fn file(&self, argument: usize) -> Option<PathBuf> {
        let descriptor = self.arguments[argument] as i32;
        fs::read_link(format!("/proc/{}/fd/{descriptor}", self.thread)).ok()
    }
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command, tracer: &mut impl Tracer) -> io::Result<ExitStatus> {
    // SAFETY: between fork and exec, the function only makes a system call.
    let child = unsafe { command.pre_exec(trace_me) }.spawn()?;
    let main = child.id() as pid_t;
    let mut calls = HashMap::new();
    let mut is_started = false;
    loop {
        let (thread, status) = wait()?;
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            calls.remove(&thread);
            if thread == main {
                return Ok(ExitStatus::from_raw(status));
            }
            continue;
        }
        let signal = libc::WSTOPSIG(status);
        let delivered = if !is_started {
            let options =
                libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
            request(libc::PTRACE_SETOPTIONS, thread, options as usize)?;
            is_started = true;
            0
        } else if signal == libc::SIGTRAP | 0x80 {
            // It fails if the program was killed meanwhile.
            let _ = stop(thread, main, &mut calls, tracer);
            0
        } else if status >> 16 != 0 || signal == libc::SIGSTOP {
            // New threads start with SIGSTOP.
            0
        } else {
            signal
        };
        let _ = request(libc::PTRACE_SYSCALL, thread, delivered as usize);
    }
}

/// Handles a stop before or after a system call.
fn stop(
    thread: pid_t,
    main: pid_t,
    calls: &mut HashMap<pid_t, (Call, Action)>,
    tracer: &mut impl Tracer,
) -> io::Result<()> {
    let mut registers = registers(thread)?;
    let Some((call, action)) = calls.remove(&thread) else {
        let user_regs_struct { orig_rax, rdi, rsi, rdx, r10, r8, r9, .. } = registers;
        let arguments = [rdi, rsi, rdx, r10, r8, r9];
        let call = Call { thread, number: orig_rax as i64, arguments };
        let action = tracer.before(&call);
        calls.insert(thread, (call, action));
        match action {
            Action::Continue => return Ok(()),
            Action::Fail(_) => registers.orig_rax = u64::MAX,
            Action::Shorten(2) => registers.rdx = (registers.rdx / 2).max(1),
            Action::Shorten(_) => registers.r8 = (registers.r8 / 2).max(1),
            Action::Kill => return kill(main),
        }
        return set_registers(thread, &registers);
    };
    if let Action::Fail(error) = action {
        registers.rax = i64::from(-error) as u64;
        set_registers(thread, &registers)?;
    }
    tracer.after(&call, registers.rax as i64);
    Ok(())
}

fn trace_me() -> io::Result<()> {
    request(libc::PTRACE_TRACEME, 0, 0)
}

fn request(request: c_uint, thread: pid_t, data: usize) -> io::Result<()> {
    // SAFETY: `data` is a number, or the address of registers that are borrowed
    // by the caller.
    let done = unsafe { libc::ptrace(request, thread, 0_usize, data) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn registers(thread: pid_t) -> io::Result<user_regs_struct> {
    let mut registers = std::mem::MaybeUninit::<user_regs_struct>::zeroed();
    request(libc::PTRACE_GETREGS, thread, registers.as_mut_ptr() as usize)?;
    // SAFETY: zeros are valid numbers, and the call has replaced them.
    Ok(unsafe { registers.assume_init() })
}

fn set_registers(thread: pid_t, registers: &user_regs_struct) -> io::Result<()> {
    request(libc::PTRACE_SETREGS, thread, std::ptr::from_ref(registers) as usize)
}

fn kill(process: pid_t) -> io::Result<()> {
    // SAFETY: the call touches no memory.
    let done = unsafe { libc::kill(process, libc::SIGKILL) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits for a thread of a program that this thread has started.
fn wait() -> io::Result<(pid_t, i32)> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is borrowed for the call.
        let thread =
            unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if thread != -1 {
            return Ok((thread, status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
