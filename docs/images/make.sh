#!/usr/bin/env bash
# Makes the pictures of the read-me: the built-in clip with its pixels, a real clip as skeletons alone.
#
#   docs/images/make.sh [CLIP.avi]     # J-HMDB's sit/BRIDGETOTERABITHIA_sit_f_nm_np1_fr_med_0.avi, held out from training
#
# The real clip is research-only: no pixel of it may be drawn, hence --no-pictures. Needs ffmpeg.
set -euo pipefail
cd "$(dirname "$0")/../.."
posewire=${POSEWIRE:-target/release/posewire}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# make NAME EVERY TILES WIDTH ARGUMENTS…: every so many frames of a run but the first, in which nobody is known yet.
make() {
  local name=$1 every=$2 tiles=$3 width=$4
  shift 4
  "$posewire" run --no-drop --predict capture --display "png:$work/$name" "$@"
  ffmpeg -loglevel error -y -framerate 1 -pattern_type glob -i "$work/$name/*.png" \
    -vf "select='gt(n\,0)*not(mod(n\,$every))',scale=$width:-2,tile=$tiles:margin=2:padding=4" \
    -frames:v 1 -update 1 "docs/images/$name.png"
}

make synthetic 27 3x1 400 --synthetic --seed 2 --frames 82
if [ $# -gt 0 ]; then
  make real 6 4x1 320 --replay "$1" --no-pictures
fi
