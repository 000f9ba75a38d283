#!/usr/bin/env bash
# Runs the fuzz targets and keeps a minimal corpus of each in fuzz/corpus.
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
  cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -print_final_stats=1
  cargo +nightly fuzz cmin "$target"
done
