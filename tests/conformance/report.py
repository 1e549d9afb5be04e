# SPDX-License-Identifier: MIT
"""What a run of a conformance suite found: counts by group, what is not as it should be, and which of it is known."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from . import binary
from .judge import GOOD_REPLAYS, IDENTICAL, NO_CHECKS, UNSTEADY, WITHIN, Batch, Case
from .sample import group_of

KINDS = ("result", "unsupported", "replay")
LISTED = 200  # lines of findings on a terminal


@dataclass
class Known:
    """A line of known.txt: kind of finding, whole name of a case, reason."""

    kind: str
    name: re.Pattern[str]
    reason: str
    place: str
    used: int = 0
    tried: int = 0


def read_known(path: Path) -> list[Known]:
    known = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 3 or fields[0] not in KINDS:
            raise ValueError(f"{path.name}:{number}: a line is {'|'.join(KINDS)}, a regular expression of cases and a reason, with tabs between")
        try:
            known.append(Known(fields[0], re.compile(fields[1]), fields[2], f"{path.name}:{number}"))
        except re.error as error:
            raise ValueError(f"{path.name}:{number}: {error}") from error
    return known


@dataclass
class Finding:
    case: str
    kind: str
    what: str
    reason: str | None = None  # why it is no surprise


@dataclass
class Row:
    cases: int = 0
    passed: int = 0
    unsupported: int = 0
    failed: int = 0
    unsteady: int = 0
    changed: int = 0
    lost: int = 0
    replays: dict[str, Counter] = field(default_factory=dict)
    seconds: Counter = field(default_factory=Counter)
    trace_bytes: int = 0
    checks: int = 0

    def add(self, case: Case) -> None:
        self.cases += 1
        self.passed += case.native in binary.GOOD
        self.unsupported += case.native == binary.NOT_SUPPORTED
        self.failed += case.native not in binary.GOOD and case.native != binary.NOT_SUPPORTED
        self.unsteady += not case.steady
        self.changed += case.changed and not case.lost
        self.lost += case.lost
        for player, played in case.replays.items():
            self.replays.setdefault(player, Counter())[played.outcome] += 1

    def add_batch(self, batch: Batch) -> None:
        self.seconds.update(batch.seconds)
        self.trace_bytes += batch.trace_bytes
        self.checks += batch.checks

    def to_json(self) -> dict:
        return {**self.__dict__, "replays": {k: dict(v) for k, v in self.replays.items()},
                "seconds": {k: round(v, 2) for k, v in self.seconds.items()}}


class Report:
    def __init__(self, batches: list[Batch], players: list[str], known: list[Known], depth: int) -> None:
        self.players, self.known = players, known
        self.total = Row()
        self.groups: dict[str, Row] = {}
        self.findings: list[Finding] = []
        self.lacks: Counter = Counter()
        self.messages: Counter = Counter()
        for batch in batches:
            for row in (self.total, *(self.group(name, depth) for name in {case.name for case in batch.cases[:1]})):
                row.add_batch(batch)
            self.messages.update(batch.messages)
            for case in batch.cases:
                self.total.add(case)
                self.group(case.name, depth).add(case)
                self.look(case)

    def group(self, case: str, depth: int) -> Row:
        return self.groups.setdefault(group_of(case, depth), Row())

    def look(self, case: Case) -> None:
        if case.lost:
            self.lacks[case.lacks] += 1
            self.find(case, "unsupported", f"natively {case.native}; {case.lacks}")
        elif case.changed:
            self.find(case, "result", f"natively {case.native}, under the layer {case.layer}, alone {case.alone or case.layer}: {case.text[:200]}")
        for player, played in case.replays.items():
            if played.outcome not in GOOD_REPLAYS:
                self.find(case, "replay", f"on {player}: {played.outcome}{f' ({played.different} of {played.checks} checks)' if played.different else ''}"
                                          f"{f': {played.why}' if played.why else ''}")
        for known in self.known:
            known.tried += bool(known.name.fullmatch(case.name))

    def find(self, case: Case, kind: str, what: str) -> None:
        finding = Finding(case.name, kind, what)
        for known in self.known:
            if known.kind == kind and known.name.fullmatch(case.name):
                known.used += 1
                finding.reason = known.reason
                break
        self.findings.append(finding)

    @property
    def news(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.reason is None]

    def to_json(self) -> dict:
        return {
            "total": self.total.to_json(),
            "groups": {name: row.to_json() for name, row in sorted(self.groups.items())},
            "findings": [finding.__dict__ for finding in self.findings],
            "lacks": dict(self.lacks.most_common()),
            "messages": dict(self.messages.most_common()),
        }

    def text(self) -> str:
        lines = [*self.table(), ""]
        for title, counted in (("not supported any more, for want of", self.lacks), ("messages of the layer", self.messages)):
            if counted:
                lines += [f"{title}:", *(f"  {count:6} {what}" for what, count in counted.most_common(40)), ""]
        news = [finding for finding in self.news if finding.kind != "unsupported"]
        if news:
            lines += ["not as it should be:", *(f"  {finding.kind} {finding.case}: {finding.what}" for finding in news[:LISTED])]
            lines += [f"  and {len(news) - LISTED} more"] * (len(news) > LISTED) + [""]
        lines += [f"{known.place} was not needed by {known.tried} cases" for known in self.known if known.tried and not known.used]
        return "\n".join([*lines, *self.summary()])

    def table(self) -> list[str]:
        heads = ["group", "cases", "pass", "lack", "fail", "changed", "lost", *(f"{p} same" for p in self.players), *(f"{p} not" for p in self.players),
                 "checks", "MiB", "s"]
        rows = [self.cells(name, row) for name, row in sorted(self.groups.items())] + [self.cells("all", self.total)]
        widths = [max(len(heads[i]), *(len(row[i]) for row in rows)) for i in range(len(heads))]
        return ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
                for row in (heads, *rows)]

    def cells(self, name: str, row: Row) -> list[str]:
        def count(player: str, good: bool) -> str:
            return str(sum(n for outcome, n in row.replays.get(player, {}).items() if (outcome in GOOD_REPLAYS) == good))
        return [name, str(row.cases), str(row.passed), str(row.unsupported), str(row.failed), str(row.changed), str(row.lost),
                *(count(p, True) for p in self.players), *(count(p, False) for p in self.players), str(row.checks), f"{row.trace_bytes / 2 ** 20:.1f}",
                f"{sum(row.seconds.values()):.0f}"]

    def summary(self) -> list[str]:
        t = self.total
        tried = t.cases - t.unsupported
        share = f" ({100 * (t.changed + t.lost) / tried:.1f} %)" if tried else ""
        lines = [f"{t.cases} cases: {t.passed} pass natively, {t.unsupported} are not supported, {t.failed} fail, {t.unsteady} differ between two native runs",
                 f"under the layer: {t.changed} change their result, {t.lost} are not supported any more{share}; {t.trace_bytes / 2 ** 20:.1f} MiB of traces"]
        for player in self.players:
            outcomes = t.replays.get(player, Counter())
            text = ", ".join(f"{outcomes[o]} {name}" for o, name in ((IDENTICAL, "identical"), (WITHIN, "within tolerance"), (NO_CHECKS, "checked by their own result"),
                                                                     (UNSTEADY, "differ as two recordings do")) if outcomes[o])
            bad = ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()) if outcome not in GOOD_REPLAYS)
            lines.append(f"replayed on {player}: {text or 'none'}; {bad or 'none otherwise'}")
        seconds = ", ".join(f"{name} {value:.0f} s" for name, value in t.seconds.items())
        lines += [f"time: {seconds}"] if seconds else []
        lines.append(f"{len(self.findings)} findings, {len(self.findings) - len(self.news)} of them known")
        return lines
