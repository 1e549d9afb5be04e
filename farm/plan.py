# SPDX-License-Identifier: MIT
"""The plan: a line for each run, of traces, devices and repetitions. The same traces, matrix and version give the same plan."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from farm.cache import Known, sha256, signature
from farm.matrix import Device, Matrix
from farm.publish import dumps

SUFFIX = ".lapilli"


class PlanError(Exception):
    """Why there is none, and the exit status that says it."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


@dataclass
class Trace:
    name: str
    path: Path
    sha256: str = ""
    bytes: int = 0
    recorded_on: dict | None = None
    unreadable: str = ""
    of: tuple[int, int, int] | None = field(default=None, repr=False)

    def line(self) -> dict:
        return {"name": self.name, "path": str(self.path), "sha256": self.sha256, "bytes": self.bytes}


def _read_list(path: Path) -> list[Path]:
    """Paths, one a line; a relative one begins where the list lies."""
    lines = os.fsdecode(path.read_bytes()).split("\n")
    return list(dict.fromkeys(Path(os.path.abspath(path.absolute().parent / line)) for line in lines if line.strip()))


def _walk(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise error
    return [Path(root) / name for root, _, names in os.walk(folder, onerror=refuse) for name in names if name.endswith(SUFFIX)]


def find(where: Path) -> list[Trace]:
    """The traces in a folder, of a list, or one; sorted by name."""
    try:
        if where.is_dir():
            base = where.absolute()
            paths = _walk(base)
        else:
            paths = [where.absolute()] if where.name.endswith(SUFFIX) else _read_list(where)
            base = Path(os.path.commonpath([path.parent for path in paths])) if paths else Path()
    except OSError as error:
        raise PlanError(f"{error.filename}: {error.strerror}", 3) from error
    traces = [Trace(str(path.relative_to(base)).removesuffix(SUFFIX), path) for path in paths]
    names = [trace.name for trace in traces]
    if len(set(names)) < len(names):
        raise PlanError(f"{where}: two traces are called {next(name for name in names if names.count(name) > 1)!r}", 2)
    return sorted(traces, key=lambda trace: trace.name)


def _ask(info: str, trace: Trace) -> dict:
    """Hash, size and what lapilli info says; "unreadable": why not."""
    done = subprocess.run([info, "--json", str(trace.path)], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    said = done.stderr.decode(errors="replace").strip().splitlines()
    facts: dict = {"sha256": sha256(trace.path), "bytes": trace.path.stat().st_size}
    try:
        if done.returncode not in (0, 4):
            raise ValueError(said[-1].removeprefix("lapilli-info: ") if said else f"lapilli info ends with {done.returncode}")
        recorded = json.loads(done.stdout).get("recorded_on") or {}
        facts["recorded_on"] = {"device": recorded.get("device"), "driver": recorded.get("driver")} if recorded else None
    except ValueError as error:
        facts["unreadable"] = str(error)
    return facts


def look(traces: list[Trace], info: str, known: Known, progress: Callable[[int, int, int], None]) -> None:
    """Fills in what is asked of each trace, of several at once: hashing lets other threads run."""
    def one(trace: Trace) -> None:
        try:
            of = signature(trace.path)
            facts = known.get(trace.path, of)
            if facts is None:
                facts = _ask(info, trace)
                if signature(trace.path) != of:
                    raise OSError(0, "it is being written")
                known.put(trace.path, of, facts)
            trace.of = of
        except OSError as error:
            facts = {"unreadable": error.strerror or str(error)}
        for name, value in facts.items():
            setattr(trace, name, value)

    done = read = 0
    try:
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            try:
                for trace, _ in zip(traces, pool.map(one, traces)):
                    done, read = done + 1, read + trace.bytes
                    progress(done, len(traces), read)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        known.save()


def key(trace: dict, device: Device, options: list[str], label: str, version: str, repetition: int) -> str:
    """Of all that a result depends on. Not of the driver's version, which only the node knows: results have it."""
    of = {"trace": [trace["name"], trace["sha256"]], "device": device.name, "driver_files": device.driver_files, "gpu": device.gpu,
          "environment": device.environment, "options": options, "label": label, "version": version, "repetition": repetition}
    return hashlib.sha256(dumps(of).encode()).hexdigest()[:32]


@dataclass
class Plan:
    matrix: Matrix
    version: str
    skips: list[re.Pattern] = field(default_factory=list)

    def run(self, trace: dict, device: Device, repetition: int) -> dict:
        options = self.matrix.options_of(device)
        return {"key": key(trace, device, options, self.matrix.label, self.version, repetition), "trace": trace, "device": device.name, "repetition": repetition}

    def _skip(self, trace: str, device: str) -> str | None:
        reasons = [skip.reason for skip in self.matrix.skip if skip.is_of(trace, device)]
        reasons += [f"--skips: {pattern.pattern}" for pattern in self.skips if pattern.search(f"{trace}@{device}")]
        return reasons[0] if reasons else None

    def lines(self, traces: list[Trace]) -> list[dict]:
        lines = []
        for trace in traces:
            of = trace.line()
            for device in self.matrix.device:
                skip = self._skip(trace.name, device.name)
                if skip is not None:
                    lines.append({"trace": of, "device": device.name, "skip": skip})
                elif trace.unreadable:
                    lines.append({"trace": of, "device": device.name, "unreadable": trace.unreadable})
                else:
                    of = {**of, "recorded_on": trace.recorded_on}
                    lines += [self.run(of, device, repetition) for repetition in range(self.matrix.repeat)]
        return lines


def read_patterns(path: Path) -> list[re.Pattern]:
    """Regular expressions, one a line; # begins a remark."""
    patterns = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                patterns.append(re.compile(line.strip()))
            except re.error as error:
                raise PlanError(f"{path}:{number}: {error}", 2) from error
    return patterns


def read_lines(path: Path) -> list[dict]:
    """Of a file of JSON lines; an empty list where there is none."""
    try:
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise PlanError(f"{path}: a line is no JSON: {error}", 2) from error


def same(ours: list[dict], there: list[dict]) -> str | None:
    """None, or the sentence why the plan that is there is another one."""
    if ours == there:
        return None
    def keys(lines: list[dict]) -> set[str]:
        return {line["key"] for line in lines if "key" in line}
    new, gone = len(keys(ours) - keys(there)), len(keys(there) - keys(ours))
    return f"another plan is there: {new} runs of this one are not in it, and {gone} of it are not in this one"
