//! Every command accepts `FILE[MEMBER]`, or suggests an alternative; and arrays
//! convert from each format to each.

use std::fs;
use std::path::Path;

use npymap::Source;
use npymap::ndarray::{Array2, arr1, arr2};
use npymap::npz::{self, Npz};
use npymap::ten::TenWriteOptions;

use crate::run::{data, npymap, path_in, run_err, run_ok};

/// Writes an `.npz` of `w` and `b`, a `.ten` of the same arrays, and a tar file
/// with both and another member.
fn files(directory: &Path) -> [String; 3] {
    let (w, b) = (arr2(&[[1.5_f32, 2.5], [3.5, 4.5]]), arr1(&[7_i64, 8]));
    let [npz, ten, tar] = ["x.npz", "x.ten", "x.tar"].map(|name| path_in(directory, name));
    npz::savez(&npz, &[("w", &w), ("b", &b)]).unwrap();
    TenWriteOptions::new().infos(&["w", "b"]).save(&ten, &[&w, &b]).unwrap();
    let mut builder = tar::Builder::new(fs::File::create(&tar).unwrap());
    npymap::WriteOptions::new().write(path_in(directory, "w.npy"), &w).unwrap();
    for (from, name) in [("w.npy", "0.npy"), ("x.ten", "0.ten"), ("w.npy", "0.npy")] {
        builder.append_path_with_name(path_in(directory, from), name).unwrap();
    }
    builder.append_path_with_name(path_in(directory, "w.npy"), "0.ten[0]").unwrap();
    builder.append_path_with_name(data().join("make.py"), "0.py").unwrap();
    builder.into_inner().unwrap();
    fs::remove_file(path_in(directory, "w.npy")).unwrap();
    [npz, ten, tar]
}

#[test]
fn members_cannot_be_created() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, ten, _] = files(directory.path());
    let before = fs::read_dir(directory.path()).unwrap().count();
    let absent = directory.path().join("new.npz").to_str().unwrap().to_owned();
    for (out, member) in [(&npz, "w"), (&npz, "new"), (&ten, "0"), (&absent, "w")] {
        let out = format!("{out}[{member}]");
        let error = run_err(1, ["convert", &format!("{npz}[w]"), &out, "--overwrite"]);
        let reason = "names a member, and only whole files can be created: name the file";
        assert_eq!(error, format!("error: {out}: {reason}\n"));
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), before);
}

#[test]
fn members_are_set() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, ten, tar] = files(directory.path());
    let packed = format!("{npz}.deflated.npz");
    run_ok(["convert", "--deflate", &npz, &packed]);
    for (file, member) in [(&npz, "w"), (&packed, "w"), (&ten, "w"), (&ten, "0")] {
        let place = format!("{file}[{member}]");
        assert_eq!(
            run_ok(["set", "--flush", &place, ":", "-1"]),
            format!("{place}: 4 elements set\n")
        );
        assert_eq!(run_ok(["get", &place, "1"]), "[-1.0, -1.0]\n");
        assert_eq!(run_ok(["get", &format!("{file}[b]"), ":"]), "[7, 8]\n");
        let before = fs::read(file).unwrap();
        run_err(1, ["set", &place, ":", "many"]);
        run_err(1, ["set", file, ":", "1"]);
        run_err(1, ["set", &format!("{file}[x]"), ":", "1"]);
        assert!(fs::read(file).unwrap() == before);
    }
    run_ok(["npz", "verify", &npz, &packed]);
    assert!(
        Source::open(&packed)
            .and_then(Npz::open)
            .unwrap()
            .members()
            .all(|member| !member.is_stored())
    );
    let error = run_err(1, ["set", &format!("{tar}[0.npy]"), ":", "1"]);
    assert!(error.contains("extract one from a tar file with `npymap convert`"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 4);
}

#[test]
fn members_cannot_be_appended_to_or_recovered() {
    let directory = tempfile::tempdir().unwrap();
    for file in files(directory.path()) {
        let place = format!("{file}[w]");
        let error = run_err(1, ["append", &place, &place]);
        assert_eq!(
            error,
            format!(
                "error: {place}: members of archives cannot be appended to: write the longer array to a .npy file with `npymap concat`\n"
            )
        );
        let error = run_err(1, ["recover", &place]);
        assert!(
            error.starts_with(&format!("error: {place}: members of archives cannot be recovered"))
        );
        for command in ["append", "recover"] {
            let output = npymap([command, &file, &place]);
            assert_ne!(output.code, Some(0), "{command} {file}");
        }
    }
}

#[test]
fn members_can_be_sampled_and_shuffled() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, ten, tar] = files(directory.path());
    let packed = format!("{npz}.deflated.npz");
    run_ok(["convert", "--deflate", &npz, &packed]);
    let out = format!("{npz}.npy");
    let [npz, ten, tar, packed] = [(npz, "w"), (ten, "0"), (tar, "0.ten[w]"), (packed, "w")]
        .map(|(file, member)| format!("{file}[{member}]"));
    for place in [&npz, &ten, &tar, &packed] {
        let drawn = run_ok(["sample", place, "-n", "2", "--seed", "3"]);
        assert!(drawn.contains("[1.5, 2.5]") && drawn.contains("[3.5, 4.5]"), "{drawn}");
        run_ok(["shuffle", "--overwrite", place, &out]);
        assert!(run_ok(["stats", &out]).contains("12.0"));
    }
}

#[test]
fn headers_of_all_formats_are_printed() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, ten, tar] = files(directory.path());
    let native = if cfg!(target_endian = "big") { '>' } else { '<' };
    let npy = format!("{{'descr': '{native}f4', 'fortran_order': False, 'shape': (2, 2), }}\n");
    let [w, b] = [
        "{'code': 'f4', 'info': 'w', 'shape': (2, 2)}\n",
        "{'code': 'i8', 'info': 'b', 'shape': (2,)}\n",
    ];
    let other = format!("{{'descr': '{native}i8', 'fortran_order': False, 'shape': (2,), }}\n");
    for (place, expected) in [
        (npz.clone(), format!("{npy}{other}")),
        (format!("{npz}[b]"), other),
        (ten.clone(), format!("{w}{b}")),
        (format!("{ten}[1]"), b.to_owned()),
        (tar.clone(), format!("{npy}{w}{b}{npy}{npy}")),
        (format!("{tar}[0.npy]"), npy.clone()),
        (format!("{tar}[0.ten]"), format!("{w}{b}")),
        (format!("{tar}[0.ten[b]]"), b.to_owned()),
        (format!("{tar}[0.ten[0]]"), npy.clone()),
    ] {
        assert_eq!(run_ok(["info", "--header", &place]), expected, "{place}");
    }
    let empty = format!("{npz}.empty.npz");
    npz::savez(&empty, &[]).unwrap();
    for place in [format!("{tar}[0.py]"), empty] {
        let error = run_err(1, ["info", "--header", &place]);
        assert_eq!(error, format!("error: {place}: contains no array, so there is no header\n"));
    }
    for place in [format!("{npz}[x]"), format!("{ten}[x]"), format!("{tar}[0.ten[x]]")] {
        assert!(run_err(1, ["info", "--header", &place]).contains("no member `"), "{place}");
    }
}

/// The number of members that `info` lists.
fn line_count(place: &str) -> usize {
    run_ok(["info", "--json", place]).lines().count()
}

#[test]
fn the_last_of_equal_members_and_the_longest_file_name_are_selected() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, _, tar] = files(directory.path());
    assert_eq!((line_count(&tar), line_count(&format!("{tar}[0.npy]"))), (6, 1));
    assert_eq!(
        (line_count(&format!("{tar}[0.ten]")), line_count(&format!("{tar}[0.ten[1]]"))),
        (2, 1)
    );
    // The name of a tar member takes precedence over an array of a .ten.
    assert_eq!(run_ok(["get", &format!("{tar}[0.ten[0]]"), "0"]), "[1.5, 2.5]\n");
    assert!(run_ok(["info", "--json", &format!("{tar}[0.ten[0]]")]).contains(r#""version":[1,0]"#));
    // So does the name of a file that looks like FILE[MEMBER].
    let literal = format!("{npz}[w]");
    npz::savez(&literal, &[("w", &arr1(&[9_u8]))]).unwrap();
    assert_eq!(run_ok(["get", &literal, "0"]), "9\n");
    assert_eq!(run_ok(["get", &format!("{literal}[w]"), "0"]), "9\n");
    assert_eq!(run_ok(["get", &format!("{npz}[b]"), "0"]), "7\n");
}

/// The digests of all arrays of a file, with their names, if any.
fn digests(path: &str) -> Vec<(String, String)> {
    let text = run_ok(["info", "--json", "--digest", path]);
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines
        .map(|line| {
            let name = line["info"].as_str().or(line["member"].as_str()).unwrap_or_default();
            (name.to_owned(), line["sha256"].as_str().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn several_arrays_convert_between_all_formats() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, ten, tar] = files(directory.path());
    let packed = path_in(&directory, "packed.npz");
    run_ok(["convert", "--deflate=9", &npz, &packed]);
    let all = digests(&npz);
    assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["w", "b"]);
    for from in [&npz, &packed, &ten] {
        for (out, options) in [
            ("out.npz", &[][..]),
            ("out.npz", &["--deflate"]),
            ("out.npz", &["--order", "F", "--byte-order", "big"]),
            ("out.ten", &[]),
        ] {
            let out = path_in(&directory, out);
            run_ok(["convert", "--overwrite", from, &out].iter().chain(options));
            assert_eq!(digests(&out), all, "{from} {options:?}");
        }
        let error = run_err(1, ["convert", from, &path_in(&directory, "out.npy")]);
        let first = if from == &ten { ("`0`, `1`", "0") } else { ("`w`, `b`", "w") };
        let (list, name) = first;
        let advice = format!("name one, as in `npymap get '{from}[{name}]' :`");
        assert_eq!(error, format!("error: {from}: holds 2 members, {list}: {advice}\n"));
        let out = path_in(&directory, "out.npy");
        run_ok(["convert", "--overwrite", &format!("{from}[b]"), &out]);
        assert_eq!(digests(&out)[0].1, all[1].1);
        for (back, name) in [("out.npz", "arr_0"), ("out.ten", "arr_0")] {
            run_ok(["convert", "--overwrite", &out, &path_in(&directory, back)]);
            assert_eq!(digests(&path_in(&directory, back)), [(name.to_owned(), all[1].1.clone())]);
        }
        fs::remove_file(&out).unwrap();
    }
    let output = npymap(["convert", "--overwrite", &tar, &path_in(&directory, "out.npz")]);
    assert_eq!(
        (output.code, output.err.matches("skipped").count()),
        (Some(1), 1),
        "{}",
        output.err
    );
    assert!(output.err.contains("a member `0.ten[0]` already exists"), "{}", output.err);
    // Of members with the same name, the last one.
    let twice = data().join("archives/zipfile-twice.npz").to_str().unwrap().to_owned();
    let (before, out) = (digests(&twice), path_in(&directory, "out.npz"));
    // The name `b` finds the member `b` and not `b.npy`.
    let output = npymap(["convert", "--overwrite", &twice, &out]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.err.contains("[b.npy]: has the same name as another member"), "{}", output.err);
    let last: Vec<_> = ["a", "b"].map(|name| before.iter().rfind(|(own, _)| own == name)).into();
    let found = digests(&out);
    assert!(found.len() == 2 && last.into_iter().flatten().all(|one| found.contains(one)));
}

#[test]
fn unsupported_conversions_are_rejected_and_leave_the_output_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let [npz, ten, _] = files(directory.path());
    let (names, words, wide, big) = (
        path_in(&directory, "names.npz"),
        path_in(&directory, "words.npz"),
        path_in(&directory, "wide.npy"),
        path_in(&directory, "u4.npy"),
    );
    npz::savez(&names, &[("layer1/weights", &arr1(&[1_u8]))]).unwrap();
    let text = npymap::MappedArray::zeros(&"|S3".parse().unwrap(), &[2]).unwrap();
    npz::savez(&words, &[("w", &text)]).unwrap();
    run_ok(["create", &wide, "--shape", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"]);
    npymap::WriteOptions::new().write(&big, &Array2::<u32>::zeros((2, 2))).unwrap();
    let before = fs::read(&ten).unwrap();
    for (arguments, reason) in [
        (&[&*names][..], "the info `layer1/weights`: expected ASCII of at most 8 bytes"),
        (&[&*words], "a .ten file supports only f2, f4, f8, i1 to i8 and u1 to u8: use .npz"),
        (&[&*wide], "10 axes: a .ten array has at most 9"),
        (&[&*big], "u4"),
        (&[&*npz, "--order", "F"], "a .ten is in C order and little-endian"),
        (&[&*npz, "--byte-order", "big"], "a .ten is in C order and little-endian"),
        (&[&*npz, "--version", "2"], "--version does not apply to .ten files"),
        (&[&*npz, "--deflate"], "a .ten can't be deflated: use .npz"),
    ] {
        let status = if arguments.len() > 1 { 2 } else { 1 };
        let fixed = ["convert", "--overwrite", arguments[0], &ten];
        let error = run_err(status, fixed.iter().chain(&arguments[1..]));
        assert!(error.contains(reason), "{error}");
        assert!(fs::read(&ten).unwrap() == before);
    }
    run_ok(["convert", "--overwrite", "--allow-u4", &big, &ten]);
    let npy = path_in(&directory, "out.npy");
    for (arguments, reason) in [
        (&["--deflate"][..], "a .npy can't be deflated: use .npz"),
        (&["--allow-u4"], "--allow-u4 is for .ten files"),
    ] {
        let error = run_err(2, ["convert", &big, &npy].iter().chain(arguments));
        assert!(error.contains(reason), "{error}");
    }
    let error = run_err(2, ["convert", "--version", "2", &big, &path_in(&directory, "out.npz")]);
    assert!(error.contains("--version does not apply to members of an .npz"), "{error}");
    assert!(fs::metadata(npy).is_err() && fs::metadata(path_in(&directory, "out.npz")).is_err());
}

#[test]
fn members_that_cannot_be_opened_do_not_hide_others() {
    let directory = tempfile::tempdir().unwrap();
    let [array, object, list, a, b, c] = ["w.npy", "o.npy", "x.ten", "a.tar", "b.tar", "c.tar"]
        .map(|name| path_in(&directory, name));
    npymap::WriteOptions::new().write(&array, &arr1(&[1, 2])).unwrap();
    let header = format!("{:<117}\n", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }");
    fs::write(&object, [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), b"N."].concat()).unwrap();
    fs::write(&list, b"~TenBin~ and no list").unwrap();
    let mut builder = tar::Builder::new(fs::File::create(&c).unwrap());
    builder.append_path_with_name(&array, "a.npy").unwrap();
    builder.append_path_with_name(&array, "y.npy").unwrap();
    builder.into_inner().unwrap();
    for path in [&a, &b] {
        let mut builder = tar::Builder::new(fs::File::create(path).unwrap());
        for (from, name) in [(&array, "a.npy"), (&object, "o.npy"), (&array, "z.npy")] {
            builder.append_path_with_name(from, name).unwrap();
        }
        builder.append_path_with_name(&list, "bad.ten").unwrap();
        builder.into_inner().unwrap();
    }
    let output = npymap(["stats", "--json", &a]);
    assert_eq!((output.code, output.out.lines().count()), (Some(1), 2), "{}", output.err);
    let refusal = format!("error: {a}[o.npy]: ");
    assert!(output.err.contains(&refusal) && output.err.contains("[bad.ten]: "), "{}", output.err);
    let output = npymap(["diff", &a, &b]);
    assert!(output.out.ends_with("2 arrays: 2 equal\n"), "{}", output.out);
    assert_eq!((output.code, output.err.contains(&refusal)), (Some(2), true), "{}", output.err);
    // Members that only one archive has are opened, too.
    for (one, other) in [(&a, &c), (&c, &a)] {
        let output = npymap(["diff", one, other]);
        let is_reported = output.err.contains("[o.npy]: ") && output.err.contains("[bad.ten]: ");
        assert_eq!((output.code, is_reported), (Some(2), true), "{}", output.err);
    }
    // Conversion is of all members or of none.
    let out = path_in(&directory, "out.npz");
    assert!(run_err(1, ["convert", &a, &out]).contains("o.npy"));
    assert!(!Path::new(&out).exists());
}

#[test]
fn statistics_name_arrays_of_ten_files_as_info_does() {
    let directory = tempfile::tempdir().unwrap();
    let [_, ten, _] = files(directory.path());
    for file in [ten.clone(), format!("{ten}[b]"), format!("{ten}[1]")] {
        let [info, stats] = ["info", "stats"].map(|command| {
            let lines = run_ok([command, "--json", &file]);
            let members = lines.lines().map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                line["member"].clone()
            });
            members.collect::<Vec<_>>()
        });
        assert_eq!(stats, info, "{file}");
        assert!(stats.iter().all(serde_json::Value::is_u64), "{stats:?}");
    }
}

#[test]
fn members_are_named_as_among_all_members() {
    let directory = tempfile::tempdir().unwrap();
    let [a, npz, out] = ["x.npy", "a.npz", "o.npz"].map(|name| path_in(&directory, name));
    run_ok(["create", &a, "--shape", "3"]);
    run_ok(["npz", "pack", &a, "-o", &npz]);
    run_ok(["convert", &format!("{npz}[x.npy]"), &out]);
    assert!(run_ok(["info", "--json", &out]).contains(r#""member":"x""#));
    let header = run_ok(["info", "--header", &format!("{npz}[x*]")]);
    assert_eq!(header, run_ok(["info", "--header", &format!("{npz}[x]")]));
    // The same member twice.
    let files = path_in(&directory, "files");
    run_ok(["npz", "extract", &npz, "x", "x.npy", "--directory", &files]);
}

#[test]
fn an_error_lists_members_and_shows_how_to_name_one() {
    let directory = tempfile::tempdir().unwrap();
    let [one, archive, value] =
        ["x.npy", "it's.npz", "value.npy"].map(|name| path_in(&directory, name));
    run_ok(["create", &one, "--shape", "3"]);
    run_ok(["create", &value, "--shape", "3"]);
    let names = ["layers.0.w", "layers.0.b", "layers.1.w", "layers.1.b"];
    let pack = ["npz", "pack", "--output", &archive].into_iter();
    let pack = pack.chain(names.iter().flat_map(|_| [one.as_str()]));
    run_ok(pack.chain(names.iter().flat_map(|name| ["--name", name])));
    let argument = format!("{archive}[layers.0.w]");
    let quoted = argument.replace('\'', r"'\''");
    let expected = format!(
        "error: {archive}: holds 4 members, `layers.0.w`, `layers.0.b`, `layers.1.w`, …: name one, as in `npymap get '{quoted}' :`\n"
    );
    let from = format!("@{archive}");
    for arguments in [
        &["get", &archive, "0"][..],
        &["head", &archive],
        &["tail", &archive],
        &["sample", &archive],
        &["show", &archive],
        &["set", &archive, "0", "1"],
        &["set", &value, "0", &from],
        &["get", &archive, "--where", "value > 3"],
    ] {
        assert_eq!(run_err(1, arguments), expected, "{arguments:?}");
    }
    assert_eq!(run_ok(["get", &argument, ":"]), "[0.0, 0.0, 0.0]\n");
}
