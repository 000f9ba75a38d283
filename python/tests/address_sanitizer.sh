#!/usr/bin/env bash
# Runs tests with the native module under AddressSanitizer.
#
#   bash python/tests/address_sanitizer.sh [ARGUMENT…]     by default -m pytest python/tests
#
# The arguments are for the interpreter: NPYMAP_PYTHON, by default `python3`, which needs NumPy
# and pytest. Also needs Rust's nightly toolchain, and GCC for the run-time library. Builds
# without the feature `remote`, so the tests of URLs are left out. The accesses of the module
# are checked, and those of the C library's functions; leaks are left to `valgrind.py`.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=x86_64-unknown-linux-gnu work=$PWD/target/address-sanitizer
python=${NPYMAP_PYTHON:-python3}
[ $# -gt 0 ] || set -- -m pytest -q -p no:cacheprovider python/tests --ignore python/tests/test_urls.py

PYO3_PYTHON=$(command -v "$python") RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes" \
  cargo +nightly build -q --release --no-default-features --manifest-path python/Cargo.toml \
  --target "$target" --target-dir "$work"
mkdir -p "$work/package"
cp -r python/python/npymap "$work/package"
cp "$work/$target/release/lib_core.so" "$work/package/npymap/_core.abi3.so"

run() {
  LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
    PYTHONPATH=$work/package "$python" -P "$@"
}

# As a control, the module writes 64 bytes to memory of 8 bytes.
control='import ctypes, numpy, npymap
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
memory = (ctypes.c_char * 64).from_address(libc.malloc(8))
npymap.Sampler(8)._core.next_into(numpy.frombuffer(memory, "u1"))'
found=$(run -c "$control" 2>&1 || true)
grep -q "AddressSanitizer: heap-buffer-overflow" <<<"$found" || { echo "the control was not found: $found"; exit 1; }
run "$@"
