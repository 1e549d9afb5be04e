# SPDX-License-Identifier: MIT
"""From runs to figures, and from figures to text."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field

from recorders import Run
from workloads import Figure, Sample, Workload

BASE = "none"


@dataclass
class Spread:
    median: float
    minimum: float
    maximum: float
    values: list[float]


@dataclass
class Line:
    """One figure of a workload, for each recorder."""

    name: str
    unit: str
    added: bool
    spreads: dict[str, Spread]
    ratio: float | None  # lapilli / gfxreconstruct: the median of the rounds' ratios


@dataclass
class Measured:
    workload: Workload
    driver: str
    device: str = ""
    rounds: list[dict[str, Run]] = field(default_factory=list)
    short: dict[str, Run] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)  # recorder: why it has no (more) figures
    skipped: str = ""  # why nothing was run


def spread(values: list[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values), values)


def compute(measured: Measured, figure: Figure) -> Line:
    by_recorder: dict[str, list[float]] = {}
    ratios = []
    for number, runs in enumerate(measured.rounds):
        base = runs.get(BASE)
        of_round = {}
        for name, run in runs.items():
            if name != BASE and not base:
                continue
            # Sizes are looked at once, in the first round: they do not depend on time.
            value = figure.value(Sample(run, None if name == BASE else base, measured.short.get(name) if number == 0 else None))
            if value is not None:
                of_round[name] = value
                by_recorder.setdefault(name, []).append(value)
        # What is too small to be told from noise has no ratio.
        if of_round.get("gfxreconstruct", 0) > 0 and of_round.get("lapilli", -1) >= 0:
            ratios.append(of_round["lapilli"] / of_round["gfxreconstruct"])
    return Line(figure.name, figure.unit, figure.added, {name: spread(values) for name, values in by_recorder.items()},
                statistics.median(ratios) if ratios and len(ratios) * 2 > len(measured.rounds) * (len(by_recorder.get("lapilli", [])) > 1)
                else None)


def wrong(measured: Measured, lines: list[Line]) -> list[str]:
    """Figures of lapilli that break a promise, whatever the machine."""
    return [f"{measured.workload.name}: {line.name} must be 0 and is {line.spreads['lapilli'].median:.0f}" for line in lines
            if line.name in measured.workload.must_be_zero and "lapilli" in line.spreads and line.spreads["lapilli"].median != 0]


def number(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def cell(line: Line, recorder: str) -> str:
    found = line.spreads.get(recorder)
    if not found:
        return "-"
    text = ("+" if line.added and recorder != BASE and found.median >= 0 else "") + number(found.median)
    if len(found.values) > 1:
        text += f" [{number(found.minimum)} .. {number(found.maximum)}]"
    return text


def text(measured: Measured, lines: list[Line], recorders: list[str]) -> str:
    workload = measured.workload
    head = f"{workload.name}: {workload.what}"
    if measured.skipped:
        return f"{head}\n  skipped: {measured.skipped}\n"
    short = measured.short.get("lapilli")
    watch = f"write watch {short.info['write_watch']}" if short and short.info and workload.kind == "memory" else ""
    where = f"\n  {', '.join(part for part in (measured.driver, measured.device, watch) if part)}"
    bare = "the program" if workload.name.startswith("replay-") else "no layer"
    rows = [["", *[bare if r == BASE else r for r in recorders], "lapilli / gfxr."]]
    for line in lines:
        name = f"{line.name}, {line.unit}" if line.unit else line.name
        rows.append([name, *[cell(line, r) for r in recorders], "" if line.ratio is None else f"{line.ratio:.2f}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    out = [head + where]
    for row in rows:
        out.append("  " + "  ".join([row[0].ljust(widths[0]), *[c.rjust(w) for c, w in zip(row[1:], widths[1:])]]).rstrip())
    out += [f"  {recorder} failed: {why}" for recorder, why in measured.failures.items()]
    return "\n".join(out) + "\n"


def as_json(measured: Measured, lines: list[Line]) -> dict:
    return {"name": measured.workload.name, "what": measured.workload.what, "command": measured.workload.command,
            "driver": measured.driver, "device": measured.device, "skipped": measured.skipped or None, "failures": measured.failures,
            "figures": [asdict(line) for line in lines],
            "rounds": [{name: asdict(run) for name, run in runs.items()} for runs in measured.rounds],
            "short": {name: asdict(run) for name, run in measured.short.items()}}
