//! Tar files of arrays.

use npymap::{
    ErrorKind, Mode, Source,
    any::{AnyFile, Format},
    npz::{Compression, NpzWriter},
    tar::TarFile,
    ten::TenWriteOptions,
    write::Save,
};

use tar::Header;

use crate::support::{directory, file, map};
use crate::tar_extensions::{extended, pax, sparse};
use crate::tars::{npy, shard};

#[test]
fn members_are_used_in_place() {
    let directory = directory();
    let path = file(&directory, "x.tar", &shard());
    let mapped = map(&path).and_then(TarFile::open).unwrap();
    let (read, memory) = (Source::open(&path).unwrap(), Source::bytes(shard()));
    let copies = [read, memory].map(|source| TarFile::open(source.into_read_only()).unwrap());
    for shard in [&mapped].into_iter().chain(&copies) {
        assert_eq!(shard.members().len(), 7);
        let array = shard.member("000000.npy").unwrap().open().unwrap();
        assert_eq!(array.view::<f32>().unwrap().to_vec(), [0.5, 1.5, 2.5, 3.5]);
        let offset = shard.member("000000.npy").unwrap().offset();
        assert_eq!(array.data_offset(), Some(offset + 128));
        let ten = shard.member("000000.ten").unwrap().ten().unwrap();
        assert_eq!(ten.get(1).unwrap().view::<f64>().unwrap().to_vec(), [0.5]);
        for (name, is_array) in [("000000.npy", true), ("000000.txt", false), ("000000.ten", false)]
        {
            let header = shard.member(name).unwrap().header().unwrap();
            assert_eq!(header.is_some(), is_array, "{name}");
        }
        let long = shard.members().find(|member| member.name().ends_with("deep.npy")).unwrap();
        assert_eq!(long.open().unwrap().shape(), [2, 2]);
        assert_eq!(shard.member("empty.ten").unwrap().ten().unwrap().headers().len(), 0);
        let kinds: Vec<_> = shard.members().map(|member| member.is_ten().unwrap()).collect();
        assert_eq!(kinds, [false, true, false, false, true, true, false]);
    }
    let array = mapped.member("000000.npy").unwrap().open().unwrap();
    assert_eq!((array.mode(), array.member()), (Some(Mode::ReadOnly), Some("000000.npy")));
    drop(mapped);
    assert_eq!(array.as_slice::<f32>().unwrap()[3..], [3.5]);
    assert_eq!(
        Source::open(&path).and_then(|source| Format::recognize(&source)).unwrap(),
        Format::Tar
    );
    let file = map(&path).and_then(npymap::open_any).unwrap();
    assert!(matches!(file, AnyFile::Tar(_)));
    assert_eq!(file.get(Some("000000.ten[x]")).unwrap().view::<u8>().unwrap().to_vec(), [1, 2]);
    assert_eq!(file.get(Some("000000.ten[1]")).unwrap().view::<f64>().unwrap().to_vec(), [0.5]);
}

/// A tar file with these members.
fn tar_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into().unwrap());
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Programs that unpack all members then have the link or the directory.
#[test]
fn files_that_other_members_replace_are_not_found() {
    let names = ["x.npy", "y.npy", "z.npy", "own.npy", "again.npy"];
    let mut builder = tar::Builder::new(Vec::new());
    for name in names {
        let mut header = tar::Header::new_gnu();
        header.set_size(npy().len().try_into().unwrap());
        builder.append_data(&mut header, name, npy().as_slice()).unwrap();
    }
    for (name, kind, target) in [
        ("x.npy", tar::EntryType::Link, "y.npy"),
        ("z.npy/", tar::EntryType::Directory, ""),
        ("own.npy", tar::EntryType::Link, "own.npy"),
        ("again.npy", tar::EntryType::Symlink, "x.npy"),
        ("other.npy", tar::EntryType::Symlink, "x.npy"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        if target.is_empty() {
            builder.append_data(&mut header, name, std::io::empty()).unwrap();
        } else {
            builder.append_link(&mut header, name, target).unwrap();
        }
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(npy().len().try_into().unwrap());
    builder.append_data(&mut header, "again.npy", npy().as_slice()).unwrap();
    let shard = TarFile::open(Source::bytes(builder.into_inner().unwrap())).unwrap();
    let found = names.map(|name| {
        shard.member(name).and_then(|member| member.open()).map_err(|error| error.kind()).is_ok()
    });
    assert_eq!(found, [false, true, false, true, true]);
    let error = shard.member("x.npy").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("is no regular file"), "{error}");
}

fn ten_of(arrays: &[&dyn Save]) -> Vec<u8> {
    let mut bytes = Vec::new();
    TenWriteOptions::new().write(&mut bytes, arrays).unwrap();
    bytes
}

#[test]
fn arrays_of_lists_in_tar_files_have_the_names_that_open_them() {
    let one = npymap::ndarray::arr1(&[1_u8]);
    let empty = npymap::ndarray::arr1(&[0_u8; 0]);
    let [short, long] = [1, 3].map(|len| ten_of(&vec![&one as _; len]));
    let open =
        |members: &[(&str, &[u8])]| npymap::open_any(Source::bytes(tar_of(members))).unwrap();
    let file = open(&[("a.ten", &long), ("a.ten", &short)]);
    assert_eq!(file.names(), ["a.ten[0]"]);
    assert_eq!(file.get(Some("a.ten[0]")).unwrap().shape(), [1]);
    assert_eq!(open(&[("a.ten", &short)]).get(None).unwrap().shape(), [1]);
    assert_eq!(open(&[("a.ten", &long)]).get(None).unwrap_err().kind(), ErrorKind::InvalidInput);
    // The names of many small arrays would take much more memory than the file.
    let many = ten_of(&vec![&empty as _; 100]);
    let name = "n".repeat(2000);
    assert_eq!(open(&[(&name, &many)]).names(), [name]);
}

fn npz_of(names: &[&str], compression: Compression) -> Vec<u8> {
    let mut writer = NpzWriter::new_seekable(std::io::Cursor::new(Vec::new())).unwrap();
    writer.compression(compression);
    for (number, name) in names.iter().enumerate() {
        let number = i64::try_from(number).unwrap();
        writer.write(name, &npymap::ndarray::arr1(&[number, 7])).unwrap();
    }
    writer.into_inner().unwrap().into_inner()
}

#[test]
fn arrays_of_archives_in_tar_files_are_used_in_place() {
    let directory = directory();
    let (stored, deflated) =
        (npz_of(&["x", "y[0]"], Compression::Stored), npz_of(&["x"], Compression::Deflated(6)));
    let bytes = tar_of(&[("s/0.npz", &stored), ("1.npz", &deflated), ("a.npy", &npy())]);
    let path = file(&directory, "x.tar", &bytes);
    let names = ["s/0.npz[x]", "s/0.npz[y[0]]", "1.npz[x]", "a.npy"];
    for source in [map(&path).unwrap(), Source::bytes(bytes.clone()).into_read_only()] {
        let file = npymap::open_any(source).unwrap();
        assert_eq!(file.names(), names);
        for name in names {
            file.get(Some(name)).unwrap();
        }
        let array = file.get(Some("s/0.npz[y[0]]")).unwrap();
        assert_eq!(array.view::<i64>().unwrap().to_vec(), [1, 7]);
    }
    let tar = map(&path).and_then(TarFile::open).unwrap();
    let kinds: Vec<_> = tar.members().map(|member| member.is_npz().unwrap()).collect();
    assert_eq!(kinds, [true, true, false]);
    let archive = tar.member("s/0.npz").unwrap().npz().unwrap();
    archive.members().try_for_each(|member| member.verify()).unwrap();
    let array = archive.get("y[0]").unwrap();
    assert_eq!((array.mode(), array.member()), (Some(Mode::ReadOnly), Some("y[0]")));
    let offset = usize::try_from(array.data_offset().unwrap()).unwrap();
    assert_eq!(bytes[offset..][..16], *array.as_bytes().unwrap());
    drop((archive, tar));
    assert_eq!(array.view::<i64>().unwrap().to_vec(), [1, 7]);
    let only = npymap::open_any(Source::bytes(tar_of(&[("1.npz", &deflated)]))).unwrap();
    assert_eq!(only.get(None).unwrap().shape(), [2]);
    let two = npymap::open_any(Source::bytes(tar_of(&[("0.npz", &stored)]))).unwrap();
    assert_eq!(two.get(None).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn damaged_archives_in_tar_files_are_errors() {
    let stored = npz_of(&["x", "y"], Compression::Stored);
    let open =
        |member: &[u8]| npymap::open_any(Source::bytes(tar_of(&[("0.npz", member)]))).unwrap();
    for len in 4..stored.len() {
        let file = open(&stored[..len]);
        let error = file.get(Some("0.npz[x]")).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Truncated), "{error}");
        assert_eq!(file.names(), ["0.npz"]);
    }
    let text = open(&stored).get(Some("0.npz[z]")).unwrap_err().to_string();
    assert_eq!(text, "no member `z`: the members are `x`, `y`");
    // The names of many members would take much more memory than the file.
    let keys: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let many = npz_of(&keys.iter().map(String::as_str).collect::<Vec<_>>(), Compression::Stored);
    let name = "n".repeat(20_000);
    let file = npymap::open_any(Source::bytes(tar_of(&[(&name, &many)]))).unwrap();
    assert_eq!(file.names(), [name]);
}

#[test]
fn errors_name_the_problem() {
    let whole = shard();
    assert_eq!(
        member_error(&whole, "x"),
        format!(
            "no member `x`: the members are `000000.npy`, `000000.ten`, `000000.txt`, `{}…`, `empty.ten`, `000000.npy`, `000000.npy`",
            "folder".repeat(10)
        )
    );
    assert_eq!(
        member_error(&whole, "000000.txt"),
        "[000000.txt]: starts with b\"text\", expected b\"\\x93NUMPY\""
    );
    let hello = member_error(&[b'h'; 600], "x");
    assert!(hello.starts_with("not a tar file, or damaged"), "{hello}");
    let mut checksum = whole.clone();
    checksum[0] ^= 1;
    assert!(member_error(&checksum, "x").contains("checksum"));
    // As signed numbers, these have a negative sum, which is not 0.
    let mut negative = with_field(&whole, 0, &[0x80; 100]);
    negative[148..156].copy_from_slice(b"0000000\0");
    assert!(member_error(&negative, "x").contains("checksum"));
    let short = member_error(&whole[..600], "000000.npy");
    assert_eq!(
        short,
        "[000000.npy]: its 144 bytes from byte 512 on exceed the 600 bytes of the file: the tar file was truncated, or is still being written"
    );
    for len in 0..whole.len() {
        let Ok(shard) = TarFile::open(Source::bytes(whole[..len].to_vec())) else { continue };
        for member in shard.members() {
            let _ = (member.open().map(drop), member.ten().map(drop));
        }
    }
    let sizes = with_field(&whole, 124, b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff");
    assert!(
        TarFile::open(Source::bytes(sizes))
            .and_then(|shard| shard.member("000000.npy").and_then(|member| member.open()))
            .is_err()
    );
}

/// Replaces a field of the first header, and its checksum.
fn with_field(tar: &[u8], at: usize, field: &[u8]) -> Vec<u8> {
    let mut tar = tar.to_vec();
    tar[at..at + field.len()].copy_from_slice(field);
    let sum: u32 = tar[..148].iter().chain(&tar[156..512]).map(|&b| u32::from(b)).sum();
    tar[148..156].copy_from_slice(format!("{:06o}\0 ", sum + 256).as_bytes());
    tar
}

/// Python refuses such headers, too, whether it uses the field or not.
#[test]
fn fields_of_headers_are_numbers() {
    let whole = shard();
    for at in [100, 108, 116, 136, 329, 337] {
        for number in [&b"        "[..], b"000644 \0", b"644\0 abc", b"-0000001", b"\xff\0\0\x01"] {
            TarFile::open(Source::bytes(with_field(&whole, at, number))).unwrap();
        }
        for text in [&b"folder/f"[..], b"000648 \0", b"\x81\0\0\x01", b"-      \0"] {
            let error = TarFile::open(Source::bytes(with_field(&whole, at, text))).unwrap_err();
            let expected = "(a field of a header is not a number)";
            assert!(error.to_string().contains(expected), "{at}: {error}");
        }
    }
    let (_, sparse) = sparse().into_iter().find(|(format, _)| *format == "old").unwrap();
    for at in [386, 470, 483] {
        let error = TarFile::open(Source::bytes(with_field(&sparse, at, b"x"))).unwrap_err();
        assert!(error.to_string().contains(" is not a number)"), "{at}: {error}");
    }
    let mut map = sparse.clone();
    map[512] = b'x';
    let error = TarFile::open(Source::bytes(map)).unwrap_err().to_string();
    assert!(
        error.contains("(the map of a sparse member has a part that is not a number)"),
        "{error}"
    );
}

/// Python ignores the sizes of these members, and GNU tar skips as many bytes, in which
/// other members can be hidden.
#[test]
fn links_and_devices_have_no_size() {
    let whole = shard();
    let of_kind = |kind: &[u8], size: &[u8]| {
        TarFile::open(Source::bytes(with_field(&with_field(&whole, 156, kind), 124, size)))
    };
    for kind in [b"2", b"3", b"4", b"6"] {
        let error = of_kind(kind, b"00000001000\0").unwrap_err().to_string();
        assert!(error.contains("(a link, device or directory has a size)"), "{error}");
    }
    // Programs agree that these have none. The block after the header is not one.
    for kind in [b"1", b"5"] {
        let error = of_kind(kind, b"00000001000\0").unwrap_err().to_string();
        assert!(error.contains("(the checksum of a header is wrong)"), "{error}");
    }
    let without = pax(&[("size", "512")]);
    let header = without.len() - 1024 - 512 - 512;
    for kind in *b"123456" {
        let mut bytes = without[..header].to_vec();
        bytes.extend(with_field(&without[header..], 156, &[kind]));
        let opened = TarFile::open(Source::bytes(bytes));
        let has_size = opened.as_ref().is_err_and(|error| error.to_string().contains("has a size"));
        assert!(has_size, "{opened:?}");
    }
}

/// To GNU tar, these sizes are other numbers than to Python, or none.
#[test]
fn sizes_start_with_digits() {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_data(&mut tar::Header::new_gnu(), "a.txt", &[][..]).unwrap();
    let empty = builder.into_inner().unwrap();
    let of_size = |size| TarFile::open(Source::bytes(with_field(&empty, 124, size)));
    for size in [&[0; 12][..], b"     \0      ", b"\0\x002000\0     "] {
        assert_eq!(of_size(size).unwrap().members().next().unwrap().size(), 0);
    }
    for size in [
        &b"            "[..],
        b"\x000000002000\0",
        b"\0 2000\0     ",
        b"\0-1\0        ",
        b"\0\x80\0\0\0\0\0\0\0\0\x04\0",
    ] {
        let error = of_size(size).unwrap_err().to_string();
        assert!(error.contains("(the size of a member is not a number)"), "{error}");
    }
}

/// GNU tar takes a file with such a name for a directory, and its contents for members.
#[test]
fn names_of_files_with_contents_do_not_end_in_a_slash() {
    let whole = shard();
    let named = |kind: &[u8], size: &[u8]| {
        let bytes = with_field(&with_field(&whole, 0, b"folder/\0\0\0"), 156, kind);
        with_field(&bytes, 124, size)
    };
    let long_name =
        |name: &[u8; 8], member: &[u8]| [&extended(b'L', 8)[..], name, &[0; 504], member].concat();
    let pax_name = |name: &str, member: &[u8]| {
        let bytes = pax(&[("path", name)]);
        [&bytes[..1024], member].concat()
    };
    let (size, empty) = (b"00000000220\0", b"00000000000\0");
    for (bytes, problem) in [
        (named(b"0", size), "a file with contents has the name of a directory"),
        (named(b"7", size), "a file with contents has the name of a directory"),
        (long_name(b"folder/\0", &whole), "a file with contents has the name of a directory"),
        (pax_name("folder//", &whole), "a file with contents has the name of a directory"),
        (named(b"\0", size), "a link, device or directory has a size"),
        (long_name(b"a.npy\0\0\0", &named(b"\0", empty)), "a directory has the name of a file"),
        (pax_name("a.npy", &named(b"\0", empty)), "a directory has the name of a file"),
    ] {
        let error = TarFile::open(Source::bytes(bytes)).unwrap_err().to_string();
        assert!(error.contains(&format!("({problem})")), "{error}");
    }
    // Directories, as before ustar, and empty files.
    let rest = &whole[1024..];
    for (kind, len) in [(b"\0", 6), (b"0", 7)] {
        let member = [&named(kind, empty)[..512], rest].concat();
        for bytes in [member.clone(), long_name(b"folder/\0", &member), pax_name("b/", &member)] {
            assert_eq!(TarFile::open(Source::bytes(bytes)).unwrap().members().len(), len);
        }
    }
}

#[test]
fn names_that_are_not_utf_8_are_not_taken_for_each_other() {
    let first = &shard()[..1024];
    let [ff, fe, text] =
        [&b"a\xff.npy\0\0\0"[..], b"a\xfe.npy\0\0\0", "a\u{fffd}.npy\0".as_bytes()]
            .map(|name| with_field(first, 0, name));
    let open = |parts: &[&[u8]]| TarFile::open(Source::bytes(parts.concat())).unwrap();
    for parts in [&[&ff[..]][..], &[&ff, &ff], &[&text]] {
        assert_eq!(open(parts).member("a\u{fffd}.npy").unwrap().open().unwrap().shape(), [2, 2]);
    }
    for parts in [[&ff, &fe], [&text, &fe], [&ff, &text]] {
        let shard = open(&parts.map(|part| &part[..]));
        let error = shard.member("a\u{fffd}.npy").and_then(|member| member.open()).unwrap_err();
        assert_eq!(error.kind(), npymap::ErrorKind::Unsupported);
        let expected = "several members are `a\u{fffd}.npy`: rename them: their names differ in bytes that are not UTF-8";
        assert_eq!(error.to_string(), expected);
        assert!(shard.members().all(|member| member.open().is_ok()));
    }
}

#[test]
fn names_have_a_prefix_in_ustar_only() {
    let whole = shard();
    let first = |magic: &[u8], prefix: &[u8]| {
        let bytes = with_field(&with_field(&whole, 257, magic), 345, prefix);
        let shard = TarFile::open(Source::bytes(bytes))?;
        Ok::<_, npymap::Error>(shard.members().next().unwrap().name().to_owned())
    };
    for version in ["00", "\0\0", "  ", "01"] {
        let magic = format!("ustar\0{version}");
        assert_eq!(first(magic.as_bytes(), b"folder\0").unwrap(), "folder/000000.npy");
    }
    // GNU's format has times there, which are part of the name to Python.
    assert_eq!(first(b"ustar  \0", b"15301211061\x0015301211061\0").unwrap(), "000000.npy");
    // To Python, these names have a prefix, and to GNU tar they don't.
    for magic in [b"ustar  \0", b"ustar 00", b"\0\0\0\0\0\0\0\0"] {
        let error = first(magic, b"folder\0").unwrap_err().to_string();
        assert!(error.contains("(a name has a prefix, in a format that has none)"), "{error}");
    }
}

fn member_error(bytes: &[u8], name: &str) -> String {
    let shard = TarFile::open(Source::bytes(bytes.to_vec()));
    shard
        .and_then(|shard| shard.member(name).and_then(|member| member.open()))
        .map(drop)
        .unwrap_err()
        .to_string()
}

#[test]
fn extension_records_are_limited() {
    let directory = directory();
    for kind in [b'L', b'x'] {
        let path = file(&directory, "x.tar", &extended(kind, 3 << 30));
        // A hole of 3 GiB, followed by a member.
        let tar = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        tar.set_len(512 + (3 << 30) + 8192).unwrap();
        let error = Source::open(&path).and_then(TarFile::open).unwrap_err().to_string();
        let expected = "an extension record of 3221225472 bytes at byte 512: at most 1 MiB is supported for names and pax headers";
        assert!(error.ends_with(expected), "{error}");
        let mut short = extended(kind, 1 << 20);
        assert!(TarFile::open(Source::bytes(short.clone())).is_err());
        short.resize(512 + (1 << 20), 0);
        let error = TarFile::open(Source::bytes(short)).unwrap_err().to_string();
        assert!(error.contains("an extension record is not followed by a member"), "{error}");
    }
}

#[test]
fn a_pax_header_that_continues_in_its_padding_is_rejected() {
    let mut bytes = pax(&[("path", "b.npy")]);
    let record = b"path=b.npy\n";
    let start = bytes.windows(record.len()).position(|part| part == record).unwrap();
    assert!(TarFile::open(Source::bytes(bytes.clone())).is_ok());
    bytes[start + record.len()] = b'1';
    let error = TarFile::open(Source::bytes(bytes)).unwrap_err().to_string();
    assert!(error.contains("(a pax header continues past its size)"), "{error}");
}

#[test]
fn sparse_members_are_rejected_by_name() {
    for (format, bytes) in sparse() {
        let shard = TarFile::open(Source::bytes(bytes)).unwrap();
        assert_eq!(
            shard.members().map(|member| member.name()).collect::<Vec<_>>(),
            ["a.npy", "b.npy"]
        );
        let error = shard.member("a.npy").and_then(|member| member.open()).unwrap_err().to_string();
        assert_eq!(error, "[a.npy]: is stored as a sparse file: extract it with tar", "{format}");
        let member = shard.member("a.npy").unwrap();
        assert_eq!((member.size(), member.is_ten().unwrap()), (4096, false), "{format}");
        assert!(member.header().is_err() && member.ten().is_err());
        assert_eq!(shard.member("b.npy").unwrap().open().unwrap().shape(), [2, 2], "{format}");
    }
}

#[test]
fn names_and_sizes_are_those_of_pax_headers() {
    let bytes = pax(&[("path", "größe.npy"), ("size", "144"), ("mtime", "1.5")]);
    let shard = TarFile::open(Source::bytes(bytes)).unwrap();
    assert_eq!(shard.member("größe.npy").unwrap().open().unwrap().shape(), [2, 2]);
    assert_eq!(shard.members().len(), 1);
    for records in [[("path", "a\0b"), ("mtime", "1")], [("size", "x"), ("mtime", "1")]] {
        assert!(TarFile::open(Source::bytes(pax(&records))).is_err());
    }
}

#[test]
fn members_of_large_archives_are_found_by_name() {
    let mut builder = tar::Builder::new(Vec::new());
    for at in 0..20_000 {
        let mut header = tar::Header::new_ustar();
        header.set_size(0);
        builder.append_data(&mut header, format!("{at}.ten"), &[][..]).unwrap();
    }
    let shard = TarFile::open(Source::bytes(builder.into_inner().unwrap())).unwrap();
    for member in shard.members() {
        assert_eq!(shard.member(member.name()).unwrap().offset(), member.offset());
    }
    assert!(shard.member("20000.ten").is_err());
}

/// A tar file of a member called `name`, and then a hard link of that name whose target, in
/// its header, is the start of `name`.
fn linked(name: &str, kind: tar::EntryType, records: &[(u8, &str)], format: &Header) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(npy().len().try_into().unwrap());
    builder.append_data(&mut header, name, npy().as_slice()).unwrap();
    for (record, text) in records {
        let mut header = Header::new_gnu();
        header.as_mut_bytes()[156] = *record;
        header.set_size(text.len() as u64);
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    let mut header = format.clone();
    let short = &name.as_bytes()[..name.len().min(100)];
    header.as_mut_bytes()[..short.len()].copy_from_slice(short);
    header.as_mut_bytes()[157..157 + short.len()].copy_from_slice(short);
    header.set_entry_type(kind);
    header.set_size(0);
    header.set_cksum();
    builder.append(&header, std::io::empty()).unwrap();
    builder.into_inner().unwrap()
}

#[test]
fn names_and_targets_of_links_are_those_of_their_extension_records() {
    let (link, gnu) = (tar::EntryType::Link, Header::new_gnu());
    let long = "n".repeat(120);
    let other = format!("{long}2");
    let open = |name: &str, kind, records: &[(u8, &str)], format: &Header| {
        let shard = TarFile::open(Source::bytes(linked(name, kind, records, format)))?;
        shard.member(name).and_then(|member| member.open()).map(drop)
    };
    let pax = |key: &str, value: &str| {
        let len = |len: &usize| format!("{len} {key}={value}\n").len() == *len;
        format!("{} {key}={value}\n", (1..1000).find(len).unwrap())
    };
    // The file itself, stored twice.
    open(&long, link, &[(b'K', &long), (b'L', &long)], &gnu).unwrap();
    let own = pax("linkpath", &long);
    open(&long, link, &[(b'x', &own), (b'L', &long)], &gnu).unwrap();
    // Another file, whose name starts in the same way.
    let error = open(&long, link, &[(b'K', &other), (b'L', &long)], &gnu).unwrap_err();
    assert!(error.to_string().contains("is no regular file"), "{error}");
    let elsewhere = pax("linkpath", "other-file.npy-----");
    for name in ["x.npy", &long] {
        let error = open(name, link, &[(b'x', &elsewhere), (b'L', name)], &gnu).unwrap_err();
        assert!(error.to_string().contains("is no regular file"), "{error}");
    }
    let ambiguous = [
        (vec![(b'x', &*elsewhere), (b'K', "x.npy")], "a link has two targets"),
        (vec![(b'K', "x.npy"), (b'K', "x.npy")], "(a member has two long targets)"),
        (vec![(b'g', &*elsewhere)], "a global pax header sets a name, target or size"),
    ];
    for (records, text) in &ambiguous {
        let error = open("x.npy", link, records, &gnu).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    let named = pax("path", "some-other-name.npy");
    let error = open("x.npy", link, &[(b'x', &named), (b'L', "x.npy")], &gnu).unwrap_err();
    assert!(error.to_string().contains("(a member has two names)"), "{error}");
    let mut prefixed = Header::new_gnu();
    prefixed.as_mut_bytes()[345] = b'p';
    let error = open("x.npy", tar::EntryType::Symlink, &[], &prefixed).unwrap_err();
    assert!(error.to_string().contains("(a name has a prefix"), "{error}");
}

#[test]
fn the_only_file_is_not_one_that_a_link_replaces() {
    let bytes = linked("a.npy", tar::EntryType::Symlink, &[], &Header::new_gnu());
    let error = npymap::open_any(Source::bytes(bytes)).unwrap().get(None).unwrap_err();
    assert!(error.to_string().contains("is no regular file"), "{error}");
}

#[test]
fn infos_may_have_brackets() {
    let one = npymap::ndarray::arr1(&[1_u8]);
    let mut list = Vec::new();
    TenWriteOptions::new().infos(&["w[0]"]).write(&mut list, &[&one]).unwrap();
    let members = [("s.ten", &*list), ("s", b"x"), ("s[1].ten", &list)];
    let file = npymap::open_any(Source::bytes(tar_of(&members))).unwrap();
    for name in ["s.ten[w[0]]", "s.ten[0]", "s[1].ten[0]", "s[1].ten[w[0]]"] {
        assert_eq!(file.get(Some(name)).unwrap().shape(), [1], "{name}");
    }
}
