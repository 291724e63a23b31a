"""What counts as one: the video that frames, clips and persons are cut from, or the picture that persons and films are of.

Splits keep a source whole, intervals draw whole sources, and of a video that scores are fitted on a frame is taken.
"""

from __future__ import annotations

import re
import zlib

HALVES = ("first", "second")
# J-HMDB's clips, ACTION/VIDEO_ACTION_...; VIDEO may have clips of other actions too.
JHMDB_CLIP = re.compile(r"(?:^|/)([a-z_]+)/(.+?)_\1_[fhlu]_(?:cm|nm)_")
# Of a name the beginning that its source has in common with others.
BEGINNINGS = (
    re.compile(r"(still-.+)-\d+$"),  # `posetrain.temporal.stills`: a picture's persons
    re.compile(r"(.+-[0-9a-f]{12})(?:[-.:].*)?$"),  # a file by its sum: `temporal.actors`, `finder.found`
    re.compile(r"(.+-(?:avi|gif|mkv|mov|mp4))-\d+\.jpg(?::\d+)?$"),  # a film by its path: `keypoints.filmed`
    re.compile(
        r"(.+?)(?:#\d+)?(?::\d+)?$"
    ),  # a frame of a clip, a person of a picture (`posetrain.data.cache`)
)


def source_of(name: str) -> str:
    """The source of what a film, a clip, a picture or a cached person is called."""
    if clip := JHMDB_CLIP.search(name):
        return clip[2]
    return next((found[1] for beginning in BEGINNINGS if (found := beginning.match(name))), name)


def half_of(source: str) -> str:
    """Which of `HALVES` a source belongs to."""
    return HALVES[zlib.crc32(source.encode()) % 2]
