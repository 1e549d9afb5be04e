# SPDX-License-Identifier: MIT
"""lapilli farm report: from a results folder to verdicts, an exit status, and files for people and CI servers.

A report can be made any number of times, also while a farm runs: it writes each file under another name first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

from . import junit, page, policy, verdict
from .history import History, read_history, since
from .results import NUMBER, Baseline, Farm, get, plain, read_baseline, read_farm
from .verdict import CHANGES, VERDICTS, Verdict

HELP_OPTIONS = """\
  --baseline DIR     results of an earlier farm: its hashes and times are expected
  --history DIR      folder of results folders: verdicts of the last 30 are shown
  --expect FILE      known failures, lines of NAME@DEVICE,STATE: Fail, Crash, Timeout
  --flakes FILE      regular expressions of NAME@DEVICE that may be flaky
  --skips FILE       regular expressions of NAME@DEVICE that are left out
  --policy FILE      verdicts that make the exit status 1 (TOML); default: a new failure
  --json             the summary is one JSON object
"""
NO_TRACE, MISSING, USAGE = 3, 4, 2
MOST_LINES = 25  # of pairs on a terminal


def add_options(parser: argparse.ArgumentParser) -> None:
    for name in ("baseline", "history", "expect", "flakes", "skips", "policy"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--json", action="store_true")


def write(path: Path, data: bytes) -> None:
    """Readers see the old file or the new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def ndjson(verdicts: list[Verdict]) -> bytes:
    """A line for each run, and one for a pair that was not played. history.py reads what comes before "good"."""
    lines = []
    for one in verdicts:
        ours = one.times.ours if one.times else []
        head = {"trace": {"name": one.trace.name, "sha256": one.trace.sha256}, "device": one.device, "verdict": one.verdict,
                "median_ms": verdict.median(ours) if ours else None}
        told = {"policy": one.policy, "why": one.why, "notes": one.notes, "expected": one.expected}
        for judged in one.runs or [None]:
            good = {verdict.GOOD: True, verdict.BAD: False}.get(judged.state) if judged else None
            rest = {name: value for name, value in judged.run.line.items() if name not in head} if judged else {}
            lines.append(json.dumps({**head, "good": good, **told, **rest}))
    return "".join(f"{line}\n" for line in lines).encode()


def deqp_lines(verdicts: list[Verdict]) -> tuple[bytes, bytes]:
    """failures.txt and flakes.txt: the first can be the next farm's --expect."""
    failures = [f"{one.id},{one.bad.kind}\n" for one in verdicts if one.verdict in ("new failure", "known failure") and one.bad]
    flakes = [f"{one.id}\n" for one in verdicts if one.verdict == "flaky"]
    return "".join(failures).encode(), "".join(flakes).encode()


def troubles(farm: Farm, baseline: Baseline | None, history: History, verdicts: list[Verdict]) -> list[str]:
    """Sentences about what could not be read or compared."""
    lost = sum(one.lost for one in verdicts)
    found = [f"{lost:,} of {sum(one.planned for one in verdicts):,} runs are missing."] if lost else []
    found += [f"Lines and results of this farm that can't be read: {farm.unreadable:,}."] if farm.unreadable else []
    if baseline and baseline.unreadable:
        found.append(f"Lines of the baseline that can't be read, and are left out: {baseline.unreadable:,}.")
    if history.unreadable:
        found.append(f"Lines of earlier farms that can't be read, and are left out: {history.unreadable:,}.")
    without = sum(not one.base and bool(one.runs) for one in verdicts)
    if baseline and without:
        found.append(f"The baseline lacks {without:,} of {len(verdicts):,} pairs.")
    twice = len(os.listdir(farm.path / "twice")) if (farm.path / "twice").is_dir() else 0
    if twice:
        found.append(f"Results that came a second time: {twice:,}, in {plain(farm.path / 'twice')}.")
    return found


def status_of(verdicts: list[Verdict], conflicts: list[str], rules: dict[str, str]) -> int:
    if verdicts and all(one.verdict == "unreadable" for one in verdicts):
        return NO_TRACE
    if conflicts or any(one.policy == policy.FAIL for one in verdicts if one.verdict != "missing"):
        return 1
    return MISSING if rules["missing"] == policy.FAIL and any(one.lost for one in verdicts) else 0


def text(summary: dict, changes: list[Verdict], folder: Path) -> str:
    """The first line has all counts; then only what is new."""
    counts = [page.heading(name, summary["verdicts"][name]) for name in VERDICTS if summary["verdicts"][name]]
    against = f" against {plain(summary['baseline'])}" if summary["baseline"] else ", no baseline"
    lines = [f"{plain(summary['label'])}{against}: {page.many(summary['traces'], 'trace')} on "
             f"{page.many(summary['devices'], 'device')}: {', '.join(counts) or 'nothing was planned'}"]
    lines += [f"error: {sentence}" for sentence in summary["conflicts"]]
    lines += [f"note: {sentence}" for sentence in summary["notes"]]
    for one in changes[:MOST_LINES]:
        lines.append(f"  {one.verdict + (' (excused)' if one.excused else ''):12} {one.id}  {plain(one.why)}")
    if len(changes) > MOST_LINES:
        left = Counter(one.verdict for one in changes[MOST_LINES:])
        lines.append(f"  and {', '.join(page.heading(name, count) for name, count in left.items())} more")
        lines += [f"  {count:,} pairs: {plain(why)}" for count, why in verdict.commonest(changes)]
    return "\n".join([*lines, f"Files: {plain(folder / 'index.html')}, and junit.xml, results.ndjson, failures.txt, flakes.txt beside it"])


def make(results: Path, args: argparse.Namespace) -> int:
    """The exit status: 0; 1 by the policy, or two drivers had one name; 2 usage; 3 no readable trace; 4 runs are missing."""
    try:
        rules, known = policy.read_policy(args.policy), policy.read_expected(args.expect, args.flakes, args.skips)
        for folder in (results, args.baseline, args.history):
            if folder and not folder.is_dir():
                raise policy.Wrong(f"{folder} is no folder")
        farm = read_farm(results)
        if not farm.pairs and not farm.unreadable:
            raise policy.Wrong(f"{results} has no plan of a farm")
        named = get(farm.about, "baseline")
        older = args.baseline or (Path(named) if named and Path(named).is_dir() else None)
        baseline = read_baseline(older) if older else None
        history = read_history(args.history, results, get(farm.about, "created", kind=NUMBER) or float("inf"))
    except (policy.Wrong, OSError) as error:
        print(f"lapilli-farm: {plain(error)}", file=sys.stderr)
        return USAGE
    verdicts = verdict.judge_all(farm, baseline, known, rules, history.folders)
    for one in verdicts:
        one.history = history.of((one.trace.name, one.device))
        one.notes += [sentence] if one.verdict in CHANGES and (sentence := since(one.history, one.verdict)) else []
    changes = sorted((one for one in verdicts if one.verdict in CHANGES), key=lambda one: (one.policy != policy.FAIL, VERDICTS.index(one.verdict)))
    conflicts, counts = verdict.driver_conflicts(farm), Counter(one.verdict for one in verdicts)
    status = status_of(verdicts, conflicts, rules)
    summary = {"label": farm.label, "version": get(farm.about, "version"), "baseline": baseline.label if baseline else None,
               "traces": len({one.trace.name for one in verdicts}), "devices": len({one.device for one in verdicts}), "pairs": len(verdicts),
               "runs": sum(len(one.runs) for one in verdicts), "verdicts": {name: counts[name] for name in VERDICTS}, "status": status,
               "conflicts": conflicts, "notes": troubles(farm, baseline, history, verdicts)}
    if named and not older:
        summary["notes"].append(f"The baseline {plain(named)} is gone.")
    failures, flakes = deqp_lines(verdicts)
    try:
        for name, data in (("results.ndjson", ndjson(verdicts)), ("failures.txt", failures), ("flakes.txt", flakes),
                           ("junit.xml", junit.make(farm, verdicts, summary["baseline"])),
                           ("index.html", page.make(farm, verdicts, changes, summary, baseline, history))):
            write(results / name, data)
    except OSError as error:
        print(f"lapilli-farm: {plain(error)}", file=sys.stderr)
        return status or 1
    if args.json:
        listed = [{"trace": one.trace.name, "device": one.device, "verdict": one.verdict, "policy": one.policy, "why": one.why} for one in changes]
        say(json.dumps({**summary, "changes": listed}))
    else:
        say(text(summary, changes, results))
    return status


def say(words: str) -> None:
    """On any terminal, and to a reader that has gone: all is in the files."""
    try:
        print(words.encode(sys.stdout.encoding or "ascii", "replace").decode(sys.stdout.encoding or "ascii"), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> int:
    parser = argparse.ArgumentParser(prog="lapilli farm report", add_help=True)
    parser.add_argument("--results", type=Path, required=True)
    add_options(parser)
    args = parser.parse_args()
    return make(args.results, args)


if __name__ == "__main__":
    sys.exit(main())
