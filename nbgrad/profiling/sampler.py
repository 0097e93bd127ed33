"""Which lines run between events, by samples: a thread looks a few hundred times a second."""

import sys
from threading import Event, Thread

from ..runtime.lines import is_ours
from .tally import inner, tallies, trim, user

__all__ = ["Sampler"]

_EVERY = 0.002
"""Seconds between samples; a running thread lets another one look after 5 ms."""


class Sampler:
    """Notes the user's lines of all threads that have counts, except inside of events."""

    def __init__(self) -> None:
        self._ended = Event()
        self._thread = Thread(target=self._run, name="nbgrad-profile", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            frames = sys._current_frames()
            for ident, tally in list(tallies.items()):
                frame = frames.get(ident)
                if frame is None or tally.busy:
                    continue
                place = user(frame)
                while inner[frame.f_code.co_filename] and not is_ours(frame) and frame.f_back:
                    frame = frame.f_back
                key = *place, is_ours(frame)
                tally.samples[key] = tally.samples.get(key, 0) + 1
            del frames
            trim()
