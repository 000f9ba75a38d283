#!/usr/bin/env bash
# Builds CPython without the interpreter's lock, and runs the package's tests on it.
#
#   bash python/tests/free_threaded.sh [SOURCE]
#
# SOURCE is a directory with the source of CPython 3.14 or later; by default, that of Debian's
# unstable distribution is downloaded. Everything is in `target/free-threaded`, and an
# interpreter that was built before is used again. Needs Rust, and what CPython needs:
#
#   apt-get install build-essential libffi-dev libssl-dev zlib1g-dev
#
# The interpreter takes about 4 minutes of processor time and the package 5, so CI leaves this
# out.
set -euo pipefail
[ $# -eq 0 ] || source=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$PWD/target/free-threaded

# Downloads the source with lists of packages of its own, so that those of the system stay
# as they are.
download() {
  local apt=$work/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$work/source"
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "http://deb.debian.org/debian sid main" > "$apt/sources.list"
  local options=(-q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$apt" && apt-get "${options[@]}" source --download-only python3.14)
  tar -xf "$apt"/python3.14_*.orig.tar.xz -C "$work/source" --strip-components=1
}

build_interpreter() {
  mkdir -p "$work/build"
  (
    cd "$work/build"
    "$source/configure" -q --prefix="$work/python" --disable-gil --disable-test-modules
    make -s -j"$(nproc)"
    make -s install
  )
}

if [ ! -x "$work/python/bin/python3" ]; then
  [ -n "${source:-}" ] || { source=$work/source; download; }
  build_interpreter
fi
"$work/python/bin/python3" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check numpy psutil pytest ./python
PYTHON_GIL=0 "$work/venv/bin/python" -m pytest -q -p no:cacheprovider python/tests
echo "run benchmarks with $work/venv/bin/python"
