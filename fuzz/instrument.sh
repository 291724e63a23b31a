#!/bin/sh
# Compiles the workspace's own libraries so that `posewire-fuzz` sees which code an input reaches, with checks that a shipped
# binary has not. Needs no sanitizer and no nightly:
#   RUSTC_WORKSPACE_WRAPPER=$PWD/fuzz/instrument.sh cargo build --release -p posewire-fuzz --target-dir target/fuzz
rustc=$1
shift
case " $* " in
*" --crate-name posewire_fuzz "*) exec "$rustc" "$@" ;;
# Other programs have nobody who takes the counters; they are not to be run.
*" --crate-type bin "* | *" --test "*) exec "$rustc" "$@" -C link-arg=-Wl,--defsym=__sanitizer_cov_8bit_counters_init=0 ;;
esac
exec "$rustc" "$@" -C overflow-checks=on -C debug-assertions=on -C passes=sancov-module \
    -C llvm-args=-sanitizer-coverage-level=3 -C llvm-args=-sanitizer-coverage-inline-8bit-counters
