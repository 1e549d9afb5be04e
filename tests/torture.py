# SPDX-License-Identifier: MIT
"""Lets the machine fail recordings and replays at many points, and says what came of it.

The exit status is 0 only when no point failed. Points are the same for the same seed; --only repeats those whose names have a text in them.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from e2e import cases, torture  # noqa: E402


def run_point(context: cases.Context, what: torture.Torture, point: torture.Point) -> tuple[str, str]:
    """What came of it, and, of a failure, why."""
    with tempfile.TemporaryDirectory(prefix="lapilli-torture-") as folder:
        try:
            return what.run(context.in_folder(Path(folder)), point), ""
        except (cases.Failure, OSError) as failure:
            return "FAILED", str(failure)
        except subprocess.TimeoutExpired as late:
            return "FAILED", f"no end after {late.timeout:.0f} s: {late.cmd}"


def run(context: cases.Context, what: torture.Torture, options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory(prefix="lapilli-torture-") as folder:
        points = what.points(context.in_folder(Path(folder)), options.points, options.seed)
    points = [p for p in points if not options.only or options.only in p.name]
    outcomes: collections.Counter[str] = collections.Counter()
    failures, start, live = [], time.monotonic(), sys.stderr.isatty()
    with ThreadPoolExecutor(options.jobs) as pool:
        for number, (point, (outcome, why)) in enumerate(zip(points, pool.map(lambda p: run_point(context, what, p), points)), 1):
            outcomes[outcome] += 1
            if why:
                failures.append({"point": point.name, "why": why})
                print(f"FAILED {what.name}: {point.name}\n    " + why.strip().replace("\n", "\n    "), flush=True)
            if live:
                print(f"\r{what.name}: {number} of {len(points)}", end="", file=sys.stderr, flush=True)
    if live:
        print("\r", end="", file=sys.stderr)
    told = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    print(f"{what.name:14} {len(points)} points, {len(failures)} failed, {time.monotonic() - start:.0f} s: {told}", flush=True)
    return {"name": what.name, "points": len(points), "seed": options.seed, "outcomes": dict(outcomes), "failures": failures}


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
