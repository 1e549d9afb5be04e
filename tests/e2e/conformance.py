# SPDX-License-Identifier: MIT
"""The runner of conformance binaries (tests/conformance), with a stand-in for one whose cases run a real program."""

from __future__ import annotations

import json
import os
import sys

from e2e.cases import Cases, Context, check

CASES = Cases()


@CASES.add
def cases_are_recorded_and_replayed(context: Context) -> None:
    suite = context.folder / "suite"
    suite.mkdir()
    (suite / "data.txt").write_text("")
    deqp = suite / "deqp-vk"
    deqp.write_text(f'#!/bin/sh\nexec {sys.executable} {context.root}/tests/conformance/fake.py deqp-vk "$@"\n')
    deqp.chmod(0o755)
    (context.folder / "cases").write_text("dEQP-FAKE.api.simple.pass\ndEQP-FAKE.api.simple.pass_2\n")
    driver = context.driver or os.environ.get("VK_DRIVER_FILES")
    context.run([sys.executable, str(context.root / "tests/conformance/run.py"), "--build", str(context.build), "--deqp", str(deqp), "--cases", "cases",
                 "--out", "out", "--time-out", "120", *(["--driver", str(driver)] if driver else [])], env={"FAKE_PROGRAM": context.app("compute")})
    total = json.loads((context.folder / "out/report.json").read_text())["total"]
    check(total["passed"] == 2 and total["replays"] == {"here": {"identical": 2}}, f"{total}")
    check(total["checks"] > 0 and total["trace_bytes"] > 0, f"{total}")


def cases() -> Cases:
    return CASES
