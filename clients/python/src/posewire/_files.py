"""Files that users name: lines that are whole whatever happens, and files that take their place when they are."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import suppress
from io import FileIO
from pathlib import Path

try:
    import fcntl
except ImportError:
    # Elsewhere a lock would keep readers out too.
    fcntl = None  # type: ignore[assignment]

_CHUNK_BYTES = 1 << 20


def claim(path: Path) -> FileIO:
    """Makes `path` an empty file that this program alone writes until it is closed. Pipes and devices may have several writers."""
    # What it holds stays where another program writes it.
    file = FileIO(path, "w", opener=lambda name, flags: os.open(name, flags & ~os.O_TRUNC, 0o666))
    try:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            _lock(file, path)
            file.truncate(0)
    except BaseException:
        file.close()
        raise
    return file


def _lock(file: FileIO, path: Path) -> None:
    """The same lock as that of `posewire run --jsonl`. `OSError` where another program has it."""
    if fcntl is None:
        return
    is_free = True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        is_free = False
    except OSError:
        # A file system without locks.
        return
    # Whoever had it may have given the file another name since it was opened.
    if not (is_free and path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())):
        raise OSError(errno.EBUSY, "another program writes it: end that one, or name another file")


class Lines:
    """A file of lines, empty as yet. What is added is there at once, and all of it or nothing."""

    def __init__(self, file: FileIO) -> None:
        # Nothing is held back: what is left of it would be written, in part, when a full disk is left.
        self._file = file
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
    """A file that takes its place when it is whole; until then it is `PATH.part`, and what stood there before stays.

    Until it ends, with `take_place` or `give_up`, the part is this program's alone.
    """

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        if path.exists():
            if not path.is_file():
                raise OSError("no regular file, which it has to be: give another name")
            # A folder that may be written would get round the protection of a file in it.
            with FileIO(path, "a") as file:
                _lock(file, path)
        # A link stays; what it leads to is replaced.
        self._path = path.resolve()
        self.part = self._path.with_name(self._path.name + ".part")
        self._claim = claim(self.part)
        if fcntl is None:
            # It would keep the part where it is, too.
            self._claim.close()
        self._is_over = False

    def take_place(self) -> None:
        if self._path.exists():
            shutil.copymode(self._path, self.part)
        self.part.replace(self._path)
        self._end()

    def give_up(self) -> None:
        if not self._is_over:
            self.part.unlink(missing_ok=True)
            self._end()

    def _end(self) -> None:
        # Whoever takes the name next may have a part there already.
        self._is_over = True
        self._claim.close()
