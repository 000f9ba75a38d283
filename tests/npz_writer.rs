//! Writing archives: their contents, and the effect of failures.

use std::fs;
use std::io::{Read as _, Write as _};

use npymap::ndarray::{Array1, Array2, arr0, arr1, arr2};
use npymap::npz::{self, Compression, Npz, NpzWriter};
use npymap::{DType, MappedArray, Order, Source, WriteOptions, write::WithDType};

use crate::support::{directory, map, names};

fn table() -> Array2<f64> {
    arr2(&[[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]])
}

#[test]
fn elements_of_stored_members_are_aligned() {
    for (page, align) in [(false, 64), (true, 4096)] {
        let mut writer = NpzWriter::new(Vec::new());
        writer.page_aligned(page);
        for len in 0..70 {
            writer.write(&"n".repeat(len), &table()).unwrap();
        }
        let npz = Npz::open(Source::bytes(writer.into_inner().unwrap())).unwrap();
        for member in npz.members() {
            assert_eq!(member.data_offset().unwrap().unwrap() % align, 0, "{}", member.name());
        }
        npz.members().try_for_each(|member| member.verify()).unwrap();
    }
}

#[test]
fn members_are_whole_npy_files() {
    let mut expected = Vec::new();
    WriteOptions::new().write_to(&mut expected, &table().reversed_axes()).unwrap();
    for compression in [Compression::Stored, Compression::Deflated(9), Compression::Deflated(0)] {
        let mut writer = NpzWriter::new(Vec::new());
        writer.compression(compression).write("a", &table().reversed_axes()).unwrap();
        let npz = Npz::open(Source::bytes(writer.into_inner().unwrap())).unwrap();
        let mut found = Vec::new();
        npz.member("a").unwrap().reader().unwrap().read_to_end(&mut found).unwrap();
        assert!(found == expected, "{compression:?}");
    }
}

#[test]
fn arrays_of_any_layout_are_written() {
    let mapped = MappedArray::load("data/penguins.npy").unwrap();
    let words = arr1(&["one".to_owned(), "zwölf".to_owned()]);
    let mut writer = NpzWriter::new(Vec::new());
    writer.write("mapped", &mapped).unwrap();
    writer.write("größe", &arr0(true)).unwrap();
    writer.write("empty", &Array1::<u16>::zeros(0)).unwrap();
    writer.write("words", &WithDType::new(&words, ">U5".parse().unwrap())).unwrap();
    let mut member = writer.begin("streamed", &">i2".parse().unwrap(), &[2], Order::F).unwrap();
    member.write_all(&[0, 1]).unwrap();
    member.write_all(&[1, 0]).unwrap();
    member.finish().unwrap();
    let npz = Npz::open(Source::bytes(writer.into_inner().unwrap())).unwrap();
    assert_eq!(npz.names().count(), 5);
    assert_eq!(npz.get("mapped").unwrap().as_bytes().unwrap(), mapped.as_bytes().unwrap());
    assert!(npz.get("größe").unwrap().view::<bool>().unwrap().at([]));
    assert_eq!(npz.get("empty").unwrap().shape(), [0]);
    let words = npz.get("words").unwrap();
    assert_eq!(words.dtype().to_string(), "'>U5'");
    assert_eq!(words.view::<String>().unwrap().at(1), "zwölf");
    assert_eq!(npz.get("streamed").unwrap().view::<i16>().unwrap().to_vec(), [1, 256]);
}

/// The names, flags and sizes of an archive's local headers, read one after another.
fn local_headers(mut bytes: &[u8]) -> Vec<(String, u16, [u32; 3])> {
    let mut members = Vec::new();
    while let Some(rest) = bytes.strip_prefix(b"PK\x03\x04") {
        let short = |at: usize| u16::from_le_bytes([rest[at - 4], rest[at - 3]]);
        let word = |at: usize| u32::from_le_bytes(rest[at - 4..at].try_into().unwrap());
        let numbers = [word(14), word(18), word(22)];
        let name_end = 26 + usize::from(short(26));
        let name = String::from_utf8(rest[26..name_end].to_vec()).unwrap();
        let data = name_end + usize::from(short(28));
        bytes = &rest[data + numbers[1] as usize..];
        members.push((name, short(6), numbers));
    }
    members
}

/// Checks that the local headers of an archive agree with its directory, and with each
/// other: no bytes follow the members.
fn assert_sizes_precede_members(bytes: Vec<u8>, expected: &[&str]) {
    let found = local_headers(&bytes);
    let npz = Npz::open(Source::bytes(bytes)).unwrap();
    npz.members().try_for_each(|member| member.verify()).unwrap();
    assert_eq!(found.iter().map(|(name, ..)| name).collect::<Vec<_>>(), expected);
    for ((_, flags, [crc32, stored, size]), member) in found.into_iter().zip(npz.members()) {
        let mut bytes = Vec::new();
        member.reader().unwrap().read_to_end(&mut bytes).unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(&bytes);
        assert_eq!((flags & 8, crc32, u64::from(size)), (0, crc.sum(), member.size()));
        assert_eq!(member.is_stored(), stored == size);
    }
}

#[test]
fn the_sizes_of_members_precede_them() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    npz::savez(&path, &[("a", &table()), ("größe", &arr0(1_u8))]).unwrap();
    assert_sizes_precede_members(fs::read(&path).unwrap(), &["a.npy", "größe.npy"]);
    let (new, zeros) = (table().reversed_axes(), Array1::<f64>::zeros(10_000));
    let mut update = Npz::update(&path, npymap::source::Locking::Try).unwrap();
    update.set("a", &new).unwrap().compression(Compression::Deflated(6)).set("z", &zeros).unwrap();
    update.commit().unwrap();
    assert_sizes_precede_members(fs::read(&path).unwrap(), &["a.npy", "größe.npy", "z.npy"]);

    let mut writer = NpzWriter::create(&path).unwrap();
    writer.compression(Compression::Deflated(0)).write("a", &zeros).unwrap();
    writer.compression(Compression::Stored).write("b", &zeros).unwrap();
    writer.write("c", &table()).unwrap();
    writer.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_sizes_precede_members(bytes, &["a.npy", "b.npy", "c.npy"]);

    // From the current position on; sizes of copied members are known even in a stream.
    let mut to = std::io::Cursor::new(vec![1, 2, 3]);
    to.set_position(3);
    let npz = Source::open(&path).and_then(Npz::open).unwrap();
    let mut copy = NpzWriter::new(Vec::new());
    let mut writer = NpzWriter::new_seekable(to).unwrap();
    for member in npz.members() {
        copy.copy(&member).unwrap();
        writer.write(member.name(), &member.open().unwrap()).unwrap();
    }
    for bytes in [copy.into_inner().unwrap(), writer.into_inner().unwrap().into_inner()[3..].into()]
    {
        assert_sizes_precede_members(bytes, &["a.npy", "b.npy", "c.npy"]);
    }
}

/// From the start of the file.
#[test]
fn elements_are_aligned_in_archives_after_other_bytes() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(&[7; 1003]).unwrap();
    let mut writer = NpzWriter::new_seekable(file).unwrap();
    writer.write("a", &table()).unwrap();
    writer.page_aligned(true).write("b", &table()).unwrap();
    drop(writer.into_inner().unwrap());
    let npz = map(&path).and_then(Npz::open).unwrap();
    for (name, align) in [("a", 64), ("b", 4096)] {
        assert_eq!(npz.member(name).unwrap().data_offset().unwrap().unwrap() % align, 0);
        assert_eq!(npz.get(name).unwrap().as_slice::<f64>().unwrap()[5], 5.5);
    }
}

#[test]
fn an_archive_is_not_appended_to_a_file() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let append = fs::File::options().append(true).create(true).open(&path).unwrap();
    let mut writer = NpzWriter::new_seekable(append).unwrap();
    let error = writer.write("a", &table()).unwrap_err().to_string();
    assert!(error.ends_with("a file must not be open for appending"), "{error}");
    assert!(writer.into_inner().is_err());
    // As a stream it can be.
    fs::write(&path, "some bytes").unwrap();
    let mut writer = NpzWriter::new(fs::File::options().append(true).open(&path).unwrap());
    writer.write("a", &table()).unwrap();
    drop(writer.into_inner().unwrap());
    let npz = Source::open(&path).and_then(Npz::open).unwrap();
    assert_eq!(npz.get("a").unwrap().as_slice::<f64>().unwrap()[5], 5.5);
}

/// Nothing that was written there can be changed.
#[cfg(target_os = "linux")]
#[test]
fn archives_are_written_to_pipes_devices_and_descriptors() {
    use std::os::fd::AsRawFd as _;

    fn save(path: impl AsRef<std::path::Path>) {
        npz::savez(path, &[("a", &table()), ("b", &table())]).unwrap();
    }

    save("/dev/null");
    let mut device = NpzWriter::new_seekable(fs::File::create("/dev/null").unwrap()).unwrap();
    device.write("a", &table()).unwrap();
    device.write("b", &table()).unwrap();
    drop(device.into_inner().unwrap());

    let directory = directory();
    let pipe = directory.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_bits_truncate(0o600))
        .unwrap();
    for is_file in [false, true] {
        let bytes = std::thread::scope(|scope| {
            scope.spawn(|| {
                if !is_file {
                    return save(&pipe);
                }
                let file = fs::File::options().write(true).open(&pipe).unwrap();
                let mut writer = NpzWriter::new_seekable(file).unwrap();
                writer.write("a", &table()).unwrap();
                writer.write("b", &table()).unwrap();
                drop(writer.into_inner().unwrap());
            });
            fs::read(&pipe).unwrap()
        });
        let npz = Npz::open(Source::bytes(bytes)).unwrap();
        npz.members().try_for_each(|member| member.verify()).unwrap();
        assert_eq!(npz.names().collect::<Vec<_>>(), ["a", "b"]);
    }

    let path = directory.path().join("a.npz");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(b"before").unwrap();
    save(format!("/dev/fd/{}", file.as_raw_fd()));
    let npz = Source::open(&path).and_then(Npz::open).unwrap();
    npz.members().try_for_each(|member| member.verify()).unwrap();
    assert_eq!(npz.names().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn equal_arrays_give_equal_archives() {
    let directory = directory();
    let [first, second] = ["a.npz", "b.npz"].map(|name| directory.path().join(name));
    npz::savez(&first, &[("a", &table()), ("b", &arr0(1_u8))]).unwrap();
    npz::savez(&second, &[("a", &table()), ("b", &arr0(1_u8))]).unwrap();
    assert!(fs::read(&first).unwrap() == fs::read(&second).unwrap());
    crate::support::savez_deflated(&second, &[("a", &Array1::<f64>::zeros(10_000))]);
    assert!(fs::metadata(&second).unwrap().len() < 1000);
    assert_eq!(names(directory.path()), ["a.npz", "b.npz"]);
}

#[test]
fn a_failure_leaves_the_old_archive() {
    let directory = directory();
    let path = directory.path().join("x.npz");
    npz::savez(&path, &[("old", &arr0(1_u8))]).unwrap();
    let old = fs::read(&path).unwrap();
    let long = "n".repeat(65_532);
    let refusals: [(&str, &str); 3] = [
        ("a", "a member `a` already exists: choose another name"),
        ("b\0c", "the member name `b\\0c`: expected no NUL, where some readers end the name"),
        (&long, "`: expected at most 65531 bytes"),
    ];
    for (name, expected) in refusals {
        let mut writer = NpzWriter::create(&path).unwrap();
        writer.write("a", &table()).unwrap();
        let error = writer.write(name, &table()).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
        drop(writer);
        assert!(fs::read(&path).unwrap() == old);
    }
    let mut writer = NpzWriter::create(&path).unwrap();
    drop(writer.begin("a", &DType::of::<u8>(), &[9], Order::C).unwrap());
    let refused = writer.finish().unwrap_err();
    assert!(refused.to_string().ends_with("a member was left unfinished: start a new archive"));
    let error = npz::savez(&path, &[("a", &table()), ("a", &table())]).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: ", path.display())));
    assert!(fs::read(&path).unwrap() == old);
    assert_eq!(names(directory.path()), ["x.npz"]);
}

#[test]
fn a_member_takes_as_many_elements_as_announced() {
    let mut writer = NpzWriter::new(Vec::new());
    let dtype = "<u2".parse().unwrap();
    let mut member = writer.begin("a", &dtype, &[2], Order::C).unwrap();
    member.write_all(&[1, 0, 2]).unwrap();
    let error = member.finish().unwrap_err();
    assert_eq!(error.to_string(), "ends inside the member: found 131 of 132 bytes");
    let error = writer.write("b", &table()).unwrap_err();
    assert_eq!(error.to_string(), "a member was left unfinished: start a new archive");

    let mut writer = NpzWriter::new(Vec::new());
    let mut member = writer.begin("a", &dtype, &[2], Order::C).unwrap();
    let error = member.write_all(&[0; 5]).unwrap_err();
    assert!(error.to_string().starts_with("more bytes than the member's shape requires"));
}

#[test]
fn arrays_outlive_their_archive() {
    let directory = directory();
    let path = directory.path().join("x.npz");
    npz::savez(&path, &[("a", &table()), ("b", &arr1(&[1_u8, 2, 3]))]).unwrap();
    let npz = map(&path).and_then(Npz::open).unwrap();
    let private = map(&path).map(Source::into_copy_on_write).and_then(Npz::open).unwrap();
    let (a, mut b) = (npz.get("a").unwrap(), private.get("b").unwrap());
    drop((npz, private));
    b.as_slice_mut::<u8>().unwrap()[0] = 9;
    assert_eq!(b.as_slice::<u8>().unwrap(), [9, 2, 3]);
    assert_eq!(
        Source::open(&path)
            .and_then(Npz::open)
            .unwrap()
            .get("b")
            .unwrap()
            .as_slice::<u8>()
            .unwrap(),
        [1, 2, 3]
    );
    fs::remove_file(&path).unwrap();
    assert_eq!(a.as_slice::<f64>().unwrap()[5..], [5.5]);
    let error = a.as_slice::<f32>().unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}[a]: stored as '<f8'", path.display())), "{error}");
    a.close().unwrap();
}
