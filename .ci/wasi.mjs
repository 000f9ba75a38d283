// Runs the tests of a program that was compiled for wasm32-wasip1, each in its
// own instance, because a failing test ends its instance.
//
//   node --no-turbo-fast-api-calls .ci/wasi.mjs TESTS.wasm [ARGUMENT…]
//
// Without that option Node.js 20 collects garbage during calls into WASI, which
// corrupts its memory.
//
// Arguments are those of Rust's test programs: filters and `--skip`. A test that
// fails because it needs something that WASI lacks is counted as skipped: memory
// maps, threads, other programs.
import { readFileSync, mkdtempSync, openSync, closeSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { WASI } from "node:wasi";

const MISSING = [
  ["memory maps", /this system has no memory maps/],
  ["threads, processes or locks", /operation not supported on this platform|kind: Unsupported/],
  ["features that Rust's standard library lacks there", /panicked at .*library\/std\/src\/sys\/pal\/wasi\//],
];

process.removeAllListeners("warning"); // that WASI is experimental

const [program, ...args] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(program));
const scratch = mkdtempSync(join(tmpdir(), "wasi-"));
const output = join(scratch, "output");

/** Runs the program, and returns its exit code and what it printed. */
function run(args) {
  const fd = openSync(output, "w");
  const wasi = new WASI({
    version: "preview1",
    args: ["tests", ...args],
    env: process.env,
    // Relative paths start at the root there.
    preopens: { "/": process.cwd(), [process.cwd()]: process.cwd(), "/tmp": "/tmp" },
    stdout: fd,
    stderr: fd,
    returnOnExit: true,
  });
  let code;
  try {
    code = wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    code = String(error);
  }
  closeSync(fd);
  return { code, text: readFileSync(output, "utf8") };
}

const listed = run([...args, "--list", "--format", "terse"]).text;
const tests = [...listed.matchAll(/^(.*): test$/gm)].map((match) => match[1]);
const skipped = {};
let passed = 0;
let failed = 0;
let ignored = 0;
for (const test of tests) {
  const { code, text } = run(["--exact", test, "--nocapture"]);
  const missing = MISSING.find(([, words]) => words.test(text))?.[0];
  if (code === 0 && / 1 ignored;/.test(text)) {
    ignored += 1;
  } else if (code === 0) {
    passed += 1;
  } else if (missing) {
    (skipped[missing] ??= []).push(test);
  } else {
    failed += 1;
    console.log(`test ${test} failed: ${code}\n${text}`);
  }
}
rmSync(scratch, { recursive: true });
for (const [missing, names] of Object.entries(skipped)) {
  console.log(`skipped, without ${missing}: ${names.length}`);
  if (process.env.NPYMAP_WASI_VERBOSE) console.log(names.join("\n"));
}
const skippedCount = Object.values(skipped).flat().length;
console.log(`test result: ${failed ? "FAILED" : "ok"}. ${passed} passed; ${failed} failed; ${ignored} ignored; 0 measured; ${skippedCount} filtered out`);
process.exitCode = failed ? 1 : 0;
