"""Ctrl-C held back where it would do harm: amid imports, compilation and the start of processes."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_MASKS = hasattr(signal, "pthread_sigmask")


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Lets a block finish before Ctrl-C counts; then what it does otherwise happens.

    numba and imports leave things half made when interrupted. Processes started within never see
    Ctrl-C: they inherit the mask, which a handler is not. Outside the main thread, which alone is
    interrupted, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)

    before = signal.signal(signal.SIGINT, note)  # another thread may get the signal despite a mask
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if _MASKS else set()
    try:
        yield
    finally:
        if _MASKS:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if pressed and callable(before):
        before(signal.SIGINT, None)
