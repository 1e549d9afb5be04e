# SPDX-License-Identifier: MIT
"""Runs tests and counts them: unit programs, tests of the generator, tests of the runners, and the end-to-end cases of tests/e2e.

A test that fails runs once more, alone, when the others are done. If it passes then, it is called FLAKY, with what it said, and
counts as passed, unless --strict is given.

The last line is always `N passed, N failed, N skipped`. Exit status: 0 all passed; 1 a test failed, or nothing passed, or with
--skips a test was skipped that the list does not foresee; 2 usage; 128 and the signal's number: interrupted.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import skips  # noqa: E402
import surroundings  # noqa: E402
import tiers  # noqa: E402
from e2e import cases  # noqa: E402

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SUITES = ["unit", "codegen", "runner", "e2e"]
# They come first, so that no processor waits for them in the end.
LONGEST = re.compile(r"runner/|torture/|unit/test_(memtrack_model|trace_(tail|interrupted|finish|journal)|launch)$|queues/a-host-event-set-too-late")


@dataclass
class Outcome:
    name: str
    passed: int
    failed: int
    skipped: int
    output: str
    seconds: float = 0


@dataclass
class Totals:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    skip_lines: list[tuple[str, str]] = field(default_factory=list)
    again: dict[str, Outcome] = field(default_factory=dict)  # what failed, and is to run once more
    flaky: int = 0

    def add(self, outcome: Outcome, strict: bool = False) -> None:
        """Counts an outcome, and prints it. One that failed counts when it has run once more."""
        first = self.again.pop(outcome.name, None)
        self.seconds[outcome.name] = outcome.seconds
        if outcome.failed and not first:
            self.again[outcome.name] = outcome
        else:
            self.count(outcome, first is not None and strict)
        self.show(outcome)
        if first and not outcome.failed:
            self.flaky += 1
            print(f"FLAKY {outcome.name}: it failed beside others, and passed alone. Beside others it said:\n{indented(first.output)}\nalone:\n{indented(outcome.output)}", flush=True)

    def count(self, outcome: Outcome, is_failure: bool) -> None:
        self.passed, self.failed, self.skipped = self.passed + outcome.passed, self.failed + (outcome.failed or is_failure), self.skipped + outcome.skipped
        self.skip_lines += skips.skips_in(outcome.name, outcome.output)

    def give_up(self) -> None:
        """What has not run once more has failed."""
        for outcome in self.again.values():
            self.count(outcome, False)

    def show(self, outcome: Outcome) -> None:
        state = "FAIL" if outcome.failed else "skip" if not outcome.passed else "ok"
        print(f"{state:4} {outcome.name} ({outcome.passed} passed, {outcome.seconds:.1f} s)", flush=True)
        for line in outcome.output.splitlines():
            if outcome.failed or line.startswith("skip "):
                print(f"     {line}")


def indented(text: str) -> str:
    return "\n".join(f"     {line}" for line in text.splitlines() or ["nothing"])


class Interrupted(BaseException):
    """A signal that wants the tests to end."""


def run_counted(name: str, command: list[str]) -> Outcome:
    """A program whose last line counts its tests."""
    try:
        with tempfile.TemporaryDirectory(prefix="lapilli-home-") as home:
            done = subprocess.run(command, cwd=ROOT, env={**os.environ, **cases.private(Path(home))}, capture_output=True, text=True, errors="replace",
                                  timeout=cases.patience(600), check=False)
        output, status = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = f"{(late.stdout or b'').decode(errors='replace')}\nno end after {late.timeout:.0f} s", 1
    found = COUNTS.findall(output)
    if not found:
        return Outcome(name, 0, 1, 0, output + f"\n{name}: no count of tests (exit status {status})")
    passed, failed, skipped = map(int, found[-1])
    if status != 0 and failed == 0:
        failed, output = 1, output + f"\n{name}: exit status {status}"
    return Outcome(name, passed, failed, skipped, output)


def run_unit(name: str, program: Path) -> Outcome:
    if not program.exists():
        return Outcome(name, 0, 1, 0, f"{program} is not built: make test-programs")
    return run_counted(name, [str(program)])


def end_leftovers(home: str) -> None:
    """Ends the programs of a case that has failed: some never end by themselves. They are known by what the environment says."""
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"\0HOME={home}/".encode() in b"\0" + environ.read_bytes():
                os.kill(int(environ.parent.name), signal.SIGKILL)
        except OSError:
            pass


def run_case(case: cases.Case, context: cases.Context) -> Outcome:
    try:
        with tempfile.TemporaryDirectory(prefix="lapilli-test-") as folder, tempfile.TemporaryDirectory(prefix="lapilli-home-") as home:
            try:
                case.run(context.in_folder(Path(folder), Path(home)))
            except BaseException:
                end_leftovers(home)
                raise
    except cases.Skip as skip:
        return Outcome(case.name, 0, 0, 1, f"skip {case.name}: {skip}")
    except cases.Failure as failure:
        return Outcome(case.name, 0, 1, 0, str(failure))
    except subprocess.TimeoutExpired as late:
        return Outcome(case.name, 0, 1, 0, f"no end after {late.timeout:.0f} s: {late.cmd}")
    return Outcome(case.name, 1, 0, 0, "")


def run_test(name: str, test: Callable[[str], Outcome]) -> Outcome:
    """Whatever a test raises is its failure."""
    start = time.monotonic()
    try:
        outcome = test(name)
    except BaseException:  # also SystemExit: on this thread nothing else would hear of it
        outcome = Outcome(name, 0, 1, 0, traceback.format_exc())
    outcome.seconds = time.monotonic() - start
    return outcome


def missing_driver(build: Path, folder: Path) -> str | None:
    """Why the programs of this build can't run on the driver in a folder of scripts/fetch-driver.sh."""
    if not (folder / "icd.json").exists():
        return f"{folder} is not there: scripts/fetch-driver.sh makes it"
    with (build / "bin/lapilli-replay").open("rb") as program:
        if str(folder / "ld.so").encode() not in program.read(4096):
            return f"{build} is not linked for it: make DRIVER_DIR={folder}"
    return None


def by_family(seconds: dict[str, float]) -> list[tuple[str, tuple[float, int]]]:
    """How long the tests took whose names begin alike (all but the last part), and how many they are; longest first."""
    families: dict[str, tuple[float, int]] = {}
    for name, taken in seconds.items():
        family = name.rpartition("/")[0]
        total, count = families.get(family, (0.0, 0))
        families[family] = total + taken, count + 1
    return sorted(families.items(), key=lambda item: -item[1][0])


def skipping(reason: str) -> Callable[[str], Outcome]:
    return lambda name: Outcome(name, 0, 0, 1, f"skip {name}: {reason}")


def end_children() -> None:
    """Ends the processes that cases have started, whose threads then go on, and end."""
    for task in Path("/proc/self/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            try:
                os.kill(int(child), signal.SIGKILL)
            except OSError:
                pass


def run_all(work: list[tuple[str, Callable[[str], Outcome]]], jobs: int, totals: Totals, strict: bool) -> int | None:
    """The signal that has interrupted the tests, or None."""
    def interrupt(number: int, frame: object) -> None:
        raise Interrupted(number)

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        signal.signal(number, interrupt)
    pool = ThreadPoolExecutor(jobs)
    futures: list[Future[Outcome]] = []
    try:
        futures = [pool.submit(run_test, name, test) for name, test in work]
        for future in as_completed(futures):
            totals.add(future.result())
        if totals.again:
            print(f"{len(totals.again)} of {len(work)} failed, and run once more, alone:", flush=True)
        for name, test in [(name, test) for name, test in work if name in totals.again]:
            totals.add(pool.submit(run_test, name, test).result(), strict)
    except Interrupted as interrupted:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        pool.shutdown(wait=False, cancel_futures=True)
        print(f"interrupted by {signal.Signals(interrupted.args[0]).name}: {len(work) - len(totals.seconds)} of {len(work)} tests were not run to their end")
        for _ in range(100):
            end_children()
            if threading.active_count() == 1:
                break
            time.sleep(0.1)
        return interrupted.args[0]
    finally:
        totals.give_up()
    return None


def collect(options: argparse.Namespace, build: Path) -> list[tuple[str, Callable[[str], Outcome]]]:
    """Names of tests, and what runs each."""
    suites = options.suite or SUITES
    driver_dir, lack = options.driver_dir, None
    if driver_dir:
        driver_dir = driver_dir.resolve()
        lack = missing_driver(build, driver_dir)
        os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = str(driver_dir / "icd.json")
        os.environ["VK_LAYER_PATH"] = str(driver_dir / "layers")

    work = []
    if "unit" in suites:
        # By their sources: a program whose source is gone may still lie in the build folder.
        for source in sorted((ROOT / "tests/unit").glob("test_*.c")):
            work.append((f"unit/{source.stem}", lambda name, p=build / "tests/unit" / source.stem: run_unit(name, p)))
    if "codegen" in suites:
        for script in sorted((ROOT / "tests/codegen").glob("test_*.py")):
            work.append((f"codegen/{script.stem}", lambda name, s=script: run_counted(name, [sys.executable, str(s)])))
    if "runner" in suites:
        for script in sorted((ROOT / "tests").glob("test_*.py")):
            work.append((f"runner/{script.stem}", lambda name, s=script: run_counted(name, [sys.executable, str(s)])))
    if "e2e" in suites:
        context = cases.Context(ROOT, build, driver_dir=driver_dir, others=tuple(build.resolve() for build in options.other))
        for case in cases.all_cases(context):
            work.append((case.name, lambda name, c=case: run_case(c, context)))
    names = [name for name, _ in work]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"several tests have one name: {', '.join(sorted(twice))}")
    wanted = tiers.choose(names, options.tier)
    chosen = [(name, skipping(lack) if lack else test) for name, test in work if name in wanted and re.search(options.match, name)]
    return sorted(chosen, key=lambda item: not LONGEST.match(item[0]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--driver-dir", type=Path, default=os.environ.get("LAPILLI_DRIVER_DIR"),
                        help="run on the driver that scripts/fetch-driver.sh put there, instead of the system's; the build must be "
                             "linked for it. By default the environment's LAPILLI_DRIVER_DIR")
    parser.add_argument("--other", type=Path, action="append", default=[],
                        help="another build folder, for another machine: all play each other's traces (again for each)")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="at a time (default: one more than processors, for some of them wait)")
    parser.add_argument("--suite", choices=SUITES, action="append", help="only these; all by default")
    parser.add_argument("--match", default="", help="only tests whose name matches this regular expression")
    parser.add_argument("--tier", choices=tiers.TIERS, default="all", help="as many tests as tests/tiers.py says (default: all)")
    parser.add_argument("--patience", type=float, default=1, metavar="N", help="time limits are N times as long: for programs that are emulated")
    parser.add_argument("--strict", action="store_true", help="a test that fails, and passes when it runs again, has failed")
    parser.add_argument("--durations", type=int, default=10, metavar="N", help="name the N slowest tests (default: 10)")
    parser.add_argument("--skips", type=Path, help="a list of foreseen skips (tests/skips.txt): any other one counts as a failure")
    parser.add_argument("--list", action="store_true", help="print the names of tests, and run none")
    options = parser.parse_args()
    surroundings.clean()
    slowness = surroundings.slowness(options.jobs)
    cases.PATIENCE = slowness * options.patience
    build, start, totals, number = options.build.resolve(), time.monotonic(), Totals(), None
    try:
        foreseen = skips.read(options.skips) if options.skips else None
        work = collect(options, build)
        if options.list:
            print("\n".join(name for name, _ in work))
            return 0
        number = run_all(work, options.jobs, totals, options.strict)
        if foreseen is not None and number is None:
            machine = skips.Machine(build, options.driver_dir)
            unforeseen = skips.report(foreseen, totals.skip_lines, [name for name, _ in work], machine)
            totals.failed, totals.skipped = totals.failed + unforeseen, totals.skipped - unforeseen
    except Exception:  # nothing can be said of any test
        traceback.print_exc()
        totals.failed += 1
    slowest = sorted(totals.seconds.items(), key=lambda item: -item[1])[:options.durations]
    print("seconds by family: " + ", ".join(f"{family} {seconds:.0f} ({count})" for family, (seconds, count) in by_family(totals.seconds)))
    print(f"in {time.monotonic() - start:.0f} s; slowest: {', '.join(f'{name} {seconds:.0f} s' for name, seconds in slowest)}")
    if slowness > 1:
        print(f"the machine was slow, or busy, at the start: time limits were {slowness:.1f} times as long")
    if totals.flaky:
        print(f"{totals.flaky} passed only when they ran again, alone")
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped", flush=True)
    if number is not None:
        os._exit(128 + number)  # without waiting for what did not end
    return 0 if totals.passed and not totals.failed else 1


if __name__ == "__main__":
    sys.exit(main())
