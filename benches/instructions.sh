#!/bin/sh
# Counts the user instructions of one open + one element + drop: runs the
# benchmark under callgrind with two numbers of opens and takes the difference,
# so that startup cancels out. Counts do not depend on the machine's load.
set -eu
cd "$(dirname "$0")"

if ! command -v valgrind >/dev/null; then
    echo "valgrind is not installed" >&2
    exit 1
fi
cargo build --release --quiet
program=${CARGO_TARGET_DIR:-target}/release/npymap-benches
few=100
many=1100

# Prints the instructions of a run that opens file $2 $1 times.
collected() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$program" --count "$1" "$2" 2>&1 |
        sed -n 's/.*Collected : *\([0-9]*\).*/\1/p'
}

# Prints a row for file $1, called $2, with target $3.
row() {
    each=$((($(collected $many "$1") - $(collected $few "$1")) / (many - few)))
    verdict=pass
    [ "$each" -le "$3" ] || verdict=short
    echo "| $2 | $each | ≤ $3 | $verdict |"
}

echo "| open + one element | user instructions | target | |"
echo "|---|---:|---:|---|"
row plain "plain header" 3300
row fields "100 fields" 75000
