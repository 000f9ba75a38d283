//! Members of an archive are found without its directory.

use npymap::ndarray::{Array1, arr1, arr2};
use npymap::npz::{Compression, Npz, NpzOptions, NpzWriter};
use npymap::source::{MapMut, ReadAt};
use npymap::{ErrorKind, Source};

use crate::support::{Raw, is_error, npy};
use crate::zips::{Zip, Zipped, deflated, stored};

type Archive = Npz<MapMut>;

fn scan(bytes: &[u8]) -> npymap::Result<Archive> {
    NpzOptions::new().scan(Source::bytes(bytes.to_vec()))
}

/// Asserts that a truncated archive, of any length, has the complete members
/// before its end, and a complete archive all of them.
#[track_caller]
fn has_the_members_before_its_end(bytes: &[u8]) {
    let all = Npz::open(Source::bytes(bytes.to_vec())).unwrap();
    let names: Vec<&str> = all.names().collect();
    let mut before = 0;
    for len in 4..=bytes.len() {
        let npz = scan(&bytes[..len]).unwrap();
        let found: Vec<&str> = npz.names().collect();
        assert!(found.len() >= before && names.starts_with(&found), "{len}: {found:?}");
        before = found.len();
        npz.members().try_for_each(|member| member.verify()).unwrap();
        for name in found {
            let [ours, other] = [&npz, &all].map(|npz| npz.get(name).unwrap());
            let [ours, other] = [ours, other]
                .map(|array| (array.layout().clone(), array.view::<Raw>().unwrap().to_vec()));
            assert_eq!(ours, other, "{len} {name}");
        }
    }
    assert_eq!(before, names.len());
}

#[test]
fn archives_of_streams_have_their_sizes_after_the_members() {
    let mut writer = NpzWriter::new(Vec::new());
    writer.write("a", &arr1(&[1_u8, 2, 3])).unwrap();
    writer.compression(Compression::Deflated(6));
    writer.write("größe", &Array1::from_iter(0..40_i32)).unwrap();
    writer.write("empty", &Array1::<f64>::zeros(0)).unwrap();
    writer.compression(Compression::Stored);
    writer.write("z", &arr2(&[[0.5], [1.5]])).unwrap();
    has_the_members_before_its_end(&writer.into_inner().unwrap());
}

#[test]
fn archives_of_this_crate_have_their_sizes_before_the_members() {
    let mut writer = NpzWriter::new_seekable(std::io::Cursor::new(Vec::new())).unwrap();
    writer.write("a", &arr1(&[1_u8, 2, 3])).unwrap();
    writer.compression(Compression::Deflated(6));
    writer.write("größe", &Array1::from_iter(0..40_i32)).unwrap();
    writer.write("empty", &Array1::<f64>::zeros(0)).unwrap();
    has_the_members_before_its_end(&writer.into_inner().unwrap().into_inner());
}

/// Nobody could enter a directory without the permission to execute it.
#[test]
fn directories_stay_directories() {
    let utf8 = Zipped { flags: 1 << 11, ..stored("é/", b"") };
    let members = [stored("d/", b""), utf8, stored("d/a.npy", &member(5))];
    let npz = scan(&Zip::of(&members)).unwrap();
    let mut writer = NpzWriter::new(Vec::new());
    for member in npz.members() {
        writer.copy(&member).unwrap();
    }
    let bytes = writer.into_inner().unwrap();
    let headers = bytes.windows(46).filter(|header| header.starts_with(b"PK\x01\x02"));
    let modes: Vec<u32> =
        headers.map(|h| u32::from_le_bytes(h[38..42].try_into().unwrap()) >> 16).collect();
    assert_eq!(modes, [0o040_755, 0o040_755, 0o100_644]);
}

/// A member as NumPy writes it: its sizes are in its header.
fn member(count: u8) -> Vec<u8> {
    let elements: Vec<u8> = (0..count).collect();
    npy("'|u1'", &[usize::from(count)], npymap::Order::C, &elements)
}

#[test]
fn archives_of_files_have_their_sizes_before_the_members() {
    let padded = Zipped { local_extra: vec![9, 9, 1, 0, 7], ..stored("c.npy", &member(0)) };
    let members = [stored("a.npy", &member(5)), deflated("b.npy", &member(90)), padded];
    has_the_members_before_its_end(&Zip::of(&members));
}

#[test]
fn a_member_whose_writer_died_is_not_found() {
    // zipfile writes sizes of zero first, and the right ones when the member is
    // complete.
    let died = Zipped { local_numbers: Some([0; 3]), ..stored("b.npy", &member(9)) };
    let bytes = Zip::of(&[stored("a.npy", &member(5)), died]);
    let end = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    assert_eq!(scan(&bytes[..end]).unwrap().names().collect::<Vec<_>>(), ["a"]);
    // A store would not update the checksum.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npz");
    std::fs::write(&path, &bytes).unwrap();
    // SAFETY: nobody else has the file.
    let error = NpzOptions::new().scan(unsafe { Source::map_mut(&path).unwrap() }).unwrap_err();
    assert_eq!(error.kind(), npymap::ErrorKind::InvalidInput);
    assert_eq!(scan(&bytes).unwrap().names().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn damage_inside_a_member_is_left_to_verification() {
    let mut bytes = Zip::of(&[stored("a.npy", &member(5)), stored("b.npy", &member(5))]);
    // The last element of the first member.
    let second = bytes.windows(4).skip(1).position(|window| window == b"PK\x03\x04").unwrap();
    bytes[second] ^= 1;
    let npz = scan(&bytes).unwrap();
    assert_eq!(npz.names().collect::<Vec<_>>(), ["a", "b"]);
    assert!(npz.member("a").unwrap().verify().unwrap_err().to_string().contains("CRC-32"));
    npz.member("b").unwrap().verify().unwrap();
}

/// A stored member that is followed by its sizes, in 32 or 64 bits.
fn streamed(name: &str, data: &[u8], is_long: bool) -> Zipped {
    let member = stored(name, data);
    let mut descriptor = [b"PK\x07\x08", &member.crc.to_le_bytes()[..]].concat();
    for size in [member.stored, member.size] {
        descriptor.extend(size.to_le_bytes());
        descriptor.extend(if is_long { &[0; 4][..] } else { &[] });
    }
    Zipped { flags: 8, descriptor, ..member }
}

#[test]
fn stored_members_of_streams_that_are_no_arrays_are_searched_for_their_ends() {
    let text = b"notes PK\x07\x08 and PK\x07\x08";
    let inner = Zip::of(&[streamed("inner.npy", &member(9), false)]);
    let mut members = vec![
        streamed("empty", b"", false),
        streamed("long/empty", b"", true),
        streamed("notes.txt", text, false),
        streamed("inner.npz", &inner, true),
    ];
    // Descriptors at the ends of blocks.
    members.extend((65_500..65_540).map(|len| streamed(&len.to_string(), &vec![1; len], false)));
    members.push(stored("last.npy", &member(5)));
    let bytes = Zip::of(&members);
    let end = u32::from_le_bytes(*bytes[..bytes.len() - 2].last_chunk().unwrap());
    let npz = scan(&bytes[..usize::try_from(end).unwrap()]).unwrap();
    assert!(
        npz.members()
            .map(|member| member.full_name().as_bytes().to_vec())
            .eq(members.iter().map(|member| member.name.clone()))
    );
    npz.members().try_for_each(|member| member.verify()).unwrap();
    // A truncated descriptor is none.
    let one = Zip::of(&members[2..3]);
    let end = one.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    assert_eq!(scan(&one[..end]).unwrap().members().len(), 1);
    assert_eq!(scan(&one[..end - 1]).unwrap().members().len(), 0);
    // The same length, and another CRC-32.
    let mut wrong = one[..end].to_vec();
    wrong[40] ^= 1;
    assert_eq!(scan(&wrong).unwrap().members().len(), 0);
    // Many signatures take no longer.
    let many = Zip::of(&[Zipped { flags: 8, ..stored("x", &b"PK\x07\x08".repeat(1 << 18)) }]);
    assert_eq!(scan(&many).unwrap().members().len(), 0);
}

#[test]
fn other_files_are_rejected() {
    for bytes in [&b""[..], b"PK", b"\x93NUMPY", b"PK\x01\x02 and more"] {
        let error = scan(bytes).unwrap_err();
        assert!(is_error(&error, ErrorKind::Corrupt, "the archive starts with b\""), "{error}");
    }
    assert_eq!(scan(b"PK\x05\x06").unwrap().members().len(), 0);
    assert_eq!(scan(b"PK\x03\x04").unwrap().members().len(), 0);
}

#[test]
fn members_are_copied_between_archives_as_they_are_stored() {
    let bytes = Zip::of(&[
        stored("a.npy", &member(5)),
        deflated("b.npy", &member(90)),
        stored("notes.txt", b"hello"),
    ]);
    let npz = Npz::open(Source::bytes(bytes)).unwrap();
    let mut writer = NpzWriter::new(Vec::new());
    writer.write("new", &arr1(&[0.5])).unwrap();
    for member in npz.members() {
        writer.copy(&member).unwrap();
    }
    let again = writer.copy(&npz.member("a").unwrap()).unwrap_err();
    assert!(is_error(&again, ErrorKind::InvalidInput, "a member `a` already exists"), "{again}");
    let copy = Npz::open(Source::bytes(writer.into_inner().unwrap())).unwrap();
    copy.members().try_for_each(|member| member.verify()).unwrap();
    assert_eq!(copy.names().collect::<Vec<_>>(), ["new", "a", "b", "notes.txt"]);
    assert!(!copy.member("b").unwrap().is_stored());
    assert_eq!(copy.get("a").unwrap().view::<u8>().unwrap().to_vec(), [0, 1, 2, 3, 4]);
    assert_eq!(copy.member("a").unwrap().data_offset().unwrap().unwrap() % 64, 0);
}

/// `np.load` reads such members.
#[test]
fn members_of_streams_may_be_longer_or_shorter_than_their_arrays() {
    let longer = [member(5), vec![7; 15]].concat();
    let shorter = &member(90)[..200];
    let members = [
        streamed("longer.npy", &longer, false),
        streamed("shorter.npy", shorter, true),
        streamed("last.npy", &member(5), false),
    ];
    let bytes = Zip::of(&members);
    let end = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    let npz = scan(&bytes[..end]).unwrap();
    assert_eq!(npz.names().collect::<Vec<_>>(), ["longer", "shorter", "last"]);
    assert_eq!(npz.get("longer").unwrap().shape(), [5]);
    assert_eq!(npz.get("shorter").unwrap_err().kind(), ErrorKind::Truncated);
    assert_eq!(npz.get("last").unwrap().shape(), [5]);
}

/// Bytes before and after zeros.
struct Sparse(Vec<u8>, u64, Vec<u8>);

impl ReadAt for Sparse {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let Sparse(before, zeros, after) = self;
        let (first, last) = (before.len() as u64, before.len() as u64 + zeros);
        if (first..last).contains(&offset) {
            let len = buffer.len().min(usize::try_from(last - offset).unwrap_or(usize::MAX));
            buffer[..len].fill(0);
            return Ok(len);
        }
        let (part, start) = if offset < first { (before, 0) } else { (after, last) };
        let part = part.get((offset - start) as usize..).unwrap_or_default();
        let len = part.len().min(buffer.len());
        buffer[..len].copy_from_slice(&part[..len]);
        Ok(len)
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.0.len() as u64 + self.1 + self.2.len() as u64)
    }
}

#[test]
fn an_archive_with_offsets_of_32_bits_names_what_recovers_it() {
    let small = Zip::of(&[stored("a.npy", &member(5)), stored("z.npy", &member(1))]);
    let second = small.windows(4).skip(1).position(|part| part == b"PK\x03\x04").unwrap() + 1;
    let (before, after) = small.split_at(second);
    let open = |zeros| {
        let source = Source::from_read_at(Sparse(before.to_vec(), zeros, after.to_vec()));
        source.and_then(Npz::open)
    };
    assert_eq!(open(0).unwrap().members().len(), 2);
    let error = open(1 << 32).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let reason = "an archive of more than 4 GiB with offsets of 32 bits, as cnpy writes it";
    assert_eq!(error.reason(), reason);
    assert_eq!(error.to_string(), format!("{reason}: copy what `NpzOptions::scan` finds"));
    let error = open(1 << 31).unwrap_err();
    assert!(error.to_string().contains("and no member precedes it"), "{error}");
}
