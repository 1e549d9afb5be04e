# SPDX-License-Identifier: MIT
"""What becomes of the cases of a batch: natively twice, recorded, replayed on the same driver and on another.

A batch shares a process, a trace and its replays. Where something of it is not as it should be, its cases are looked at one by one.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import binary
from .binary import Binary, Ran, Result
from farm.process import Processes, environment

RECORDED_SLOWER = 5  # than natively: what a case may take under the layer
REPLAY_SECONDS = 300.0
SUMMARY = re.compile(r"^verify: (\d+) checks?, (?:(\d+) within, )?(\d+) different$", re.MULTILINE)
NOTHING = "there was nothing to compare"
NAMED = re.compile(r"\bVK_[A-Z]+_\w+")
MESSAGE = re.compile(r"^lapilli(?:-\w+)?(?:\[\d+\])?: (?:error|warning): .*$", re.MULTILINE)

# Of a replay, from good to bad. "nothing": no device wrote what could be compared, so that the case's own result is the check.
IDENTICAL, WITHIN, NO_CHECKS, UNSTEADY, DIFFERS, REFUSED, DAMAGED, FAILS, CRASHES, HANGS = (
    "identical", "within", "nothing", "unsteady", "differs", "refused", "damaged", "fails", "crashes", "hangs")
GOOD_REPLAYS = {IDENTICAL, WITHIN, NO_CHECKS, UNSTEADY}
ORDER = [IDENTICAL, WITHIN, NO_CHECKS, UNSTEADY, DIFFERS, REFUSED, DAMAGED, FAILS, CRASHES, HANGS]


@dataclass
class Player:
    """A replay: which build's program, on which driver."""

    name: str
    program: Path
    driver: Path | None
    tolerance: int | None = None


@dataclass
class Tools:
    binary: Binary
    capture: list[str]  # lapilli capture and its options, without -o
    compare: list[str]  # lapilli compare-checks
    players: list[Player]
    evidence: Path  # a folder for traces and messages of what is not as it should be
    keep: int  # how many traces it gets at most
    work: Path | None = None


@dataclass
class Played:
    outcome: str
    why: str = ""
    checks: int = 0
    different: int = 0
    seconds: float = 0.0


@dataclass
class Case:
    name: str
    native: str
    again: str = ""
    layer: str = ""
    text: str = ""  # what its log says under the layer, natively if it did not run there
    alone: str = ""  # the result under the layer in a process of its own, where that in the batch was another than natively
    replays: dict[str, Played] = field(default_factory=dict)

    @property
    def steady(self) -> bool:
        return not self.again or self.native == self.again

    @property
    def changed(self) -> bool:
        return bool(self.layer) and self.steady and self.layer != self.native

    @property
    def lost(self) -> bool:
        """Not supported any more."""
        return self.changed and self.layer == binary.NOT_SUPPORTED

    @property
    def lacks(self) -> str:
        """What the case misses, by the names of extensions in its message, else the message without where it comes from."""
        names = sorted(set(NAMED.findall(self.text)))
        return ", ".join(names) if names else re.sub(r"\s+at \S+:\d+$", "", self.text)


@dataclass
class Batch:
    cases: list[Case]
    seconds: dict[str, float] = field(default_factory=dict)  # native, layer, and each player
    traces: int = 0
    trace_bytes: int = 0
    checks: int = 0
    messages: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict:
        return asdict(self)

    @staticmethod
    def from_json(read: dict) -> "Batch":
        cases = [Case(**{**case, "replays": {k: Played(**v) for k, v in case["replays"].items()}}) for case in read["cases"]]
        return Batch(**{**read, "cases": cases})


def play(processes: Processes, player: Player, trace: Path, folder: Path, *options: str) -> Played:
    tolerance = [f"--tolerance={player.tolerance}"] if player.tolerance is not None else []
    try:
        done = processes.watch([str(player.program), "--verify", "--present", "headless", *tolerance, *options, str(trace)], folder,
                            environment(player.driver), folder, REPLAY_SECONDS)
    except OSError as error:
        return Played(FAILS, f"{player.program}: {error.strerror}")
    found = SUMMARY.search(done.out)
    lines = [line for line in done.err.splitlines() if "error: " in line] or done.err.splitlines()[-1:]
    why = lines[0][:500] if lines else ""
    played = Played(IDENTICAL, "", int(found[1]) if found else 0, int(found[3]) if found else 0, done.seconds)
    if done.late:
        played.outcome, played.why = HANGS, f"no end after {REPLAY_SECONDS:.0f} s"
    elif done.status < 0 or done.status > 128:
        played.outcome, played.why = CRASHES, f"exit status {done.status}; {why}"
    elif done.status == 0:
        played.outcome = WITHIN if found and int(found[2] or 0) else IDENTICAL
    elif NOTHING in done.err:
        played.outcome = NO_CHECKS
    elif played.different:
        played.outcome, played.why = DIFFERS, why
    else:
        played.outcome, played.why = {3: DAMAGED, 4: DAMAGED, 5: REFUSED}.get(done.status, FAILS), f"exit status {done.status}; {why}"
    return played


def worse(a: Played | None, b: Played) -> Played:
    if a is None:
        return b
    worst = max((a, b), key=lambda played: ORDER.index(played.outcome))
    # Something was compared where one of several traces has checks.
    outcome = IDENTICAL if worst.outcome == NO_CHECKS and IDENTICAL in (a.outcome, b.outcome) else worst.outcome
    return Played(outcome, worst.why, a.checks + b.checks, a.different + b.different, a.seconds + b.seconds)


class Judge:
    def __init__(self, tools: Tools) -> None:
        self.tools = tools

    def record(self, cases: list[str], folder: Path) -> tuple[Ran, list[Path]]:
        folder.mkdir()
        wrapper = [*self.tools.capture, "-o", str(folder / "trace.lapilli"), "--"]
        ran = self.tools.binary.run(cases, folder, wrapper=wrapper, slower=RECORDED_SLOWER)
        return ran, sorted(folder.glob("*.lapilli"))

    def play_all(self, player: Player, traces: list[Path], folder: Path) -> Played:
        total = None
        for trace in traces:
            total = worse(total, play(self.tools.binary.processes, player, trace, folder))
        return total or Played(NO_CHECKS, "no trace")

    def keep(self, case: str, what: str, text: str, *files: Path) -> None:
        self.tools.evidence.mkdir(parents=True, exist_ok=True)
        place = self.tools.evidence / f"{case}.{what}"
        place.with_name(f"{place.name}.txt").write_text(text)
        if len(list(self.tools.evidence.glob("*.lapilli"))) < self.tools.keep:
            for i, file in enumerate(files):
                shutil.copyfile(file, place.with_name(f"{place.name}{f'-{i}' if i else ''}{file.suffix}"))

    def look_at_change(self, case: Case, folder: Path) -> None:
        ran, traces = self.record([case.name], folder)
        result = ran.results.get(case.name, Result(binary.MISSING))
        case.alone = result.status
        if case.layer != binary.NOT_SUPPORTED:
            self.keep(case.name, "result", f"natively {case.native}, under the layer {case.layer}, alone {case.alone}\n{result.text}\n{ran.err}",
                      *traces, *sorted(folder.glob("*.qpa")))

    def look_at_replays(self, case: Case, players: list[Player], folder: Path) -> None:
        """The case alone, and where it differs, whether it differs from itself in a second recording."""
        folder.mkdir()
        _, traces = self.record([case.name], folder / "first")
        second: list[Path] | None = None
        for player in players:
            played = self.play_all(player, traces, folder)
            if played.outcome == DIFFERS and len(traces) == 1:
                if second is None:
                    second = self.record([case.name], folder / "second")[1]
                if len(second) == 1 and self.differs_from_itself(traces[0], second[0], folder):
                    again = play(self.tools.binary.processes, player, traces[0], folder, "--ignore-checks", str(folder / "ignore"))
                    if again.outcome in GOOD_REPLAYS:
                        played.outcome = UNSTEADY
            if played.outcome not in GOOD_REPLAYS:
                self.keep(case.name, player.name, f"{played.outcome}: {played.why}\n{(folder / 'err').read_text(errors='replace')}", *traces)
            case.replays[player.name] = played

    def differs_from_itself(self, first: Path, second: Path, folder: Path) -> bool:
        """Writes the checks that differ to the file `ignore`."""
        done = self.tools.binary.processes.watch([*self.tools.compare, str(first), str(second)], folder, environment(None), folder, REPLAY_SECONDS)
        (folder / "ignore").write_text(done.out)
        return done.status == 0 and bool(done.out.strip())

    def judge(self, names: list[str]) -> Batch:
        with tempfile.TemporaryDirectory(prefix="lapilli-conformance-", dir=self.tools.work) as work:
            return self.judge_in(names, Path(work))

    def judge_in(self, names: list[str], work: Path) -> Batch:
        for name in ("native", "again"):
            (work / name).mkdir()
        native = self.tools.binary.run(names, work / "native")
        cases = [Case(name, native.results.get(name, Result(binary.MISSING)).status, text=native.results.get(name, Result("")).text) for name in names]
        busy = [case for case in cases if case.native not in (binary.NOT_SUPPORTED, binary.CRASH, binary.TIMEOUT, binary.MISSING)]
        again = self.tools.binary.run([case.name for case in busy], work / "again") if busy else Ran()
        batch = Batch(cases, {"native": native.seconds, "again": again.seconds})
        for case in busy:
            case.again = again.results.get(case.name, Result(binary.MISSING)).status
        tried = [case for case in cases if case in busy or case.native == binary.NOT_SUPPORTED]
        if not tried:
            return batch

        ran, traces = self.record([case.name for case in tried], work / "layer")
        batch.seconds["layer"] = ran.seconds
        batch.traces, batch.trace_bytes = len(traces), sum(trace.stat().st_size for trace in traces)
        for message in MESSAGE.findall(ran.err):
            message = re.sub(r"0x[0-9a-f]+|\b\d+\b", "N", message)[:300]
            batch.messages[message] = batch.messages.get(message, 0) + 1
        for i, case in enumerate(tried):
            result = ran.results.get(case.name, Result(binary.MISSING))
            case.layer, case.text = result.status, result.text
            if case.changed:
                self.look_at_change(case, work / f"change-{i}")

        played_cases = [case for case in tried if case.layer != binary.NOT_SUPPORTED]
        if not played_cases or not traces:
            return batch
        wrong = []
        for player in self.tools.players:
            played = self.play_all(player, traces, work / "layer")
            batch.seconds[player.name] = played.seconds
            batch.checks = max(batch.checks, played.checks)
            if played.outcome in (IDENTICAL, NO_CHECKS, WITHIN):
                for case in played_cases:
                    case.replays[player.name] = Played(played.outcome)
            else:
                wrong.append(player)
        if wrong:
            for i, case in enumerate(played_cases):
                self.look_at_replays(case, wrong, work / f"case-{i}")
        return batch
