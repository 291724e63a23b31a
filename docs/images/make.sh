#!/usr/bin/env bash
# Makes the read-me's moving picture: two rendered people as they are tracked; and a real clip as skeletons alone.
#
#   cargo build --release -p posewire -p people
#   docs/images/make.sh [CLIP.avi]     # J-HMDB's sit/BRIDGETOTERABITHIA_sit_f_nm_np1_fr_med_0.avi, held out from training
#
# The real clip is research-only: no pixel of it may be drawn, hence --no-pictures. Needs ffmpeg. POSEWIRE and PEOPLE name other
# binaries, SEED, PERSONS and SECONDS_LONG another film; without the renderer the built-in clip is taken.
set -euo pipefail
cd "$(dirname "$0")/../.."
posewire=${POSEWIRE:-target/release/posewire}
people=${PEOPLE:-target/release/people}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
max_bytes=2000000

# draw NAME ARGUMENTS…: every frame of a run as a picture, $work/NAME/*.png.
draw() {
  local name=$1
  shift
  "$posewire" run --no-drop --predict capture --display "png:$work/$name" "$@"
}

# moving NAME FILE: the pictures as docs/images/FILE.gif, as large as the limit allows, at FPS/RATE. The camera's noise is taken out:
# it would be most of the file.
moving() {
  local name=$1 out=docs/images/$2.gif width
  for width in 480 420 360 320 280; do
    local pick="select='not(mod(n\,$RATE))*gt(n\,0)',setpts=N/($FPS/$RATE)/TB,fps=$FPS/$RATE,hqdn3d=3:3:8:8,scale=$width:-2:flags=area"
    ffmpeg -loglevel error -y -framerate "$FPS" -pattern_type glob -i "$work/$name/*.png" \
      -vf "$pick,split[a][b];[a]palettegen=max_colors=128[p];[b][p]paletteuse=dither=none:diff_mode=rectangle" "$out"
    [ "$(stat -c %s "$out")" -gt "$max_bytes" ] || break
  done
  echo "$out: $width pixels wide, $(stat -c %s "$out") bytes"
}

# tiles NAME EVERY COUNT WIDTH: every so many pictures but the first, in which nobody is known yet, side by side.
tiles() {
  local name=$1 every=$2 count=$3 width=$4
  ffmpeg -loglevel error -y -framerate 1 -pattern_type glob -i "$work/$name/*.png" \
    -vf "select='gt(n\,0)*not(mod(n\,$every))',scale=$width:-2,tile=$count:margin=2:padding=4" \
    -frames:v 1 -update 1 "docs/images/$name.png"
}

FPS=30
RATE=${RATE:-2}
SEED=${SEED:-47}
SECONDS_LONG=${SECONDS_LONG:-6}
if [ -x "$people" ]; then
  "$people" film --persons "${PERSONS:-2}" --seconds "$SECONDS_LONG" --fps "$FPS" --seed "$SEED" --out "$work/film.y4m"
  draw tracked --replay "$work/film.y4m"
else
  echo "no $people: the built-in clip is taken (cargo build --release -p people)" >&2
  draw tracked --synthetic --seed "$SEED" --frames $((FPS * SECONDS_LONG))
fi
moving tracked tracked
if [ $# -gt 0 ]; then
  draw real --replay "$1" --no-pictures
  tiles real 6 4x1 320
fi
