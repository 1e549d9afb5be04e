# SPDX-License-Identifier: MIT
"""Runs the test cases of the program that was started, and counts them as tests/run.py wants it. A test that called none of the
assertions fails."""

from __future__ import annotations

import unittest
from typing import Callable


class CountedResult(unittest.TextTestResult):
    def addSuccess(self, test: unittest.TestCase) -> None:
        if getattr(test, "_asserted", False):
            super().addSuccess(test)
        else:
            self.addFailure(test, (AssertionError, AssertionError("no assertion ran"), None))


def _noting(assertion: Callable) -> Callable:
    def noted(self: unittest.TestCase, *arguments, **named):
        self._asserted = True
        return assertion(self, *arguments, **named)
    return noted


def run() -> int:
    """The exit status."""
    for name in dir(unittest.TestCase):
        if name.startswith("assert"):
            setattr(unittest.TestCase, name, _noting(getattr(unittest.TestCase, name)))
    runner = unittest.TextTestRunner(verbosity=0, resultclass=CountedResult)
    result = unittest.main(exit=False, testRunner=runner).result
    bad = len({test.id().split(" ")[0] for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    for test, reason in result.skipped:
        print(f"skip {test.id().rsplit('.', 1)[-1]}: {reason}")
    print(f"{max(result.testsRun - bad - skipped, 0)} passed, {bad} failed, {skipped} skipped")
    return 0 if result.wasSuccessful() else 1
