# SPDX-License-Identifier: MIT
"""Stands in for a conformance binary, for lapilli-capture, lapilli-replay and lapilli-compare-checks: fake.py WHICH ARGUMENTS.

What becomes of a case is in its name: the words between the underscores of its last part. A trace is the names of the cases that it has.
FAKE_PROGRAM makes the binary run a program for each case, so that there is something to record in earnest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

CASES = ["dEQP-FAKE.api.simple.pass", "dEQP-FAKE.api.simple.pass_again", "dEQP-FAKE.api.simple.warning", "dEQP-FAKE.api.queries.unsupported",
         "dEQP-FAKE.api.queries.idle", "dEQP-FAKE.draw.deep.below.pass", "dEQP-FAKE.draw.deep.fail", "dEQP-FAKE.draw.deep.pass_2"]
RECORDED = "FAKE_RECORDED"


def words(case: str) -> list[str]:
    return case.rsplit(".", 1)[-1].split("_")


def result(case: str, recorded: bool) -> tuple[str, str]:
    has = words(case)
    if "unsupported" in has or ("hidden" in has and recorded):
        return "NotSupported", "VK_KHR_fake_thing is not supported at fake.cpp:12"
    if "random" in has:
        counter = Path(os.environ["FAKE_COUNTER"])
        counter.write_text(f"{int(counter.read_text() if counter.exists() else 0) + 1}")
        return ("Pass", "Pass") if int(counter.read_text()) % 2 else ("Fail", "luck")
    if "fail" in has or ("changes" in has and recorded):
        return "Fail", "Images &lt;differ&gt;"
    return ("QualityWarning", "slow") if "warning" in has else ("Pass", "Pass")


def binary(arguments: list[str]) -> int:
    options = dict(argument.split("=", 1) for argument in arguments)
    if options.get("--deqp-runmode") == "stdout-caselist":
        print("GROUP: dEQP-FAKE.api\nWriting...")
        print("\n".join(f"TEST: {case}" for case in CASES))
        return 0
    if not Path("data.txt").exists():
        print("the data is not here", file=sys.stderr)
        return 1
    names = Path(options["--deqp-caselist-file"]).read_text().split()
    recorded, program = bool(os.environ.get(RECORDED)), os.environ.get("FAKE_PROGRAM")
    with Path(options["--deqp-log-filename"]).open("w") as log:
        print("#sessionInfo releaseName fake\n#beginSession", file=log, flush=True)
        for case in names:
            if "gone" in words(case):
                continue
            print(f'\n#beginTestCaseResult {case}\n<?xml version="1.0"?>\n<TestCaseResult CasePath="{case}">', file=log, flush=True)
            if "crash" in words(case) or ("breaks" in words(case) and recorded):
                os.kill(os.getpid(), signal.SIGSEGV)
            if "ended" in words(case):
                print("#terminateTestCaseResult Crash", file=log, flush=True)
                return 1
            if "hang" in words(case):
                time.sleep(600)
            status, text = result(case, recorded)
            if program and subprocess.run([program], stdout=subprocess.DEVNULL, check=False).returncode:
                status, text = "Fail", "the program failed"
            print(f'<Result StatusCode="{status}">{text}</Result>\n</TestCaseResult>\n\n#endTestCaseResult', file=log, flush=True)
        print("#endSession", file=log)
    return 0


def capture(arguments: list[str]) -> int:
    file, command = Path(arguments[arguments.index("-o") + 1]), arguments[arguments.index("--") + 1:]
    names = next(argument for argument in command if argument.startswith("--deqp-caselist-file=")).split("=", 1)[1]
    print("lapilli: warning: object 17 is strange", file=sys.stderr)
    status = subprocess.run(command, env={**os.environ, RECORDED: "1"}, check=False).returncode
    while file.exists():
        file = file.with_name(f"{file.stem}-2.lapilli")
    file.write_text(Path(names).read_text())
    return status if status >= 0 else 128 - status


def replay(arguments: list[str]) -> int:
    names = Path(arguments[-1]).read_text().split()
    has = {word for name in names for word in words(name)}
    there = "there" in os.environ.get("VK_DRIVER_FILES", "")
    ignored = Path(arguments[arguments.index("--ignore-checks") + 1]).read_text() if "--ignore-checks" in arguments else ""
    if "refused" in has and there:
        print("lapilli-replay: error: this GPU has no such thing", file=sys.stderr)
        return 5
    if "falls" in has:
        os.kill(os.getpid(), signal.SIGSEGV)
    if all({"idle", "unsupported"} & set(words(name)) for name in names):
        print("lapilli-replay: error: there was nothing to compare: no submit", file=sys.stderr)
        return 1
    different = sum("differs" in words(name) or ("shifts" in words(name) and not ignored) for name in names)
    if different:
        print("lapilli-replay: error: buffer 3 differs", file=sys.stderr)
    print(f"verify: {len(names)} checks, {f'{len(names)} within, ' if there else ''}{different} different")
    return 1 if different else 0


def compare(arguments: list[str]) -> int:
    names = Path(arguments[-1]).read_text().split()
    print("".join(f"buffer {i}\n" for i, name in enumerate(names) if "shifts" in words(name)), end="")
    return 0


if __name__ == "__main__":
    sys.exit({"deqp-vk": binary, "lapilli-capture": capture, "lapilli-replay": replay, "lapilli-compare-checks": compare}[sys.argv[1]](sys.argv[2:]))
