"""Prose of a generated page as the other documents have it: lines of at most 120 characters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

WIDTH = 120
AS_IT_IS = ("|", "#", "!")  # tables, headings, pictures
GAP = "\x00"  # a space that no line may end at


def wrapped(lines: Iterable[str]) -> list[str]:
    """Paragraphs and bullets, a line each, broken between words but not inside code or a formula."""
    out: list[str] = []
    for line in lines:
        if not line or line.startswith(AS_IT_IS):
            out.append(line)
            continue
        whole = re.sub(r"`[^`]+`", lambda found: found[0].replace(" ", GAP), line)
        broken = textwrap.wrap(
            whole,
            WIDTH,
            subsequent_indent="  " if line.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        out += [part.replace(GAP, " ") for part in broken]
    return out
