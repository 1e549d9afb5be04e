# SPDX-License-Identifier: MIT
"""Which pictures show a difference, and how they come into a page: in it, as long as there is room, then by a link."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from .results import PLAYED, Run, get, own_path
from .verdict import BAD, Verdict

ROOM_BYTES = 8_000_000  # of all data URIs in a page
PNG = b"\x89PNG\r\n\x1a\n"
WIDE = 320


@dataclass(frozen=True)
class Picture:
    url: str
    link: str
    width: int
    height: int


@dataclass(frozen=True)
class Row:
    """Pictures of one frame. One that is missing is None, and the sentence says why."""

    frame: int
    which: str
    expected: Picture | None
    got: Picture | None
    sentences: tuple[str, ...] = ()


class Album:
    """Takes pictures from folders of results, until there is no more room."""

    def __init__(self, page: Path, room: int = ROOM_BYTES) -> None:
        self.page, self.room = page, room

    def take(self, folder: Path, path: str | None) -> Picture | None:
        """None: there is no such PNG file."""
        if not path or not own_path(path):
            return None
        try:
            with (folder / path).open("rb") as file:
                head = file.read(24)
                width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
                if head[:8] != PNG or not width or not height:
                    return None
                link = quote(os.path.relpath(folder / path, self.page).encode(errors="surrogateescape"))
                size = 4 * (os.fstat(file.fileno()).st_size + 2) // 3
                if size > self.room:
                    return Picture(link, link, width, height)
                self.room -= size
                return Picture("data:image/png;base64," + base64.b64encode(head + file.read()).decode(), link, width, height)
        except (OSError, ValueError):
            return None

    def rows(self, verdict: Verdict, baseline: Path | None) -> list[Row] | str:
        """The pictures of what a verdict is about, or a sentence why there are none."""
        bad = [judged for judged in verdict.runs if judged.state == BAD and judged.run.outcome in PLAYED]
        if not bad:
            return ""
        frame = next((found for judged in bad if (found := get(judged.place, "frame", kind=int)) is not None), None)
        run = next((judged.run for judged in bad if frame in judged.run.screenshots()), bad[0].run)
        ours, theirs = run.screenshots(), self._expected(verdict)
        mismatch, path = get(run.line, "files", "mismatch", "frame", kind=int), get(run.line, "files", "mismatch", "path")
        first = (frame, ours[frame], "the first that differs") if frame in ours else (mismatch, path, "the first that is not as recorded")
        common = sorted(ours.keys() & theirs.keys(), key=lambda one: (abs(one - (frame or 0)), one))
        rows = []
        if first[0] is not None and own_path(first[1]):
            rows.append(self._row(*first, verdict, baseline, theirs))
        if common and not (rows and rows[0].expected):
            rows.append(self._row(common[0], ours[common[0]], "the nearest that both sides have", verdict, baseline, theirs))
        return rows or "No picture was kept that shows the difference."

    def _expected(self, verdict: Verdict) -> dict[int, str]:
        """Screenshots of the baseline's first good run that has any."""
        good: list[Run] = [old for old in verdict.base if old.hashes in verdict.expected]
        return next((found for old in good if (found := old.screenshots())), {})

    def _row(self, frame: int, path: str, which: str, verdict: Verdict, baseline: Path | None, theirs: dict[int, str]) -> Row:
        got = self.take(self.page, path)
        expected = self.take(baseline, theirs.get(frame)) if baseline else None
        sentences = [] if got else [f"The picture of frame {frame} is gone."]
        if not baseline or not verdict.base:
            sentences.append("Nothing shows how it should be: there is no baseline.")
        elif not expected:
            sentences.append(f"The baseline's picture of frame {frame} is gone." if frame in theirs else f"The baseline has no picture of frame {frame}.")
        elif got and (got.width, got.height) != (expected.width, expected.height):
            sentences.append(f"The size differs: {expected.width} x {expected.height}, now {got.width} x {got.height}.")
        return Row(frame, which, expected, got, tuple(sentences))
