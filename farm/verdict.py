# SPDX-License-Identifier: MIT
"""From the runs of a trace on a device to a verdict and a sentence. Nothing is read here but lines of hashes, and nothing is written.

A run is good where its hashes are those of the baseline's good runs of the same trace (by content) and device, or where all is as recorded
(a new version may make more checks). Where the baseline has none, the outcome of lapilli-replay counts. A pair that fails keeps the hashes that were expected, so that a farm whose baseline is that
one still knows them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from statistics import median

from .policy import DEFAULT, NOTE, Expected
from .results import PLAYED, Baseline, Farm, Pair, Planned, Run, Trace, get, hash_lines, plain, read_baseline, read_farm

GOOD, BAD, UNKNOWN, UNSUPPORTED, UNREADABLE = "good", "bad", "unknown", "unsupported", "unreadable"
# In the order of a report: what a person must look at comes first.
VERDICTS = ("new failure", "flaky", "slower", "missing", "unreadable", "fixed", "known failure", "unknown", "skipped", "pass")
CHANGES = VERDICTS[:6]
KINDS = {"crashed": "Crash", "timeout": "Timeout"}  # of a bad run; all others are Fail
FEWEST_TIMES = 3  # repetitions, before a time means anything
LEAST_CHANGE, DEVIATIONS = 0.03, 3


@dataclass
class Judged:
    run: Run
    state: str
    why: str
    place: dict | None = None  # the first check that differs: kind, frame, packet, object

    @property
    def kind(self) -> str:
        return KINDS.get(self.run.outcome, "Fail")


@dataclass
class Times:
    """Medians of a frame, in milliseconds: of this farm's repetitions and the baseline's."""

    ours: list[float]
    theirs: list[float]

    @property
    def spread(self) -> float:
        """How far the baseline's middle repetition lies from its median."""
        return median(abs(time - median(self.theirs)) for time in self.theirs) if self.theirs else 0

    @property
    def change(self) -> float | None:
        """By how much more a frame takes, as a part of the baseline's time. None: there are too few repetitions."""
        if min(len(self.ours), len(self.theirs)) < FEWEST_TIMES or median(self.theirs) <= 0:
            return None
        return median(self.ours) / median(self.theirs) - 1

    @property
    def slower(self) -> bool:
        return self.change is not None and median(self.ours) - median(self.theirs) > max(LEAST_CHANGE * median(self.theirs), DEVIATIONS * self.spread)


@dataclass
class Verdict:
    trace: Trace
    device: str
    verdict: str
    why: str
    runs: list[Judged] = field(default_factory=list)
    planned: int = 0
    lost: int = 0  # runs without a result
    notes: list[str] = field(default_factory=list)
    policy: str | None = None
    excused: bool = False
    expected: list[str] = field(default_factory=list)  # hashes of hashes
    base: list[Run] = field(default_factory=list)
    times: Times | None = None
    history: list = field(default_factory=list)  # of history.Night

    @property
    def bad(self) -> Judged | None:
        """The run that the sentence is about."""
        return next((run for run in self.runs if run.state == BAD), None)

    @property
    def id(self) -> str:
        return plain(f"{self.trace.name}@{self.device}")


# ---- one run


def place_of(check: dict) -> str:
    """Where a check is: frame, packet, object."""
    frame, packet, thing, kind = get(check, "frame", kind=int), get(check, "packet", kind=int), get(check, "object"), get(check, "kind")
    parts = [f"frame {frame}" if frame is not None else "", f"packet {packet}" if packet is not None else "", plain(thing) if thing else ""]
    shown = ", ".join(part for part in parts if part) or "an unknown place"
    return f"{shown} (as presented)" if kind == "present" else shown


def first_difference(folders: list[Path], expected: str, got: str, cache: dict) -> tuple[str, dict | None]:
    """A sentence of the first check that two lists of checks do not have in common, and that check."""
    if (expected, got) not in cache:
        cache[expected, got] = _first_difference(folders, expected, got)
    return cache[expected, got]


def _first_difference(folders: list[Path], expected: str, got: str) -> tuple[str, dict | None]:
    pairs = zip_longest(hash_lines(folders, expected), hash_lines(folders, got), fillvalue={})
    for number, (theirs, ours) in enumerate(pairs, 1):
        if theirs is None or ours is None:
            return "It differs from the baseline; a file of hashes is damaged, so that the place is unknown.", None
        if theirs == ours:
            continue
        if not ours or not theirs:
            if number == 1:
                break
            side, more = ("fewer", theirs) if not ours else ("more", ours)
            return f"It differs from the baseline: it has {side} checks, and check {number} in {place_of(more)} is the first that one side lacks.", more
        if [theirs.get(name) for name in ("kind", "frame", "object")] != [ours.get(name) for name in ("kind", "frame", "object")]:
            return f"It differs from the baseline: check {number} is of {place_of(ours)}, and was of {place_of(theirs)}.", ours
        if theirs.get("hash") != ours.get("hash"):
            return f"It differs from the baseline first in {place_of(ours)}, check {number}.", ours
    return "It differs from the baseline; the hashes of one side are gone, so that the place is unknown.", None


def _ending(run: Run) -> str:
    """How a run ended that gave no picture to compare."""
    text = plain(get(run.line, "error", "text") or "").strip()
    packet, frame = get(run.line, "error", "packet", kind=int), get(run.line, "error", "frame", kind=int)
    where = ", ".join(part for part in (f"frame {frame}" if frame is not None else "", f"packet {packet}" if packet is not None else "") if part)
    if run.outcome == "crashed":
        how = f"It crashed with {plain(get(run.line, 'signal') or 'an unknown signal')}"
    elif run.outcome == "timeout":
        how = "It did not end in its time"
    else:
        how = {"failed": "The replay failed", "unsupported": "The device lacks something", "unreadable": "The trace can't be read"}[run.outcome]
    how += f" in {where}" if where and run.outcome in ("failed", "crashed") else ""
    return f"{how}: {text}" if text else f"{how}."


def judge_run(run: Run, base: list[Run], expected: list[str], folders: list[Path], cache: dict) -> Judged:
    if run.outcome == "unreadable":
        return Judged(run, UNREADABLE, _ending(run))
    if run.outcome == "unsupported":
        lost = any(old.outcome in PLAYED for old in base)
        return Judged(run, BAD if lost else UNSUPPORTED, _ending(run) + (" The baseline played it." if lost else ""))
    if run.outcome not in PLAYED:
        return Judged(run, BAD, _ending(run), run.line.get("error") if isinstance(run.line.get("error"), dict) else None)
    if run.hashes and expected:
        if run.hashes in expected:
            return Judged(run, GOOD, "")
        if run.outcome in ("same", "within"):
            return Judged(run, GOOD, "It is as recorded, which the baseline was not.")
        return Judged(run, BAD, *first_difference(folders, expected[0], run.hashes, cache))
    if run.hashes and run.hashes in [old.hashes for old in base if old.line.get("good") is False]:
        return Judged(run, BAD, "It gives what the baseline gave, which was a failure there.", get(run.line, "verify", "first", kind=dict))
    if run.outcome in ("same", "within", "played"):
        return Judged(run, GOOD, "")
    checks, different = get(run.line, "verify", "checks", kind=int) or 0, get(run.line, "verify", "different", kind=int) or 0
    if run.outcome == "nothing_to_verify":
        why = "The trace has no recorded hashes, and there is no baseline." if run.hashes else "Nothing can be compared: the trace has no recorded hashes, and presents nothing."
        return Judged(run, UNKNOWN, why)
    if run.outcome == "incomplete" and checks and not different:
        return Judged(run, GOOD, "The trace is cut; all that was compared is the same.")
    if run.outcome == "incomplete":
        return Judged(run, UNKNOWN, "The trace is cut, and there is no baseline.")
    recorded, gpu = get(run.line, "recorded_on", "device"), get(run.line, "gpu", "name")
    place = get(run.line, "verify", "first", kind=dict)
    where = f" first in {place_of(place)}; {different} of {checks} checks differ." if place else "."
    if recorded and recorded == gpu:
        return Judged(run, BAD, f"It differs from the recording{where}", place)
    return Judged(run, UNKNOWN, f"It differs from the recording, which is of another device ({plain(recorded or 'unknown')}), and there is no baseline.", place)


# ---- a pair


def expectation(base: list[Run]) -> list[str]:
    """The hashes that a run must have. Of a baseline that failed: those that it expected itself."""
    good = [old.hashes for old in base if old.hashes and old.line.get("good") is not False]
    carried = [sha for old in base for sha in get(old.line, "expected", kind=list) or [] if isinstance(sha, str)]
    return list(dict.fromkeys(good or carried))


def _was_bad(old: Run) -> bool:
    return old.line.get("good") is False if "good" in old.line else old.outcome in ("failed", "crashed", "timeout")


def _counted(runs: list[Judged]) -> str:
    """The sentences of runs, the commonest first, with how many have each where they are not alike."""
    sentences = Counter(run.why for run in runs)
    if len(sentences) == 1:
        return runs[0].why
    return " ".join(f"{count} of {len(runs)} runs: {why}" for why, count in sentences.most_common(3))


def judge(planned: Planned, farm: Farm, baseline: Baseline | None, known: Expected, folders: list[Path], cache: dict) -> Verdict:
    trace, device = planned.trace, planned.device
    verdict = Verdict(trace, device, "pass", "", planned=len(planned.keys))
    skips = [pattern.pattern for pattern in known.skips if pattern.search(verdict.id)]
    if skips or planned.skip is not None:
        verdict.verdict, verdict.why = "skipped", plain(planned.skip or "") or f"The list of skips has {plain(skips[0]) if skips else 'it'}."
        return verdict
    if planned.unreadable:
        verdict.verdict, verdict.why = "unreadable", plain(planned.unreadable)
        return verdict
    base = baseline.runs.get((trace.sha256, device), []) if baseline else []
    verdict.base, verdict.expected = base, expectation(base)
    verdict.runs = [judge_run(run, base, verdict.expected, folders, cache) for run in planned.runs]
    if baseline and not base:
        verdict.notes.append("The baseline has no results of this trace on this device.")
    lost = len(planned.keys) - len(planned.runs)
    states, total = Counter(run.state for run in verdict.runs), len(verdict.runs)
    bad, state = [run for run in verdict.runs if run.state == BAD], known.fails.get(verdict.id)
    verdict.lost = lost
    if lost and total:
        verdict.notes.append(f"{lost} of {len(planned.keys)} runs gave no result.")
    if not total or lost and set(states) == {GOOD}:
        verdict.verdict, verdict.why = "missing", _missing(planned, farm, lost)
    elif states[UNREADABLE]:
        verdict.verdict, verdict.why = "unreadable", next(run.why for run in verdict.runs if run.state == UNREADABLE)
    elif states[BAD] == total:
        was = bool(base) and all(_was_bad(old) for old in base) and {KINDS.get(old.outcome, "Fail") for old in base} >= {run.kind for run in bad}
        told = state in ("Fail", *{run.kind for run in bad}) and (state == "Fail" or len({run.kind for run in bad}) == 1)
        verdict.verdict, verdict.why = "known failure" if was or told else "new failure", _counted(bad)
        if state and not told:
            verdict.notes.append(f"{state} was expected.")
    elif set(states) <= {GOOD, UNKNOWN}:
        doubts = [run for run in verdict.runs if run.why]
        verdict.verdict, verdict.why = "unknown" if states[UNKNOWN] else "pass", _counted(doubts) if doubts else ""
    elif states[UNSUPPORTED] == total:
        verdict.verdict, verdict.why = "skipped", verdict.runs[0].why
    else:
        other = bad or [run for run in verdict.runs if run.state == UNSUPPORTED]
        verdict.verdict, verdict.why = "flaky", f"{len(other)} of {total} runs {'were bad' if bad else 'were refused'}. {_counted(other)}"
        verdict.excused = any(pattern.search(verdict.id) for pattern in known.flakes)
        verdict.notes += ["It is listed as flaky."] if verdict.excused else []
    if verdict.verdict == "pass":
        _look_at_a_pass(verdict, state)
    return verdict


def _missing(planned: Planned, farm: Farm, lost: int) -> str:
    tries = [attempt for key in planned.keys for attempt in farm.attempts.get(key, [])]
    last = tries[-1] if tries else {}
    said = f" Attempts: {len(tries)}; the last was on {plain(get(last, 'host') or 'an unknown machine')}: {plain(get(last, 'text') or 'no reason is known')}" if tries else ""
    return f"{lost} of {len(planned.keys)} runs gave no result.{said}"


def _look_at_a_pass(verdict: Verdict, state: str | None) -> None:
    """A pair that is good may be fixed, or slower. Also notes what is strange."""
    runs, base = verdict.runs, verdict.base
    if state or base and all(_was_bad(old) for old in base):
        verdict.verdict = "fixed"
        verdict.why = "It is good now; " + (f"{state} was expected." if state else "the baseline failed.")
    if not verdict.expected and len({run.run.hashes for run in runs if run.run.hashes}) > 1:
        verdict.notes.append("The runs do not have the same hashes as each other.")
    ours, theirs = ([time for time in (run.frame_ms for run in some) if time is not None] for some in ([run.run for run in runs], base))
    if not ours:
        return
    verdict.times = Times(ours, theirs)
    gpus = {get(run.line, "gpu", "name") for run in [*[run.run for run in runs], *base]}
    if theirs and len(gpus) > 1:
        verdict.notes.append("Times are not compared: the baseline's GPU is another.")
    elif verdict.times.slower and verdict.verdict == "pass":
        now, then = median(ours), median(theirs)
        verdict.verdict = "slower"
        verdict.why = f"A frame takes {now:.3g} ms instead of {then:.3g} ms: {verdict.times.change:+.1%}. The baseline's own spread is {verdict.times.spread:.2g} ms."


def judge_all(farm: Farm, baseline: Baseline | None, known: Expected, policy: dict[str, str], others: list[Path] = []) -> list[Verdict]:
    """The verdicts of all pairs. `others`: more folders that may have hashes."""
    folders, cache = [*([baseline.path] if baseline else []), farm.path, *others], {}
    verdicts = [judge(planned, farm, baseline, known, folders, cache) for planned in farm.pairs.values()]
    for verdict in verdicts:
        if verdict.verdict != "pass":
            verdict.policy = NOTE if verdict.excused else policy[verdict.verdict.replace(" ", "_")]
    return verdicts


def commonest(verdicts: list[Verdict]) -> list[tuple[int, str]]:
    """Sentences that many pairs share, and how many: one cause, mostly."""
    return [(count, why) for why, count in Counter(one.why for one in verdicts if one.why).most_common(5) if count > 2]


def driver_conflicts(farm: Farm) -> list[str]:
    """Sentences of devices on whose name two driver versions played. Their results can't be compared."""
    found: dict[str, set[str]] = {}
    for planned in farm.pairs.values():
        for run in planned.runs:
            if driver := get(run.line, "gpu", "driver"):
                found.setdefault(planned.device, set()).add(plain(driver))
    return [f"{plain(device)} was played by {len(drivers)} driver versions: {'; '.join(sorted(drivers))}" for device, drivers in found.items() if len(drivers) > 1]


def failing_frames(results: Path, baseline: Path | None) -> dict[Pair, int | None]:
    """Pairs with a run that is bad, and the first frame that differs. Whether they are broken or flaky, more runs tell."""
    verdicts = judge_all(read_farm(results), read_baseline(baseline) if baseline else None, Expected(), DEFAULT)
    return {(one.trace.name, one.device): get(one.bad.place, "frame", kind=int) for one in verdicts if one.bad}


def failing(results: Path, baseline: Path | None) -> list[Pair]:
    return list(failing_frames(results, baseline))
