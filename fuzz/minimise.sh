#!/usr/bin/env bash
# Runs the fuzz targets, and keeps in fuzz/kept what they found: the fewest and
# shortest inputs that reach the same code. The next run continues with them.
# Needs a nightly toolchain and cargo-fuzz (`cargo install cargo-fuzz`).
#
#   bash fuzz/minimise.sh SECONDS             all targets
#   bash fuzz/minimise.sh SECONDS TARGET…     some of them
set -euo pipefail
cd "$(dirname "$0")"
seconds=$1
shift
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list)
for target in "${targets[@]}"; do
  found=target/corpus/$target kept=kept/$target.tar.xz
  mkdir -p "$found" kept
  [ ! -f "$kept" ] || tar -xJf "$kept" -C "$found"
  cargo +nightly fuzz run "$target" "$found" "corpus/$target" -- \
    -max_total_time="$seconds" -print_final_stats=1
  rm -rf "$found.least"
  mkdir "$found.least"
  cargo +nightly fuzz run "$target" "$found.least" "$found" "corpus/$target" -- -merge=1
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$found.least" -cJf "$kept" .
done
