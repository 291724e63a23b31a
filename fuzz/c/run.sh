#!/bin/sh
# The C decoder under libFuzzer, the address and the undefined-behaviour sanitizer. Usage: run.sh [RUNS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v clang >/dev/null || { echo "SKIPPED: clang is missing (sudo apt install clang)"; exit 0; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
clang -std=c99 -O1 -g -Wall -Wextra -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -o "$out/wire" "$here/wire.c"
mkdir -p "$out/corpus" "$here/../findings"
"$out/wire" -runs="${1:-100000}" -max_len=1024 -seed=1 -verbosity=0 -print_final_stats=1 -artifact_prefix="$here/../findings/" \
    "$out/corpus" "$here/../corpus/wire"
