#!/usr/bin/env bash
# Prints the package's copyright file: the code's licence, and what the weights in it may be used for, as their manifests say.
#
#   [FEATURES=usable] packaging/copyright.sh
set -euo pipefail
cd "$(dirname "$0")/.."
# Those that src/models.rs embeds, and those that build-deb.sh lays beside.
case ${FEATURES:-} in
  *usable*) weights=(keypoints-{small,base}-usable person-usable temporal-xl-usable) ;;
  *) weights=(keypoints-{nano,small,base,large} person temporal-xl) ;;
esac

# indented FILE: as a field's further lines, where a dot stands for an empty one.
indented() { sed -e 's/^$/./' -e 's/^/ /' "$1"; }
holder=$(sed -n 's/^Copyright (c) //p' LICENSE-MIT)

cat <<FILE
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Posewire
Source: https://github.com/posewire/posewire
Comment:
 The networks' weights, in the program and in /usr/share/posewire/models, have
 terms of their own:
FILE
for name in "${weights[@]}"; do
  licence=$(sed -n 's/^licence = "\(.*\)"$/\1/p' "models/$name.toml")
  [ -n "$licence" ] || { echo "copyright.sh: models/$name.toml has no line licence = \"...\": say what its weights may be used for" >&2; exit 1; }
  printf ' .\n %s:\n' "$name"
  fold -s -w 76 <<<"$licence" | sed 's/ *$//; s/^/  /'
done
cat <<FILE

Files: *
Copyright: $holder
License: Expat or Apache-2.0

License: Expat
$(indented LICENSE-MIT)

License: Apache-2.0
 On Debian the text is in /usr/share/common-licenses/Apache-2.0.
FILE
