# SPDX-License-Identifier: MIT
"""Every program, cut in every way, on every driver: each is recorded whole with all checks, then a part of it is had by each way.

The part has the very hashes that the whole has of these frames, gives them in a replay, and is played on each other driver: where the
whole gives there what it gave here, the part does, byte by byte. (Elsewhere what it begins with is of the driver that recorded it.) Prints a line for each program and recorder that is not as it should be, and a table of
the ways. The exit status is 0 only if nothing fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from e2e import cases, draws, drivers  # noqa: E402
from e2e.compare import Dump  # noqa: E402
from e2e.contents import RACES  # noqa: E402
from e2e.parts import checks_of, part_of, refusal_of, varies  # noqa: E402
from e2e.trim import WAITS_FOR_LATER  # noqa: E402

SUBMITS = ("vkQueueSubmit", "vkQueueSubmit2")
NOTHING = "nothing to compare"
MAY_DIFFER = "the result may differ"  # a replay on a driver that does not promise what the program asks for


@dataclass
class Part:
    """A trace of some frames of the whole one, and where these lie in both, from 1."""

    way: str
    file: str
    first: int
    last: int
    own_first: int = 1


@dataclass
class Result:
    program: str
    recorder: str
    ways: dict[str, int] = field(default_factory=dict)  # checks of parts that are as in the whole
    elsewhere: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Row:
    """A program on the machine that records it, in a folder."""

    def __init__(self, context: cases.Context, program: cases.Program, recorder: drivers.Machine, others: list[drivers.Machine]):
        self.context, self.program, self.recorder, self.others = context, program, recorder, others
        self.result = Result(program.name, recorder.name)
        self.varies = varies(program)

    def run_on(self, machine: drivers.Machine, command: list[str]) -> cases.Done:
        return machine.context(self.context).run(command, env=machine.env(self.context), expect=None)

    def capture(self, file: str, *options: str) -> cases.Done:
        return self.run_on(self.recorder, [self.context.program("lapilli"), "capture", "--verify=all", "-o", file, *options, "--", *self.program.command])

    def replay(self, machine: drivers.Machine, file: str, *options: str) -> cases.Done:
        return self.run_on(machine, [self.context.program("lapilli-replay"), "--verify", "--present", "headless", *options, file])

    def refusal(self, done: cases.Done) -> bool:
        """Whether no part could begin, for a reason that the documents have."""
        sentence = refusal_of(self.program)
        return bool(sentence) and sentence in done.err

    # ---- the ways ----

    def parts(self, frames: int) -> Iterator[Part]:
        first, last = part_of(frames)
        yield from self.recorded("frames", "--frames", f"{first}-{last}")
        (self.context.folder / "now").touch()
        yield from self.recorded("trigger", "--trigger", f"file:{self.context.folder / 'now'}", "--trigger-frames", "2")
        yield from self.recorded("keep-last", "--keep-last", f"{max(frames // 3, 1)}f")
        for way in ("--no-gpu", "--gpu"):
            yield from self.trimmed(way, first, last)

    def recorded(self, way: str, *options: str) -> Iterator[Part]:
        done = self.capture(f"{way}.lapilli", *options)
        files = sorted(path.name for path in self.context.folder.glob(f"{way}*.lapilli"))
        if done.status != 0:
            self.result.failures.append(f"{way}: the program ends with {done.status}: {done.text[-300:]}")
        elif not files and self.refusal(done):
            self.result.notes.append(f"{way}: no part can begin")
        elif not files:
            self.result.failures.append(f"{way}: there is no trace: {done.err[-300:]}")
        for file in files:
            info = self.context.info(file)
            first = info["part"]["first_frame"] if info.get("part") else 1
            if info["complete"] is not True:
                self.result.failures.append(f"{way}: {file} is not complete: {info['stopped']}")
            else:
                yield Part(way, file, first, first + info["frames"] - 1)

    def trimmed(self, way: str, first: int, last: int) -> Iterator[Part]:
        file = f"trim{way}.cut"
        done = self.run_on(self.recorder, [self.context.program("lapilli"), "trim", way, "--frames", f"{first}-{last}", "-o", file, "whole.lapilli"])
        if done.status == 5 and WAITS_FOR_LATER in done.err:
            self.result.notes.append(f"trim {way}: {WAITS_FOR_LATER}")
            return
        if done.status != 0:
            self.result.failures.append(f"trim {way} ends with {done.status}: {done.text[-300:]}")
            return
        yield Part(f"trim {way}", file, first, last, self.context.info(file)["trimmed_first_frame"])

    # ---- what they are compared by ----

    def compare(self, part: Part, whole: list[dict]) -> None:
        own = [line for line in self.context.print_lines(part.file) if line["frame"] is not None and line["frame"] >= part.own_first]
        # The program may end behind the part's last frame, which then has no end in either.
        part.last = max([part.last, *(part.first + line["frame"] - part.own_first for line in own)])
        wanted = checks_of([line for line in whole if line["frame"] is not None and part.first <= line["frame"] <= part.last])
        found = checks_of(own)
        if part.way == "keep-last":
            wanted, found = [unnumbered(check) for check in wanted], [unnumbered(check) for check in found]
        rest = iter(wanted)
        if not self.varies and not all(check in rest for check in found):
            self.result.failures.append(f"{part.way}: {part.file} has {len(found)} checks, the whole {len(wanted)}; {sum(c in wanted for c in found)} are the same")
            return
        done = self.replay(self.recorder, part.file)
        if done.status == 1 and self.program.name in RACES:
            self.result.notes.append(f"{part.way}: its threads race with the device")
            return
        if done.status != 0 and not (done.status == 1 and NOTHING in done.err):
            self.result.failures.append(f"{part.way}: the replay of {part.file} ends with {done.status}: {done.text[-500:]}")
            return
        self.result.ways[part.way] = self.result.ways.get(part.way, 0) + len(found)

    def dump(self, machine: drivers.Machine, file: str) -> tuple[cases.Done, list[tuple]]:
        folder = f"{file}.{machine.name.replace('/', '-')}"
        done = self.replay(machine, file, "--dump-checks", folder)
        if done.status not in (0, 1) or NOTHING in done.err:
            return done, []
        dump = Dump(self.context.folder / folder)
        left_out = ("check", "packet", "same", "offset", "frame")
        return done, [(check["frame"], json.dumps({k: v for k, v in check.items() if k not in left_out}, sort_keys=True), dump.data(check).tobytes())
                      for check in dump.checks]

    def runs_on(self, machine: drivers.Machine) -> bool:
        try:
            cases.prepare(machine.context(self.context), self.program)
        except cases.Skip:
            return False
        return True

    def compare_elsewhere(self, machine: drivers.Machine, parts: list[Part]) -> None:
        plays, whole = self.dump(machine, "whole.lapilli")
        if plays.status not in (0, 1) or not whole:
            return  # it can't be played there as a whole either
        for part in parts:
            done, checks = self.dump(machine, part.file)
            if done.status not in (0, 1):
                self.result.failures.append(f"{part.way}: {part.file} on {machine.name} ends with {done.status}: {done.text[-300:]}")
                continue
            rest = iter([(what, data) for frame, what, data in whole if part.first <= frame <= part.last])
            found = [(what, data) for frame, what, data in checks if frame >= part.own_first]
            if part.way == "keep-last":
                rest, found = ((unnumbered(what), data) for what, data in rest), [(unnumbered(what), data) for what, data in found]
            same = all(check in rest for check in found)
            if not same and plays.status == 1:
                self.result.notes.append(f"{part.way}: {part.file} gives other bytes on {machine.name} than the whole, which gives other ones than here")
            elif not same and MAY_DIFFER in done.err + plays.err and not self.runs_on(machine):
                self.result.notes.append(f"{part.way}: {part.file} gives other bytes on {machine.name}, as its replay says it may; the program does not run there")
            elif not same and not self.varies:
                self.result.failures.append(f"{part.way}: {part.file} gives other bytes on {machine.name} than the whole does there")
            elif same:
                self.result.elsewhere[machine.name] = self.result.elsewhere.get(machine.name, 0) + len(found)

    def cut_at_commands(self) -> None:
        folder = self.context.folder / "draws"
        folder.mkdir()
        try:
            draws.cut(self.program)(self.recorder.context(self.context).in_folder(folder))
            self.result.ways["trim --draw"] = 0
        except cases.Skip as skip:
            self.result.notes.append(f"trim --draw: {skip}")
        except cases.Failure as failure:
            where = self.result.notes if self.program.name in RACES else self.result.failures
            where.append(f"trim --draw: {str(failure)[-500:]}")

    def run(self) -> Result:
        context = self.recorder.context(self.context)
        try:
            cases.prepare(context, self.program)
        except cases.Skip as skip:
            self.result.notes.append(f"skipped: {skip}")
            return self.result
        done = self.capture("whole.lapilli")
        if done.status != 0 or not (self.context.folder / "whole.lapilli").exists():
            self.result.notes.append(f"not recorded: {done.text[-200:]}" if done.status else "skipped: the program has no work")
            return self.result
        frames = self.context.info("whole.lapilli")["frames"]
        if frames < 2:
            self.result.notes.append("skipped: it has one frame")
            return self.result
        whole = self.context.print_lines("whole.lapilli")
        parts = list(self.parts(frames))
        for part in parts:
            self.compare(part, whole)
        self.cut_at_commands()
        for machine in self.others:
            self.compare_elsewhere(machine, parts)
        return self.result


def unnumbered(text: str) -> str:
    """A turn of --keep-last may make buffers for itself, so what the program makes behind it has other numbers."""
    return re.sub(r"(\bVk\w+):\d+", r"\1", text)


def run_row(context: cases.Context, program: cases.Program, recorder: drivers.Machine, others: list[drivers.Machine]) -> Result:
    with tempfile.TemporaryDirectory(prefix="lapilli-parts-") as folder:
        row = Row(context.in_folder(Path(folder)), program, recorder, others)
        try:
            return row.run()
        except (cases.Failure, OSError, subprocess.TimeoutExpired) as failure:
            row.result.failures.append(str(failure)[-1000:])
            return row.result


def table(results: list[Result]) -> str:
    ways = list(dict.fromkeys(way for result in results for way in result.ways))
    lines = ["| recorded on | programs | " + " | ".join(ways) + " | elsewhere |", "| --- |" + " --- |" * (len(ways) + 2)]
    for recorder in dict.fromkeys(result.recorder for result in results):
        mine = [result for result in results if result.recorder == recorder and result.ways]
        cells = [f"{sum(way in result.ways for result in mine)} ({sum(result.ways.get(way, 0) for result in mine)} checks)" for way in ways]
        others = {name: sum(result.elsewhere.get(name, 0) for result in mine) for result in mine for name in result.elsewhere}
        lines.append(f"| {recorder} | {len(mine)} | " + " | ".join(cells) + " | " + ", ".join(f"{name}: {count} checks" for name, count in others.items()) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--backport", type=Path, help="the folder of scripts/fetch-backport-driver.sh (default: BUILD/backport)")
    parser.add_argument("--driver", action="append", default=[], metavar="NAME=MANIFEST", help="one more driver, by hand")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="programs at a time")
    parser.add_argument("--match", default="", help="only programs whose name matches this regular expression")
    parser.add_argument("--record", default="lavapipe|backports|swiftshader", help="these machines record (a regular expression for a whole name)")
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lapilli-icd-") as folder:
        every = drivers.machines((options.backport or options.build / "backport").resolve(), Path(folder), options.driver, [])
        machines = [machine for machine in every.values() if not machine.missing and not machine.layer and machine.name != drivers.PRETENDER]
        context = cases.Context(ROOT, options.build.resolve())
        programs = [program for program in cases.programs(context) if re.search(options.match, program.name)]
        if not os.environ.get("DISPLAY"):
            print("skip programs that need a display: there is none", flush=True)
            programs = [program for program in programs if not program.needs_display]
        work = [(program, machine, [other for other in machines if other is not machine])
                for machine in machines if re.fullmatch(options.record, machine.name) or machine.by_hand for program in programs]
        results = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for result in pool.map(lambda item: run_row(context, *item), work):
                results.append(result)
                for text in result.failures:
                    print(f"FAIL {result.program} on {result.recorder}: {text}", flush=True)
    print(table(results))
    for result in results:
        for text in result.notes:
            if not text.startswith("skipped: it has one frame"):
                print(f"note {result.program} on {result.recorder}: {text}")
    failed, passed = sum(bool(result.failures) for result in results), sum(bool(result.ways) and not result.failures for result in results)
    print(f"{time.monotonic() - start:.0f} s\n{passed} passed, {failed} failed, {len(results) - passed - failed} skipped")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
