"""Files that users name: lines that are whole whatever happens, and files that take their place when they are."""

from __future__ import annotations

import shutil
from contextlib import suppress
from io import FileIO
from pathlib import Path

_CHUNK_BYTES = 1 << 20


class Lines:
    """A file of lines. What is added is there at once, and all of it or nothing; `mode` is one of `open`, for bytes."""

    def __init__(self, path: Path, mode: str = "wb") -> None:
        # Nothing is held back: what is left of it would be written, in part, when a full disk is left.
        self._file = FileIO(path, mode)
        self._kept_bytes = 0

    @property
    def is_closed(self) -> bool:
        return self._file.closed

    def add(self, lines: str) -> None:
        data = lines.encode()
        try:
            _write(self._file, data)
        except BaseException:
            # Half a line would be read as a row. Pipes and devices cannot be cut back, and have nothing to keep.
            with suppress(OSError):
                self._file.seek(self._kept_bytes)
                self._file.truncate()
            raise
        self._kept_bytes += len(data)

    def begin_with(self, head: str, room: int) -> None:
        """Puts `head` in the place of the first `room` bytes, which are as many or more.

        What follows is moved up where it lies: a disk that is full has no room for it twice.
        """
        self._file.seek(0)
        _write(self._file, head.encode())
        to, at = self._file.tell(), room
        while True:
            self._file.seek(at)
            chunk = self._file.read(_CHUNK_BYTES)
            if not chunk:
                break
            self._file.seek(to)
            _write(self._file, chunk)
            to, at = to + len(chunk), at + len(chunk)
        self._file.truncate(to)
        self._file.seek(to)
        self._kept_bytes = to

    def close(self) -> None:
        self._file.close()


def _write(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        # A disk takes what fits, and says only to the next that it is full.
        rest = rest[file.write(rest) or 0 :]


class Replacement:
    """A file that takes its place when it is whole; until then it is `PATH.part`, and what stood there before stays."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        if path.exists():
            if not path.is_file():
                raise OSError("no regular file, which it has to be: give another name")
            # A folder that may be written would get round the protection of a file in it.
            path.open("ab").close()
        # A link stays; what it leads to is replaced.
        self._path = path.resolve()
        self.part = self._path.with_name(self._path.name + ".part")

    def take_place(self) -> None:
        if self._path.exists():
            shutil.copymode(self._path, self.part)
        self.part.replace(self._path)

    def give_up(self) -> None:
        self.part.unlink(missing_ok=True)
