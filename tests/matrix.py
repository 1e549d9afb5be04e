# SPDX-License-Identifier: MIT
"""Every program on every machine: records each on each and replays its traces on each other one, and says what came of it.

Prints what is not identical, writes all of it to OUT.json and OUT.md, and pictures of what should not differ beside them. The exit status
is 0 only when everything is as e2e/drivers.EXPECTED has it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from e2e import cases, drivers  # noqa: E402
from e2e.drivers import Cell, Machine  # noqa: E402


def run_row(context: cases.Context, program: cases.Program, recorder: Machine, replayers: list[Machine], every: dict[str, Machine],
            kept: Path, keep: Path | None) -> list[Cell]:
    with tempfile.TemporaryDirectory(prefix="lapilli-matrix-") as folder:
        row = drivers.Row(context.in_folder(Path(folder)), program, recorder, every, kept)
        try:
            return row.run_pretended() if recorder.name == drivers.PRETENDER else row.run(replayers, keep)
        except (cases.Failure, OSError) as failure:
            return [row.cell(drivers.ANY, "FAILS", str(failure))]
        except subprocess.TimeoutExpired as late:
            return [row.cell(drivers.ANY, "FAILS", f"no end after {late.timeout:.0f} s: {late.cmd}")]


def run_kept(context: cases.Context, place: Path, every: dict[str, Machine], kept: Path) -> list[Cell]:
    with tempfile.TemporaryDirectory(prefix="lapilli-matrix-") as folder:
        row = drivers.KeptRow(context.in_folder(Path(folder)), place, every, kept)
        try:
            return row.run([m for m in every.values() if not m.layer and m.name != drivers.PRETENDER])
        except (cases.Failure, OSError) as failure:
            return [row.cell(drivers.ANY, "FAILS", str(failure))]
        except subprocess.TimeoutExpired as late:
            return [row.cell(drivers.ANY, "FAILS", f"no end after {late.timeout:.0f} s: {late.cmd}")]


def short(cell: Cell, notes: list[str]) -> str:
    if cell.outcome == "identical" and not cell.why:
        return "="
    if cell.outcome == "within":
        text = f"within (max {cell.largest:.0f}, mean {cell.mean:.3f}, {cell.share:.2%} of texels beyond)"
    else:
        text = {"identical": "="}.get(cell.outcome, cell.outcome)
    if cell.why:
        if cell.why not in notes:
            notes.append(cell.why)
        text += f" [{notes.index(cell.why) + 1}]"
    return text


def table(cells: list[Cell], order: list[str]) -> str:
    """A table for each machine that recorded, with the programs that are not identical everywhere."""
    notes: list[str] = []
    parts = []
    for recorder in order:
        mine = [cell for cell in cells if cell.recorded == recorder]
        if not mine:
            continue
        programs = list(dict.fromkeys(cell.program for cell in mine))
        columns = [name for name in order if any(cell.replayed == name for cell in mine)]
        odd = [p for p in programs if any(short(cell, []) != "=" for cell in mine if cell.program == p)]
        fine = [p for p in programs if p not in odd]
        lines = [f"Recorded on {recorder}, identical on {', '.join(columns)}: {', '.join(fine) if fine else 'none'}."]
        if odd:
            lines += ["", "| program | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
        for program in odd:
            by = {cell.replayed: short(cell, notes) for cell in mine if cell.program == program}
            everywhere = by.get(drivers.ANY)
            lines.append(f"| {program} | " + " | ".join(everywhere or by.get(column, "") for column in columns) + " |")
        parts.append("\n".join(lines))
    text = "\n\n".join(parts)
    return text + "\n\n" + "\n".join(f"[{i}] {' '.join(note.split())}" for i, note in enumerate(notes, 1)) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--out", type=Path, help="where the results go, without suffix (default: BUILD/matrix)")
    parser.add_argument("--backport", type=Path, help="the folder of scripts/fetch-backport-driver.sh (default: BUILD/backport)")
    parser.add_argument("--driver", action="append", default=[], metavar="NAME=MANIFEST", help="one more driver, by hand")
    parser.add_argument("--no-windows", action="append", default=[], metavar="NAME", help="such a driver has none: tests/layers/windows.c has them")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the traces there, and what is compared with, for --from elsewhere")
    parser.add_argument("--from", type=Path, metavar="DIR", dest="source", help="record nothing: replay what --keep kept")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="at a time (default: one more than processors, for some of them wait)")
    parser.add_argument("--match", default="", help="only programs whose name matches this regular expression")
    parser.add_argument("--record", default="", help="only these machines record (a regular expression)")
    options = parser.parse_args()
    build = options.build.resolve()
    out = (options.out or build / "matrix").resolve()
    kept = out.parent / f"{out.name}-pictures"
    shutil.rmtree(kept, ignore_errors=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lapilli-icd-") as folder:
        every = drivers.machines((options.backport or build / "backport").resolve(), Path(folder), options.driver, options.no_windows)
        for machine in [m for m in every.values() if m.missing]:
            print(f"skip {machine.name}: {machine.missing}", flush=True)
        every = {name: machine for name, machine in every.items() if not machine.missing}
        context = cases.Context(ROOT, build)
        programs = [p for p in cases.programs(context) if re.search(options.match, p.name)]
        if not os.environ.get("DISPLAY"):
            print("skip programs that need a display: there is none", flush=True)
            programs = [p for p in programs if not p.needs_display]
        cells = replay(context, every, options, kept) if options.source else run(context, programs, every, options, kept)
    out.with_suffix(".json").write_text(json.dumps([asdict(cell) for cell in cells], indent=1) + "\n")
    text = table(cells, list(dict.fromkeys([*every, *(cell.recorded for cell in cells)])))
    out.with_suffix(".md").write_text(text)
    print(text)
    return summary(cells, out, time.monotonic() - start)


def run(context: cases.Context, programs: list[cases.Program], every: dict[str, Machine], options: argparse.Namespace,
        kept: Path) -> list[Cell]:
    real = [m for m in every.values() if not m.layer and m.name != drivers.PRETENDER]
    recorders = dict(drivers.RECORDERS) | {m.name: [] for m in real if m.by_hand}
    cells: list[Cell] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        work = [pool.submit(run_row, context, program, every[name], real + [every[s] for s in shapes if s in every], every, kept,
                            options.keep and options.keep.resolve())
                for program in programs for name, shapes in recorders.items() if name in every and re.search(options.record, name)]
        for future in work:
            cells += future.result()
    return cells


def replay(context: cases.Context, every: dict[str, Machine], options: argparse.Namespace, kept: Path) -> list[Cell]:
    places = [place.parent for place in sorted(options.source.resolve().rglob("row.json"))]
    wanted = [place for place in places if re.search(options.match, place.parent.name)
              and re.search(options.record, place.parent.parent.name.replace("_", "/"))]
    with ThreadPoolExecutor(options.jobs) as pool:
        return [cell for cells in pool.map(lambda place: run_kept(context, place, every, kept), wanted) for cell in cells]


def summary(cells: list[Cell], out: Path, seconds: float) -> int:
    failed = [cell for cell in cells if cell.outcome == "FAILS"]
    for cell in failed:
        print(f"FAILS {cell.program}, recorded on {cell.recorded}, replayed on {cell.replayed}: {cell.why}")
        for picture in cell.pictures:
            print(f"      {picture}")
    counts = {outcome: sum(cell.outcome == outcome for cell in cells) for outcome in drivers.ORDER}
    print(f"{out}.json, {out}.md: in {seconds:.0f} s " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count))
    return 0 if cells and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
