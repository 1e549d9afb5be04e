# SPDX-License-Identifier: MIT
"""Verdicts of earlier farms: folders beside each other, each with the results.ndjson of its report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .results import NUMBER, Pair, get, read_about

NIGHTS = 30
# results.ndjson begins a line with all that is needed here. In a string the quotes would be escaped. Most pairs have the same head in
# each farm, so that few are parsed.
MEDIAN, HEAD_END = b', "median_ms": ', b', "good": '


@dataclass(frozen=True)
class Night:
    label: str
    created: float
    verdict: str
    median_ms: float | None = None


@dataclass
class History:
    folders: list[Path]  # oldest first
    nights: dict[Pair, list[Night | None]]  # of each pair as many as folders
    unreadable: int = 0

    def of(self, pair: Pair) -> list[Night | None]:
        return self.nights.get(pair, [None] * len(self.folders))


def read_history(parent: Path | None, own: Path, created: float) -> History:
    """The last farms before one."""
    found = []
    for folder in parent.iterdir() if parent else []:
        if (folder / "results.ndjson").is_file() and folder.resolve() != own.resolve():
            about = read_about(folder)
            when = get(about, "created", kind=NUMBER)
            if when is not None and when <= created:
                found.append((when, folder, get(about, "label") or folder.name))
    found = sorted(found)[-NIGHTS:]
    history, heads = History([folder for _, folder, _ in found], {}), {}
    for place, (when, folder, label) in enumerate(found):
        history.unreadable += _read(folder / "results.ndjson", label, when, place, len(found), history.nights, heads)
    return history


def _read(path: Path, label: str, when: float, place: int, count: int, nights: dict[Pair, list[Night | None]], heads: dict[bytes, tuple[Pair, str]]) -> int:
    """Adds a farm's verdicts. The number of lines that have none."""
    previous, unreadable = b"", 0
    with path.open("rb") as file:
        for line in file:
            head, found, rest = line.partition(MEDIAN)
            if found and head == previous:  # one more run of the pair
                continue
            previous = head
            try:
                if head not in heads:
                    told = json.loads(head + b"}" if found else line)
                    name, device, verdict = get(told, "trace", "name"), get(told, "device"), get(told, "verdict")
                    if name is None or device is None or verdict is None:
                        raise ValueError
                    heads[head] = (name, device), verdict
                median = json.loads(rest.partition(HEAD_END)[0]) if found and not rest.startswith(b"null") else None
            except (ValueError, RecursionError):
                unreadable += 1
                continue
            pair, verdict = heads[head]
            nights.setdefault(pair, [None] * count)[place] = Night(label, when, verdict, get({"ms": median}, "ms", kind=NUMBER))
    return unreadable


def since(nights: list[Night | None], verdict: str) -> str | None:
    """A sentence of how long a pair is no pass: when it passed last."""
    known = [night for night in nights if night]
    bad = 0
    for night in reversed(known):
        if night.verdict in ("pass", "fixed", "slower"):
            return None if verdict in ("pass", "fixed") else f"It passed last in {night.label}." if bad else f"It passed in {night.label}, the farm before."
        bad += 1
    return f"It has not passed in {len(known)} farms before." if known and verdict not in ("pass", "fixed") else None
