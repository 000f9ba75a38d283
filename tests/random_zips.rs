//! Random zip archives with features of real ones, and damage to their records.

use npymap::Order;

use crate::seeded::Random;
use crate::support::npy;
use crate::zips::{Zip, Zip64, deflated, stored, zip64};

/// An archive of up to three members, with features of real archives.
pub(crate) fn archive(random: &mut Random) -> Vec<u8> {
    let mut members = Vec::new();
    for _ in 0..random.below(4) {
        let name = random.pick(&["a.npy", "b.npy", "deep/c.npy", "d", "e/"]);
        let len = random.below(20);
        let bytes = npy("'|u1'", &[len], Order::C, &vec![7; len]);
        let pack = random.pick(&[stored, deflated]);
        let mut member = pack(name, &bytes);
        match random.below(8) {
            0 => (member.flags, member.descriptor) = (8, vec![0; 16]),
            1 => {
                member.extra = zip64(&[member.size.into(), member.stored.into()]);
                member.local_extra.clone_from(&member.extra);
                (member.size, member.stored) = (u32::MAX, u32::MAX);
            }
            2 => member.comment = b"of a member".to_vec(),
            3 => member.local_extra = vec![0x5a, 0xa5, 2, 0, 0, 0],
            4 => {
                let mut crc = flate2::Crc::new();
                crc.update(name.as_bytes());
                let other = random.pick(&[name, "a.npy"]);
                let len = 5 + other.len() as u8;
                let start = [0x75, 0x70, len, 0, random.pick(&[1, 1, 2])];
                let crc = crc.sum().to_le_bytes();
                member.extra = [&start[..], &crc, other.as_bytes()].concat();
            }
            _ => {}
        }
        members.push(member);
    }
    let mut zip = Zip::default();
    if random.below(4) == 0 {
        zip.prefix = vec![b'#'; random.below(60)];
    }
    if random.below(4) == 0 {
        zip.comment = vec![b'c'; random.below(60)];
    }
    if random.below(4) == 0 {
        zip.zip64 = Some(Zip64 { repeats: random.below(2) == 0, ..Zip64::default() });
    }
    zip.bytes(&members)
}

/// The offset of a field in its record, and its length.
type Field = (usize, usize);

/// The records of archives: their signatures and fields.
const RECORDS: &[(&[u8; 4], &[Field])] = &[
    (
        b"PK\x03\x04",
        &[
            (0, 4),
            (4, 2),
            (6, 2),
            (8, 2),
            (10, 4),
            (14, 4),
            (18, 4),
            (22, 4),
            (26, 2),
            (28, 2),
            (30, 1),
            (35, 2),
            (37, 2),
            (39, 8),
        ],
    ),
    (
        b"PK\x01\x02",
        &[
            (0, 4),
            (4, 2),
            (6, 1),
            (7, 1),
            (8, 2),
            (10, 2),
            (12, 4),
            (16, 4),
            (20, 4),
            (24, 4),
            (28, 2),
            (30, 2),
            (32, 2),
            (34, 2),
            (36, 2),
            (38, 4),
            (42, 4),
            (46, 1),
            (51, 2),
            (53, 2),
            (55, 8),
        ],
    ),
    (b"PK\x05\x06", &[(0, 4), (4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)]),
    (
        b"PK\x06\x06",
        &[(0, 4), (4, 8), (12, 2), (14, 2), (16, 4), (20, 4), (24, 8), (32, 8), (40, 8), (48, 8)],
    ),
    (b"PK\x06\x07", &[(0, 4), (4, 4), (8, 8), (16, 4)]),
];

/// Changes one field of a record, or bytes between records.
pub(crate) fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let starts: Vec<(usize, &[Field])> = RECORDS
        .iter()
        .flat_map(|(magic, fields)| {
            let places = bytes.windows(4).enumerate().filter(|(_, part)| part == *magic);
            places.map(|(at, _)| (at, *fields)).collect::<Vec<_>>()
        })
        .collect();
    match random.below(12) {
        0 => bytes.truncate(random.below(bytes.len())),
        1 => {
            let at = random.below(bytes.len() + 1);
            let more = vec![random.pick(&[0, b'P', 0xff]); 1 + random.below(4)];
            drop(bytes.splice(at..at, more));
        }
        2 => {
            let at = random.below(bytes.len());
            let end = bytes.len().min(at + 1 + random.below(60));
            drop(bytes.drain(at..end));
        }
        _ if starts.is_empty() => {}
        _ => {
            let (start, fields) = random.pick(&starts);
            let (at, len) = random.pick(fields);
            let Some(field) = bytes.get_mut(start + at..start + at + len) else { return };
            let mut word = [0; 8];
            word[..len].copy_from_slice(field);
            let old = u64::from_le_bytes(word);
            let new = match random.below(10) {
                0 => 0,
                1 => 1,
                2 => u64::MAX,
                3 => old.wrapping_add(1),
                4 => old.wrapping_sub(1),
                5 => old ^ (1 << random.below(8 * len)),
                6 => old.wrapping_add(random.below(100) as u64),
                7 => old.wrapping_sub(random.below(100) as u64),
                8 => random.next(),
                _ => old.wrapping_mul(2),
            };
            field.copy_from_slice(&new.to_le_bytes()[..len]);
        }
    }
}
