# SPDX-License-Identifier: MIT
"""Reads folders of results: this farm's, its baseline's, and lines of hashes. Nothing here judges, and nothing is written.

Names and texts come from traces, drivers and other people's folders: plain() before they are shown, and a line that has another form than
ours is counted, not believed.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import zlib
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any, Iterator

PLAYED = ("played", "same", "within", "different", "nothing_to_verify", "incomplete")
OUTCOMES = (*PLAYED, "failed", "unsupported", "unreadable", "crashed", "timeout")
DIGITS = re.compile(r"[0-9a-f]{16,64}")
# Controls, which move a terminal's cursor and which XML forbids; what turns the direction of text; halves of characters.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
Pair = tuple[str, str]  # name of a trace, name of a device


def plain(text: object, lines: bool = False) -> str:
    """Text that any terminal, XML or page can have: one line, unless `lines`."""
    text = UNSAFE.sub("\ufffd", str(text).replace("\r\n", "\n"))
    return text if lines else text.replace("\n", "\ufffd").replace("\t", " ")


def get(line: Any, *path: str, kind: type | tuple[type, ...] = str) -> Any:
    """The member at a path of objects, or None where it is missing or of another type."""
    for name in path:
        line = line.get(name) if isinstance(line, dict) else None
    return line if isinstance(line, kind) and not isinstance(line, bool) and not (isinstance(line, float) and not math.isfinite(line)) else None


def moment(seconds: float | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc) if seconds is not None else None
    except (ValueError, OverflowError, OSError):
        return None


NUMBER = (int, float)


@dataclass(frozen=True)
class Trace:
    name: str
    sha256: str
    path: str = ""


@dataclass
class Run:
    """A result. What the verdict does not need stays in `line`."""

    trace: Trace
    device: str
    outcome: str
    line: dict

    @property
    def hashes(self) -> str | None:
        found = get(self.line, "hashes", "sha256")
        return found if found and DIGITS.fullmatch(found) else None

    @property
    def frame_ms(self) -> float | None:
        """The median of a frame's time. A replay that compares takes longer, by what it compares: it has none."""
        options = get(self.line, "options", kind=list) or []
        if any(str(option).lstrip("-").partition("=")[0] == "verify" for option in options):
            return None
        return get(self.line, "measure", "wall_ms", "p50", kind=NUMBER)

    def screenshots(self) -> dict[int, str]:
        found = get(self.line, "files", "screenshots", kind=list) or []
        return {get(one, "frame", kind=int): get(one, "path") for one in found if get(one, "frame", kind=int) is not None and own_path(get(one, "path"))}


def own_path(path: str | None) -> bool:
    """Whether a path leads to a file of a results folder, and not out of it."""
    parts = PurePosixPath(path or "").parts
    return len(parts) > 1 and parts[0] == "files" and ".." not in parts


def read_trace(line: dict) -> Trace:
    name = get(line, "trace", "name")
    if name is None:
        raise ValueError("no name of a trace")
    return Trace(name, get(line, "trace", "sha256") or "", get(line, "trace", "path") or "")


def read_run(line: dict) -> Run:
    device, outcome = get(line, "device"), get(line, "outcome")
    if device is None or outcome not in OUTCOMES or line.get("end") is not True:
        raise ValueError("no result")
    return Run(read_trace(line), device, outcome, line)


def lines_of(path: Path) -> Iterator[dict | None]:
    """The objects of an NDJSON file; None for each line that is none. Nothing where there is no such file."""
    try:
        with path.open("rb") as file:
            for line in file:
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    found = None
                yield found if isinstance(found, dict) else None
    except FileNotFoundError:
        return


@dataclass
class Planned:
    """What was to be played of a pair, and what came."""

    trace: Trace
    device: str
    keys: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    skip: str | None = None
    unreadable: str | None = None


@dataclass
class Farm:
    path: Path
    about: dict
    pairs: dict[Pair, Planned] = field(default_factory=dict)
    attempts: dict[str, list[dict]] = field(default_factory=dict)  # by key
    unreadable: int = 0  # lines and results that are none

    @property
    def label(self) -> str:
        return get(self.about, "label") or self.path.resolve().name


def read_object(path: Path) -> dict:
    """A file with one object, or an empty one where it can't be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_about(path: Path) -> dict:
    return read_object(path / "farm.json")


def read_farm(path: Path) -> Farm:
    """A farm with its plan, and the results that are there."""
    farm = Farm(path, read_about(path))
    everywhere: list[tuple[Trace, str]] = []  # unreadable traces, of which the plan names no device
    for line in (line for name in ("plan.ndjson", "repeats.ndjson") for line in lines_of(path / name)):
        try:
            trace, device, key = read_trace(line or {}), get(line, "device"), get(line, "key")
            lost = get(line, "unreadable")
            if device is None and lost:
                everywhere.append((trace, lost))
                continue
            if device is None or not (get(line, "skip") is not None or lost or key and DIGITS.fullmatch(key)):
                raise ValueError
        except ValueError:
            farm.unreadable += 1
            continue
        pair = farm.pairs.setdefault((trace.name, device), Planned(trace, device))
        pair.skip = get(line, "skip") if pair.skip is None else pair.skip
        pair.unreadable = pair.unreadable or lost
        if key and key not in pair.keys:
            pair.keys.append(key)
    listed = [get(device, "name") for device in get(farm.about, "matrix", "device", kind=list) or []]
    devices = list(dict.fromkeys([*[name for name in listed if name], *[device for _, device in farm.pairs]])) or ["?"]
    for trace, lost in everywhere:
        for device in devices:
            farm.pairs.setdefault((trace.name, device), Planned(trace, device)).unreadable = lost
    for pair in farm.pairs.values():
        for key in pair.keys:
            for line in lines_of(path / "runs" / key[:2] / f"{key}.ndjson"):
                try:
                    pair.runs.append(read_run(line or {}))
                except ValueError:
                    farm.unreadable += 1
    order = {device: place for place, device in enumerate(devices)}
    farm.pairs = dict(sorted(farm.pairs.items(), key=lambda item: (item[0][0], order.get(item[0][1], 0))))
    if (path / "attempts").is_dir():
        for name in sorted(os.listdir(path / "attempts")):
            farm.attempts.setdefault(name.partition(".")[0], []).append(read_object(path / "attempts" / name))
    return farm


@dataclass
class Baseline:
    """Results of an earlier farm, by what was played (not how it was called) and the device."""

    path: Path
    label: str
    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)
    unreadable: int = 0


def read_baseline(path: Path) -> Baseline:
    """From results.ndjson, which says what was good. A farm without a report has its results alone."""
    about = read_about(path)
    baseline = Baseline(path, get(about, "label") or path.resolve().name)
    made = path / "results.ndjson"
    files = [made] if made.exists() else sorted((path / "runs").glob("*/*.ndjson"))
    for line in (line for file in files for line in lines_of(file)):
        try:
            if read_trace(line or {}) and get(line, "verdict") and "outcome" not in line:  # a pair of which nothing was played
                continue
            run = read_run(line or {})
        except ValueError:
            baseline.unreadable += 1
            continue
        baseline.runs.setdefault((run.trace.sha256, run.device), []).append(run)
    return baseline


def hash_lines(folders: list[Path], sha256: str) -> Iterator[dict | None]:
    """The checks behind a hash of hashes, from the first of the folders that has them. Ends where the file is damaged."""
    for folder in folders:
        try:
            with gzip.open(folder / "hashes" / sha256[:2] / f"{sha256}.ndjson.gz", "rb") as file:
                for line in file:
                    found = json.loads(line)
                    yield found if isinstance(found, dict) else None
                return
        except FileNotFoundError:
            continue
        except (OSError, EOFError, ValueError, RecursionError, zlib.error):
            yield None
            return
