# SPDX-License-Identifier: MIT
"""What makes a farm fail: a policy (TOML), and the three text files that deqp-runner has: fails, flakes, skips."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FAIL, NOTE = "fail", "note"
# Every verdict but pass. A key is the verdict with _ between its words.
DEFAULT = {"new_failure": FAIL, "flaky": NOTE, "slower": NOTE, "missing": FAIL, "fixed": NOTE, "known_failure": NOTE, "unknown": NOTE, "unreadable": NOTE,
           "skipped": NOTE}
STATES = ("Fail", "Crash", "Timeout")


class Wrong(Exception):
    """A file of the user has an error. The text names file and place."""


@dataclass
class Expected:
    """What is known before anything is played. Texts are NAME@DEVICE."""

    fails: dict[str, str] = field(default_factory=dict)
    flakes: list[re.Pattern[str]] = field(default_factory=list)
    skips: list[re.Pattern[str]] = field(default_factory=list)


def read_policy(path: Path | None) -> dict[str, str]:
    if path is None:
        return dict(DEFAULT)
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from error
    for key, value in found.items():
        if key not in DEFAULT:
            raise Wrong(f"{path}: {key} is no key of a policy; these are: {', '.join(DEFAULT)}")
        if value not in (FAIL, NOTE):
            raise Wrong(f'{path}: {key} is "{FAIL}" or "{NOTE}"')
    return {**DEFAULT, **found}


def _entries(path: Path | None) -> list[tuple[str, str]]:
    """Lines of a text file that are no comments, and where each stands."""
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from error
    return [(line.strip(), f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]


def _patterns(path: Path | None) -> list[re.Pattern[str]]:
    patterns = []
    for text, place in _entries(path):
        try:
            patterns.append(re.compile(text))
        except re.error as error:
            raise Wrong(f"{place}: {error}") from error
    return patterns


def read_expected(fails: Path | None, flakes: Path | None, skips: Path | None) -> Expected:
    found = {}
    for text, place in _entries(fails):
        name, _, state = text.rpartition(",")
        if state not in STATES or "@" not in name:
            raise Wrong(f"{place}: a line is NAME@DEVICE,STATE, with a state of {', '.join(STATES)}")
        found[name] = state
    return Expected(found, _patterns(flakes), _patterns(skips))
