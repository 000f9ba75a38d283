//! What errors advise, in terms of C.

/// Advice at the end of errors of the library, and the equivalent in C.
const ADVICE: [(&str, &str); 7] = [
    ("open raw elements with `OpenOptions::raw`", "open raw elements with npymap_open_raw"),
    ("open it as a .npy, not with `OpenOptions::raw`", "open it with npymap_open"),
    ("open an .npz file with `Npz` or `open_any`", "open an .npz file with npymap_archive_open"),
    ("open it with `Ten` or `open_any`", "open it with npymap_archive_open"),
    ("open it with `MappedArray::open`", "open it with npymap_open"),
    ("or to `recover` them", "or npymap_appender_recover_ragged"),
    ("copy what `NpzOptions::scan` finds", "copy its members with `npymap npz recover`"),
];

/// The text of an error, whose advice names functions of C.
#[cold]
pub(crate) fn with_advice(text: String) -> String {
    let ended =
        ADVICE.iter().find_map(|(library, c)| Some(format!("{}{c}", text.strip_suffix(library)?)));
    ended.unwrap_or(text)
}
