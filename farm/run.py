# SPDX-License-Identifier: MIT
"""lapilli farm run: makes the plan, or finds it; lets an engine play what has no result yet; plays failures again; reports."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from farm import matrix as matrices
from farm import plan as plans
from farm import policy, publish, report, verdict
from farm.cache import Known
from farm.engine import Cancelled, Engine, History, Refused
from farm.engine_local import LocalEngine
from farm.engine_slurm import SlurmEngine
from farm.work import GOOD, Interrupted, Tools, Work, interrupt, signals

SHOWN_SECONDS = 0.2
TOLD_SECONDS = 30
MISSING, NO_TRACE, USAGE = 4, 3, 2


def say(text: str) -> None:
    print(f"lapilli-farm: {text}", file=sys.stderr, flush=True)


class Progress:
    """One line: rewritten on a terminal, now and then elsewhere."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.shown = time.monotonic() if not self.terminal else 0.0
        self.open = False

    def show(self, text: str, last: bool = False) -> None:
        now = time.monotonic()
        if not last and now - self.shown < (SHOWN_SECONDS if self.terminal else TOLD_SECONDS):
            return
        self.shown, self.open = now, self.terminal and not last
        print(f"\r\033[K{text}" if self.terminal else text, end="" if self.open else "\n", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        if self.open:
            print("\r\033[K", end="", file=sys.stderr)
        say(text)


def span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@dataclass
class Counts:
    """Of the runs that are asked for: how far it is, and what came of them."""

    progress: Progress
    json: bool = False
    total: int = 0
    done: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    start: float = field(default_factory=time.monotonic)
    first: int = 0

    def add(self, line: dict, new: bool = True) -> None:
        self.done += 1
        self.outcomes[line["outcome"]] += 1
        if not new:
            self.first += 1
            return
        if self.json:
            print(publish.dumps(line), flush=True)
        self.show()

    def bad(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome not in GOOD)

    def show(self, last: bool = False) -> None:
        fresh, took = self.done - self.first, time.monotonic() - self.start
        left = took / fresh * (self.total - self.done) if fresh else 0
        ends = f", ends about {time.strftime('%H:%M:%S', time.localtime(time.time() + left))} (in {span(left)})" if fresh and self.done < self.total and not last else ""
        self.progress.show(f"{self.done} of {self.total} runs, {self.bad()} not good{ends}", last)

    def summary(self) -> str:
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.most_common())
        return f"{self.done} of {self.total} runs have a result" + (f": {outcomes}" if outcomes else "")


@dataclass
class Farm:
    results: Path
    plan: plans.Plan
    counts: Counts
    engine: Engine
    runs: list[dict]
    baseline: Path | None

    def repeats(self) -> list[dict]:
        """The runs that failures cause. The frame that differs first is shown."""
        if not self.plan.matrix.repeat_failures:
            return []
        failing = verdict.failing_frames(self.results, self.baseline)
        known = plans.read_lines(self.results / "repeats.ndjson")
        keys, lines = {line["key"] for line in known}, []
        for run in self.runs:
            if (run["trace"]["name"], run["device"]) in failing and run["repetition"] == 0:
                frame = failing[run["trace"]["name"], run["device"]]
                for repetition in range(self.plan.matrix.repeat, self.plan.matrix.repeat + self.plan.matrix.repeat_failures):
                    again = self.plan.run(run["trace"], self.engine_device(run["device"]), repetition) | ({"frame": frame} if frame else {})
                    if again["key"] not in keys:
                        lines.append(again)
        if lines:
            publish.replace(self.results / "repeats.ndjson", "".join(publish.dumps(line) + "\n" for line in [*known, *lines]).encode())
        return [*known, *lines]

    def engine_device(self, name: str) -> matrices.Device:
        return next(device for device in self.plan.matrix.device if device.name == name)

    def play(self, runs: list[dict]) -> None:
        self.counts.total += len(runs)
        left = {run["key"]: run for run in runs}
        for key, line in publish.present(self.results, set(left)).items():
            self.counts.add(line, new=False)
            self.engine.history.add(line)
            del left[key]
        if left:
            self.engine.play(list(left.values()))


def make_plan(args: argparse.Namespace, data: dict, tools: Tools, progress: Progress) -> tuple[plans.Plan, list[dict], list[plans.Trace]]:
    try:
        version = tools.version()
    except (OSError, IndexError) as error:
        raise plans.PlanError(f"lapilli-replay can't be started: {error}", 127) from error
    plan = plans.Plan(matrices.read(data), version, plans.read_patterns(args.skips) if args.skips else [])
    traces = plans.find(Path(args.traces))
    plans.look(traces, tools.info, Known(version), lambda done, total, read: progress.show(f"hashing: {done} of {total} traces, {read >> 20} MiB", done == total and progress.open))
    if not any(not trace.unreadable for trace in traces):
        raise plans.PlanError(f"{args.traces}: there is no readable trace" + (f"; {traces[0].name!r}: {traces[0].unreadable}" if traces else ""), NO_TRACE)
    return plan, plan.lines(traces), traces


def keep_plan(results: Path, farm: dict, lines: list[dict]) -> bool:
    """Writes the plan, or compares it with that which is there; whether it is new."""
    new = publish.publish(results / "plan.ndjson", "".join(publish.dumps(line) + "\n" for line in lines).encode())
    different = None if new else plans.same(lines, plans.read_lines(results / "plan.ndjson"))
    if not different and not publish.publish(results / "farm.json", (publish.dumps(farm) + "\n").encode()):
        there = json.loads((results / "farm.json").read_bytes())
        if any(there[key] != farm[key] for key in ("matrix", "version", "label")):
            different = "another matrix is there"
    if different:
        raise plans.PlanError(f"{results}: {different}; another results folder is needed", USAGE)
    return new


def run(args: argparse.Namespace, tools: Tools) -> int:
    try:
        with signals(interrupt):
            return prepare(args, tools)
    except Interrupted as interrupted:
        say("interrupted; the same command goes on from here")
        return 128 + interrupted.args[0]


def prepare(args: argparse.Namespace, tools: Tools) -> int:
    progress = Progress()
    results = Path(args.results).absolute()
    try:
        data = matrices.load(Path(args.matrix))
        policy.read_policy(args.policy)  # what would be wrong in the end is said now
        policy.read_expected(args.expect, args.flakes, args.skips)
        for folder in filter(None, (args.baseline, args.history)):
            if not folder.is_dir():
                raise policy.Wrong(f"{folder} is no folder")
        plan, lines, traces = make_plan(args, data, tools, progress)
        results.mkdir(parents=True, exist_ok=True)
        why = publish.has_room(results)
        if why and not (results / "plan.ndjson").exists():
            raise plans.PlanError(f"{why}: results are made there by link()", USAGE)
        baseline = args.baseline.absolute() if args.baseline else None
        new = keep_plan(results, {"label": plan.matrix.label, "version": plan.version, "traces": args.traces, "matrix": data,
                                  "baseline": str(baseline) if baseline else None, "created": time.time()}, lines)
    except (matrices.MatrixError, policy.Wrong) as error:
        say(str(error))
        return USAGE
    except plans.PlanError as error:
        progress.say(str(error))
        return error.status
    except (OSError, publish.NoRoom) as error:
        progress.say(str(error))
        return USAGE
    history, counts = History(), Counts(progress, args.json)
    if baseline:
        history.add_file(baseline / "results.ndjson")

    def done(line: dict) -> None:
        history.add(line)
        counts.add(line)
    engine = make_engine(args, results, plan, tools, traces, new, history, done, progress)
    return play_all(args, Farm(results, plan, counts, engine, [line for line in lines if "key" in line], baseline))


def make_engine(args, results, plan, tools, traces, new, history, done, progress) -> Engine:
    common = (results, args.attempts, history, done, progress.say)
    if args.engine == "slurm":
        return SlurmEngine(*common, matrix=plan.matrix, program=tools.farm, jobs=args.jobs)
    planned = {str(trace.path): trace.of for trace in traces if trace.of}
    return LocalEngine(*common, work=Work(results, plan.matrix, plan.version, tools, publish.HOST, planned=planned), jobs=args.jobs, shift=not new)


def play_all(args: argparse.Namespace, farm: Farm) -> int:
    ended, status = "", 0
    try:
        farm.play(farm.runs)
        farm.play(farm.repeats())
    except Interrupted as interrupted:
        ended, status = "interrupted; the same command goes on from here" + farm.engine.goes_on, 128 + interrupted.args[0]
    except Cancelled:
        ended, status = "cancelled; the same command goes on from here", MISSING
    except Refused as error:
        ended, status = str(error), USAGE
    except publish.NoRoom as error:
        ended, status = str(error), MISSING
    farm.counts.show(last=True)
    say(farm.counts.summary())
    for note in [*farm.engine.notes, *([ended] if ended else [])]:
        say(note)
    if status:
        return status
    return report.make(farm.results, args)
