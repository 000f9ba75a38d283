//! Copies members of other archives as they are stored.

use std::io::{Read, Write};

use super::directory::{DirectoryEntry, READ_ARCHIVE};
use super::member::Member;
use super::member_writer::{WRITE_ARCHIVE, WriterState};
use super::records::Flags;
use super::writer::{NpzWriter, new_mode};
use super::zip_writer::{MemberStart, Numbers};
use crate::error::invariant::{Invariant, READ, to_u64, to_usize_saturating};
use crate::error::{HeaderError, IoContext as _, Result};
use crate::source::pages::Mapping;

/// The size of the blocks copied from another archive.
const BLOCK: usize = 256 * 1024;

impl<W: Write> NpzWriter<W> {
    /// Copies a member of another archive as it is stored, without inflating it,
    /// under its full name. It may be damaged: [`verify`](Member::verify) it first.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a member of
    /// that name exists, if the format cannot store the name, or if an earlier
    /// member was not finished. Returns
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the copied member is
    /// encrypted, or compressed by a method other than deflate,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it overlaps another member,
    /// and [`Io`](crate::ErrorKind::Io) if reading or writing fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::npz::{Npz, NpzWriter};
    /// use npymap::{Source, ndarray::arr1};
    ///
    /// let mut writer = NpzWriter::new(Vec::new());
    /// writer.write("x", &arr1(&[0.5]))?;
    /// writer.write("y", &arr1(&[1.5]))?;
    /// let npz = Npz::open(Source::bytes(writer.into_inner()?))?;
    ///
    /// let mut writer = NpzWriter::new(Vec::new());
    /// writer.copy(&npz.member("y")?)?;
    /// let copy = Npz::open(Source::bytes(writer.into_inner()?))?;
    /// assert_eq!(copy.names().collect::<Vec<_>>(), ["y"]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn copy<D: Mapping>(&mut self, member: &Member<'_, D>) -> Result<()> {
        let name = member.full_name();
        let copied = match self.add_name(name) {
            Ok(()) => member.copy_to(self, name),
            Err(error) => return self.name_file(Err(error)),
        };
        if copied.is_err() && self.state == WriterState::Ready {
            // Nothing was written.
            self.remove_name(name);
        }
        self.name_file(copied)
    }

    /// Copies a member of another archive as it is stored, under a full name that
    /// may be new. `header_len` is the number of bytes before the elements, if these
    /// are stored uncompressed.
    pub(super) fn copy_entry(
        &mut self,
        member: &DirectoryEntry,
        file_name: &str,
        mut bytes: impl Read,
        header_len: Option<u64>,
    ) -> Result<()> {
        self.check_finished()?;
        let is_renamed = file_name != member.name;
        let name = if is_renamed { file_name.as_bytes() } else { member.raw_name() };
        let is_utf8 = is_renamed || member.flags.has(Flags::UTF8);
        self.state = WriterState::InMember;
        // `unzip` decodes names of other systems than Unix in another way, those in UTF-8
        // only in the directory.
        let is_unix = is_renamed || (is_utf8 && !name.is_ascii());
        let mode = if is_unix { member.mode.or(Some(new_mode(name))) } else { member.mode };
        let aligned = header_len.map(|len| (len, self.align));
        let numbers = Numbers { crc32: member.crc32, stored: member.stored, size: member.size };
        let new = MemberStart { name, is_utf8, method: member.method, mode, aligned };
        let mut entry = self.zip.start(&new, numbers, true).context(WRITE_ARCHIVE)?;
        let (mut block, mut copied) = (vec![0; BLOCK], 0);
        loop {
            let count = bytes.read(&mut block).context(READ_ARCHIVE)?;
            if count == 0 {
                break;
            }
            entry.write_all(block.get(..count).invariant(READ)).context(WRITE_ARCHIVE)?;
            copied += to_u64(count);
        }
        if copied < member.stored {
            let (needed, found) = (to_usize_saturating(member.stored), to_usize_saturating(copied));
            return Err(HeaderError::Eof { what: "member", needed, found }.into());
        }
        entry.finish(member.crc32, member.size).context(WRITE_ARCHIVE)?;
        self.state = WriterState::Ready;
        Ok(())
    }
}
