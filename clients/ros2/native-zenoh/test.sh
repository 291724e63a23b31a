#!/usr/bin/env bash
# Heard by a Zenoh router of Python's package; some 480 crates.
cd "$(dirname "$0")" && ../heard.sh posewire-ros2-zenoh "rosbags, zenoh" "eclipse-zenoh rosbags"
