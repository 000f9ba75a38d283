//! The memory that is available to this process.

/// The number of bytes that can be used without evicting what is in use: memory
/// that is free or holds cached files, in the kernel or in the control groups
/// of this process, whichever is less. `None` if the kernel does not report it.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn available_memory() -> Option<u64> {
    available(|path| std::fs::read_to_string(path).ok())
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn available_memory() -> Option<u64> {
    None
}

/// The available memory according to the files that `read` returns.
#[cfg(any(target_os = "linux", test))]
fn available(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let kib = value(&read("/proc/meminfo")?, "MemAvailable:")?;
    let groups = read("/proc/self/cgroup");
    let lines = groups.iter().flat_map(|groups| groups.lines());
    let limits = lines.flat_map(|line| group_limits(line, &read));
    limits.chain([kib * 1024]).min()
}

/// The file names for a version of control groups.
#[cfg(any(target_os = "linux", test))]
struct Group {
    root: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// Entries of `memory.stat` for cached files.
    cached: [&'static str; 2],
}

#[cfg(any(target_os = "linux", test))]
const V1: Group = Group {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cached: ["total_active_file", "total_inactive_file"],
};

#[cfg(any(target_os = "linux", test))]
const V2: Group = Group {
    root: "/sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    cached: ["active_file", "inactive_file"],
};

/// The available bytes of each group on the path in a line of
/// `/proc/self/cgroup`: `0::/path` or `4:memory:/path`.
#[cfg(any(target_os = "linux", test))]
fn group_limits(line: &str, read: &impl Fn(&str) -> Option<String>) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let group = match controllers {
        "" => V2,
        names if names.split(',').any(|name| name == "memory") => V1,
        _ => return Vec::new(),
    };
    // In a container, the path may be the one outside it: then only the root exists.
    let ancestors = std::iter::successors(Some(path.trim_end_matches('/')), |path| {
        path.rsplit_once('/').map(|(parent, _)| parent)
    });
    ancestors.filter_map(|path| group.left(&format!("{}{path}", group.root), read)).collect()
}

#[cfg(any(target_os = "linux", test))]
impl Group {
    /// The bytes that a group can still use. Cached files can be evicted, so they
    /// do not count as used.
    fn left(&self, directory: &str, read: &impl Fn(&str) -> Option<String>) -> Option<u64> {
        let [limit, usage] = [self.limit, self.usage]
            .map(|file| read(&format!("{directory}/{file}"))?.trim().parse::<u64>().ok());
        let stat = read(&format!("{directory}/memory.stat"));
        let cached =
            stat.map_or(0, |stat| self.cached.iter().filter_map(|name| value(&stat, name)).sum());
        let (limit, usage) = (limit?, usage?);
        Some(limit - (usage - cached.min(usage)).min(limit))
    }
}

/// The number after a name at the start of a line.
#[cfg(any(target_os = "linux", test))]
fn value(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    lines.find_map(|mut words| (words.next()? == name).then(|| words.next()?.parse().ok())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<u64> {
        available(|path| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        })
    }

    const MEMINFO: (&str, &str) =
        ("/proc/meminfo", "MemTotal:  900 kB\nMemFree: 5 kB\nMemAvailable:     800 kB\n");

    #[test]
    fn without_control_groups_the_system_decides() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("/proc/meminfo", "MemFree: 5 kB")]), None);
        assert_eq!(found(&[MEMINFO]), Some(800 << 10));
        assert_eq!(
            found(&[MEMINFO, ("/proc/self/cgroup", "0::/\n2:cpu:/a\nnonsense")]),
            Some(800 << 10)
        );
    }

    #[test]
    fn the_tightest_group_counts_without_its_cached_files() {
        let group = ("/proc/self/cgroup", "0::/a/b\n");
        let files = [
            MEMINFO,
            group,
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "7\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.current", "900\n"),
            ("/sys/fs/cgroup/a/memory.stat", "anon 300\nactive_file 250\ninactive_file 350\n"),
        ];
        assert_eq!(found(&files), Some(700));
    }

    #[test]
    fn the_first_version_and_containers_are_known() {
        let files = [
            MEMINFO,
            ("/proc/self/cgroup", "3:cpu,memory:/docker/ab\n1:name=systemd:/\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "6000\n"),
            ("/sys/fs/cgroup/memory/memory.stat", "inactive_file 9\ntotal_inactive_file 2000\n"),
        ];
        assert_eq!(found(&files), Some(1000));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_system_reports_some() {
        assert!(available_memory().is_some_and(|bytes| bytes > 0));
    }
}
