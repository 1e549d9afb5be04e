# SPDX-License-Identifier: MIT
"""Signals that end a command: they are raised, so that what was begun is put right; or held, while it is."""

from __future__ import annotations

import contextlib
import signal
import time
from dataclasses import dataclass
from types import FrameType
from typing import Iterator

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal has asked for the end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass
class Signals:
    held: bool = False
    number: int = 0  # the first one that came while they were held

    def take(self) -> None:
        for number in ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._handle)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if not self.held:
            raise Ended(number)
        self.number = self.number or number

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Nothing is raised in it. Afterwards `number` says whether a signal came."""
        before, self.held = self.held, True
        try:
            yield
        finally:
            self.held = before

    def pause(self, seconds: float) -> None:
        """Sleeps, and not on when a signal comes."""
        late = time.monotonic() + seconds
        while not self.number and time.monotonic() < late:
            time.sleep(0.05)
