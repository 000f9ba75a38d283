//! Random and damaged tar files, compared with Python's `tarfile`: both find
//! the same members, or we reject the file.

use npymap::{Source, tar::TarFile};
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

use crate::oracle::Oracle;
use crate::seeded::{Random, setting};
use crate::support::directory;

/// A regular file: its name, the offset of its bytes unless it is sparse, and
/// its length.
type Member = (String, Option<u64>, u64);

/// Compares the members that both found; sparse members, which we reject, must
/// only exist.
fn are_same(ours: &[Member], pythons: &[Member]) -> bool {
    ours.len() == pythons.len()
        && ours
            .iter()
            .zip(pythons)
            .all(|(ours, pythons): (&Member, &Member)| ours.1.is_none() || ours == pythons)
}

fn ours(bytes: &[u8]) -> Result<Vec<Member>, String> {
    let shard = TarFile::open(Source::bytes(bytes.to_vec())).map_err(|error| error.to_string())?;
    let members = shard.members().map(|member| {
        let error = member.header().map_err(|error| error.to_string()).err();
        let is_sparse = error.is_some_and(|error| error.contains("is stored as a sparse file"));
        let start = (!is_sparse).then(|| member.offset());
        (member.name().to_owned(), start, member.size())
    });
    Ok(members.collect())
}

fn pythons(answer: &Value) -> Result<Vec<Member>, String> {
    if let Some(error) = answer["error"].as_str() {
        return Err(error.to_owned());
    }
    let members = answer["members"].as_array().unwrap().iter().map(|member| {
        (member[0].as_str().unwrap().to_owned(), member[1].as_u64(), member[2].as_u64().unwrap())
    });
    Ok(members.collect())
}

/// A tar file of up to four entries of all kinds.
fn archive(random: &mut Random) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for _ in 0..random.below(5) {
        entry(random, &mut builder);
    }
    if random.below(4) > 0 { builder.into_inner().unwrap() } else { builder.get_ref().clone() }
}

fn entry(random: &mut Random, builder: &mut Builder<Vec<u8>>) {
    let data = vec![b'd'; random.pick(&[0, 1, 511, 512, 513, 1500])];
    let size = data.len().to_string();
    let name = random.pick(&["a.npy", "deep/b.npy", "größe.npy", "d", "e.ten", "c/"]);
    let mut header = random.pick(&[Header::new_gnu as fn() -> Header, Header::new_ustar])();
    let long = format!("{}{name}", "folder/".repeat(30));
    let records: &[(&str, &str)] = match random.below(8) {
        0 => &[("path", "other.npy")],
        1 => &[("size", &size)],
        2 => &[("path", ""), ("mtime", "1.5")],
        3 => {
            &[("GNU.sparse.size", "4096"), ("GNU.sparse.offset", "0"), ("GNU.sparse.numbytes", "9")]
        }
        4 => {
            &[("GNU.sparse.size", "4096"), ("GNU.sparse.map", "0,9"), ("GNU.sparse.name", "s.npy")]
        }
        _ => &[],
    };
    if !records.is_empty() {
        let records = records.iter().map(|(key, value)| (*key, value.as_bytes()));
        builder.append_pax_extensions(records).unwrap();
    }
    let is_sparse = records.iter().any(|(key, _)| key.starts_with("GNU.sparse"));
    let kind = random.pick(b"0000\x0071235KgVD");
    if !is_sparse {
        header.set_entry_type(EntryType::new(kind));
    }
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    let name = if random.below(5) == 0 { &long } else { name };
    // Links have no data, whatever their size field; we reject some that have a size.
    let has_data = is_sparse || !b"1235".contains(&kind);
    let has_size = has_data || random.below(4) == 0;
    header.set_size(if has_size { data.len().try_into().unwrap() } else { 0 });
    let data = if has_data { data.as_slice() } else { &[] };
    builder.append_data(&mut header, name, data).unwrap();
}

/// Changes a byte, and corrects the checksums of all headers.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    match random.below(10) {
        0 => bytes.truncate(random.below(bytes.len())),
        1 => drop(bytes.drain(..512.min(bytes.len()))),
        2 => {
            let block = 512 * random.below(bytes.len().div_ceil(512));
            let copy = bytes[block..bytes.len().min(block + 512)].to_vec();
            let at = 512 * random.below(bytes.len().div_ceil(512));
            drop(bytes.splice(at..at, copy));
        }
        _ => {
            let block = 512 * random.below(bytes.len().div_ceil(512));
            let fields = [(0, 100), (124, 12), (124, 12), (148, 8), (156, 1), (156, 1), (0, 512)];
            let (at, len) = random.pick(&fields);
            let at = block + at + random.below(len);
            let with = random.pick(b"\0 01278/LxgSKD\x80\xff=\n");
            // Python may fail on other fields, which we do not read.
            let is_header = bytes.get(block + 257..block + 262) == Some(b"ustar");
            if let Some(byte) = bytes.get_mut(at) {
                if !is_header || is_read_field(at - block) {
                    *byte = with;
                }
            }
        }
    }
    if random.below(4) > 0 {
        for header in bytes.chunks_exact_mut(512).filter(|block| block[257..].starts_with(b"ustar"))
        {
            header[148..156].fill(b' ');
            let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
}

fn is_read_field(at: usize) -> bool {
    matches!(at, 0..100 | 124..136 | 148..157)
}

#[test]
fn members_of_tar_files_are_the_same_as_in_python() {
    let cases = setting("NPYMAP_DIFFERENTIAL_CASES", 3_000);
    let seed = setting("NPYMAP_DIFFERENTIAL_SEED", 20_240_229);
    let Some(mut python) = Oracle::start("archives.py") else { return };
    let directory = directory();
    let mut random = Random(seed);
    let (mut same, mut both_refused, mut stricter, mut cut_off) = (0, 0, 0, 0);
    let mut crashed = 0;
    let (mut wrong, mut left) = (Vec::new(), cases);
    while left > 0 {
        let batch = left.min(500);
        left -= batch;
        let mut archives = Vec::new();
        for at in 0..batch {
            let mut bytes = archive(&mut random);
            for _ in 0..random.below(3) {
                damage(&mut random, &mut bytes);
            }
            let path = directory.path().join(format!("{at}.tar"));
            std::fs::write(&path, &bytes).unwrap();
            archives.push((path, bytes));
        }
        let paths: Vec<_> = archives.iter().map(|(path, _)| path).collect();
        let answers = python.ask(&json!(["untarred", paths]));
        for ((_, bytes), answer) in archives.iter().zip(answers.as_array().unwrap()) {
            match (ours(bytes), pythons(answer)) {
                (Ok(ours), Ok(pythons)) if are_same(&ours, &pythons) => same += 1,
                (Err(_), Err(_)) => both_refused += 1,
                // Python's list ends at a header that it can't read.
                (Err(_), Ok(_)) => stricter += 1,
                // The complete members can be used.
                (Ok(_), Err(error)) if error.contains("unexpected end of data") => cut_off += 1,
                // Python's own parser of sparse headers fails on such text.
                (Ok(_), Err(error)) if error.contains("invalid literal for int()") => crashed += 1,
                (ours, pythons) => wrong.push((ours, pythons, crate::oracle::hex(bytes))),
            }
        }
    }
    println!(
        "tar: {same} same, {both_refused} refused, {stricter} stricter, {cut_off} cut off, {crashed} crashed"
    );
    for (ours, pythons, bytes) in wrong.iter().take(5) {
        println!("{ours:?}\n  {pythons:?}\n  {bytes}");
    }
    assert!(wrong.is_empty(), "{} of {cases} of seed {seed} disagree", wrong.len());
    assert!(cases < 1_000 || same > cases / 4);
}
