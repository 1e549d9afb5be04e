# SPDX-License-Identifier: MIT
"""What engines share: how they are asked, what earlier runs cost, and the wait for room in the results folder."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, ClassVar, Iterable

from farm import publish

UNKNOWN_SECONDS = 10.0  # of a run that was never played
BARREN_ROUNDS = 3
ROOM_SECONDS = 60.0
PAUSE_SECONDS = 10.0
POLL_SECONDS = 0.5
CANCEL = "cancelled"


class Cancelled(Exception):
    """Somebody has called lapilli farm cancel since this farm began."""


class Refused(Exception):
    """The engine does not take the runs of a device: a fault of the matrix."""


class History:
    """Seconds and bytes of GPU memory of earlier runs, by trace and device."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], tuple[float, int]] = {}

    def add(self, line: dict) -> None:
        self.found[line["trace"]["name"], line["device"]] = (line.get("seconds") or UNKNOWN_SECONDS, line.get("peak_bytes") or 0)

    def add_file(self, path: Path) -> None:
        """results.ndjson of a baseline; lines that can't be read tell nothing."""
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            return
        for text in lines:
            try:
                self.add(json.loads(text))
            except (ValueError, KeyError, TypeError):
                continue

    def seconds(self, run: dict) -> float:
        return self.found.get((run["trace"]["name"], run["device"]), (UNKNOWN_SECONDS, 0))[0]

    def peak_bytes(self, run: dict) -> int:
        """0: it is not known."""
        return self.found.get((run["trace"]["name"], run["device"]), (0.0, 0))[1]


def cancel_mark(results: Path) -> bytes:
    try:
        return (results / CANCEL).read_bytes()
    except OSError:
        return b""


@dataclass
class Engine:
    """play() brings results of runs into the results folder, and says each to `done`, until all are there or nothing helps any more."""

    results: Path
    attempts: int
    history: History
    done: Callable[[dict], None]
    say: Callable[[str], None]
    notes: list[str] = field(default_factory=list)  # sentences for the summary
    mark: bytes = b""
    goes_on: ClassVar[str] = ""  # a sentence about what an interrupt leaves

    def __post_init__(self) -> None:
        self.mark = cancel_mark(self.results)

    def check(self) -> None:
        if cancel_mark(self.results) != self.mark:
            raise Cancelled

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def collect(self, left: dict[str, dict]) -> int:
        """Takes the runs out of `left` whose results are there; how many."""
        found = publish.present(self.results, set(left))
        for key, line in found.items():
            del left[key]
            self.done(line)
        return len(found)

    def wait_for_room(self, barren: int = 0) -> bool:
        """Whether the results folder can be written, now or within a while. Room for this may be none for a result, so behind rounds
        that brought nothing there is a pause in any case."""
        start, said = time.monotonic(), False
        end, pause = start + ROOM_SECONDS, start + min(ROOM_SECONDS, PAUSE_SECONDS * barren)
        why = publish.has_room(self.results)
        while why and time.monotonic() < end or time.monotonic() < pause:
            if not said:
                self.say(f"{why or 'nothing could be written'}; waiting")
            said = True
            self.check()
            time.sleep(POLL_SECONDS)
            why = publish.has_room(self.results)
        return not why


def in_order(runs: Iterable[dict], history: History) -> list[dict]:
    """The longest first, so that nothing waits for them in the end."""
    return sorted(runs, key=lambda run: -history.seconds(run))
