#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs on the null driver: without the layer, recorded, and replayed. check.py --build DIR

Fails when a program or a replay does not end well, when the driver was given a handle that is not there, and when a sanitizer
that the build has in it reports anything. With --fail, every N-th call that can fail fails, one run each: nobody may die of it."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = ("threads", "churn")
REPORT = re.compile(r"null: (\d+) calls that can fail, (\d+) failed, (\d+) times something was wrong")
SANITIZER = re.compile(r"(WARNING|ERROR): \w*Sanitizer|runtime error:")
TIMEOUT = 240  # seconds, for what hangs


class Checker:
    def __init__(self, build: Path):
        self.build, self.failed = build, 0
        manifest = str(build / "tests/null/null_icd.json")
        # NODEVICE_SELECT: without a layer of Mesa's, which falls over calls that fail. Nobody waits for our thread at exit.
        self.environment = os.environ | {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest, "NULL_REPORT": "1",
                                         "NODEVICE_SELECT": "1", "TSAN_OPTIONS": "exitcode=66 report_thread_leaks=0"}
        for name in ("VK_INSTANCE_LAYERS", "VK_ADD_LAYER_PATH", "NULL_FAIL_CALL", "NULL_FAIL_COMMAND", "NULL_FAIL_CODE", "NULL_ABORT"):
            self.environment.pop(name, None)

    def run(self, what: str, command: list[str], more: dict[str, str], may_fail: bool = False) -> int:
        """How many calls there were that can fail."""
        try:
            done = subprocess.run(command, env=self.environment | more, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            text, status = done.stdout + done.stderr, done.returncode
        except subprocess.TimeoutExpired:
            text, status = f"no end after {TIMEOUT} s", -1
        report = REPORT.search(text)
        good = not SANITIZER.search(text) and report is not None and report.group(3) == "0"
        good = good and (0 <= status < 66 if may_fail else status == 0)
        if not good:
            self.failed += 1
        if not may_fail or not good:
            print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good else f": status {status}\n{text}"), flush=True)
        return int(report.group(1)) if report else 0

    def recorded(self, file: Path) -> dict[str, str]:
        return {"VK_INSTANCE_LAYERS": "VK_LAYER_LAPILLI_capture", "LAPILLI_FILE": str(file),
                "VK_LAYER_PATH": str(self.build / "share/vulkan/explicit_layer.d")}

    def program(self, name: str, folder: Path, every: int) -> None:
        command = [str(self.build / "tests/apps" / name), "--no-check"]
        trace = folder / f"{name}.lapilli"
        self.run(name, command, {})
        calls = self.run(f"{name}, recorded", command, self.recorded(trace))
        if not trace.exists() or (folder / f"{name}.lapilli.tail").exists():
            self.failed += 1
            print(f"FAIL {name}: there is no complete trace")
            return
        replay = self.build / "bin/lapilli-replay"
        for threads in ("1", "4") if replay.exists() else ():
            self.run(f"{name}, replayed by {threads}", [str(replay), "--present", "off", "--threads", threads, str(trace)], {})
        for call in range(1, calls + 1, every) if every else ():
            self.run(f"{name}, recorded, call {call} fails", command,
                     self.recorded(folder / f"{name}-{call}.lapilli") | {"NULL_FAIL_CALL": str(call), "NULL_FAIL_CODE": str(call)}, True)
        if every:
            print(f"ok   {name}, recorded, each {every}. of {calls} calls failed once")


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs programs on the null driver.")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--fail", type=int, default=0, metavar="N", help="have every N-th call fail as well, one run each")
    options = parser.parse_args()
    checker = Checker(options.build.resolve())
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            checker.program(name, Path(folder), options.fail)
    return 1 if checker.failed else 0


if __name__ == "__main__":
    sys.exit(main())
