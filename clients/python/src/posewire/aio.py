"""Frames for asyncio: of what is live the newest ones, however long the loop is busy; of a file all.

async with udp_frames(9100) as frames:
    async for frame in frames:
        await move_the_robot(frame)
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress

from ._datagrams import OneTracker
from .frames import Frame, can_wait, frames_from
from .wire import DEFAULT_BAUD

#: A reader notices that it is over within a fraction of it, between two attempts to open a port too.
_END_WITHIN_S = 2.0


class Frames:
    """Frames as they come. Of those that nobody has taken yet the newest `backlog` are kept; `dropped` counts the others.

    `room` is released with each that is taken: for a thread that puts none for which there is no room.
    """

    def __init__(self, backlog: int = 1, room: threading.Semaphore | None = None) -> None:
        if backlog < 1:
            raise ValueError(f"a backlog of {backlog}: there is room for 1 frame at least")
        self.dropped = 0
        self._room = room
        self._waiting: deque[Frame] = deque()
        self._backlog = backlog
        self._change = asyncio.Event()
        self._end: BaseException | None = None

    def put(self, frame: Frame) -> None:
        """Takes a frame in; for the loop's own thread."""
        if len(self._waiting) == self._backlog:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(frame)
        self._change.set()

    def end(self, why: BaseException | None = None) -> None:
        """No frame follows; `why` is raised to whoever waits, after the frames that are left."""
        self._end = why or StopAsyncIteration()
        self._change.set()

    def __aiter__(self) -> Frames:
        return self

    async def __anext__(self) -> Frame:
        while not self._waiting:
            if self._end is not None:
                raise self._end
            self._change.clear()
            await self._change.wait()
        if self._room is not None:
            self._room.release()
        return self._waiting.popleft()


class _Ear(asyncio.DatagramProtocol):
    def __init__(self, frames: Frames, port: int) -> None:
        self._frames = frames
        self._tracker = OneTracker(port)
        self._loop = asyncio.get_running_loop()
        self.is_lost = asyncio.Event()

    def datagram_received(self, data: bytes, addr: object) -> None:
        frame = self._tracker.frame(data, addr, self._loop.time())
        if frame is not None:
            self._frames.put(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost.set()


@asynccontextmanager
async def udp_frames(port: int, host: str = "0.0.0.0", backlog: int = 1) -> AsyncIterator[Frames]:
    """Frames of `posewire run --udp`."""
    frames = Frames(backlog)
    loop = asyncio.get_running_loop()
    transport, ear = await loop.create_datagram_endpoint(lambda: _Ear(frames, port), local_addr=(host, port))
    try:
        yield frames
    finally:
        transport.close()
        # In a later turn of the loop: whoever listens again finds the port free.
        await ear.is_lost.wait()


@asynccontextmanager
async def frames_of(
    source: str | Callable[[], Iterator[Frame]], baud: int = DEFAULT_BAUD, backlog: int = 1
) -> AsyncIterator[Frames]:
    """Frames of a serial port or whatever else `frames_from` takes, read by a thread of its own.

    A file of JSON lines, and `-`, are read as fast as the frames are taken: none is dropped.
    """
    room = threading.Semaphore(backlog) if isinstance(source, str) and can_wait(source) else None
    frames = Frames(backlog, room)
    loop = asyncio.get_running_loop()
    is_over = threading.Event()

    def tell(what: Callable[..., None], *arguments: object) -> None:
        # The loop may be gone before the thread hears of it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(what, *arguments)

    def read() -> None:
        try:
            for frame in frames_from(source, baud, is_over.is_set) if isinstance(source, str) else source():
                if room is not None:
                    room.acquire()
                if is_over.is_set():
                    return
                tell(frames.put, frame)
        except Exception as error:  # whatever it is belongs to whoever waits for frames
            tell(frames.end, error)
        else:
            tell(frames.end)

    reader = threading.Thread(target=read, name="posewire", daemon=True)
    reader.start()
    try:
        yield frames
    finally:
        is_over.set()
        if room is not None:
            room.release()
        if isinstance(source, str) and source != "-":
            # Whoever listens again finds the port free. Another's source, and a silent pipe, end with their next frame.
            await asyncio.to_thread(reader.join, _END_WITHIN_S)
