# SPDX-License-Identifier: MIT
"""Runs the test cases of the program that was started, and counts them as tests/run.py wants it."""

from __future__ import annotations

import unittest


def run() -> int:
    """The exit status."""
    result = unittest.main(exit=False, verbosity=0).result
    bad = len({test.id().split(" ")[0] for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - bad - skipped} passed, {bad} failed, {skipped} skipped")
    return 0 if result.wasSuccessful() else 1
