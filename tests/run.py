# SPDX-License-Identifier: MIT
"""Runs all tests and counts them: unit programs, the generator's tests and the end-to-end cases of tests/e2e.

The last line is `N passed, N failed, N skipped`; the exit status is 0 only when nothing failed and something passed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from e2e import cases  # noqa: E402

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)


@dataclass
class Outcome:
    name: str
    passed: int
    failed: int
    skipped: int
    output: str
    seconds: float


def run_counted(name: str, command: list[str], environment: dict[str, str]) -> Outcome:
    """A program whose last line counts its tests."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace",
                              timeout=600, check=False)
        output, status = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = f"{late.stdout or ''}\nno end after {late.timeout:.0f} s", 1
    found = COUNTS.findall(output)
    if not found:
        return Outcome(name, 0, 1, 0, output + f"\n{name}: no count of tests (exit status {status})", time.monotonic() - start)
    passed, failed, skipped = map(int, found[-1])
    if status != 0 and failed == 0:
        failed, output = 1, output + f"\n{name}: exit status {status}"
    return Outcome(name, passed, failed, skipped, output, time.monotonic() - start)


def run_case(case: cases.Case, context: cases.Context) -> Outcome:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lapilli-test-") as folder:
        try:
            case.run(context.in_folder(Path(folder)))
        except cases.Skip as skip:
            return Outcome(case.name, 0, 0, 1, f"skip {case.name}: {skip}", time.monotonic() - start)
        except cases.Failure as failure:
            return Outcome(case.name, 0, 1, 0, str(failure), time.monotonic() - start)
        except subprocess.TimeoutExpired as late:
            return Outcome(case.name, 0, 1, 0, f"no end after {late.timeout:.0f} s: {late.cmd}", time.monotonic() - start)
    return Outcome(case.name, 1, 0, 0, "", time.monotonic() - start)


def missing_driver(build: Path, folder: Path) -> str | None:
    """Why the programs of this build can't run on the driver in a folder of scripts/fetch-driver.sh."""
    if not (folder / "icd.json").exists():
        return f"{folder} is not there: scripts/fetch-driver.sh makes it"
    with (build / "bin/lapilli-replay").open("rb") as program:
        if str(folder / "ld.so").encode() not in program.read(4096):
            return f"{build} is not linked for it: make DRIVER_DIR={folder}"
    return None


def skipping(reason: str) -> Callable[[str], Outcome]:
    return lambda name: Outcome(name, 0, 0, 1, f"skip {name}: {reason}", 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--driver-dir", type=Path, default=os.environ.get("LAPILLI_DRIVER_DIR"),
                        help="run on the driver that scripts/fetch-driver.sh put there, instead of the system's; the build must be "
                             "linked for it. By default the environment's LAPILLI_DRIVER_DIR")
    parser.add_argument("--other", type=Path, help="another build folder, for words of another size: both play each other's traces")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="at a time (default: one more than processors, for some of them wait)")
    parser.add_argument("--suite", choices=["unit", "codegen", "e2e"], action="append", help="only these; all by default")
    parser.add_argument("--match", default="", help="only tests whose name matches this regular expression")
    options = parser.parse_args()
    build = options.build.resolve()
    suites = options.suite or ["unit", "codegen", "e2e"]
    driver_dir, lack = options.driver_dir, None
    if driver_dir:
        driver_dir = driver_dir.resolve()
        lack = missing_driver(build, driver_dir)
        os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = str(driver_dir / "icd.json")
        os.environ["VK_LAYER_PATH"] = str(driver_dir / "layers")

    work = []
    if "unit" in suites:
        for program in sorted((build / "tests/unit").glob("test_*")):
            if program.is_file() and os.access(program, os.X_OK) and not program.suffix:
                work.append((f"unit/{program.name}", lambda name, p=program: run_counted(name, [str(p)], dict(os.environ))))
    if "codegen" in suites:
        for script in sorted((ROOT / "tests/codegen").glob("test_*.py")):
            work.append((f"codegen/{script.stem}", lambda name, s=script: run_counted(name, [sys.executable, str(s)], dict(os.environ))))
    if "e2e" in suites:
        context = cases.Context(ROOT, build, driver_dir=driver_dir, other=options.other and options.other.resolve())
        for case in cases.all_cases(context):
            work.append((case.name, lambda name, c=case: run_case(c, context)))
    work = [(name, skipping(lack) if lack else run) for name, run in work if re.search(options.match, name)]

    start = time.monotonic()
    passed = failed = skipped = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(run, name) for name, run in work]:
            outcome = future.result()
            passed, failed, skipped = passed + outcome.passed, failed + outcome.failed, skipped + outcome.skipped
            state = "FAIL" if outcome.failed else "skip" if not outcome.passed else "ok"
            print(f"{state:4} {outcome.name} ({outcome.passed} passed, {outcome.seconds:.1f} s)", flush=True)
            for line in outcome.output.splitlines():
                if outcome.failed or line.startswith("skip "):
                    print(f"     {line}")
    print(f"in {time.monotonic() - start:.0f} s:")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
