//! Archives with one defect each, and valid ones with all kinds of records.

use npymap::Order;

use crate::support::npy;
use crate::zips::{Zip, Zip64, Zipped, deflated, stored, zip64};

fn member(name: &str) -> Zipped {
    stored(name, &npy("'<i4'", &[16], Order::C, &[7; 64]))
}

/// An archive of one member, with these numbers added to the size and the
/// offset of the directory in its end record.
fn with_end(size: i64, offset: i64) -> Vec<u8> {
    let mut bytes = Zip::of(&[member("a.npy")]);
    let end = bytes.len() - 22;
    for (at, added) in [(end + 12, size), (end + 16, offset)] {
        let field = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let field = u32::try_from(i64::from(field) + added).unwrap();
        bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
    }
    bytes
}

fn with_zip64(zip64: Zip64) -> Vec<u8> {
    Zip { zip64: Some(zip64), ..Zip::default() }.bytes(&[member("a.npy")])
}

fn one(member: Zipped) -> Vec<u8> {
    Zip::of(&[member])
}

/// An archive of one member, whose sizes are in its extra fields.
fn with_extra_fields(extra: &[u8]) -> Vec<u8> {
    let sizes = Zipped { size: u32::MAX, stored: u32::MAX, ..member("a.npy") };
    one(Zipped { extra: extra.to_vec(), ..sizes })
}

/// Info-ZIP's extra field that gives a member of this name another one.
fn unicode_path(name: &str, other: &str) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(name.as_bytes());
    let len = u16::try_from(5 + other.len()).unwrap().to_le_bytes();
    [b"up", &len[..], &[1], &crc.sum().to_le_bytes(), other.as_bytes()].concat()
}

/// A program that unpacks archives: signatures are numbers in it.
fn program() -> Vec<u8> {
    let code = [0x0f, 0x85, 0x10, 0, 0, 0, 0x48, 0x8b, 0x45, 0xf8];
    let parts = [&b"PK\x03\x04"[..], &code, b"\x81\x3fPK\x05\x06", &code];
    [b"\x7fELF", parts.concat().repeat(4).as_slice(), &[0x90; 64]].concat()
}

/// A member without an entry in the directory.
fn local_part(name: &str) -> Vec<u8> {
    let bytes = one(member(name));
    let end = bytes.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    bytes[..end].to_vec()
}

/// An archive of a member whose elements have these bytes from `at` on.
fn holding(at: usize, bytes: &[u8], zip: &Zip) -> Vec<u8> {
    let mut elements = [7; 64];
    elements[at..at + bytes.len()].copy_from_slice(bytes);
    zip.bytes(&[stored("a.npy", &npy("'<i4'", &[16], Order::C, &elements))])
}

/// The defect of an archive, its bytes, the error, and whether Python rejects it
/// too; `None` if that depends on its release.
pub(crate) type Case = (&'static str, Vec<u8>, String, Option<bool>);

fn case(what: &'static str, bytes: Vec<u8>, error: &str, python: Option<bool>) -> Case {
    (what, bytes, error.to_owned(), python)
}

/// Archives that are rejected.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn inconsistent() -> Vec<Case> {
    let plain = member("a.npy");
    let mut long = deflated("a.npy", &plain.data);
    long.data.extend(local_part("b.npy"));
    let damaged = ": the archive was truncated, or is damaged";
    let crafted = ": the archive is damaged, or crafted";
    vec![
        case(
            "a directory size of 0",
            with_end(-51, 0),
            &format!("the directory lists 0 members but announces 1{damaged}"),
            Some(false),
        ),
        case(
            "a directory size that is too small",
            with_end(-1, 0),
            &format!(
                "the directory starts with b\"K\\x01\\x02\\x14\" instead of b\"PK\\x01\\x02\"{damaged}"
            ),
            Some(true),
        ),
        case(
            "a directory size that is too large",
            with_end(1, 0),
            &format!("a directory of 52 bytes at byte 227 does not end at byte 278{damaged}"),
            Some(true),
        ),
        case(
            "a directory size that is 2^32 too large",
            with_added([0, 0, 1 << 32, 0, 0]),
            &format!(
                "a directory of 4294967347 bytes at byte 227 does not end at byte 278{damaged}"
            ),
            Some(true),
        ),
        case(
            "a directory offset that is one too large",
            with_end(0, 1),
            &format!("a directory of 51 bytes at byte 228 does not end at byte 278{damaged}"),
            Some(true),
        ),
        case(
            "a directory offset that is one too small",
            with_end(0, -1),
            &format!(
                "the directory is at byte 227, not at 226, and no member precedes it{damaged}"
            ),
            Some(true),
        ),
        case(
            "patched data",
            one(Zipped { flags: 1 << 5, ..plain.clone() }),
            "[a]: is patched data: store the array itself",
            Some(true),
        ),
        case(
            "an unknown version that is needed",
            one(Zipped { version: 99, ..plain.clone() }),
            "[a]: needs version 9.9 of the format: versions up to 6.3 are supported",
            Some(true),
        ),
        case(
            "a zip64 field that is longer than the extra fields",
            with_extra_fields(&[1, 0, 17, 0, 192, 0, 0, 0, 0, 0, 0, 0, 192, 0, 0, 0, 0, 0, 0, 0]),
            &format!(
                "[a]: its extra fields in the directory have a field that exceeds their length{damaged}"
            ),
            Some(true),
        ),
        case(
            "a zip64 field of half a number",
            with_extra_fields(&[1, 0, 12, 0, 192, 0, 0, 0, 0, 0, 0, 0, 192, 0, 0, 0]),
            &format!(
                "[a]: its extra fields in the directory have a zip64 field of the wrong length{damaged}"
            ),
            Some(true),
        ),
        case(
            "a zip64 field without the size it promises",
            with_extra_fields(&zip64(&[192])),
            &format!("[a]: its extra fields in the directory lack the announced size{damaged}"),
            Some(true),
        ),
        case(
            "a zip64 field that contradicts the header",
            one(Zipped { extra: zip64(&[191, 192]), ..plain.clone() }),
            &format!(
                "[a]: its extra fields in the directory have a zip64 field that contradicts the header{damaged}"
            ),
            Some(false),
        ),
        case(
            "a zip64 field of another member",
            one(Zipped { local_extra: zip64(&[191, 0]), ..plain.clone() }),
            &format!(
                "[a]: the extra fields of its header have a zip64 field that contradicts the header{damaged}"
            ),
            Some(false),
        ),
        case(
            "two zip64 fields",
            with_extra_fields(&[zip64(&[192, 192]), zip64(&[192, 192])].concat()),
            &format!("[a]: its extra fields in the directory have two zip64 fields{damaged}"),
            Some(false),
        ),
        case(
            "a name with a NUL",
            one(member("a\0b.npy")),
            &format!("the name b\"a\\x00b.npy\" contains a NUL{damaged}"),
            Some(false),
        ),
        case(
            "a name that is not UTF-8",
            one(Zipped { name: b"\xff.npy".to_vec(), flags: 1 << 11, ..plain.clone() }),
            &format!("the name b\"\\xff.npy\" is not UTF-8{damaged}"),
            Some(true),
        ),
        case(
            "another name in Unicode",
            one(Zipped { extra: unicode_path("a.npy", "b.npy"), ..plain.clone() }),
            &format!("[a]: its extra fields in the directory give it another name{damaged}"),
            None,
        ),
        case(
            "another name in Unicode in the header",
            one(Zipped { local_extra: unicode_path("a.npy", "b.npy"), ..plain.clone() }),
            &format!("[a]: the extra fields of its header give it another name{damaged}"),
            Some(false),
        ),
        case(
            "half a name in Unicode",
            one(Zipped { extra: unicode_path("a.npy", "")[..7].to_vec(), ..plain.clone() }),
            &format!(
                "[a]: its extra fields in the directory have a field that exceeds their length{damaged}"
            ),
            Some(true),
        ),
        case(
            "a short Unicode path",
            one(Zipped { extra: vec![0x75, 0x70, 2, 0, 1, 0], ..plain.clone() }),
            &format!(
                "[a]: its extra fields in the directory have a Unicode path field of the wrong length{damaged}"
            ),
            None,
        ),
        case(
            "a member that is not listed, between others",
            one(Zipped { descriptor: local_part("b.npy"), ..plain.clone() }),
            &format!("[a]: is followed by a member that the directory does not list{crafted}"),
            Some(false),
        ),
        case(
            "another directory, between the members and theirs",
            one(Zipped { descriptor: Zip::of(&[])[..].to_vec(), ..plain.clone() }),
            &format!(
                "[a]: is followed by an end record, which may be that of another directory{crafted}"
            ),
            Some(false),
        ),
        case(
            "a member that is not listed, after a descriptor",
            {
                let sizes = [plain.crc, plain.stored, plain.size];
                let descriptor = sizes.iter().flat_map(|number| number.to_le_bytes());
                let descriptor = descriptor.chain(local_part("b.npy")).collect();
                one(Zipped { flags: 8, descriptor, ..plain.clone() })
            },
            &format!("[a]: is followed by a member that the directory does not list{crafted}"),
            Some(false),
        ),
        case(
            "a member that is not listed, after another byte",
            {
                let descriptor = [vec![b'x'], local_part("b.npy")].concat();
                one(Zipped { descriptor, ..plain.clone() })
            },
            &format!("[a]: is followed by a member that the directory does not list{crafted}"),
            Some(false),
        ),
        case(
            "many bytes of no member",
            one(Zipped { descriptor: vec![0; (1 << 20) + 1], ..plain.clone() }),
            &format!("[a]: is followed by 1048577 bytes of no member{crafted}"),
            Some(false),
        ),
        case(
            "a member that is not listed, after a deflate stream",
            {
                let stored = long.data.len() as u32;
                one(Zipped { stored, ..long.clone() })
            },
            &format!(
                "its deflate stream ends after {} of {} bytes: the archive is damaged",
                long.stored,
                long.data.len()
            ),
            Some(false),
        ),
        case(
            "a member that is not listed, in an empty archive",
            Zip { prefix: local_part("b.npy"), ..Zip::default() }.bytes(&[]),
            &format!("byte 0 starts a member, but none is listed{damaged}"),
            Some(false),
        ),
        case(
            "another directory where the offset leads without the prefix",
            holding(54, b"PK\x01\x02", &Zip { prefix: vec![b'#'; 10], ..Zip::default() }),
            &format!("two directories, at byte 227 and 10 bytes later{damaged}"),
            Some(false),
        ),
        case(
            "another zip64 record where its locator leads without the prefix",
            {
                let prefix = vec![b'#'; 60];
                let zip = Zip { prefix, zip64: Some(Zip64::default()), ..Zip::default() };
                holding(55, b"PK\x06\x06", &zip)
            },
            &format!("two directories, at byte 227 and 60 bytes later{damaged}"),
            // Python 3.14 reads the other one, here a damaged one.
            None,
        ),
        case(
            "a member that is not listed, before others",
            Zip { prefix: local_part("b.npy"), ..Zip::default() }
                .bytes(std::slice::from_ref(&plain)),
            &format!("byte 0 starts a member, but the first one listed is at byte 227{damaged}"),
            Some(false),
        ),
        case(
            "a member that is not listed, before one that is not where it is listed",
            one(Zipped { offset: Some(5), ..plain.clone() }),
            &format!("byte 0 starts a member, but the first one listed is at byte 5{damaged}"),
            Some(true),
        ),
        case(
            "a member that is not listed, after other bytes",
            {
                let prefix = [b"#!/bin/sh\n".to_vec(), local_part("b.npy"), vec![b'#'; 9]].concat();
                Zip { prefix, ..Zip::default() }.bytes(std::slice::from_ref(&plain))
            },
            &format!("byte 10 starts a member or an end record that is not used{damaged}"),
            Some(false),
        ),
        case(
            "a member that is not listed, at the end of many other bytes",
            {
                let prefix = [vec![0; 3 << 20], local_part("b.npy")].concat();
                Zip { prefix, ..Zip::default() }.bytes(std::slice::from_ref(&plain))
            },
            &format!("byte 3145728 starts a member or an end record that is not used{damaged}"),
            Some(false),
        ),
        case(
            "an archive before another",
            Zip { prefix: Zip::of(&[]), ..Zip::default() }.bytes(std::slice::from_ref(&plain)),
            &format!("byte 0 starts a member or an end record that is not used{damaged}"),
            Some(false),
        ),
        case(
            "other bytes before and after an archive",
            {
                let zip = Zip { prefix: vec![b'#'; 10], ..Zip::default() };
                [zip.bytes(std::slice::from_ref(&plain)), vec![0]].concat()
            },
            &format!("other bytes before and after the archive, which starts at byte 10{damaged}"),
            Some(false),
        ),
        case(
            "a member that is not listed, after an encrypted one",
            one(Zipped { flags: 1, descriptor: local_part("b.npy"), ..plain.clone() }),
            &format!("[a]: is followed by a member that the directory does not list{crafted}"),
            Some(true),
        ),
        case(
            "a header with other flags",
            one(Zipped { local_flags: Some(1), ..plain.clone() }),
            &format!("[a]: its header and the directory differ in the flags{crafted}"),
            Some(false),
        ),
        case(
            "a header with another method",
            one(Zipped { local_method: Some(8), ..plain.clone() }),
            &format!("[a]: its header and the directory differ in the method{crafted}"),
            Some(false),
        ),
        case(
            "a header with another CRC-32",
            one(Zipped { local_numbers: Some([1, 192, 192]), ..plain.clone() }),
            &format!("[a]: its header and the directory differ in the CRC-32{crafted}"),
            Some(false),
        ),
        case(
            "a header with another size",
            one(Zipped { local_numbers: Some([plain.crc, 192, 191]), ..plain.clone() }),
            &format!("[a]: its header and the directory differ in the size{crafted}"),
            Some(false),
        ),
        case(
            "a header without the size it promises",
            one(Zipped { local_numbers: Some([plain.crc, 192, u32::MAX]), ..plain.clone() }),
            &format!("[a]: the extra fields of its header lack the announced size{damaged}"),
            Some(false),
        ),
        case(
            "a zip64 record of another length",
            with_added([1, 0, 0, 0, 0]),
            &format!("a zip64 record of 45 bytes, not 44{damaged}"),
            // Python 3.14 rejects it.
            None,
        ),
        case(
            "a zip64 record of more members",
            with_added([0, 1, 0, 0, 0]),
            &format!("the directory lists 1 member but announces 2{damaged}"),
            Some(false),
        ),
        case(
            "a zip64 record elsewhere than its locator says",
            with_added([0, 0, 0, 0, 1]),
            &format!("the zip64 record is at byte 278, not at 279{damaged}"),
            // Python 3.14 rejects it.
            None,
        ),
        case(
            "a zip64 locator without a record",
            with_zip64(Zip64 { record_magic: Some(*b"PK\x06\x05"), ..Zip64::default() }),
            &format!("the zip64 record is not where its locator points{damaged}"),
            Some(true),
        ),
        case(
            "a zip64 record that differs from the end record",
            {
                let added = [0, 1, 0, 0, 0];
                with_zip64(Zip64 { added, repeats: true, ..Zip64::default() })
            },
            &format!("the end record and the zip64 record differ{damaged}"),
            Some(false),
        ),
        case(
            "a multi-disk archive",
            with_zip64(Zip64 { disk: 1, ..Zip64::default() }),
            "a multi-disk archive: join the parts into one file",
            Some(true),
        ),
        case(
            "a strongly encrypted member",
            one(Zipped { flags: 1 << 6, ..plain.clone() }),
            "[a]: is encrypted: decrypt it with another program",
            Some(true),
        ),
        case(
            "two members in one place",
            Zip::of(&[plain.clone(), Zipped { offset: Some(0), ..plain.clone() }]),
            &format!(
                "[a]: its bytes 35 to 227 overlap the next member or the directory{crafted}; [a]: is followed by a member that the directory does not list{crafted}"
            ),
            None,
        ),
    ]
}

fn with_added(added: [u64; 5]) -> Vec<u8> {
    with_zip64(Zip64 { added, ..Zip64::default() })
}

/// Archives of one member that are read, with all kinds of records.
pub(crate) fn valid() -> Vec<Vec<u8>> {
    let plain = member("a.npy");
    let sizes = zip64(&[192, 192]);
    let big = Zipped { size: u32::MAX, stored: u32::MAX, ..plain.clone() };
    let prefix = b"#!/bin/sh\n".to_vec();
    let all = zip64(&[192, 192, 0]);
    let offset = zip64(&[227]);
    let streamed = Zipped { flags: 8, descriptor: vec![0; 16], ..member("b.npy") };
    let after_plain = [plain.clone(), Zipped { local_extra: offset, ..streamed }];
    vec![
        with_zip64(Zip64::default()),
        with_zip64(Zip64 { repeats: true, ..Zip64::default() }),
        Zip { prefix: prefix.clone(), ..Zip::default() }.bytes(std::slice::from_ref(&plain)),
        Zip { prefix, zip64: Some(Zip64::default()), ..Zip::default() }
            .bytes(std::slice::from_ref(&plain)),
        Zip { prefix: program(), ..Zip::default() }.bytes(std::slice::from_ref(&plain)),
        // As after `zip -A`, the offsets include the prefix.
        {
            let start = program().len() as u32;
            let zip =
                Zip { prefix: program(), directory: Some((start + 227, 51)), ..Zip::default() };
            zip.bytes(&[Zipped { offset: Some(start), ..plain.clone() }])
        },
        // Written to a pipe by bsdtar.
        [one(plain.clone()), vec![0; 10_240 - 300]].concat(),
        Zip { comment: b"of the archive".to_vec(), ..Zip::default() }
            .bytes(std::slice::from_ref(&plain)),
        one(Zipped { extra: sizes.clone(), local_extra: sizes.clone(), ..big.clone() }),
        one(Zipped {
            extra: sizes.clone(),
            local_numbers: Some([plain.crc, 192, 192]),
            ..big.clone()
        }),
        // Some writers always store numbers in 64 bits.
        one(Zipped { extra: all, local_extra: sizes.clone(), ..plain.clone() }),
        // Fields that were reserved, and then not needed: by minizip, Rust's zip and miniz.
        one(Zipped { local_extra: zip64(&[0, 0]), ..plain.clone() }),
        one(Zipped {
            flags: 8,
            extra: zip64(&[0, 0]),
            local_extra: zip64(&[0, 0]),
            descriptor: vec![0; 16],
            ..plain.clone()
        }),
        one(Zipped {
            flags: 8,
            local_extra: zip64(&[u64::MAX, u64::MAX]),
            descriptor: vec![0; 16],
            ..plain.clone()
        }),
        one(Zipped {
            flags: 8,
            local_extra: zip64(&[192, 0]),
            descriptor: vec![0; 16],
            ..plain.clone()
        }),
        Zip::of(&after_plain),
        Zip { prefix: vec![b'x'; 50], ..Zip::default() }.bytes(&after_plain),
        one(Zipped {
            extra: vec![0xfe, 0xca, 0, 0, 0, 0],
            local_extra: vec![0; 3],
            ..plain.clone()
        }),
        one(Zipped { flags: 8, descriptor: vec![0; 16], ..plain.clone() }),
        one(Zipped { flags: 1 << 11, local_flags: Some(0), ..plain.clone() }),
        // The same name in Unicode, and one of another name, which is ignored.
        one(Zipped {
            extra: unicode_path("a.npy", "a.npy"),
            local_extra: unicode_path("b.npy", "c.npy"),
            ..plain
        }),
    ]
}
