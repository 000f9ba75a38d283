// Runs the checks of this crate under Node.js, without a system:
//
//   node .ci/wasm/run.mjs IN_MEMORY.wasm
import { readFileSync } from "node:fs";

const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length) throw new Error(`unexpected imports: ${JSON.stringify(imports)}`);
const { check, message, message_len, memory } = new WebAssembly.Instance(module).exports;
try {
  check();
} catch (error) {
  const text = new Uint8Array(memory.buffer, message(), message_len());
  console.log(new TextDecoder().decode(text));
  throw error;
}
console.log("wasm32-unknown-unknown: all checks in memory passed");
