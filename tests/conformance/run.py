# SPDX-License-Identifier: MIT
"""Runs cases of a Khronos conformance binary (deqp-vk) that you have: each natively twice, recorded, and its trace replayed on the same
driver and, if asked, on another. Reports what changes under the layer, what a replay does differently, and what is known of that.

A run that was interrupted goes on where it was when it is started again with the same options. Exit status: 0 nothing is new; 1 findings
that known.txt does not have; 2 usage; 3 the binary can't be asked; 128 and the signal's number: interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from conformance import sample  # noqa: E402
from conformance.binary import Binary, BinaryError  # noqa: E402
from conformance.judge import Batch, Judge, Player, Tools  # noqa: E402
from farm.process import Processes  # noqa: E402
from conformance.report import Known, Report, read_known  # noqa: E402


class Interrupted(BaseException):
    """A signal that wants the run to end."""


def batches_of(cases: list[str], size: int, depth: int) -> list[list[str]]:
    """Neighbours; a batch is never of two lines of the table, so that its time and size are those of one."""
    result: list[list[str]] = []
    for case in cases:
        if result and len(result[-1]) < size and sample.group_of(result[-1][0], depth) == sample.group_of(case, depth):
            result[-1].append(case)
        else:
            result.append([case])
    return result


class State:
    """The batches that are done, a line of JSON each, behind a line that says of which run they are."""

    def __init__(self, path: Path, identity: dict, fresh: bool) -> None:
        self.path, self.batches = path, []
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() and not fresh else []
        if lines and lines[0] == json.dumps(identity):
            for line in lines[1:]:
                try:
                    self.batches.append(Batch.from_json(json.loads(line)))
                except (ValueError, TypeError, KeyError):
                    break  # the line that an end of this program cut
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w", encoding="utf-8")
        self.write(json.dumps(identity), *(json.dumps(batch.to_json()) for batch in self.batches))

    def write(self, *lines: str) -> None:
        self.file.write("".join(f"{line}\n" for line in lines))
        self.file.flush()

    def add(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.write(json.dumps(batch.to_json()))


class Progress:
    def __init__(self, total: int, done: int, known: list[Known]) -> None:
        self.total, self.done, self.known, self.findings = total, done, known, 0
        self.start, self.first, self.shown = time.monotonic(), done, 0.0

    def look(self, batches: list[Batch]) -> None:
        self.findings += len(Report(batches, [], self.known, 1).news)

    def add(self, batch: Batch) -> None:
        self.look([batch])
        self.done += len(batch.cases)
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if now - self.shown < (0.2 if terminal else 30) and self.done < self.total:
            return
        self.shown = now
        left = (now - self.start) / max(self.done - self.first, 1) * (self.total - self.done)
        line = f"{self.done} of {self.total} cases, {self.findings} new findings, {left / 60:.0f} min left"
        print(f"\r\033[K{line}" if terminal else line, end="\n" if not terminal or self.done == self.total else "", file=sys.stderr, flush=True)


def run_batches(judge: Judge, work: list[list[str]], jobs: int, state: State, progress: Progress) -> int | None:
    """The signal that interrupted them, or None."""
    def interrupt(number: int, frame: object) -> None:
        raise Interrupted(number)

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = {number: signal.signal(number, interrupt) for number in signals}
    pool = ThreadPoolExecutor(jobs)
    pending: set[Future[Batch]] = set()
    try:
        pending = {pool.submit(judge.judge, names) for names in work}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                batch = future.result()
                state.add(batch)
                progress.add(batch)
    except Interrupted as interrupted:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        pool.shutdown(wait=False, cancel_futures=True)
        judge.tools.binary.processes.stop()
        pool.shutdown(wait=True)
        return interrupted.args[0]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        judge.tools.binary.processes.stop()
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    pool.shutdown()
    return None


def driver_of(path: Path | None) -> Path | None:
    """A manifest, or the one in a folder of scripts/fetch-driver.sh."""
    if path is None:
        return None
    icd = (path / "icd.json" if path.is_dir() else path).resolve()
    if not icd.is_file():
        raise ValueError(f"{icd} is not there")
    return icd


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deqp", type=Path, required=True, help="the binary; its data lies beside it")
    parser.add_argument("--cases", type=Path, help="a file of names, one a line; default: all that the binary lists")
    parser.add_argument("--sample", type=int, help="how many of them, chosen at random, the same number of each group first; default: all")
    parser.add_argument("--seed", type=int, help="default: of today, and printed")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--driver", type=Path, help="a driver's manifest, or a folder of scripts/fetch-driver.sh, for which --build is linked")
    parser.add_argument("--other-driver", type=Path, help="replay on this one, too")
    parser.add_argument("--other-build", type=Path, help="with lapilli-replay for it, where it is a folder of scripts/fetch-driver.sh; default: --build")
    parser.add_argument("--tolerance", type=int, help="for the other driver: lapilli replay --tolerance")
    parser.add_argument("--verify", choices=["host", "all"], default="host", help="all: lapilli capture --verify=all")
    parser.add_argument("--batch", type=int, default=16, help="cases in a process (16)")
    parser.add_argument("--jobs", type=int, default=max((os.cpu_count() or 1) // 2, 1), help="batches at a time (half as many as processors)")
    parser.add_argument("--time-out", type=float, default=60, help="seconds for a case natively (60)")
    parser.add_argument("--depth", type=int, default=2, help="parts of a name that a line of the table stands for (2)")
    parser.add_argument("--argument", action="append", default=[], help="for the binary, as --deqp-vk-device-id=2")
    parser.add_argument("--known", type=Path, default=Path(__file__).with_name("known.txt"), help="what is known")
    parser.add_argument("--out", type=Path, help="a folder for the state, the report and evidence; default: BUILD/conformance")
    parser.add_argument("--keep", type=int, default=50, help="traces that are kept as evidence, at most (50)")
    parser.add_argument("--json", type=Path, help="the report as JSON; default: report.json in --out")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has done")
    return parser.parse_args()


def main() -> int:
    options = parse()
    try:
        known = read_known(options.known)
        driver, other = driver_of(options.driver), driver_of(options.other_driver)
    except (OSError, ValueError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    if options.sample is not None and options.sample < 1 or options.batch < 1 or options.jobs < 1:
        print("conformance: --sample, --batch and --jobs are at least 1", file=sys.stderr)
        return 2
    build = options.build.resolve()
    out = (options.out or build / "conformance").resolve()
    seed = int(time.strftime("%Y%m%d")) if options.seed is None else options.seed
    folder = options.driver.resolve() if options.driver and options.driver.is_dir() else None
    prefix = [str(folder / "ld.so"), "--library-path", str(folder / "lib")] if folder and (folder / "ld.so").exists() else []
    binary = Binary(options.deqp.resolve(), Processes(), prefix, driver, options.argument, options.time_out)
    try:
        listed = options.cases.read_text(encoding="utf-8").split() if options.cases else binary.list()
        cases = sample.choose(listed, options.sample, seed)
        if not cases:
            raise BinaryError(f"{options.cases} has no cases")
        stamp = binary.path.stat()
    except (BinaryError, OSError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 3

    players = [Player("here", build / "bin/lapilli-replay", driver)]
    if other:
        players.append(Player("there", (options.other_build or build).resolve() / "bin/lapilli-replay", other, options.tolerance))
    verify = ["--verify=all" if options.verify == "all" else "--verify", *(["--keep-bytes"] if options.tolerance is not None else [])]
    tools = Tools(binary, [str(build / "bin/lapilli-capture"), "--quiet", *verify], [str(build / "bin/lapilli-compare-checks")], players,
                  out / "evidence", options.keep)
    identity = {"cases": hashlib.blake2b("\n".join(cases).encode()).hexdigest(), "binary": [str(binary.path), stamp.st_size, int(stamp.st_mtime)],
                "driver": str(driver), "build": str(build), "other": [str(players[-1].program), str(other)], "verify": verify, "arguments": binary.arguments,
                "tolerance": options.tolerance}
    state = State(out / "state.jsonl", identity, options.fresh)
    done = {case.name for batch in state.batches for case in batch.cases}
    left = [case for case in cases if case not in done]
    print(f"conformance: {len(cases)} cases" + (f", seed {seed}" if options.sample is not None else "") + (f", {len(done)} of them done before" if done else "")
          + f"; state, report and evidence in {out}", flush=True)

    progress = Progress(len(cases), len(done), known)
    progress.look(state.batches)
    try:
        number = run_batches(Judge(tools), batches_of(left, options.batch, options.depth), options.jobs, state, progress)
    except (BinaryError, OSError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 3

    report = Report(state.batches, [player.name for player in players], read_known(options.known), options.depth)
    print(report.text(), flush=True)
    found = {"seed": seed, "sample": options.sample, **identity, **report.to_json()}
    (options.json or out / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if number:
        print(f"interrupted by {signal.Signals(number).name}: {len(cases) - report.total.cases} of {len(cases)} cases were not run; the same command goes on")
        return 128 + number
    return 1 if report.news else 0


if __name__ == "__main__":
    sys.exit(main())
