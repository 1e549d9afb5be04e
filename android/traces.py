# SPDX-License-Identifier: MIT
"""Traces that an app has left on the device: they are fetched, finished, and removed there."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from android.adb import FAILED, INCOMPLETE, NO_TRACE, Fault, Tools
from android.files import Place
from android.settings import Say

MARK = re.compile(r"\.r[0-9a-f]{8}(?=[.-])")  # a recording's own part of the names of its traces
ENDINGS = (".lapilli", ".lapilli.tail")


@dataclass
class Output:
    """Where traces go: into a folder, or to a file, which gets a number for each further trace."""

    folder: Path
    name: str = ""

    @classmethod
    def of(cls, text: str) -> Output:
        path = Path(text or ".")
        return cls(path) if path.is_dir() or text.endswith("/") else cls(path.parent, path.name)

    def free(self, name: str) -> Path:
        """A path that is not taken, nor its tail's."""
        name = self.name or name
        stem, ending = (name[:-len(".lapilli")], ".lapilli") if name.endswith(".lapilli") else (name, "")
        number, path = 1, self.folder / name
        while path.exists() or Path(f"{path}.tail").exists():
            number += 1
            path = self.folder / f"{stem}-{number}{ending}"
        return path


def there(place: Place, mark: str = "") -> dict[str, int]:
    """Traces and tails, with their sizes; of one recording, or all."""
    return {name: size for name, size in place.files("-maxdepth", "1", "-name", "*.lapilli*").items() if name.endswith(ENDINGS) and mark in name}


def summary(tools: Tools, path: Path) -> dict:
    """What is said of a trace."""
    row = {"file": str(path), "frames": None, "bytes": path.stat().st_size, "complete": False, "stopped": None, "ended": None}
    done = tools.run("lapilli-info", "--json", str(path))
    try:
        found = json.loads(done.out)
        row.update({key: found[key] for key in ("frames", "complete", "stopped")}, ended=(found["ended"] or {}).get("text"))
    except (ValueError, KeyError):
        row["stopped"] = done.said
    return row


def tell(row: dict, as_json: bool) -> None:
    if as_json:
        print(json.dumps(row), flush=True)
        return
    end = "" if row["complete"] else f", incomplete: {row['stopped'] or 'its end is missing'}"
    print(f"{row['file']}: {row['frames'] if row['frames'] is not None else 'no'} frames, {row['bytes']} bytes{end}", flush=True)


def fetch(place: Place, tools: Tools, output: Output, names: dict[str, int], keep: bool, as_json: bool, say: Say) -> int:
    """All of these; the exit status."""
    status = 0
    for name in sorted((name for name in names if name.endswith(".lapilli")), key=lambda name: (len(name), name)):  # the 10th behind the 9th
        path = output.free(MARK.sub("", name))
        say(f"fetching {name} ({names[name]} bytes)")
        tail = f"{name}.tail"
        if tail in names:  # first, so that a trace that has arrived lacks nothing
            place.fetch(tail, names[tail], Path(f"{path}.tail"))
        try:
            place.fetch(name, names[name], path)
        except BaseException:
            Path(f"{path}.tail").unlink(missing_ok=True)
            raise
        done = tools.run("lapilli-repair", "--quiet", str(path))  # an app is killed rather than ended
        if done.status not in (0, INCOMPLETE):
            say(f"{path} can't be finished: {done.said}")
            status = max(status, NO_TRACE if done.status == NO_TRACE else FAILED)
        row = summary(tools, path)
        tell(row, as_json)
        if not row["complete"]:
            status = max(status, NO_TRACE if row["frames"] is None else INCOMPLETE)
        if not keep:
            place.remove(*(other for other in (name, tail) if other in names))
    return status


def pull(place: Place, tools: Tools, output: Output, package: str, keep: bool, as_json: bool, say: Say) -> int:
    if place.adb.shell(f"pidof {package}").out.strip():
        raise Fault(f"{package} runs, and may still write its trace: end it first ('adb shell am force-stop {package}')")
    names = there(place)
    if not any(name.endswith(".lapilli") for name in names):
        raise Fault(f"{package} has no trace on the device", NO_TRACE)
    return fetch(place, tools, output, names, keep, as_json, say)
