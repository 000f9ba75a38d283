// Answers the questions of `tests/differential_archives.rs` with the `zipfile` of
// another CPython, compiled to WebAssembly (the npm package `pyodide`), in place of
// `python3 -B tests/numpy/archives.py`.
//
//   node .ci/pyodide.mjs THE-FOLDER-OF-THE-PACKAGE [-B] tests/numpy/archives.py
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, , script] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: folder });
// The functions that need only the standard library.
const text = readFileSync(script, "utf8");
const functions = text.slice(text.indexOf("def unzipped("), text.indexOf("def untarred("));
python.runPython(`import json, sys, zipfile\n\n${functions}`);

// Files are copied to its own file system.
const ask = python.runPython(`
def ask(request):
    function, paths = json.loads(request)
    assert function == "unzipped"
    return json.dumps(unzipped(paths))
ask`);
console.log(JSON.stringify({ numpy: "none", python: python.runPython("sys.version") }));
console.error(`zipfile of CPython ${python.runPython("sys.version.split()[0]")}`);
for await (const line of createInterface({ input: process.stdin })) {
  const [, paths] = JSON.parse(line);
  for (const path of paths) {
    python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    python.FS.writeFile(path, readFileSync(path));
  }
  console.log(ask(line));
  for (const path of paths) python.FS.unlink(path);
}
