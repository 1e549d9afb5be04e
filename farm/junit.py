# SPDX-License-Identifier: MIT
"""junit.xml: what CI servers read. A suite for each device, a case for each trace."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from .policy import FAIL
from .results import NUMBER, Farm, get, moment, plain
from .verdict import Verdict

MOST_BYTES = 4096  # of a text: some servers refuse a file for one that is long


def short(text: str) -> str:
    """Text that XML 1.0 allows, and that no server finds too long."""
    data = plain(text, lines=True).encode()
    return data.decode() if len(data) <= MOST_BYTES else data[:MOST_BYTES - 3].decode(errors="ignore") + "…"


def element_of(verdict: Verdict) -> str | None:
    """failure, error, skipped, or None for a case that passed. The policy can only make it worse: a server shows what is new in any case."""
    if verdict.verdict in ("missing", "unreadable"):
        return "error"
    if verdict.policy == FAIL or verdict.verdict == "new failure" or verdict.verdict == "flaky" and not verdict.excused:
        return "failure"
    return "skipped" if verdict.verdict in ("known failure", "unknown", "skipped", "flaky") else None


def type_of(verdict: Verdict) -> str:
    """new failures by what happened: crashed, timeout, failed, different; all else by the verdict."""
    if verdict.verdict in ("new failure", "known failure") and verdict.bad:
        outcome = verdict.bad.run.outcome
        return outcome if outcome in ("crashed", "timeout", "failed", "unsupported") else "different"
    return verdict.verdict


def text_of(verdict: Verdict) -> str:
    lines = [verdict.why, *verdict.notes]
    for judged in verdict.runs:
        line = judged.run.line
        told = [f"run {get(line, 'repetition', kind=int) or 0}: {judged.run.outcome}, {judged.state}", f"on {get(line, 'node') or 'an unknown machine'}",
                f"key {get(line, 'key') or 'unknown'}"]
        lines.append(", ".join(told) + (f", {path}" if (path := get(line, "files", "stderr")) else ""))
    return "\n".join([*lines, f"trace {verdict.trace.path or verdict.trace.name}"])


def seconds_of(verdict: Verdict) -> float:
    return sum(get(judged.run.line, "seconds", kind=NUMBER) or 0 for judged in verdict.runs)


def _case(suite: ET.Element, verdict: Verdict) -> str | None:
    case = ET.SubElement(suite, "testcase", name=short(plain(verdict.trace.name)), classname=short(plain(verdict.device)), time=f"{seconds_of(verdict):.3f}")
    element = element_of(verdict)
    if element:
        message = verdict.why if verdict.verdict == "new failure" else f"{verdict.verdict}: {verdict.why}"
        found = ET.SubElement(case, element, message=short(plain(message)))
        if element != "skipped":
            found.set("type", type_of(verdict))
            found.text = short(text_of(verdict))
    elif verdict.why:
        ET.SubElement(case, "system-out").text = short(f"{verdict.verdict}: {verdict.why}")
    return element


def make(farm: Farm, verdicts: list[Verdict], baseline: str | None) -> bytes:
    root = ET.Element("testsuites", name=short(plain(farm.label)))
    created = moment(get(farm.about, "created", kind=NUMBER))
    for device in dict.fromkeys(verdict.device for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.device == device]
        suite = ET.SubElement(root, "testsuite", name=short(plain(device)), tests=str(len(own)), time=f"{sum(map(seconds_of, own)):.3f}")
        if created:
            suite.set("timestamp", created.strftime("%Y-%m-%dT%H:%M:%S"))
        gpu = next((found for verdict in own for judged in verdict.runs if (found := get(judged.run.line, "gpu", kind=dict))), {})
        facts = {"label": farm.label, "lapilli": get(farm.about, "version"), "baseline": baseline, "gpu": get(gpu, "name"), "driver": get(gpu, "driver"),
                 "api_version": get(gpu, "api_version")}
        properties = ET.SubElement(suite, "properties")
        for name, value in facts.items():
            if value is not None:
                ET.SubElement(properties, "property", name=name, value=short(plain(value)))
        elements = [_case(suite, verdict) for verdict in own]
        for name, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(name, str(elements.count(element)))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    return ET.tostring(root, encoding="utf-8", xml_declaration=True)
