//! Positions of writers, and numbers that need 64 bits.

use super::*;
use crate::archive::npz::directory;
use crate::source::Source;

#[test]
fn padding_aligns_elements() {
    for align in [64, 4096] {
        for start in 1..2 * align {
            match padding(start, align) {
                None => assert_eq!(start % align, 0),
                Some(field) => {
                    let len = to_u64(field.len());
                    assert_eq!((start + len) % align, 0, "{start} {align}");
                    assert!(len < align + 6);
                }
            }
        }
    }
}

/// A writer whose position is always 0, or an error.
struct Unmoved(Vec<u8>, Option<io::ErrorKind>);

impl Write for Unmoved {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Unmoved {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        self.1.map_or(Ok(0), |kind| Err(kind.into()))
    }
}

#[test]
fn a_position_that_cannot_be_set_is_not_used() {
    for error in [None, Some(io::ErrorKind::NotSeekable), Some(io::ErrorKind::Unsupported)] {
        let mut zip = ZipWriter::new_seekable(Unmoved(Vec::new(), error)).unwrap();
        let (name, method) = (&b"a"[..], Method::STORED);
        let member = MemberStart { name, is_utf8: true, method, mode: None, aligned: None };
        let mut entry = zip.start_unknown(&member, 3).unwrap();
        entry.write_all(b"abc").unwrap();
        entry.finish(7, 3).unwrap();
        let bytes = zip.finish().unwrap().0;
        assert!(bytes.windows(4).any(|word| word == DESCRIPTOR_SIGNATURE));
        let entries = directory::read(Source::bytes(bytes).storage()).unwrap();
        assert_eq!((entries[0].crc32, entries[0].size), (7, 3));
    }
    let other = Unmoved(Vec::new(), Some(io::ErrorKind::Other));
    assert!(ZipWriter::new_seekable(other).is_err());
}

#[cfg_attr(miri, ignore = "takes long")]
#[test]
fn an_archive_may_have_more_than_65535_members() {
    for count in [65_534, 65_535] {
        let mut zip = ZipWriter::new_seekable(io::Cursor::new(Vec::new())).unwrap();
        for number in 0..count {
            let name = number.to_string();
            let (name, method) = (name.as_bytes(), Method::STORED);
            let member = MemberStart { name, is_utf8: true, method, mode: None, aligned: None };
            let numbers = Numbers { crc32: 0, stored: 0, size: 0 };
            zip.start(&member, numbers, true).unwrap().finish(0, 0).unwrap();
        }
        let bytes = zip.finish().unwrap().into_inner();
        let has_zip64 = bytes.windows(4).any(|word| word == Zip64EndRecord::SIGNATURE);
        assert_eq!(has_zip64, count >= 65_535);
        let source = Source::bytes(bytes);
        assert_eq!(directory::read(source.storage()).unwrap().len(), count);
    }
}

/// Sizes that `usize` holds only there.
#[cfg(target_pointer_width = "64")]
mod large {
    use super::*;
    use crate::archive::npz::local;
    use crate::source::storage::ReadAt;

    /// The blocks that members of gigabytes consist of.
    const BLOCK: usize = 16 << 20;

    /// A file that keeps only short writes. Others are read as zeros.
    #[derive(Default)]
    struct Sparse {
        parts: Vec<(u64, Vec<u8>)>,
        position: u64,
        len: u64,
    }

    impl Write for Sparse {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() < 4096 {
                self.parts.push((self.position, bytes.to_vec()));
            }
            self.position += to_u64(bytes.len());
            self.len = self.len.max(self.position);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Sparse {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            let SeekFrom::Current(by) = to else {
                return Err(io::ErrorKind::Unsupported.into());
            };
            self.position = self.position.checked_add_signed(by).unwrap();
            Ok(self.position)
        }
    }

    impl ReadAt for Sparse {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let len = to_usize((self.len - offset.min(self.len)).min(to_u64(buffer.len())));
            buffer[..len].fill(0);
            for (start, part) in &self.parts {
                for (at, byte) in (*start..).zip(part) {
                    let place = at.checked_sub(offset).and_then(|at| usize::try_from(at).ok());
                    if let Some(place) = place.filter(|&place| place < len) {
                        buffer[place] = *byte;
                    }
                }
            }
            Ok(len)
        }

        fn size(&self) -> io::Result<u64> {
            Ok(self.len)
        }
    }

    const SIZES: [u64; 7] = [0, 10, 4 << 30, (4 << 30) - 1, 3, 5 << 30, 7];

    /// Stored and uncompressed sizes. Only the uncompressed ones are known before. Deflated
    /// bytes may be more or fewer than the bytes themselves.
    const DEFLATED: [(u64, u64); 3] =
        [(9, 5 << 30), ((4 << 30) + 5, 4_000_000_000), (4_000_000_000, 4_000_000_000)];

    /// Writes members of `SIZES`, known before they are written or not.
    fn large(mut zip: ZipWriter<Sparse>, is_known: bool) -> Sparse {
        let block = vec![0; BLOCK];
        for (size, name) in SIZES.into_iter().zip(["a", "b", "c", "d", "e", "f", "g"]) {
            let aligned = Some((128, 64));
            let (name, method) = (name.as_bytes(), Method::STORED);
            let member = MemberStart { name, is_utf8: true, method, mode: None, aligned };
            let numbers = Numbers { crc32: 1, stored: size, size };
            let entry = if is_known {
                zip.start(&member, numbers, true)
            } else {
                zip.start_unknown(&member, size)
            };
            let (mut entry, mut left) = (entry.unwrap(), to_usize(size));
            assert_eq!((entry.zip.offset + 128) % 64, 0);
            while left > 0 {
                let count = left.min(BLOCK);
                entry.write_all(&block[..count]).unwrap();
                left -= count;
            }
            entry.finish(1, size).unwrap();
        }
        for (stored, size) in DEFLATED {
            let (name, method) = (&b"deflated"[..], Method::DEFLATED);
            let member = MemberStart { name, is_utf8: true, method, mode: None, aligned: None };
            let mut entry = zip.start_unknown(&member, size).unwrap();
            let mut left = to_usize(stored);
            while left > 0 {
                let count = left.min(BLOCK);
                entry.write_all(&block[..count]).unwrap();
                left -= count;
            }
            entry.finish(2, size).unwrap();
        }
        zip.finish().unwrap()
    }

    #[cfg_attr(miri, ignore = "takes long")]
    #[test]
    fn members_and_archives_may_have_more_than_4_gib() {
        for (zip, can_seek, is_known) in [
            (ZipWriter::new(Sparse::default()), false, false),
            (ZipWriter::new(Sparse::default()), false, true),
            (ZipWriter::new_seekable(Sparse::default()).unwrap(), true, false),
            (ZipWriter::new_seekable(Sparse::default()).unwrap(), true, true),
        ] {
            assert_eq!(zip.seek.is_some(), can_seek);
            let source = Source::from_read_at(large(zip, is_known)).unwrap();
            let entries = directory::read(source.storage()).unwrap();
            let (stored, deflated) = entries.split_at(SIZES.len());
            let stored = stored.iter().zip(SIZES.map(|size| (size, size, 1)));
            let deflated = deflated.iter().zip(DEFLATED.map(|(stored, size)| (stored, size, 2)));
            let mut start = 0;
            for (entry, expected) in stored.chain(deflated) {
                assert_eq!((entry.stored, entry.size, entry.crc32), expected);
                let range = local::data_range(source.storage(), entry).unwrap();
                assert_eq!(range.1 - range.0, entry.stored);
                start = range.0;
            }
            assert!(start > 17 << 30);
        }
    }
}
