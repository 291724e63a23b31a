#!/usr/bin/env bash
# Heard by Eclipse Cyclone DDS; some 170 crates.
cd "$(dirname "$0")" && ../heard.sh posewire-ros2 cyclonedds cyclonedds
