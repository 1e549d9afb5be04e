# SPDX-License-Identifier: MIT
"""Lets the machine fail recordings and replays at many points, and says what came of it.

The exit status is 0 only when no point failed. Points are the same for the same seed; --only repeats those whose names have a text in them.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from e2e import cases, torture  # noqa: E402


def run_point(context: cases.Context, what: torture.Torture, point: torture.Point) -> tuple[torture.Outcomes, str]:
    """What came of it, and, of a failure, why."""
    with tempfile.TemporaryDirectory(prefix="lapilli-torture-") as folder:
        try:
            came = what.run(context.in_folder(Path(folder)), point)
            return collections.Counter({(point.way, came): 1}) if isinstance(came, str) else came, ""
        except (cases.Failure, OSError) as failure:
            why = str(failure)
        except subprocess.TimeoutExpired as late:
            why = f"no end after {late.timeout:.0f} s: {late.cmd}"
    return collections.Counter({(point.way, "FAILED"): 1}), why


def in_order(context: cases.Context, what: torture.Torture, points: list[torture.Point],
             jobs: int) -> Iterator[tuple[torture.Point, torture.Outcomes, str]]:
    """Runs points, no further ahead of who takes what came of them than it must."""
    left = iter(points)
    with ThreadPoolExecutor(jobs) as pool:
        begun = collections.deque((point, pool.submit(run_point, context, what, point)) for point in itertools.islice(left, 2 * jobs))
        while begun:
            point, future = begun.popleft()
            yield point, *future.result()
            begun.extend((point, pool.submit(run_point, context, what, point)) for point in itertools.islice(left, 1))


def show(outcomes: torture.Outcomes) -> None:
    """A line for each way."""
    ways: dict[str, list[str]] = {}
    for (way, outcome), count in sorted(outcomes.items()):
        ways.setdefault(way, []).append(f"{count} {outcome}")
    for way, lines in ways.items():
        print(f"    {way:12} " + ", ".join(lines) if way else "    " + ", ".join(lines))


def run(context: cases.Context, what: torture.Torture, options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory(prefix="lapilli-torture-") as folder:
        plan = what.plan(context.in_folder(Path(folder)), options.points, options.seed)
    points = [p for p in plan.points if not options.only or options.only in p.name]
    outcomes: torture.Outcomes = collections.Counter()
    failures, start, live, number, claimed = [], time.monotonic(), sys.stderr.isatty(), 0, 0
    for number, (point, came, why) in enumerate(in_order(context, what, points, options.jobs), 1):
        outcomes.update(came)
        claimed += sum(count for (_, outcome), count in came.items() if outcome == what.claim)
        if why:
            failures.append({"point": point.name, "why": why})
            print(f"FAILED {what.name}: {point.name}\n    " + why.strip().replace("\n", "\n    "), flush=True)
        if live:
            print(f"\r{what.name}: {number} of {len(points)}", end="", file=sys.stderr, flush=True)
        if what.claim and claimed >= options.points:
            break
    if live:
        print("\r", end="", file=sys.stderr)
    told = f"{claimed} {what.claim}" if what.claim else plan.counts
    print(f"{what.name:14} seed {options.seed}: {number} points, {len(failures)} failed, {time.monotonic() - start:.0f} s"
          + (f"; {told}" if told else ""), flush=True)
    show(outcomes)
    for lack in plan.left_out:
        print(f"    left out: {lack}")
    if what.claim and not options.only and claimed < options.points:
        print(f"    fewer than {options.points} points: {claimed} {what.claim}")
    sys.stdout.flush()
    return {"name": what.name, "points": number, "claimed": claimed, "seed": options.seed, "counts": plan.counts, "left_out": plan.left_out,
            "outcomes": {": ".join(filter(None, key)): count for key, count in sorted(outcomes.items())}, "failures": failures}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="\n".join(f"  {t.name:14} {t.what}" for t in torture.TORTURES))
    parser.add_argument("torture", nargs="*", help="names from the list below (default: all)")
    parser.add_argument("--build", type=Path, default=Path("build"), help="build folder (default: %(default)s)")
    parser.add_argument("--points", type=int, default=1000, help="how many at most for each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of what is left to chance (default: %(default)s)")
    parser.add_argument("--only", help="points whose names have this in them")
    parser.add_argument("--jobs", type=int, default=2, help="points at a time (default: %(default)s)")
    parser.add_argument("--driver", type=Path, help="manifest of a Vulkan driver (default: what the loader finds)")
    options = parser.parse_args()
    unknown = set(options.torture) - {t.name for t in torture.TORTURES}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    context = cases.Context(ROOT, options.build.resolve(), driver=options.driver)
    if not (context.build / "tests/faults/libfaults.so").exists():
        parser.error(f"{context.build} has no tests/faults/libfaults.so: make test-programs builds it")
    results = [run(context, t, options) for t in torture.TORTURES if not options.torture or t.name in options.torture]
    (context.build / "torture.json").write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(r["failures"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
