//! Damaged and malicious archives are rejected with an error that says why, and
//! use no more memory than the file has.

use std::io;

use npymap::npz::{Npz, NpzOptions};
use npymap::source::{MapMut, ReadAt};
use npymap::{Error, ErrorKind, Order, Source};

use crate::support::{directory, file, is_error, map, npy, some};
use crate::zips::{Zip, Zipped, deflated, stored, zip64};

/// Sixteen numbers.
fn array() -> Vec<u8> {
    npy("'<i4'", &[16], Order::C, &[7; 64])
}

/// Opens an archive in every way, and then its member `a` in every way, and
/// returns the error that all give.
fn error_in_every_way(bytes: &[u8]) -> Error {
    let directory = directory();
    let path = file(&directory, "x.npz", bytes);
    let archives = [
        open_read_only(Source::bytes(bytes.to_vec())),
        Source::open(&path).and_then(open_read_only),
        map(&path).and_then(Npz::open),
    ];
    let errors = archives.into_iter().enumerate().map(|(way, npz)| match npz {
        Err(error) => error,
        Ok(npz) => {
            let error = npz.get("a").map(drop).inspect_err(|error| {
                if way == 2 {
                    let private = map(&path).map(Source::into_copy_on_write);
                    let other = private.and_then(Npz::open).unwrap().get("a").unwrap_err();
                    assert_eq!(error.to_string(), other.to_string());
                }
            });
            error
                .and_then(|()| npz.members().try_for_each(|member| member.verify()))
                .expect_err("nothing refuses it")
        }
    });
    let mut errors: Vec<_> = errors.collect();
    let prefix = format!("{}", path.display());
    let texts: Vec<_> = errors.iter().map(|e| e.to_string().replace(&prefix, "")).collect();
    assert_eq!(without_colon(&texts[0]), without_colon(&texts[1]));
    assert_eq!(without_colon(&texts[1]), without_colon(&texts[2]));
    errors.swap_remove(0)
}

fn without_colon(text: &str) -> String {
    text.trim_start_matches(": ").to_owned()
}

fn open_read_only(source: Source<MapMut>) -> npymap::Result<Npz> {
    Npz::open(source.into_read_only())
}

fn after_another(member: Zipped) -> Vec<u8> {
    Zip::of(&[stored("b.npy", &member.data), member])
}

fn one(member: Zipped) -> Vec<u8> {
    Zip::of(&[member])
}

/// Everything that can be wrong with an archive, with the error.
#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let whole = one(stored("a.npy", &array()));
    let packed = one(deflated("a.npy", &array()));
    let plain = stored("a.npy", &array());
    let tight = deflated("a.npy", &array());
    let header_only = npy("'<i4'", &[16], Order::C, &[]);
    let end = whole.len() - 22;
    vec![
        (
            "nothing",
            vec![],
            "starts with b\"\" and is not a zip archive: expected an .npz file, as numpy.savez writes them",
        ),
        (
            "text",
            b"hello, world".to_vec(),
            "starts with b\"hello, w\" and is not a zip archive: expected an .npz file, as numpy.savez writes them",
        ),
        (
            "a .npy file",
            array(),
            "starts with b\"\\x93NUMPY\\x01\\x00\" and is not a zip archive: it is a .npy file, open it with `MappedArray::open`",
        ),
        (
            "only the start of an archive",
            truncated(&whole, 40),
            "a zip archive without an end record: the archive was truncated, or is still being written",
        ),
        (
            "an archive without its end",
            truncated(&whole, end),
            "a zip archive without an end record: the archive was truncated, or is still being written",
        ),
        (
            "an end that is cut off",
            truncated(&whole, whole.len() - 1),
            "the end record is outside the archive: the archive was truncated, or is damaged",
        ),
        (
            "an end alone that announces members",
            Zip { count: Some(3), ..Zip::default() }.bytes(&[]),
            "the directory lists 0 members but announces 3: the archive was truncated, or is damaged",
        ),
        (
            "a directory with a member too few",
            Zip { count: Some(2), ..Zip::default() }.bytes(std::slice::from_ref(&plain)),
            "the directory lists 1 member but announces 2: the archive was truncated, or is damaged",
        ),
        (
            "a directory behind the file",
            Zip { directory: Some((0x7fff_ffff, 51)), ..Zip::default() }
                .bytes(std::slice::from_ref(&plain)),
            "a directory of 51 bytes at byte 2147483647 does not end at byte 278: the archive was truncated, or is damaged",
        ),
        (
            "a directory of a length that isn't there",
            Zip { directory: Some((0, 0xffff_fff0)), ..Zip::default() }
                .bytes(std::slice::from_ref(&plain)),
            "a directory of 4294967280 bytes at byte 0 does not end at byte 278: the archive was truncated, or is damaged",
        ),
        (
            "a directory that is none",
            splice(&whole, end - 51, b"XXXX"),
            "the directory starts with b\"XXXX\" instead of b\"PK\\x01\\x02\": the archive was truncated, or is damaged",
        ),
        (
            "a directory that ends inside a name",
            {
                let mut bytes = whole.clone();
                let at = end - 51 + 28;
                bytes[at..at + 2].copy_from_slice(&5000_u16.to_le_bytes());
                bytes
            },
            "the directory ends inside the record of a member: the archive was truncated, or is damaged",
        ),
        (
            "a comment longer than the file",
            Zip { comment: vec![b'c'; 9], ..Zip::default() }.bytes(std::slice::from_ref(&plain))
                [..whole.len() + 3]
                .to_vec(),
            "the end record is outside the archive: the archive was truncated, or is damaged",
        ),
        (
            "a member behind the file",
            after_another(Zipped { offset: Some(0x00ff_ffff), ..plain.clone() }),
            "[a]: its header is outside the archive: the archive was truncated, or is damaged",
        ),
        (
            "a member inside the directory",
            after_another(Zipped { offset: Some(449), ..plain.clone() }),
            "[a]: its header starts with b\"\\x07\\x07\\x07\\x07\" instead of b\"PK\\x03\\x04\": the archive was truncated, or is damaged",
        ),
        (
            "a member that starts with something else",
            one(Zipped { local_magic: *b"PK\x07\x08", ..plain.clone() }),
            "[a]: its header starts with b\"PK\\x07\\x08\" instead of b\"PK\\x03\\x04\": the archive was truncated, or is damaged",
        ),
        (
            "a name that differs in its header",
            one(Zipped { local_name: Some(b"b.npy".to_vec()), ..plain.clone() }),
            "[a]: its header and the directory differ in the name: the archive is damaged, or crafted",
        ),
        (
            "a long name that differs in its header",
            one(Zipped { local_name: Some(vec![b'b'; 3000]), ..plain.clone() }),
            "[a]: its header and the directory differ in the name: the archive is damaged, or crafted",
        ),
        (
            "an encrypted member",
            one(Zipped { flags: 1, ..plain.clone() }),
            "[a]: is encrypted: decrypt it with another program",
        ),
        (
            "a strongly encrypted member",
            one(Zipped { flags: 0x41, ..plain.clone() }),
            "[a]: is encrypted: decrypt it with another program",
        ),
        (
            "a masked header",
            one(Zipped { flags: 0x2000, ..plain.clone() }),
            "[a]: is encrypted: decrypt it with another program",
        ),
        (
            "an AES member",
            one(Zipped { method: 99, flags: 1, ..plain.clone() }),
            "[a]: is encrypted: decrypt it with another program",
        ),
        (
            "deflate64",
            one(Zipped { method: 9, ..tight.clone() }),
            "[a]: is compressed with method 9 (DEFLATE64): only stored and deflated members are supported",
        ),
        (
            "bzip2",
            one(Zipped { method: 12, ..tight.clone() }),
            "[a]: is compressed with method 12 (BZIP2): only stored and deflated members are supported",
        ),
        (
            "lzma",
            one(Zipped { method: 14, ..tight.clone() }),
            "[a]: is compressed with method 14 (LZMA): only stored and deflated members are supported",
        ),
        (
            "zstandard",
            one(Zipped { method: 93, ..tight.clone() }),
            "[a]: is compressed with method 93 (ZSTD): only stored and deflated members are supported",
        ),
        (
            "a method nobody has",
            one(Zipped { method: 4711, ..tight.clone() }),
            "[a]: is compressed with method 4711: only stored and deflated members are supported",
        ),
        (
            "a stored member of two sizes",
            one(Zipped { size: 1000, ..plain.clone() }),
            "[a]: 1000 bytes are stored as 192: the archive is damaged, or crafted",
        ),
        (
            "a stored member that ends behind the file",
            one(Zipped { size: 4000, stored: 4000, ..plain.clone() }),
            "[a]: ends at byte 4035 of 300: the archive was truncated, or is damaged",
        ),
        (
            "a stored member that ends in the directory",
            one(Zipped { size: 200, stored: 200, ..plain.clone() }),
            "[a]: its bytes 35 to 235 overlap the next member or the directory: the archive is damaged, or crafted",
        ),
        (
            "a member of 2^63 bytes",
            one(Zipped {
                size: u32::MAX,
                stored: u32::MAX,
                extra: zip64(&[1 << 63, 1 << 63]),
                local_extra: zip64(&[1 << 63, 1 << 63]),
                ..plain.clone()
            }),
            "[a]: ends at byte 9223372036854775863 of 340: the archive was truncated, or is damaged",
        ),
        (
            "a member of 2^64 - 1 bytes",
            one(Zipped {
                size: u32::MAX,
                stored: u32::MAX,
                extra: zip64(&[u64::MAX, u64::MAX]),
                local_extra: zip64(&[u64::MAX, u64::MAX]),
                ..plain.clone()
            }),
            "[a]: its header is outside the archive: the archive was truncated, or is damaged",
        ),
        (
            "a member at byte 2^64 - 1",
            after_another(Zipped {
                offset: Some(u32::MAX),
                extra: zip64(&[u64::MAX]),
                ..plain.clone()
            }),
            "[a]: its header is outside the archive: the archive was truncated, or is damaged",
        ),
        (
            "a size of 64 bits that is missing",
            one(Zipped { size: u32::MAX, stored: u32::MAX, ..plain.clone() }),
            "[a]: its extra fields in the directory lack the announced size: the archive was truncated, or is damaged",
        ),
        (
            "two members in one place",
            Zip::of(&[
                plain.clone(),
                Zipped { offset: Some(0), ..plain.clone() },
                stored("b.npy", &array()),
            ]),
            "[a]: is followed by a member that the directory does not list: the archive is damaged, or crafted",
        ),
        (
            "a member within another",
            {
                let inner = one(plain.clone());
                let outer = stored("outer", &inner);
                Zip::of(&[outer, Zipped { offset: Some(35), ..stored("a.npy", &array()) }])
            },
            "[a]: is followed by a member that the directory does not list: the archive is damaged, or crafted",
        ),
        (
            "a wrong CRC-32 of a stored member",
            one(Zipped { crc: 1, ..plain.clone() }),
            "[a]: the CRC-32 is 2c076860, but the archive records 00000001: the member is damaged",
        ),
        (
            "a wrong CRC-32 of a deflated member",
            one(Zipped { crc: 1, ..tight.clone() }),
            "[a]: the CRC-32 is 2c076860, but the archive records 00000001: the member is damaged",
        ),
        (
            "deflate that is none",
            one(Zipped { data: vec![0xff; 40], stored: 40, ..tight.clone() }),
            "[a]: its compressed bytes are not a valid deflate stream: the archive is damaged",
        ),
        (
            "deflate that ends early",
            {
                let data = tight.data[..tight.data.len() - 6].to_vec();
                one(Zipped { stored: u32::try_from(data.len()).unwrap(), data, ..tight.clone() })
            },
            "[a]: its compressed bytes are not a valid deflate stream: the archive is damaged",
        ),
        (
            "no deflate at all",
            one(Zipped { data: vec![], stored: 0, ..tight.clone() }),
            "[a]: its compressed bytes are not a valid deflate stream: the archive is damaged",
        ),
        (
            "deflate of more than it says",
            one(Zipped { size: tight.size - 1, ..tight.clone() }),
            "[a]: ends inside the elements: found 63 of 64 bytes",
        ),
        (
            "deflate of less than it says",
            one(Zipped { size: tight.size + 1, ..tight.clone() }),
            "[a]: it decompresses to 192 of its 193 bytes: the archive is damaged",
        ),
        (
            "more than deflate can pack",
            one(Zipped { size: 0x7fff_ffff, ..tight.clone() }),
            "[a]: 72 bytes can't be deflated to 2147483647: the archive is damaged, or crafted",
        ),
        (
            "a member that is no array",
            one(stored("a.npy", b"hello, world")),
            "[a]: starts with b\"hello,\", expected b\"\\x93NUMPY\"",
        ),
        (
            "a member of a few magic bytes",
            one(stored("a.npy", b"\x93NUM")),
            "[a]: starts with b\"\\x93NUM\", expected b\"\\x93NUMPY\"",
        ),
        (
            "an empty member",
            one(stored("a.npy", b"")),
            "[a]: starts with b\"\", expected b\"\\x93NUMPY\": it is empty",
        ),
        (
            "a member that ends in its header",
            one(stored("a.npy", &array()[..60])),
            "[a]: ends inside the header: found 50 of 118 bytes",
        ),
        (
            "a deflated member that ends in its header",
            one(deflated("a.npy", &array()[..60])),
            "[a]: ends inside the header: found 50 of 118 bytes",
        ),
        (
            "a member without its elements",
            one(stored("a.npy", &header_only)),
            "[a]: ends inside the elements: found 0 of 64 bytes",
        ),
        (
            "a deflated member without its elements",
            one(deflated("a.npy", &header_only)),
            "[a]: ends inside the elements: found 0 of 64 bytes",
        ),
        (
            "a member without its last byte",
            one(stored("a.npy", &array()[..array().len() - 1])),
            "[a]: ends inside the elements: found 63 of 64 bytes",
        ),
        (
            "a header of 4 GiB",
            one(stored("a.npy", b"\x93NUMPY\x02\x00\xf0\xff\xff\xff{'descr'")),
            "[a]: the header has 4294967280 characters, but the limit is 10000: raise it with `max_header_len` if you trust the file",
        ),
        (
            "a header of many characters",
            one(deflated("a.npy", &[&b"\x93NUMPY\x01\x00\x30\x75"[..], &[b' '; 30_000]].concat())),
            "[a]: the header has 30000 characters, but the limit is 10000: raise it with `max_header_len` if you trust the file",
        ),
        (
            "a shape of 2^30 elements",
            one(deflated("a.npy", &npy("'|u1'", &[1 << 30], Order::C, &[]))),
            "[a]: ends inside the elements: found 0 of 1073741824 bytes",
        ),
        #[cfg(target_pointer_width = "64")]
        (
            "a shape of 2^62 elements",
            one(deflated("a.npy", &npy("'|u1'", &[1 << 62], Order::C, &[]))),
            "[a]: ends inside the elements: found 0 of 4611686018427387904 bytes",
        ),
        (
            "Python objects",
            one(stored(
                "a.npy",
                &crate::support::raw(
                    "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
                    b"\x80\x04.",
                ),
            )),
            "[a]: dtype '|O' holds Python objects, which are pickled and cannot be mapped: load the array with numpy.load(allow_pickle=True) and save it with a fixed-size dtype",
        ),
        (
            "a version nobody knows",
            one(stored("a.npy", b"\x93NUMPY\x07\x00\x02\x00{}")),
            "[a]: format version 7.0, expected 1.0, 2.0 or 3.0",
        ),
        (
            "a member of another name",
            one(stored("b.npy", &array())),
            "no member `a`: the only member is `b`",
        ),
        (
            "members of other names",
            Zip::of(
                &["b", "c\u{1b}", "d", "e", "f", "g", "h", "i", "j", "k"]
                    .map(|name| stored(name, b"")),
            ),
            "no member `a`: the members are `b`, `c\\u{1b}`, `d`, `e`, `f`, `g`, `h`, `i` and 2 more",
        ),
        ("no member", Zip::of(&[]), "no member `a`: there are no members"),
        (
            "the name of a directory",
            one(stored("a/", b"")),
            "no member `a`: the only member is `a/`",
        ),
        (
            "the same member packed and cut",
            truncated(&packed, packed.len() - 30),
            "a zip archive without an end record: the archive was truncated, or is still being written",
        ),
    ]
}

fn splice(bytes: &[u8], at: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + with.len()].copy_from_slice(with);
    bytes
}

fn truncated(bytes: &[u8], len: usize) -> Vec<u8> {
    bytes[..len].to_vec()
}

/// The kind of an error with this text: `Corrupt`, unless listed otherwise.
fn kind(text: &str) -> ErrorKind {
    let parts = [
        ("the archive was truncated, or is damaged", ErrorKind::Corrupt),
        ("no member `", ErrorKind::NotFound),
        ("is encrypted", ErrorKind::Unsupported),
        ("is patched data", ErrorKind::Unsupported),
        ("needs version", ErrorKind::Unsupported),
        ("multi-disk", ErrorKind::Unsupported),
        ("is compressed with method", ErrorKind::Unsupported),
        ("holds Python objects", ErrorKind::Unsupported),
        ("format version", ErrorKind::Unsupported),
        ("a zip archive without an end record", ErrorKind::Truncated),
        ("but the limit is", ErrorKind::LimitExceeded),
        ("it is empty", ErrorKind::Truncated),
        ("holds Python objects", ErrorKind::Unsupported),
        ("ends inside the header", ErrorKind::Truncated),
        ("ends inside the elements", ErrorKind::Truncated),
    ];
    parts.iter().find(|(part, _)| text.contains(part)).map_or(ErrorKind::Corrupt, |(_, kind)| *kind)
}

#[test]
fn each_damaged_archive_has_its_error() {
    let cases = cases();
    assert!(cases.len() >= 50);
    for (what, bytes, expected) in cases {
        let error = error_in_every_way(&bytes);
        assert_eq!(error.to_string(), expected, "{what}");
        assert_eq!(error.kind(), kind(expected), "{what}: {expected}");
        assert_eq!(error.member().is_some(), expected.starts_with("[a]"));
    }
}

#[test]
fn memory_for_inflated_members_is_limited() {
    let bomb = one(deflated("a.npy", &npy("'|u1'", &[1_500_000], Order::C, &vec![0; 1_500_000])));
    assert!(bomb.len() < 10_000);
    let npz = NpzOptions::new().max_inflated(1_000_000).open(Source::bytes(bomb.clone())).unwrap();
    let expected = "[a]: needs 1500128 bytes of memory, but the limit is 1000000: raise it with `max_inflated` if you trust the file";
    assert_eq!(npz.get("a").unwrap_err().to_string(), expected);
    // Reading the header and checking the member do not inflate it.
    assert_eq!(npz.member("a").unwrap().header().unwrap().unwrap().shape, [1_500_000]);
    npz.members().try_for_each(|member| member.verify()).unwrap();
    let npz = NpzOptions::new().max_inflated(1_500_128).open(Source::bytes(bomb)).unwrap();
    assert_eq!(npz.get("a").unwrap().len(), 1_500_000);
}

#[test]
fn every_truncation_is_rejected() {
    let whole = Zip::of(&[stored("a.npy", &array()), deflated("b.npy", &array())]);
    for len in some(0..whole.len()) {
        assert!(Npz::open(Source::bytes(whole[..len].to_vec())).is_err(), "{len}");
    }
}

#[test]
fn no_changed_byte_causes_a_panic() {
    let whole = Zip::of(&[stored("a.npy", &array()), {
        let packed = deflated("b.npy", &array());
        let numbers = zip64(&[packed.size.into(), packed.stored.into()]);
        let (extra, local_extra) = (numbers.clone(), numbers);
        Zipped { size: u32::MAX, stored: u32::MAX, extra, local_extra, ..packed }
    }]);
    for at in some(0..whole.len()) {
        for byte in [0, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let Ok(npz) = Npz::open(Source::bytes(bytes)) else { continue };
            for member in npz.members() {
                let _ = member.open().map(|array| array.as_bytes().map(<[u8]>::len));
            }
            let _ = npz.members().try_for_each(|member| member.verify());
        }
    }
}

/// Zeros, and the end of an archive that claims to have a directory before it.
struct Claims {
    end: Vec<u8>,
    size: u64,
}

impl ReadAt for Claims {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = self.size - u64::try_from(self.end.len()).unwrap();
        buffer.fill(0);
        for (at, byte) in (offset..self.size).zip(buffer.iter_mut()) {
            let own = at.checked_sub(start).and_then(|at| usize::try_from(at).ok());
            *byte = own.map_or(0, |at| self.end[at]);
        }
        Ok(buffer.len())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }
}

/// A sparse file can have any size.
#[test]
fn an_archive_that_claims_many_members_takes_no_memory_for_them() {
    let size: u64 = 1 << 44;
    let directory = size - 98;
    let members = directory / 46;
    let mut end = b"PK\x06\x06".to_vec();
    end.extend(44_u64.to_le_bytes());
    end.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [members, members, directory, 0] {
        end.extend(number.to_le_bytes());
    }
    end.extend(*b"PK\x06\x07\0\0\0\0");
    end.extend(directory.to_le_bytes());
    end.extend(1_u32.to_le_bytes());
    end.extend(*b"PK\x05\x06\0\0\0\0");
    end.extend([0xff; 12]);
    end.extend([0; 2]);
    let error = Npz::open(Source::from_read_at(Claims { end, size }).unwrap()).unwrap_err();
    assert!(is_error(&error, ErrorKind::Corrupt, "the directory starts with"), "{error}");
}
