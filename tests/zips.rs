//! Zip archives made by hand, valid ones and others.

/// A member, with the fields of its headers that can be wrong.
#[derive(Clone, Debug)]
pub(crate) struct Zipped {
    pub(crate) name: Vec<u8>,
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    /// The stored bytes.
    pub(crate) data: Vec<u8>,
    pub(crate) crc: u32,
    pub(crate) stored: u32,
    pub(crate) size: u32,
    pub(crate) extra: Vec<u8>,
    pub(crate) local_extra: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    /// The system that made it, and its external attributes.
    pub(crate) system: u8,
    pub(crate) attributes: u32,
    pub(crate) descriptor: Vec<u8>,
    /// The offset according to the directory.
    pub(crate) offset: Option<u32>,
    pub(crate) local_magic: [u8; 4],
    /// The version needed to extract, according to the directory.
    pub(crate) version: u16,
    pub(crate) local_flags: Option<u16>,
    pub(crate) local_method: Option<u16>,
    /// CRC-32, compressed size and size in the local header.
    pub(crate) local_numbers: Option<[u32; 3]>,
}

/// A stored member.
pub(crate) fn stored(name: &str, data: &[u8]) -> Zipped {
    let size = u32::try_from(data.len()).unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(data);
    Zipped {
        name: name.into(),
        local_name: None,
        method: 0,
        flags: 0,
        data: data.into(),
        crc: crc.sum(),
        stored: size,
        size,
        extra: Vec::new(),
        local_extra: Vec::new(),
        comment: Vec::new(),
        system: 0,
        attributes: 0,
        descriptor: Vec::new(),
        offset: None,
        local_magic: *b"PK\x03\x04",
        version: 20,
        local_flags: None,
        local_method: None,
        local_numbers: None,
    }
}

/// A deflated member.
pub(crate) fn deflated(name: &str, data: &[u8]) -> Zipped {
    use std::io::Write as _;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    let packed = encoder.finish().unwrap();
    let stored_size = u32::try_from(packed.len()).unwrap();
    Zipped { method: 8, data: packed, stored: stored_size, ..stored(name, data) }
}

/// An archive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Zip {
    pub(crate) prefix: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    /// The number of members that it announces.
    pub(crate) count: Option<u16>,
    /// The announced offset and size of its directory.
    pub(crate) directory: Option<(u32, u32)>,
    /// The zip64 records, if it has any.
    pub(crate) zip64: Option<Zip64>,
}

/// Fields of the zip64 records that can be wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Zip64 {
    /// Added to the size of the record, the number of entries, the size of the
    /// directory, its offset and the offset of the record.
    pub(crate) added: [u64; 5],
    pub(crate) disk: u32,
    pub(crate) record_magic: Option<[u8; 4]>,
    /// Whether the end record repeats the numbers that fit, as some writers do.
    pub(crate) repeats: bool,
}

impl Zip {
    pub(crate) fn of(members: &[Zipped]) -> Vec<u8> {
        Zip::default().bytes(members)
    }

    pub(crate) fn bytes(&self, members: &[Zipped]) -> Vec<u8> {
        let mut bytes = self.prefix.clone();
        let mut directory = Vec::new();
        for member in members {
            let start = u32::try_from(bytes.len() - self.prefix.len()).unwrap();
            let name = member.local_name.as_ref().unwrap_or(&member.name);
            let streamed = member.flags & 8 != 0;
            let sizes = if streamed { [0; 3] } else { [member.crc, member.stored, member.size] };
            let sizes = member.local_numbers.unwrap_or(sizes);
            let flags = member.local_flags.unwrap_or(member.flags);
            let method = member.local_method.unwrap_or(member.method);
            bytes.extend(member.local_magic);
            push(&mut bytes, &[20, flags, method, 0, 33]);
            bytes.extend(sizes.iter().flat_map(|n| n.to_le_bytes()));
            push(&mut bytes, &[short(name), short(&member.local_extra)]);
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(&member.local_extra);
            bytes.extend_from_slice(&member.data);
            bytes.extend_from_slice(&member.descriptor);

            directory.extend(b"PK\x01\x02");
            directory.extend([20, member.system]);
            push(&mut directory, &[member.version, member.flags, member.method, 0, 33]);
            let sizes = [member.crc, member.stored, member.size];
            directory.extend(sizes.iter().flat_map(|n| n.to_le_bytes()));
            let lengths = [&member.name, &member.extra, &member.comment].map(|part| short(part));
            push(&mut directory, &lengths);
            push(&mut directory, &[0, 0]);
            directory.extend(member.attributes.to_le_bytes());
            directory.extend(member.offset.unwrap_or(start).to_le_bytes());
            directory.extend_from_slice(&member.name);
            directory.extend_from_slice(&member.extra);
            directory.extend_from_slice(&member.comment);
        }
        let start = u32::try_from(bytes.len() - self.prefix.len()).unwrap();
        let len = u32::try_from(directory.len()).unwrap();
        let (start, len) = self.directory.unwrap_or((start, len));
        let at64 = u64::try_from(bytes.len() - self.prefix.len() + directory.len()).unwrap();
        bytes.extend(directory);
        let mut count = self.count.unwrap_or(u16::try_from(members.len()).unwrap());
        let mut ends = [len, start];
        if let Some(zip64) = self.zip64 {
            let numbers = [44, count.into(), len.into(), start.into(), at64];
            zip64.write(&mut bytes, numbers);
            if !zip64.repeats {
                (count, ends) = (u16::MAX, [u32::MAX; 2]);
            }
        }
        bytes.extend(b"PK\x05\x06");
        push(&mut bytes, &[0, 0, count, count]);
        bytes.extend(ends.iter().flat_map(|n| n.to_le_bytes()));
        push(&mut bytes, &[short(&self.comment)]);
        bytes.extend_from_slice(&self.comment);
        bytes
    }
}

impl Zip64 {
    fn write(&self, bytes: &mut Vec<u8>, numbers: [u64; 5]) {
        let mut numbers = numbers;
        for (number, added) in numbers.iter_mut().zip(self.added) {
            *number = number.wrapping_add(added);
        }
        let [size, count, len, start, at] = numbers;
        bytes.extend(self.record_magic.unwrap_or(*b"PK\x06\x06"));
        bytes.extend(size.to_le_bytes());
        push(bytes, &[45, 45, 0, 0, 0, 0]);
        bytes.extend([count, count, len, start].iter().flat_map(|n| n.to_le_bytes()));
        bytes.extend(b"PK\x06\x07");
        bytes.extend(self.disk.to_le_bytes());
        bytes.extend(at.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
    }
}

fn push(bytes: &mut Vec<u8>, numbers: &[u16]) {
    bytes.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
}

fn short(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).unwrap()
}

/// The extra field that holds 64-bit sizes.
pub(crate) fn zip64(numbers: &[u64]) -> Vec<u8> {
    let mut field = Vec::new();
    push(&mut field, &[1, u16::try_from(8 * numbers.len()).unwrap()]);
    field.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    field
}
