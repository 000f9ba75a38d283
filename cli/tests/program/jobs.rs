//! Jobs that combine rules, as a shell runs them, with NumPy's answers.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use npymap::WriteOptions;
use npymap::ndarray::{Array1, Array2, arr0};
use npymap::npz::{self, Compression, NpzWriter};
use npymap::write::Save;
use tempfile::TempDir;

use crate::run::run_ok;

const EVENTS: &str = "when,sensor,temp,pos.x,pos.z
2024-01-01T00:00:00,alpha,20.5,0,70
2024-01-01T01:00:00,beta,27,1,60
2024-01-01T02:00:00,alpha,nan,2,50
2024-01-01T03:00:00,gamma,22,3,40
2024-01-01T04:00:00,beta,30,4,30
2024-01-01T05:00:00,alpha,28.5,5,20
2024-01-01T06:00:00,gamma,19,6,10
2024-01-01T07:00:00,beta,27,7,0
";

const DTYPE: &str = "[('when', '<M8[s]'), ('sensor', '<U5'), ('temp', '<f4'), ('pos', [('x', '<i4'), ('z', '<i4')])]";

/// A table of 10 rows and 4 columns, whose elements are their number, except two that are
/// NaN.
fn table() -> Array2<f64> {
    let numbers = (0..40).map(f64::from).collect();
    let mut table = Array2::from_shape_vec((10, 4), numbers).unwrap();
    (table[[3, 2]], table[[7, 0]]) = (f64::NAN, f64::NAN);
    table
}

/// Writes the files of all jobs.
fn prepare() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (first, mut second) = (table(), table() + 1.0);
    WriteOptions::new().write(path("table.npy"), &first).unwrap();
    let members: [(&str, &dyn Save); 3] =
        [("layers.0.w", &first), ("layers.1.w", &second.clone()), ("step", &arr0(7_i64))];
    npz::savez(path("ck1.npz"), &members).unwrap();
    second[[5, 1]] = 0.0;
    let members: [(&str, &dyn Save); 3] =
        [("layers.0.w", &first), ("layers.1.w", &second), ("step", &arr0(8_i64))];
    let mut deflated = NpzWriter::create(path("ck2.npz")).unwrap();
    deflated.compression(Compression::Deflated(6));
    for (name, array) in members {
        deflated.write(name, array).unwrap();
    }
    deflated.finish().unwrap();
    for run in 1..=2 {
        fs::create_dir_all(path(&format!("runs/run{run}"))).unwrap();
        for part in 1..=3 {
            let loss =
                Array1::from_iter((0..3).map(|step| f64::from(100 * run + 10 * part + step)));
            WriteOptions::new()
                .write(path(&format!("runs/run{run}/loss-{part}.npy")), &loss)
                .unwrap();
        }
    }
    let numbers = (0..24_i16).flat_map(i16::to_be_bytes);
    fs::write(path("raw.bin"), b"HEAD".iter().copied().chain(numbers).collect::<Vec<_>>()).unwrap();
    fs::write(path("events.csv"), EVENTS).unwrap();
    let [text, events] = ["events.csv", "events.npy"].map(|name| path(name).into_os_string());
    run_ok([
        "convert".as_ref(),
        text.as_os_str(),
        events.as_os_str(),
        "--dtype".as_ref(),
        DTYPE.as_ref(),
    ]);
    run_job(
        directory.path(),
        "npymap npz add ck1.npz events.npy; npymap npz add ck2.npz events.npy",
    );
    directory
}

/// Runs a script, and returns its output.
#[track_caller]
fn run_job(directory: &Path, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_npymap")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-euc", script]).current_dir(directory).env("PATH", path);
    let output = shell.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{script}\n{error}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn check(jobs: &[(&str, &str)]) {
    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return eprintln!("nothing was run, the jobs call the program by its name");
    }
    let directory = prepare();
    for (script, expected) in jobs {
        assert_eq!(run_job(directory.path(), script), *expected, "{script}");
    }
}

#[test]
fn jobs_with_rows_and_pipes() {
    check(&[
        (
            "npymap sort events.npy --by temp --format npy | npymap head -n 3 - temp,pos.x --format csv",
            "temp,pos.x\n19.0,6\n20.5,0\n22.0,3\n",
        ),
        (
            "npymap sort table.npy --by ':, 2' --reverse --format npy | npymap head -n 2 - --json",
            "[12.0,13.0,\"nan\",15.0]\n[36.0,37.0,38.0,39.0]\n",
        ),
        (
            "npymap get events.npy --where 'temp > 21' --format npy | npymap sort - --by 'sensor, temp' --format jsonl | tail -n 2",
            "{\"when\":\"2024-01-01T04:00:00\",\"sensor\":\"beta\",\"temp\":30.0,\"pos\":{\"x\":4,\"z\":30}}
{\"when\":\"2024-01-01T03:00:00\",\"sensor\":\"gamma\",\"temp\":22.0,\"pos\":{\"x\":3,\"z\":40}}\n",
        ),
        (
            "npymap get events.npy sensor --where 'temp > 21' --format npy | npymap unique - --counts",
            "value,count\nalpha,1\nbeta,3\ngamma,1\n",
        ),
        (
            "npymap shuffle table.npy - --seed 3 | npymap sort - --by ':, 1' --format npy | npymap diff - table.npy",
            "- and table.npy: equal\n  dtype   '<f8'\n  shape   (10, 4)\n  values  40 elements equal\n",
        ),
        (
            "npymap sort events.csv --by pos.z --format jsonl | npymap convert - --from jsonl - --format csv --field pos.z,sensor --select ':2'",
            "pos.z,sensor\n0,beta\n10,gamma\n",
        ),
        (
            "npymap get raw.bin --raw '>i2' --offset 4 --shape -1,4 '::2, [3, 0]'",
            "[[3, 0],\n [11, 8],\n [19, 16]]\n",
        ),
        (
            "cat raw.bin | npymap get - --raw '>i2' --offset 4 --shape 6,4 '-2:, ::-3' --where 'value[0] < 16' --format csv",
            "11,8\n15,12\n",
        ),
        (
            "npymap convert raw.bin --raw '>i2' --offset 4 --shape -1,4 --where 'value[0] > 4' --select ':, 1' -o o.bin; npymap stats o.bin --raw '>i2' --json | grep -o '\"sum\":[0-9]*'",
            "\"sum\":60\n",
        ),
        (
            "npymap sample table.npy -n 5 --where 'value[1] < 20' --format npy | npymap sort - --by ':, 1' --format csv",
            "0.0,1.0,2.0,3.0\n4.0,5.0,6.0,7.0\n8.0,9.0,10.0,11.0\n12.0,13.0,nan,15.0\n16.0,17.0,18.0,19.0\n",
        ),
        (
            "cp events.npy copy.npy; npymap get events.npy temp --where 'sensor == \"beta\"' -o beta.npy
npymap set copy.npy 1:.temp @beta.npy --where 'sensor == \"alpha\" or temp < 20' > report; cut -d ' ' -f 2- report
npymap get copy.npy temp --format jsonl | tr '\\n' ' '",
            "3 elements set\n20.5 27.0 27.0 22.0 30.0 30.0 27.0 27.0 ",
        ),
        (
            "npymap get events.npy '5:' -o part.npy; head -c -20 part.npy > torn.npy; npymap recover torn.npy; npymap get torn.npy sensor,pos.z --json",
            "torn.npy: shape (3,) is now (2,), 20 bytes dropped\n[{\"sensor\":\"alpha\",\"pos.z\":20},{\"sensor\":\"gamma\",\"pos.z\":10}]\n",
        ),
    ]);
}

#[test]
fn jobs_with_archives_and_directories() {
    check(&[
        (
            "cat ck1.npz | npymap get '-[events]' '::3.pos.z' -o z.npy; npymap get z.npy :",
            "[70, 40, 10]\n",
        ),
        (
            "npymap convert 'ck1.npz[layers.0.w]' -o part.npz --select ':2, [3, 0]'; npymap get 'part.npz[layers.0.w]' :",
            "[[3.0, 0.0],\n [7.0, 4.0]]\n",
        ),
        (
            "npymap convert 'ck2.npz[events]' -o hot.npz --deflate --select ':.pos' --where 'temp > 27'; npymap get hot.npz : --format csv",
            "x,z\n4,30\n5,20\n",
        ),
        (
            "npymap convert events.csv -o text.ten --field pos.x --select 1:3; npymap get 'text.ten[0]' :",
            "[1, 2]\n",
        ),
        (
            "npymap diff 'ck1.npz[layers.1.w]' 'ck2.npz[layers.1.w]' --where 'value[0] < 15'",
            "ck1.npz[layers.1.w] and ck2.npz[layers.1.w]: equal\n  dtype   '<f8'\n  shape   (4, 4)\n  values  16 elements equal\n",
        ),
        (
            "npymap diff ck1.npz ck2.npz --match 'layers.*' --only-changed --json --where 'value[0] > 15' | grep -o '\"first\".*' || true",
            "\"first\":[{\"index\":[1,1],\"a\":22.0,\"b\":0.0}]}\n",
        ),
        (
            "cp ck1.npz copy.npz; npymap set 'copy.npz[layers.0.w]' '0, 1:' '[7, 8, 9]' --where 'isnan(value[2])'; npymap get 'copy.npz[layers.0.w]' 3",
            "copy.npz[layers.0.w]: 3 elements set\n[12.0, 7.0, 8.0, 9.0]\n",
        ),
        (
            "npymap concat 'ck1.npz[layers.0.w]' 'ck2.npz[layers.1.w]' --axis 1 -o - | npymap get - '::5, [0, 5]'",
            "[[0.0, 2.0],\n [20.0, 0.0]]\n",
        ),
        (
            "npymap concat 'runs/*/loss-[12].npy' --stack -o - | npymap stats - --axis 0 --json | grep -o '\"sum\":[0-9.]*'",
            "\"sum\":660.0\n\"sum\":664.0\n\"sum\":668.0\n",
        ),
        (
            "npymap stats runs -1 --json | grep -o '\"max\":[0-9.]*' | tr '\\n' ' '",
            "\"max\":112.0 \"max\":122.0 \"max\":132.0 \"max\":212.0 \"max\":222.0 \"max\":232.0 ",
        ),
        (
            "npymap npz pack runs -o runs.npz > report; npymap npz extract runs.npz run2/loss-3 -o - | npymap get - '::-1'",
            "[232.0, 231.0, 230.0]\n",
        ),
        (
            "npymap append --create log.npy 'runs/run1/*.npy' runs/run2; npymap tail log.npy -n 2 --json --where 'value < 200'",
            "log.npy: 18 rows added, shape (18,)\n131.0\n132.0\n",
        ),
        (
            "tar cf ck.tar ck1.npz table.npy; cat ck.tar | npymap stats '-[ck1.npz[events]]' temp --where 'sensor != \"beta\"' --json | grep -o '\"count\".*'",
            "\"count\":5,\"nan\":1,\"nat\":null,\"infinite\":0,\"min\":19.0,\"max\":28.5,\"sum\":90.0,\"mean\":22.5}\n",
        ),
        (
            "npymap show 'ck1.npz[layers.1.w]' ':, 1:' --where 'value[0] > 10' -o drawn.png; head -c 4 drawn.png | tail -c 3",
            "PNG",
        ),
    ]);
}

#[test]
#[cfg(feature = "remote")]
fn jobs_with_urls() {
    use crate::server::Server;

    if std::env::var_os("NPYMAP_TEST_RUNNER").is_some() {
        return;
    }
    let directory = prepare();
    let serve = |name: &str| Server::new(fs::read(directory.path().join(name)).unwrap());
    let (events, archive) = (serve("events.npy"), serve("ck2.npz"));
    let (events, archive) = (events.url("events.npy"), archive.url("ck2.npz"));
    for (script, expected) in [
        (
            format!("npymap get {events} 'when,temp' --where 'temp > 27' -o hot.csv; cat hot.csv"),
            "when,temp\n2024-01-01T04:00:00,30.0\n2024-01-01T05:00:00,28.5\n",
        ),
        (
            format!(
                "npymap get '{archive}[events]' 'temp,pos.z' --where 'sensor == \"beta\"' --format csv"
            ),
            "temp,pos.z\n27.0,60\n30.0,30\n27.0,0\n",
        ),
        (
            format!("npymap convert '{archive}[layers.1.w]' - --axes 1,0 | npymap get - '2, :4'"),
            "[3.0, 7.0, 11.0, nan]\n",
        ),
        (
            format!(
                "npymap diff 'ck1.npz[layers.0.w]' '{archive}[layers.0.w]' --json | grep -o '\"equal\":[a-z]*'"
            ),
            "\"equal\":true\n",
        ),
        (
            format!("npymap unique {events} sensor --counts --format jsonl | tail -n 1"),
            "{\"value\":\"gamma\",\"count\":2}\n",
        ),
        (
            format!(
                "npymap npz pack {events} '{archive}[step]' --name events --name step -o new.npz > report; npymap get 'new.npz[events]' -1.sensor"
            ),
            "beta\n",
        ),
    ] {
        assert_eq!(run_job(directory.path(), &script), expected, "{script}");
    }
}

/// Rows are followed while they are appended, by their fields and a condition.
#[test]
fn a_log_of_records_is_followed_as_csv() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    let directory = prepare();
    let run = || {
        let mut command = crate::run::command();
        command.current_dir(directory.path());
        command
    };
    let follow = ["tail", "-f", "-n", "1", "events.npy", "sensor,pos.x", "--where", "temp > 27"];
    let mut child =
        run().args(follow).args(["--format", "csv"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!([next(), next()], ["sensor,pos.x", "alpha,5"]);
    fs::copy(directory.path().join("events.npy"), directory.path().join("more.npy")).unwrap();
    assert!(run().args(["append", "events.npy", "more.npy"]).output().unwrap().status.success());
    assert_eq!([next(), next()], ["beta,4", "alpha,5"]);
    child.kill().unwrap();
    child.wait().unwrap();
}
