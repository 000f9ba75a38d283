//! The identity of this process and of this run of the system.

/// The number of this process. It differs in a forked child; the same number is
/// returned to all processes of systems that do not fork.
#[cfg(unix)]
pub(crate) fn process_id() -> u32 {
    std::process::id()
}

#[cfg(not(unix))]
pub(crate) fn process_id() -> u32 {
    0
}

/// An identifier of this run of the system, which differs after every restart; `None`
/// where the system has none.
#[cfg(all(feature = "remote", not(target_family = "wasm")))]
pub(crate) fn boot_id() -> Option<&'static str> {
    use std::sync::OnceLock;

    static ID: OnceLock<Option<String>> = OnceLock::new();
    let id = ID.get_or_init(|| {
        let path = "/proc/sys/kernel/random/boot_id";
        let text = cfg!(target_os = "linux").then(|| std::fs::read_to_string(path).ok())??;
        Some(text.trim().to_owned()).filter(|id| !id.is_empty())
    });
    id.as_deref()
}
