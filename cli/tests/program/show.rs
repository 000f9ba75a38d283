//! `show` draws arrays in the terminal and as PNG.

use crate::run::{command, copy_penguins, data, path_in, python, run_err, run_ok};

/// Draws with colours, in a terminal of this size.
fn colored(columns: &str, lines: &str, arguments: &[&str]) -> String {
    let mut program = command();
    program.env("COLUMNS", columns).env("LINES", lines).env("COLORTERM", "truecolor");
    program.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR").env("TERM", "xterm");
    let output = program.arg("show").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Draws without colours, in a terminal of this size.
fn plain(columns: &str, lines: &str, term: &str, arguments: &[&str]) -> String {
    let mut program = command();
    program.env("COLUMNS", columns).env("LINES", lines).env("NO_COLOR", "1").env("TERM", term);
    let output = program.arg("show").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_matrix_is_half_blocks_in_colour_and_shades_without() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--shape", "(40, 40)"]);
    run_ok(["set", &path, ":20, :", "1"]);
    run_ok(["set", &path, ":, 39", "nan"]);
    let text = colored("40", "23", &[&path]);
    let lines: Vec<_> = text.lines().collect();
    // Viridis ends in yellow; NaN is crimson.
    assert_eq!(lines.len(), 22, "{text}");
    assert!(
        lines[1].contains("\u{1b}[38;2;253;231;37m") && lines[1].contains("38;2;220;20;60"),
        "{text}"
    );
    assert!(lines[20].contains("48;2;68;1;84"), "{text}");
    assert_eq!(lines[1].matches('▀').count(), 40);
    assert!(lines[21].contains("NaN: 40"), "{text}");
    assert!(plain("80", "23", "xterm", &[&path, "::2"]).contains("NaN: 20"));
    assert!(plain("80", "13", "xterm", &[&path]).contains("4 × 2 elements per pixel"));
    let indexed = {
        let mut program = command();
        program
            .env("COLUMNS", "40")
            .env("CLICOLOR_FORCE", "1")
            .env_remove("COLORTERM")
            .env("TERM", "xterm");
        program.env_remove("NO_COLOR");
        let output = program.args(["show", &path]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(indexed.contains("38;5;") && !indexed.contains("38;2;"), "{indexed}");
    let text = plain("40", "23", "xterm", &[&path]);
    assert_eq!(text.lines().nth(1), Some(format!("{}×", "█".repeat(39)).as_str()), "{text}");
    assert!(
        text.contains("\n0 ") && text.contains("× NaN: 40") && !text.contains('\u{1b}'),
        "{text}"
    );
    let text = plain("30", "12", "dumb", &[&path]);
    // The title is cut like the cells of tables.
    let drawing: Vec<_> = text.lines().skip(1).collect();
    assert!(drawing.iter().all(|line| line.is_ascii() && line.len() <= 30), "{text}");
}

#[test]
fn pixels_are_means_by_area() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    let script = "import numpy as np, sys
a = np.zeros((30, 90), sys.argv[2]); a[:15, :45] = 1; a[15:, 45:] = 0.5
np.save(sys.argv[1], a if sys.argv[3] == 'C' else np.asfortranarray(a))";
    for (dtype, order) in [("f8", "C"), (">f4", "F"), ("f2", "C")] {
        if python(script, &[&path, dtype, order]).is_none() {
            return;
        }
        // The means are 0.5, 0.375 and 0.25: half of the middle pixel is on each
        // side.
        let text = plain("3", "9", "xterm", &[&path, "--range", "0,1"]);
        assert_eq!(text.lines().nth(1), Some("▒▒░"), "{dtype} {order} {text}");
        assert_eq!(text.lines().nth(2), Some("0"), "the legend is cut: {text}");
    }
}

#[test]
fn any_number_of_threads_draws_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    let script = "import numpy as np, sys
np.save(sys.argv[1], np.random.default_rng(1).normal(size=(1500, 2001)))";
    if python(script, &[&path]).is_none() {
        return;
    }
    for selection in [":", "1"] {
        let one = run_ok(["show", &path, selection, "--threads", "1"]);
        assert_eq!(run_ok(["show", &path, selection, "--threads", "3"]), one);
    }
}

#[test]
fn a_vector_is_a_line_with_its_extremes() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let text = plain("60", "14", "xterm", &[path, ":, 3"]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 13, "{text}");
    assert!(lines[1].starts_with("6300 ") && lines[11].starts_with("2700 "), "{text}");
    assert!(lines[12].starts_with("     0") && lines[12].ends_with("341"), "{text}");
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 60), "{text}");
    assert!(text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "{text}");
    run_ok(["set", path, "100:200, 3", "nan"]);
    assert!(plain("60", "14", "xterm", &[path, ":, 3"]).contains("×××"));
    let dumb = plain("60", "14", "dumb", &[path, ":, 3"]);
    assert!(dumb.is_ascii() && dumb.contains('*') && dumb.contains("? NaN: 100"), "{dumb}");
    assert!(plain("60", "14", "xterm", &[path, ":, 3", "--log"]).contains("logarithmic"));
}

/// Reads a PNG with Python: its size and pixels.
fn pixels(path: &str) -> Option<String> {
    let script = "import zlib, struct, sys
b = open(sys.argv[1], 'rb').read(); assert b[:8] == b'\\x89PNG\\r\\n\\x1a\\n'
at, data = 8, b''
while at < len(b):
    n, kind = struct.unpack('>I4s', b[at:at + 8])
    assert zlib.crc32(b[at + 4:at + 8 + n]) == struct.unpack('>I', b[at + 8 + n:at + 12 + n])[0]
    if kind == b'IHDR': w, h, depth, color = struct.unpack('>IIBB', b[at + 8:at + 18])
    if kind == b'IDAT': data += b[at + 8:at + 8 + n]
    at += 12 + n
raw = zlib.decompress(data); stride = 3 * w; last = bytes(stride); rows = []
for y in range(h):
    f, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
    for i in range(stride):
        a = line[i - 3] if i >= 3 else 0; c = last[i - 3] if i >= 3 else 0; u = last[i]
        p = a + u - c
        best = min((abs(p - a), 0, a), (abs(p - u), 1, u), (abs(p - c), 2, c))[2]
        line[i] = (line[i] + [0, a, u, (a + u) // 2, best][f]) % 256
    rows.append(bytes(line)); last = rows[-1]
print(w, h, depth, color, b''.join(rows).hex())";
    python(script, &[path])
}

#[test]
fn a_png_has_a_pixel_for_each_element() {
    let directory = tempfile::tempdir().unwrap();
    let [array, png] = ["a.npy", "a.png"].map(|name| path_in(&directory, name));
    run_ok(["create", &array, "--shape", "(2, 3, 3)", "--dtype", "u1"]);
    run_ok(["set", &array, "0, 0", "255"]);
    run_ok(["set", &array, "1, 2, 1", "7"]);
    assert_eq!(run_ok(["show", &array, "-o", &png]), "");
    let Some(found) = pixels(&png) else { return };
    let white = format!("ffffff{}", "0".repeat(24));
    assert_eq!(found, format!("3 2 8 2 {white}000700\n"));
    let refusal = run_err(1, ["show", &array, "-o", &png]);
    assert!(refusal.contains("already exists"), "{refusal}");
    run_ok(["show", &array, ":, :, 0", "-o", &png, "--overwrite"]);
    assert!(pixels(&png).unwrap().starts_with("3 2 8 2 ffffff000000"));
    run_ok(["set", &array, "0, 1, 0", "128"]);
    let first = path_in(&directory, "first.npy");
    let script = "import numpy as np, sys
np.save(sys.argv[2], np.load(sys.argv[1]).transpose(2, 0, 1).astype('f4') / 255)";
    python(script, &[&array, &first]);
    run_ok(["show", &first, "--channels", "first", "--range", "0,1", "-o", &png, "--overwrite"]);
    assert!(pixels(&png).unwrap().starts_with("3 2 8 2 ffffff800000"));
    run_ok(["show", &array, "0, :, 0", "-o", &png, "--overwrite"]);
    assert!(pixels(&png).unwrap().starts_with("1200 400 8 2 "));
    assert!(run_err(1, ["show", &array, "-o", "x.jpg"]).contains("use the extension .png"));
}

#[test]
fn what_cannot_be_drawn_is_refused_with_advice() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    for (shape, dtype, expected) in [
        ("(2, 3, 4, 5)", "f8", "select them with an INDEX such as '0, 0'"),
        ("(2, 3, 4)", "f8", "such as '0'"),
        ("()", "f8", "print it with `npymap get`"),
        ("0", "f8", "no elements to draw"),
        ("3", "U4", "only numbers can be drawn"),
        ("3", "c8", "only numbers can be drawn"),
    ] {
        run_ok(["create", &path, "--overwrite", "--shape", shape, "--dtype", dtype]);
        let refusal = run_err(1, ["show", &path]);
        assert!(refusal.contains(expected), "{refusal}");
    }
    run_ok(["create", &path, "--overwrite", "--shape", "(2, 3)"]);
    assert!(run_err(1, ["show", &path, "--log"]).contains("no positive elements"));
    assert!(run_err(1, ["show", &path, "--channels", "last"]).contains("has three"));
    for range in ["1", "3,2", "p1,5", "p-1,p3", "p1,p101", "nan,1", "-inf,0"] {
        run_err(2, ["show", &path, "--range", range]);
    }
    run_ok(["show", &path, "--range", "-1,1"]);
}

#[test]
fn every_layout_of_numbers_is_drawn() {
    for name in ["f8-be", "f4-le", "bool", "rank2-F", "u1"] {
        let path = data().join(format!("numpy-2.4.6/{name}.npy"));
        if path.exists() {
            run_ok(["show", path.to_str().unwrap()]);
        }
    }
}

#[test]
fn images_in_colour_are_scaled_by_their_colours() {
    let directory = tempfile::tempdir().unwrap();
    let [image, png] = ["a.npy", "a.png"].map(|name| path_in(&directory, name));
    let brightest = |png: &str| {
        let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(png).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels.into_iter().max().unwrap()
    };
    // Ones are the highest booleans.
    run_ok(["create", &image, "--shape", "(4, 4, 3)", "--dtype", "?"]);
    run_ok(["set", &image, "0, 0", "True"]);
    run_ok(["show", &image, "--channels", "last", "-o", &png]);
    assert_eq!(brightest(&png), 255);
    // The fourth channel is not drawn.
    run_ok(["create", &image, "--shape", "(4, 4, 4)", "--dtype", "f4", "--overwrite"]);
    run_ok(["set", &image, "..., 3", "1"]);
    run_ok(["set", &image, "0, 0, 0", "0.25"]);
    run_ok(["show", &image, "--channels", "last", "-o", &png, "--overwrite"]);
    assert_eq!(brightest(&png), 255);
}
