//! Members of `.npz`, `.ten` and tar files.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use npymap::Source;
use npymap::ndarray::{arr1, arr2};
use npymap::npz::{self, Compression, Npz, NpzWriter};
use npymap::ten::TenWriteOptions;
use npymap::write::Save;
use serde_json::{Value, json};

use crate::run::{data, is_thorough, npymap, path_in, run_err, run_ok, size};

fn archive(name: &str) -> String {
    data().join("archives").join(name).to_str().unwrap().to_owned()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes a `.ten` of two arrays.
fn batch(directory: &Path) -> String {
    let path = directory.join("batch.ten");
    let (image, class) = (arr2(&[[0.5_f32, 1.5]]), arr1(&[7_i64, 8]));
    TenWriteOptions::new().infos(&["img", "cls"]).save(&path, &[&image, &class]).unwrap();
    path.to_str().unwrap().to_owned()
}

fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap()
}

#[test]
fn info_json_has_a_line_for_each_member() {
    let path = archive("zipfile-others.npz");
    let found = lines(&run_ok(["info", "--json", &path]));
    let members: Vec<_> = found.iter().map(|line| line["member"].as_str().unwrap()).collect();
    let names =
        ["README.txt", "a", "without-suffix", "no-array", "nothing", "folder/", "folder/deep/c"];
    assert_eq!(members, [&names[..], &["trailing"]].concat());
    assert_eq!(found[0], json!({ "path": path, "member": "README.txt", "array": false }));
    let expected = json!({
        "path": path, "member": "a", "format": "npz", "version": [1, 0], "descr": "'<f8'",
        "shape": [3], "fortran_order": false, "data_offset": 211, "itemsize": 8, "nbytes": 24,
        "mapped": true,
    });
    assert_eq!(found[1], expected);
    assert_eq!((&found[6]["data_offset"], &found[6]["mapped"]), (&Value::Null, &json!(false)));
    let one = lines(&run_ok(["info", "--json", &format!("{path}[folder/deep/c]")]));
    assert_eq!(one, [found[6].clone()]);
}

#[test]
fn damaged_members_have_a_line_with_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = text(directory.path().join("x.npz"));
    npz::savez(&path, &[("a", &arr1(&[1_u8])), ("b", &arr1(&[2_u8]))]).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(6).position(|part| part == b"\x93NUMPY").unwrap();
    bytes[at + 6] = 9;
    fs::write(&path, bytes).unwrap();
    let output = npymap(["info", "--json", &path, "absent.npz"]);
    let found = lines(&output.out);
    let expected = format!("{path}[a]: format version 9.0, expected 1.0, 2.0 or 3.0");
    assert_eq!(found[0], json!({ "path": path, "member": "a", "error": expected }));
    assert_eq!((&found[1]["member"], &found[1]["shape"]), (&json!("b"), &json!([1])));
    assert_eq!(found[2]["path"], "absent.npz");
    assert_eq!((found.len(), output.code), (3, Some(1)));
    assert!(output.err.starts_with(&format!("error: {expected}\n")), "{}", output.err);
}

#[test]
fn info_prints_members_as_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = batch(directory.path());
    let table = run_ok(["info", &path]);
    for word in ["file", "member", "info", "img", "cls", "'<i8'", "from byte 256"] {
        assert!(table.contains(word), "{word}: {table}");
    }
    let paragraph = run_ok(["info", &format!("{path}[cls]")]);
    assert!(paragraph.contains("batch.ten[1]\n  dtype  '<i8', integer"), "{paragraph}");
    assert!(paragraph.contains("file   ten, elements from byte 256\n"), "{paragraph}");
    assert_eq!(run_ok(["info", &archive("numpy-none.npz")]).lines().count(), 1);
}

/// The digests of all arrays of one of the archives under `tests/data`.
fn digests(name: &str) -> Vec<Value> {
    let found = lines(&run_ok(["info", "--json", "--digest", &archive(name)]));
    found.iter().map(|line| line["sha256"].clone()).collect()
}

#[test]
fn digests_of_members_equal_those_of_the_arrays() {
    let directory = tempfile::tempdir().unwrap();
    let stored = digests("numpy-savez.npz");
    assert_eq!(stored, digests("numpy-savez-compressed.npz"));
    let path = text(directory.path().join("f8.npy"));
    run_ok(["convert", &format!("{}[f8]", archive("numpy-savez.npz")), &path]);
    let found = lines(&run_ok(["info", "--json", "--digest", &path]));
    assert_eq!(found[0]["sha256"], stored[0]);
}

#[test]
fn positions_and_infos_select_arrays_of_a_ten() {
    let directory = tempfile::tempdir().unwrap();
    let path = batch(directory.path());
    let found = lines(&run_ok(["info", "--json", &path]));
    assert_eq!(
        found[1],
        json!({
            "path": path, "member": 1, "info": "cls", "format": "ten", "version": null,
            "descr": "'<i8'", "shape": [2], "fortran_order": false, "data_offset": 256,
            "itemsize": 8, "nbytes": 16, "mapped": true,
        })
    );
    assert_eq!(run_ok(["get", &format!("{path}[1]"), ":"]), "[7, 8]\n");
    assert_eq!(run_ok(["get", &format!("{path}[cls]"), "-1"]), "8\n");
    run_ok(["set", &format!("{path}[cls]"), "0", "-5"]);
    assert_eq!(run_ok(["get", &format!("{path}[cls]"), ":"]), "[-5, 8]\n");
    let error = run_err(1, ["get", &format!("{path}[x]"), "0"]);
    assert_eq!(error, format!("error: {path}[x]: no member `x`: the members are `img`, `cls`\n"));
    let error = run_err(1, ["get", &path, "0"]);
    let advice = format!("name one, as in `npymap get '{path}[0]' :`");
    assert_eq!(error, format!("error: {path}: holds 2 members, `0`, `1`: {advice}\n"));
}

#[test]
fn arrays_convert_between_all_formats() {
    let directory = tempfile::tempdir().unwrap();
    let ten = batch(directory.path());
    let (stored, packed, again) = (
        path_in(&directory, "stored.npz"),
        path_in(&directory, "packed.npz"),
        path_in(&directory, "again.ten"),
    );
    run_ok(["convert", &ten, &stored]);
    run_ok(["convert", "--deflate", &stored, &packed]);
    run_ok(["convert", &packed, &again]);
    assert!(fs::read(&ten).unwrap() == fs::read(&again).unwrap());
    let archive = Source::open(&packed).and_then(Npz::open).unwrap();
    assert!(archive.members().all(|member| !member.is_stored()));
    assert_eq!(archive.names().collect::<Vec<_>>(), ["img", "cls"]);
    run_ok([
        "convert",
        &format!("{packed}[cls]"),
        &path_in(&directory, "cls.npy"),
        "--byte-order",
        "big",
    ]);
    run_ok(["convert", &path_in(&directory, "cls.npy"), &path_in(&directory, "one.npz")]);
    assert_eq!(
        run_ok(["get", &format!("{}[arr_0]", path_in(&directory, "one.npz")), ":"]),
        "[7, 8]\n"
    );
    assert!(run_ok(["info", &path_in(&directory, "one.npz")]).contains("'>i8'"));
    assert!(run_err(1, ["convert", &ten, &stored]).ends_with("replace it with --overwrite\n"));
    assert!(run_err(1, ["convert", &stored, &ten]).ends_with("replace it with --overwrite\n"));
    run_ok(["convert", "--overwrite", "--order", "F", &stored, &stored]);
    assert!(run_ok(["info", &stored]).contains("from byte"));
    let error = run_err(1, ["convert", &stored, &path_in(&directory, "x.npy")]);
    let advice = format!("name one, as in `npymap get '{stored}[img]' :`");
    assert_eq!(error, format!("error: {stored}: holds 2 members, `img`, `cls`: {advice}\n"));
    let error = run_err(2, ["convert", &stored, &path_in(&directory, "x.ten"), "--deflate"]);
    assert!(error.ends_with("a .ten can't be deflated: use .npz\n"));
    let output = npymap([
        "convert",
        &self::archive("zipfile-others.npz"),
        &path_in(&directory, "arrays.npz"),
    ]);
    assert_eq!(
        (output.code, output.err.matches("is not an array and is skipped").count()),
        (Some(0), 4)
    );
    assert_eq!(
        Source::open(path_in(&directory, "arrays.npz"))
            .and_then(Npz::open)
            .unwrap()
            .members()
            .len(),
        4
    );
}

#[test]
fn extract_writes_whole_members() {
    let directory = tempfile::tempdir().unwrap();
    let to = text(directory.path().join("out"));
    let path = archive("zipfile-others.npz");
    let output = run_ok(["npz", "extract", &path, "--directory", &to]);
    assert_eq!(output, format!("{path}: 7 members extracted\n"));
    assert_eq!(fs::read(directory.path().join("out/README.txt")).unwrap(), b"no array");
    assert_eq!(run_ok(["get", &format!("{to}/folder/deep/c.npy"), ":"]), "[0.0, 1.0, 2.0]\n");
    let error = run_err(1, ["npz", "extract", &path, "a", "--directory", &to]);
    let there = text(directory.path().join("out").join("a.npy"));
    assert!(error.starts_with(&format!("error: {there}: already exists")), "{error}");
    run_ok(["npz", "extract", &path, "a", "--directory", &to, "--overwrite"]);
    let error = run_err(1, ["npz", "extract", &path, "x"]);
    assert!(error.contains("no member `x`"), "{error}");
    // Of members with the same name, the last one.
    let twice = archive("zipfile-twice.npz");
    let to = text(directory.path().join("twice"));
    run_ok(["npz", "extract", &twice, "-d", &to]);
    assert_eq!(run_ok(["get", &format!("{to}/a.npy"), "0"]), "1.0\n");
}

#[test]
fn extract_rejects_names_outside_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["../out", "/tmp/npymap-out", "a/../../out", "a\\..\\out"] {
        let path = text(directory.path().join("x.npz"));
        npz::savez(&path, &[("good", &arr1(&[1_u8])), (name, &arr1(&[1_u8]))]).unwrap();
        let to = text(directory.path().join("to"));
        let error = run_err(1, ["npz", "extract", &path, "-d", &to]);
        assert!(error.contains("its name points outside the directory"), "{error}");
        assert!(!Path::new(&to).exists());
    }
}

#[test]
fn verify_detects_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = text(directory.path().join("x.npz"));
    npz::savez(&path, &[("a", &arr1(&[1_u8, 2, 3])), ("b", &arr1(&[2_u8]))]).unwrap();
    assert_eq!(run_ok(["npz", "verify", &path]), format!("{path}: 2 members intact\n"));
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(3).position(|part| part == [1, 2, 3]).unwrap();
    bytes[at] = 7;
    fs::write(&path, bytes).unwrap();
    let error = run_err(1, ["npz", "verify", &path]);
    assert!(error.starts_with(&format!("error: {path}[a]: the CRC-32 is")), "{error}");
    let output = npymap(["npz", "verify", "--json", &path]);
    let found = lines(&output.out);
    assert_eq!(found[1], json!({ "path": path, "member": "b", "intact": true }));
    assert!(found[0]["error"].as_str().unwrap().contains("the member is damaged"));
    assert_eq!(found[0]["intact"], false);
}

#[test]
fn extract_skips_damaged_members() {
    let directory = tempfile::tempdir().unwrap();
    let path = text(directory.path().join("x.npz"));
    let arrays = [arr1(&[1_u8, 2, 3]), arr1(&[4_u8]), arr1(&[5_u8, 6, 7])];
    npz::savez(&path, &[("a", &arrays[0]), ("b", &arrays[1]), ("c", &arrays[2])]).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    for elements in [[1, 2, 3], [5, 6, 7]] {
        let at = bytes.windows(3).position(|part| part == elements).unwrap();
        bytes[at] = 9;
    }
    fs::write(&path, bytes).unwrap();
    let to = text(directory.path().join("to"));
    let output = npymap(["npz", "extract", &path, "-d", &to]);
    assert_eq!((output.code, output.out), (Some(1), format!("{path}: 1 member extracted\n")));
    for name in ["a", "c"] {
        let expected = format!("error: {path}[{name}]: the CRC-32 is");
        assert!(output.err.contains(&expected), "{}", output.err);
    }
    let names: Vec<_> = fs::read_dir(&to).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, ["b.npy"]);
}

/// Fails to extract an archive of members with these names to a directory, and
/// returns the error.
fn extract_err(to: &Path, names: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "x.npz");
    let array = arr1(&[1_u8]);
    let members: Vec<(&str, &dyn Save)> =
        names.iter().map(|name| (*name, &array as &dyn Save)).collect();
    npz::savez(&path, &members).unwrap();
    run_err(1, ["npz", "extract", &path, "-d", to.to_str().unwrap()])
}

#[test]
fn extract_checks_for_conflicting_paths_before_writing() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("to");
    let error = extract_err(&to, &["first", "a", "a.npy/b"]);
    assert!(error.contains("[a.npy/b]: another member is a file"), "{error}");
    let error = extract_err(&to, &["first", "a.npy/b", "a"]);
    assert!(error.contains("[a]: is a file where another member"), "{error}");
    // Other names are near in any order.
    let error = extract_err(&to, &["a", "a.npy-", "a.npy!", "a/c", "a.npy/b"]);
    assert!(error.contains("[a.npy/b]: another member is a file"), "{error}");
    let error = extract_err(&to, &["a.npy/b", "a.npy/c", "b", "0", "a"]);
    assert!(error.contains("[a]: is a file where another member"), "{error}");
    let error = extract_err(&to, &["first", "a/b", "a//b"]);
    assert!(error.contains("[a//b]: another member has the same path"), "{error}");
    assert!(!to.exists());
    fs::create_dir(&to).unwrap();
    fs::write(to.join("deep"), b"a file").unwrap();
    fs::create_dir(to.join("a.npy")).unwrap();
    assert!(extract_err(&to, &["first", "deep/b"]).contains("deep: is not a directory"));
    assert!(!to.join("first.npy").exists());
}

#[test]
fn names_of_many_members_are_compared_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("to");
    let mut names: Vec<_> =
        (0..size(1000, 5000, 20_000)).map(|number| format!("m/{number:x}")).collect();
    names.push("m/3.npy/x".to_owned());
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let error = extract_err(&to, &names);
    assert!(error.contains("[m/3.npy/x]: another member is a file"), "{error}");
    assert!(!to.exists());
}

#[cfg(unix)]
#[test]
fn extract_does_not_follow_links_in_the_directory() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let [to, other, link, npz] =
        ["to", "other", "link", "a.npz"].map(|name| directory.path().join(name));
    fs::create_dir_all(to.join("deep")).unwrap();
    fs::create_dir_all(other.join("x")).unwrap();
    fs::write(other.join("there.npy"), b"mine").unwrap();
    symlink("../../other", to.join("deep/sub")).unwrap();
    symlink(other.join("new"), to.join("dangling")).unwrap();
    symlink(&to, &link).unwrap();
    for name in ["deep/sub/a", "deep/sub/x/a", "deep/sub/new/a", "deep/sub/there", "dangling/a"] {
        let array = arr1(&[1_u8]);
        npz::savez(&npz, &[("first", &array), (name, &array)]).unwrap();
        let npz = npz.to_str().unwrap();
        for options in [&[][..], &["--overwrite"]] {
            let arguments = ["npz", "extract", npz, "-d", to.to_str().unwrap()];
            let error = run_err(1, arguments.iter().chain(options));
            assert!(error.contains(": is a symbolic link, which may point outside"), "{error}");
            assert!(!to.join("first.npy").exists());
        }
        let arguments = ["npz", "extract", npz, "-d", to.to_str().unwrap(), "--keep-going"];
        let output = npymap(arguments);
        assert_eq!((output.code, output.out), (Some(1), format!("{npz}: 1 member extracted\n")));
        fs::remove_file(to.join("first.npy")).unwrap();
    }
    assert_eq!(fs::read(other.join("there.npy")).unwrap(), b"mine");
    assert_eq!((fs::read_dir(&other).unwrap().count(), other.join("new").exists()), (2, false));
    assert_eq!(fs::read_dir(other.join("x")).unwrap().count(), 0);
    // The directory itself may be a link.
    npz::savez(&npz, &[("deep/a", &arr1(&[1_u8]))]).unwrap();
    run_ok(["npz".as_ref(), "extract".as_ref(), npz.as_os_str(), "-d".as_ref(), link.as_os_str()]);
    assert!(to.join("deep/a.npy").exists());
}

#[test]
fn verify_accepts_paths_that_are_not_utf8() {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(std::ffi::OsStr::from_bytes(b"x\xff.npz"));
        npz::savez(&path, &[("a", &arr1(&[1_u8]))]).unwrap();
        let found = lines(&run_ok([
            "npz".as_ref(),
            "verify".as_ref(),
            "--json".as_ref(),
            path.as_os_str(),
        ]));
        assert_eq!(found[0]["path"].as_str().unwrap(), path.to_string_lossy());
        assert_eq!(found[0]["intact"], true);
    }
}

#[test]
fn converting_in_place_loses_no_member() {
    let directory = tempfile::tempdir().unwrap();
    for (name, lost) in [("zipfile-others.npz", "README.txt"), ("zipfile-twice.npz", "b.npy")] {
        let path = text(directory.path().join(name));
        fs::copy(archive(name), &path).unwrap();
        let old = fs::read(&path).unwrap();
        let error = run_err(1, ["convert", &path, &path, "--overwrite"]);
        let expected =
            format!("error: {path}[{lost}]: would be lost: choose another name for the output\n");
        assert_eq!(error, expected);
        assert!(fs::read(&path).unwrap() == old);
    }
    let [a, b, both] = ["a.npy", "b.npy", "both.npz"].map(|name| path_in(&directory, name));
    for path in [&a, &b] {
        run_ok(["create", path, "--shape", "3"]);
    }
    run_ok(["npz", "pack", &a, &b, "-o", &both]);
    let old = fs::read(&both).unwrap();
    for selected in ["a", "a.npy", "a*"] {
        let one = format!("{both}[{selected}]");
        for arguments in [
            &["convert", &one, &both, "--overwrite"][..],
            &["npz", "pack", &one, "-o", &both, "--overwrite"],
        ] {
            let error = run_err(1, arguments);
            assert!(error.contains("both.npz[b]: would be lost"), "{error}");
            assert!(fs::read(&both).unwrap() == old);
        }
    }
    let [first, second] = ["a", "b.npy"].map(|name| format!("{both}[{name}]"));
    run_ok(["npz", "pack", &second, &first, "-o", &both, "--overwrite"]);
    assert!(run_ok(["ls", "--json", &both]).starts_with("{\"path\""));
    run_ok(["convert", &format!("{both}[*]"), &both, "--overwrite", "--deflate"]);
    assert_eq!(run_ok(["ls", "--json", &both]).lines().count(), 2);
}

#[test]
fn archives_with_more_members_than_maps_per_process_convert_to_lists() {
    // Linux allows 65,530 maps per process.
    let count = if is_thorough() { 66_000 } else { 1_000 };
    let directory = tempfile::tempdir().unwrap();
    let path = text(directory.path().join("x.npz"));
    let mut writer = npz::NpzWriter::create(&path).unwrap();
    for at in 0..count {
        writer.write(&at.to_string(), &arr1(&[at])).unwrap();
    }
    writer.finish().unwrap();
    let to = text(directory.path().join("x.ten"));
    run_ok(["convert", &path, &to]);
    let ten = Source::open(&to).and_then(npymap::ten::Ten::open).unwrap();
    assert_eq!(ten.headers().len(), usize::try_from(count).unwrap());
    let last = ten.position(&(count - 1).to_string()).and_then(|at| ten.get(at)).unwrap();
    assert_eq!(last.view::<i32>().unwrap().to_vec(), [count - 1]);
}

/// Names that are not UTF-8 are printed alike.
#[test]
fn no_member_of_a_tar_file_is_lost_because_of_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let [tar, npz] = ["x.tar", "x.npz"].map(|name| text(directory.path().join(name)));
    let mut data = Vec::new();
    npymap::WriteOptions::new().write_to(&mut data, &arr1(&[0.5])).unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    for name in [b"a\xff.npy", b"a\xfe.npy"] {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..6].copy_from_slice(name);
        header.set_size(data.len().try_into().unwrap());
        header.set_cksum();
        builder.append(&header, &*data).unwrap();
    }
    fs::write(&tar, builder.into_inner().unwrap()).unwrap();
    for arguments in [&["npz", "pack", &tar, "-o", &npz][..], &["convert", &tar, &npz]] {
        let error = run_err(1, arguments);
        assert!(error.contains("several members are `a\u{fffd}.npy`: rename them"), "{error}");
        assert!(!Path::new(&npz).exists());
    }
}

#[test]
fn info_lists_arrays_in_tar_files() {
    let directory = tempfile::tempdir().unwrap();
    batch(directory.path());
    let path = text(directory.path().join("x.tar"));
    let mut builder = tar::Builder::new(fs::File::create(&path).unwrap());
    builder.append_path_with_name(directory.path().join("batch.ten"), "0.ten").unwrap();
    builder.append_path_with_name(data().join("numpy-2.4.6/f8-le.npy"), "0.npy").unwrap();
    builder.append_path_with_name(data().join("make.py"), "0.py").unwrap();
    builder.into_inner().unwrap();
    let found = lines(&run_ok(["info", "--json", "--digest", &path]));
    let members: Vec<_> = found.iter().map(|line| line["member"].as_str().unwrap()).collect();
    assert_eq!(members, ["0.ten[0]", "0.ten[1]", "0.npy", "0.py"]);
    assert_eq!((&found[1]["info"], &found[1]["format"]), (&json!("cls"), &json!("tar")));
    assert_eq!(found[3]["array"], false);
    assert_eq!(run_ok(["get", &format!("{path}[0.ten[cls]]"), ":"]), "[7, 8]\n");
    assert_eq!(lines(&run_ok(["info", "--json", &format!("{path}[0.npy]")])).len(), 1);
    let error = run_err(1, ["get", &format!("{path}[1.npy]"), "0"]);
    assert_eq!(
        error,
        format!(
            "error: {path}[1.npy]: no member `1.npy`: the members are `0.ten`, `0.npy`, `0.py`\n"
        )
    );
    let error = run_err(1, ["set", &format!("{path}[0.npy]"), "0", "1"]);
    assert!(error.contains("cannot be edited: name an array"), "{error}");
}

#[test]
fn arrays_of_archives_in_tar_files_need_no_unpacking() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, tar, out] =
        ["0.npz", "x.tar", "out.npz"].map(|name| text(directory.path().join(name)));
    npymap::npz::savez(&npz, &[("x", &arr1(&[0.5, 1.5])), ("y", &arr1(&[7.0]))]).unwrap();
    let mut builder = tar::Builder::new(fs::File::create(&tar).unwrap());
    builder.append_path_with_name(&npz, "s/0.npz").unwrap();
    builder.append_path_with_name(data().join("numpy-2.4.6/f8-le.npy"), "0.npy").unwrap();
    builder.into_inner().unwrap();
    let found = lines(&run_ok(["info", "--json", "--digest", &tar]));
    let members: Vec<_> = found.iter().map(|line| line["member"].as_str().unwrap()).collect();
    assert_eq!(members, ["s/0.npz[x]", "s/0.npz[y]", "0.npy"]);
    let alone = lines(&run_ok(["info", "--json", "--digest", &npz]));
    assert_eq!(found[1]["sha256"], alone[1]["sha256"]);
    let one = format!("{tar}[s/0.npz[x]]");
    assert_eq!(lines(&run_ok(["info", "--json", &one])).len(), 1);
    assert_eq!(run_ok(["get", &one, ":"]), "[0.5, 1.5]\n");
    run_ok(["convert", &tar, &out]);
    let archive = npymap::Npz::open(npymap::Source::open(&out).unwrap()).unwrap();
    assert_eq!(archive.names().collect::<Vec<_>>(), ["s/0.npz[x]", "s/0.npz[y]", "0"]);
    let error = run_err(1, ["get", &format!("{tar}[s/0.npz[z]]"), "0"]);
    assert!(error.contains("no member `z`: the members are `x`, `y`"), "{error}");
}

fn save_deflated(path: &str, arrays: &[(&str, &dyn Save)]) {
    let mut to = NpzWriter::create(path).unwrap();
    to.compression(Compression::Deflated(6));
    for (name, array) in arrays {
        to.write(name, *array).unwrap();
    }
    to.finish().unwrap();
}

#[test]
fn members_of_an_npz_are_edited_by_rewriting_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = text(directory.path().join("x.npz"));
    let (a, b) = (arr1(&[1_u8, 2, 3]), arr2(&[[0.5_f64, 1.5]]));
    save_deflated(&path, &[("deep/a", &a), ("b", &b)]);
    let named = format!("{path}[deep/a]");
    assert_eq!(run_ok(["set", &named, "1:", "9"]), format!("{named}: 2 elements set\n"));
    assert_eq!(run_ok(["get", &named, ":"]), "[1, 9, 9]\n");
    assert_eq!(run_ok(["npz", "verify", &path]), format!("{path}: 2 members intact\n"));
    assert!(
        Source::open(&path)
            .and_then(Npz::open)
            .unwrap()
            .members()
            .all(|member| !member.is_stored())
    );
    let old = fs::read(&path).unwrap();
    for (name, index, value) in [("deep/a", "7", "1"), ("deep/a", "0", "1000"), ("c", "0", "1")] {
        run_err(1, ["set", &format!("{path}[{name}]"), index, value]);
    }
    run_err(1, ["set", &path, "0", "1"]);
    assert!(fs::read(&path).unwrap() == old);
    let others = text(directory.path().join("others.npz"));
    fs::copy(archive("zipfile-others.npz"), &others).unwrap();
    let before = contents(&others);
    let named = format!("{others}[a]");
    assert_eq!(run_ok(["set", &named, "0", "1"]), format!("{named}: 1 element set\n"));
    let after = contents(&others);
    assert!(
        before.iter().any(|(name, _)| name.strip_suffix(".npy").is_none()),
        "members other than arrays"
    );
    assert_eq!(before.len(), after.len());
    for (old, new) in before.iter().zip(&after) {
        assert!(old.0 == new.0 && (old.1 == new.1 || old.0 == "a.npy"), "{}", old.0);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn the_member_that_is_opened_is_the_one_that_is_edited() {
    let directory = tempfile::tempdir().unwrap();
    let path = text(directory.path().join("x.npz"));
    npz::savez(&path, &[("", &arr1(&[1_u8, 2])), ("name", &arr1(&[3_u8, 4]))]).unwrap();
    // The first member, `.npy`, becomes `name`.
    let mut bytes = fs::read(&path).unwrap();
    let start = bytes.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    for at in [30, start + 46] {
        bytes[at..at + 4].copy_from_slice(b"name");
    }
    fs::write(&path, bytes).unwrap();
    for (member, expected) in [("name", "[9, 2]\n"), ("name.npy", "[9, 4]\n")] {
        let named = format!("{path}[{member}]");
        assert_eq!(run_ok(["set", &named, "0", "9"]), format!("{named}: 1 element set\n"));
        assert_eq!(run_ok(["get", &named, ":"]), expected);
    }
    let names: Vec<_> = contents(&path).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["name", "name.npy"]);
    assert_eq!(run_ok(["get", &format!("{path}[name]"), ":"]), "[9, 2]\n");
}

/// The full names and the uncompressed bytes of all members.
fn contents(path: &str) -> Vec<(String, Vec<u8>)> {
    let npz = Source::open(path).and_then(Npz::open).unwrap();
    let members = npz.members().map(|member| {
        let mut bytes = Vec::new();
        member.reader().unwrap().read_to_end(&mut bytes).unwrap();
        (member.full_name().to_owned(), bytes)
    });
    members.collect()
}

#[test]
fn members_are_joined_added_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    let path = text(directory.path().join("x.npz"));
    let (a, b) = (arr1(&[1_u8, 2]), arr1(&[3_u8]));
    save_deflated(&path, &[("a", &a), ("b", &b)]);
    let [a, b] = ["a", "b"].map(|member| format!("{path}[{member}]"));
    let all = text(directory.path().join("all.npy"));
    run_ok(["concat", &a, &b, "-o", &all]);
    run_ok(["append", &all, &a]);
    assert_eq!(run_ok(["get", &all, ":"]), "[1, 2, 3, 1, 2]\n");
    run_ok(["diff", &a, &a]);
    let output = npymap(["diff", "--json", &a, &b]);
    assert_eq!(output.code, Some(1));
}
