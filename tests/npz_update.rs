//! Changing members of an archive file keeps the others, and loses nothing.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use npymap::ndarray::{Array1, Array2, arr1};
use npymap::npz::{self, Compression, MemberProgress, Npz, NpzOptions, NpzWriter};
use npymap::source::Locking;
use npymap::{ErrorKind, MappedArray, Source};
use serde_json::json;

use crate::oracle::Oracle;
use crate::support::{directory, is_error, map, names};
use crate::zips::{Zip, Zipped, deflated, stored};

fn read(path: &Path) -> Npz<npymap::source::MapMut> {
    Source::open(path).and_then(Npz::open).unwrap()
}

fn keys(path: &Path) -> Vec<String> {
    read(path).names().map(str::to_owned).collect()
}

fn numbers(path: &Path, name: &str) -> Vec<f64> {
    read(path).get(name).unwrap().view::<f64>().unwrap().to_vec()
}

#[test]
fn written_and_copied_members_are_reported() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let old = Array1::from_elem(100_000, 0.5);
    npz::savez(&path, &[("old", &old), ("replaced", &old)]).unwrap();
    let reported = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&reported);
    let options = NpzOptions::new().progress(move |progress| {
        let MemberProgress { member, done, size, .. } = progress;
        all.lock().unwrap().push((member.to_owned(), done, size));
    });
    let mut update = options.update(&path, Locking::Try).unwrap();
    update.rename("old", "older").unwrap().set("replaced", &old).unwrap();
    update.set("new", &old).unwrap();
    update.commit().unwrap();
    let reported = reported.lock().unwrap();
    // What is copied has its header, too. Headers that are read before are not reported.
    for (member, expected) in [("old", 800_128), ("replaced", 800_000), ("new", 800_000)] {
        let own: Vec<_> = reported.iter().filter(|(name, ..)| name == member).collect();
        assert!(own.len() >= 4 && own.iter().all(|(_, _, size)| *size == expected), "{own:?}");
        assert!(own[0].1 > 128 && own.is_sorted_by_key(|report| report.1), "{own:?}");
        assert_eq!(own.last().unwrap().1, expected, "{member}");
    }
}

#[test]
fn members_are_added_replaced_and_removed() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let [a, b, c] = [[1.0], [2.0], [3.0]].map(|values: [f64; 1]| arr1(&values));
    npz::savez(&path, &[("a", &a), ("b", &b), ("größe", &c)]).unwrap();
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    let (long, new) = (Array1::from_elem(50, 7.5), arr1(&[0.5]));
    update.set("new", &a).unwrap().set("b", &long).unwrap().set("new", &new).unwrap();
    update.remove("a").unwrap();
    assert_eq!(keys(&path), ["a", "b", "größe"]);
    update.commit().unwrap();
    assert_eq!(keys(&path), ["b", "größe", "new"]);
    assert_eq!((numbers(&path, "b"), numbers(&path, "new")), (vec![7.5; 50], vec![0.5]));
    assert_eq!(numbers(&path, "größe"), [3.0]);
    read(&path).members().try_for_each(|member| member.verify()).unwrap();
    let npz = map(&path).and_then(Npz::open).unwrap();
    assert!(npz.members().all(|member| member.data_offset().unwrap().unwrap() % 64 == 0));
    assert_eq!(names(directory.path()), ["a.npz"]);
}

#[test]
fn archives_after_other_bytes_are_not_changed() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let member = [stored("a.npy", &npy(&[7]))];
    let bytes = Zip { prefix: b"#!/bin/sh\n".to_vec(), ..Zip::default() }.bytes(&member);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(keys(&path), ["a"]);
    let error = Npz::update(&path, Locking::Try).unwrap_err();
    let text = "10 bytes before the archive: copy its members to a new archive";
    assert!(is_error(&error, ErrorKind::Unsupported, text), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let empty = Zip { prefix: b"#!/bin/sh\n".to_vec(), ..Zip::default() }.bytes(&[]);
    fs::write(&path, &empty).unwrap();
    let error = Npz::update(&path, Locking::Try).unwrap_err();
    let text = "other bytes before the archive: copy its members to a new archive";
    assert!(is_error(&error, ErrorKind::Unsupported, text), "{error}");
    fs::write(&path, Zip::of(&[])).unwrap();
    Npz::update(&path, Locking::Try).unwrap().commit().unwrap();
}

#[test]
fn the_last_change_of_a_member_counts() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let [a, b] = [[1.0], [2.0]].map(|values: [f64; 1]| arr1(&values));
    npz::savez(&path, &[("a", &a), ("b", &a)]).unwrap();
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    update.remove("a.npy").unwrap().set("a", &b).unwrap();
    update.set("b", &b).unwrap().remove("b").unwrap();
    assert!(is_error(
        &update.remove("b").unwrap_err(),
        ErrorKind::NotFound,
        "a.npz: no member `b`: the only member is `a.npy`"
    ));
    update.commit().unwrap();
    assert_eq!((keys(&path), numbers(&path, "a")), (vec!["a".to_owned()], vec![2.0]));
}

#[test]
fn members_are_renamed_in_their_places() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let [a, b, c] = [[1.0], [2.0], [3.0]].map(|values: [f64; 1]| arr1(&values));
    npz::savez(&path, &[("a", &a), ("b", &b), ("c", &c)]).unwrap();
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    update.rename("a", "größe").unwrap().rename("größe", "x").unwrap();
    update.rename("b", "a").unwrap().set("a", &c).unwrap().rename("a", "y").unwrap();
    update.set("new", &b).unwrap().rename("new", "newer").unwrap().rename("c", "c").unwrap();
    for (old, new, kind, text) in [
        (
            "x",
            "c",
            ErrorKind::InvalidInput,
            "a.npz: a member `c` already exists: choose another name",
        ),
        ("x", "b\0", ErrorKind::InvalidInput, "a.npz: the member name"),
        ("a", "z", ErrorKind::NotFound, "a.npz: no member `a`: the members are `x.npy`"),
    ] {
        let error = update.rename(old, new).unwrap_err();
        assert!(is_error(&error, kind, text), "{error}");
    }
    update.commit().unwrap();
    assert_eq!(keys(&path), ["x", "y", "c", "newer"]);
    let values = ["x", "y", "c", "newer"].map(|name| numbers(&path, name)[0]);
    assert_eq!(values, [1.0, 3.0, 3.0, 2.0]);
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    update.rename("x", "z").unwrap().remove("z").unwrap().set("x", &c).unwrap();
    update.commit().unwrap();
    assert_eq!(
        (keys(&path), numbers(&path, "x")),
        (["y", "c", "newer", "x"].map(str::to_owned).to_vec(), vec![3.0])
    );
    // A removed member does not keep the name that it would have had.
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    update.rename("y", "z").unwrap().remove("z").unwrap().rename("c", "z").unwrap();
    assert_eq!(update.rename("x", "z").unwrap_err().kind(), ErrorKind::InvalidInput);
    update.rename("z", "c").unwrap().rename("x", "z").unwrap();
    update.commit().unwrap();
    assert_eq!(keys(&path), ["c", "newer", "z"]);
}

#[test]
fn a_pending_member_is_found_by_its_full_name() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let [a, b] = [[1.0], [2.0]].map(|values: [f64; 1]| arr1(&values));
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    update.set("x", &a).unwrap().remove("x.npy").unwrap();
    update.set("y", &a).unwrap().set("y.npy", &b).unwrap();
    update.commit().unwrap();
    assert_eq!((keys(&path), numbers(&path, "y")), (vec!["y".to_owned()], vec![2.0]));
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    update.set("y", &a).unwrap().remove("y.npy").unwrap();
    update.commit().unwrap();
    assert!(keys(&path).is_empty());
}

#[test]
fn only_the_member_that_get_opens_is_replaced() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let new = arr1(&[9_u8]);
    let [bare, suffixed] = [stored("x", &npy(&[1])), stored("x.npy", &npy(&[2]))];
    for members in [[bare.clone(), suffixed.clone()], [suffixed, bare.clone()]] {
        for (name, expected) in [("x", [9, 2]), ("x.npy", [1, 9])] {
            fs::write(&path, Zip::of(&members)).unwrap();
            let mut update = Npz::update(&path, Locking::Try).unwrap();
            update.set(name, &new).unwrap();
            update.commit().unwrap();
            let npz = read(&path);
            let found = ["x", "x.npy"].map(|name| npz.get(name).unwrap());
            assert_eq!(found.map(|array| array.as_slice::<u8>().unwrap()[0]), expected);
            for (new, old) in npz.members().zip(&members) {
                assert_eq!(new.full_name().as_bytes(), old.name);
            }
        }
    }
    fs::write(&path, Zip::of(&[bare, stored("directory/", b"")])).unwrap();
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    assert!(is_error(
        &update.set("directory/", &new).unwrap_err(),
        ErrorKind::InvalidInput,
        "a.npz: the member name `directory/`: expected no directory, whose name ends with '/'"
    ));
    update.set("x", &new).unwrap();
    update.commit().unwrap();
    let npz = read(&path);
    let found: Vec<_> = npz.members().map(|member| member.full_name()).collect();
    assert_eq!(found, ["x", "directory/"]);
    assert_eq!(npz.get("x").unwrap().as_slice::<u8>().unwrap(), [9]);
}

/// Only `extract` cares where a name leads.
#[test]
fn members_of_any_name_are_copied() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let new = arr1(&[9_u8]);
    for name in ["a\\é.npy", "/é.npy", "../é.npy", "c:é.npy", "./é//x", "é/"] {
        fs::write(&path, Zip::of(&[utf8(name, &npy(&[1])), stored("b.npy", &npy(&[2]))])).unwrap();
        let mut update = Npz::update(&path, Locking::Try).unwrap();
        update.set("b", &new).unwrap();
        if !name.ends_with('/') {
            update.set(&format!("new{name}"), &new).unwrap();
        }
        update.commit().unwrap();
        let npz = read(&path);
        let names: Vec<_> = npz.members().map(|member| member.full_name()).collect();
        assert_eq!(names[..2], [name, "b.npy"]);
        npz.members().try_for_each(|member| member.verify()).unwrap();
        assert_eq!(npz.get(name).unwrap().as_slice::<u8>().unwrap(), [1]);
    }
}

#[test]
fn an_archive_that_does_not_exist_is_made() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let mut update = Npz::update(&path, Locking::Wait).unwrap();
    assert!(update.npz().members().len() == 0);
    let a = arr1(&[1.0]);
    update.set("a", &a).unwrap();
    update.commit().unwrap();
    assert_eq!(numbers(&path, "a"), [1.0]);
}

/// A stored member whose name is marked as UTF-8.
fn utf8(name: &str, data: &[u8]) -> Zipped {
    Zipped { flags: 1 << 11, ..stored(name, data) }
}

/// An array as a `.npy` file.
fn npy(values: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    npymap::WriteOptions::new().write_to(&mut bytes, &arr1(values)).unwrap();
    bytes
}

#[test]
fn other_members_are_copied_as_they_are_stored() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let mut damaged = deflated("damaged.npy", &npy(&[1; 300]));
    damaged.crc ^= 1;
    let mut latin = stored("x.npy", &npy(&[2]));
    latin.name = b"\x82t\x82.npy".to_vec();
    let mut twice = stored("twice.npy", &npy(&[3]));
    twice.comment = b"a comment".to_vec();
    let members = [
        damaged.clone(),
        stored("notes.txt", b"not an array"),
        latin,
        twice,
        stored("twice.npy", &npy(&[4])),
        stored("replaced.npy", &npy(&[5])),
        stored("directory/", b""),
        utf8("répertoire/", b""),
        deflated("replaced", &npy(&[6])),
    ];
    fs::write(&path, Zip::of(&members)).unwrap();
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    let new = arr1(&[9_u8]);
    update.set("replaced", &new).unwrap();
    update.commit().unwrap();
    let npz = read(&path);
    let found: Vec<_> = npz.members().map(|member| member.full_name()).collect();
    let expected =
        ["damaged.npy", "notes.txt", "été.npy", "twice.npy", "twice.npy", "replaced.npy"];
    assert_eq!(found, [&expected[..], &["directory/", "répertoire/", "replaced"]].concat());
    let damage = npz.get("damaged").unwrap_err();
    assert!(is_error(&damage, ErrorKind::Corrupt, "CRC-32"), "{damage}");
    assert!(fs::read(&path).unwrap().windows(damaged.data.len()).any(|part| part == damaged.data));
    npz.member("répertoire/").unwrap().verify().unwrap();
    for (name, value) in [("été", 2), ("twice", 4), ("replaced.npy", 5), ("replaced", 9)] {
        assert_eq!(npz.get(name).unwrap().as_slice::<u8>().unwrap(), [value], "{name}");
    }
    let mut text = String::new();
    std::io::Read::read_to_string(
        &mut npz.member("notes.txt").unwrap().reader().unwrap(),
        &mut text,
    )
    .unwrap();
    assert_eq!(text, "not an array");
}

/// The system that made each member, and its external attributes.
fn attributes(path: &Path) -> Vec<(u8, u32)> {
    let bytes = fs::read(path).unwrap();
    let headers = bytes.windows(46).filter(|header| header.starts_with(b"PK\x01\x02"));
    headers.map(|h| (h[5], u32::from_le_bytes(h[38..42].try_into().unwrap()))).collect()
}

/// `unzip` decodes other names in archives of other systems.
#[test]
fn systems_and_modes_of_other_members_are_kept() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let made = |system, mode: u32, member| Zipped { system, attributes: mode << 16, ..member };
    let members = [
        Zipped { name: b"\x82.npy".to_vec(), ..stored("a.npy", &npy(&[1])) },
        made(0, 0, stored("dos.npy", &npy(&[2]))),
        made(0, 0, utf8("ä.npy", &npy(&[2]))),
        made(0, 0, utf8("ä/", b"")),
        made(3, 0o120_777, stored("link", b"a.npy")),
        made(3, 0o40_700, utf8("répertoire/", b"")),
        made(3, 0o100_600, stored("old.npy", &npy(&[3]))),
    ];
    fs::write(&path, Zip::of(&members)).unwrap();
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    let new = arr1(&[9_u8]);
    update.set("new", &new).unwrap().rename("dos", "größe").unwrap();
    update.commit().unwrap();
    let modes = [0, 0o100_644, 0o100_644, 0o40_755, 0o120_777, 0o40_700, 0o100_600, 0o100_644];
    let expected = [0, 3, 3, 3, 3, 3, 3, 3].into_iter().zip(modes.map(|mode: u32| mode << 16));
    let found = attributes(&path).into_iter().map(|(system, mode)| (system, mode & !0x10));
    assert!(found.eq(expected), "{:x?}", attributes(&path));
    assert_eq!(keys(&path), ["é", "größe", "ä", "ä/", "link", "répertoire/", "old", "new"]);
}

#[test]
fn replaced_members_stay_compressed_and_aligned() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let table = Array2::<f64>::zeros((40, 30));
    let mut writer = NpzWriter::create(&path).unwrap();
    writer.page_aligned(true).write("page", &table).unwrap();
    writer.write("kept", &table).unwrap();
    writer.compression(Compression::Deflated(6)).write("packed", &table).unwrap();
    writer.write("unpacked", &table).unwrap();
    writer.finish().unwrap();
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    let new = Array1::<f64>::ones(4000);
    update.set("packed", &new).unwrap().set("page", &new).unwrap().set("new", &new).unwrap();
    update.compression(Compression::Stored).set("unpacked", &new).unwrap();
    update.commit().unwrap();
    let npz = read(&path);
    let is_stored: Vec<_> = npz.members().map(|member| member.is_stored()).collect();
    assert_eq!(is_stored, [true, true, false, true, true]);
    for name in ["page", "kept"] {
        assert_eq!(npz.member(name).unwrap().data_offset().unwrap().unwrap() % 4096, 0, "{name}");
    }
    npz.members().try_for_each(|member| member.verify()).unwrap();
}

#[test]
fn an_update_that_is_dropped_or_fails_changes_nothing() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let mut encrypted = stored("secret.npy", &npy(&[1]));
    encrypted.flags = 1;
    fs::write(&path, Zip::of(&[stored("a.npy", &npy(&[1])), encrypted])).unwrap();
    let before = fs::read(&path).unwrap();
    let new = arr1(&[9_u8]);
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    assert!(is_error(
        &update.set("a\0b", &new).unwrap_err(),
        ErrorKind::InvalidInput,
        "a.npz: the member name `a"
    ));
    update.set("a", &new).unwrap();
    assert!(format!("{update:?}").contains("changed: [\"a\"]"), "{update:?}");
    drop(update);
    assert!(fs::read(&path).unwrap() == before);
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    update.set("a", &new).unwrap();
    let error = update.commit().unwrap_err();
    assert!(is_error(&error, ErrorKind::Unsupported, "a.npz[secret]: is encrypted"), "{error}");
    assert!(fs::read(&path).unwrap() == before);
    // Without the member that cannot be copied it succeeds.
    let mut update = Npz::update(&path, Locking::Try).unwrap();
    update.set("a", &new).unwrap().remove("secret").unwrap();
    update.commit().unwrap();
    assert_eq!(keys(&path), ["a"]);
    assert_eq!(names(directory.path()), ["a.npz"]);
}

#[cfg(unix)]
#[test]
fn concurrent_updates_lose_nothing() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    npz::savez(&path, &[("count", &arr1(&[0_u64]))]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for round in 0..5 {
                    let mut update = Npz::update(path, Locking::Wait).unwrap();
                    let mut count = update.npz().get("count").unwrap();
                    count.as_slice_mut::<u64>().unwrap()[0] += 1;
                    let own = arr1(&[thread, round]);
                    update.set("count", &count).unwrap();
                    update.set(&format!("{thread}/{round}"), &own).unwrap();
                    update.commit().unwrap();
                }
            });
        }
        for _ in 0..20 {
            read(&path).members().try_for_each(|member| member.verify()).unwrap();
        }
    });
    let npz = read(&path);
    assert_eq!(
        (npz.members().len(), npz.get("count").unwrap().as_slice::<u64>().unwrap()[0]),
        (21, 20)
    );
    let update = Npz::update(&path, Locking::Try).unwrap();
    assert_eq!(Npz::update(&path, Locking::Try).unwrap_err().kind(), ErrorKind::Locked);
    drop(update);
    npz.members().try_for_each(|member| member.verify()).unwrap();
}

#[test]
fn numpy_zipfile_and_unzip_read_updated_archives() {
    let Some(mut numpy) = Oracle::start("archives.py") else { return };
    let directory = directory();
    let files = numpy.ask(&json!(["savez", directory.path(), 20_240_301, 20]));
    let new = MappedArray::load("data/penguins.npy").unwrap();
    for file in files.as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        let mut members = file["members"].as_array().unwrap().clone();
        let mut update = Npz::update(path, Locking::Try).unwrap();
        if let Some(member) = members.pop() {
            update.remove(member[0].as_str().unwrap()).unwrap();
        }
        update.set("new", &new).unwrap();
        update.commit().unwrap();
        let mut found = numpy.ask(&json!(["load", path])).as_array().unwrap().clone();
        assert_eq!(found.pop().unwrap()[0], "new");
        assert_eq!(found, members, "{path}");
    }
}

#[test]
fn a_name_that_would_find_another_member_is_refused() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    fs::write(&path, Zip::of(&[stored("b", b"text"), stored("a.npy", &npy(&[1]))])).unwrap();
    let mut update = Npz::update(&path, Locking::Wait).unwrap();
    let error = update.rename("a", "b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    update.rename("a", "c").unwrap();
    update.commit().unwrap();
    assert_eq!(keys(&path), ["b", "c"]);
}

/// As `numpy.savez` does, without a new file.
#[test]
fn an_archive_that_was_overwritten_says_so() {
    let directory = directory();
    let [path, other] = ["a.npz", "b.npz"].map(|name| directory.path().join(name));
    let long = Array1::from_elem(500, 7.5);
    npz::savez(&path, &[("a", &long), ("b", &long)]).unwrap();
    npz::savez(&other, &[("first", &arr1(&[1.0])), ("b", &arr1(&[2.0]))]).unwrap();
    let (copied, mapped) = (read(&path), map(&path).and_then(Npz::open).unwrap());
    fs::write(&path, fs::read(&other).unwrap()).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    for error in [copied.get("b").map(drop), mapped.get("b").map(drop)] {
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.member()), (ErrorKind::Changed, Some("b")));
        let text = "the archive was modified since it was opened: open it again";
        assert_eq!(error.message().to_string(), text);
    }
    assert_eq!(copied.get("none").unwrap_err().kind(), ErrorKind::NotFound);
}
