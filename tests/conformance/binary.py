# SPDX-License-Identifier: MIT
"""A conformance binary (deqp-vk) that the user has: what it lists, runs of some of its cases, and the results in its log.

It is started in its own folder, where its data lies, and writes nothing there.
"""

from __future__ import annotations

import html
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from farm.process import Processes, environment

ARGUMENTS = ["--deqp-log-images=disable", "--deqp-log-shader-sources=disable", "--deqp-shadercache=disable", "--deqp-log-flush=enable"]
# What a case of its own can be worth; anything else counts as a failure of it.
GOOD = {"Pass", "QualityWarning", "CompatibilityWarning", "CapabilityWarning", "Waiver"}
NOT_SUPPORTED = "NotSupported"
CRASH, TIMEOUT, MISSING = "Crash", "Timeout", "Missing"

BEGIN = re.compile(r"^#beginTestCaseResult (\S+)")
TERMINATED = re.compile(r"^#terminateTestCaseResult (\w+)")
RESULT = re.compile(r'<Result StatusCode="(\w+)">(.*?)</Result>', re.DOTALL)


class BinaryError(Exception):
    """Why nothing can be asked of the binary."""


@dataclass
class Result:
    status: str
    text: str = ""


@dataclass
class Ran:
    results: dict[str, Result] = field(default_factory=dict)  # in the order in which they ran
    seconds: float = 0.0
    processes: int = 0
    err: str = ""


def parse_log(text: str) -> tuple[dict[str, Result], str | None]:
    """Results of a log, and the case that it breaks off in."""
    results: dict[str, Result] = {}
    case, lines = None, []
    for line in text.splitlines():
        begun, terminated = BEGIN.match(line), TERMINATED.match(line)
        if begun:
            case, lines = begun[1], []
        elif case and (terminated or line.startswith("#endTestCaseResult")):
            found = RESULT.findall("\n".join(lines))
            if terminated:
                results[case] = Result(terminated[1], "the binary ended it")
            elif found:
                results[case] = Result(found[-1][0], " ".join(html.unescape(re.sub(r"<[^>]*>", "", found[-1][1])).split()))
            else:
                results[case] = Result("InternalError", "no result in the log")
            case = None
        elif case:
            lines.append(line)
    return results, case


@dataclass
class Binary:
    path: Path
    processes: Processes
    prefix: list[str] = field(default_factory=list)  # what starts it: a driver folder's ld.so
    driver: Path | None = None
    arguments: list[str] = field(default_factory=list)
    seconds: float = 60.0  # for one case, natively

    def command(self, *more: str) -> list[str]:
        return [*self.prefix, str(self.path), *ARGUMENTS, *self.arguments, *more]

    def list(self) -> Iterator[str]:
        """Names of all cases, as the binary gives them out."""
        try:
            process = subprocess.Popen(self.command("--deqp-runmode=stdout-caselist", "--deqp-log-filename=/dev/null"), cwd=self.path.parent,
                                       env=environment(self.driver), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True, errors="replace")
        except OSError as error:
            raise BinaryError(f"{self.path} can't be started: {error.strerror}") from error
        count = 0
        try:
            for line in process.stdout:
                if line.startswith("TEST: "):
                    count += 1
                    yield line[len("TEST: "):].strip()
        finally:
            if process.poll() is None and not count:
                process.kill()
            process.stdout.close()
            status = process.wait()
        if not count or status:
            raise BinaryError(f"{self.path} listed {count} cases, and its exit status was {status}")

    def run(self, cases: list[str], folder: Path, env: dict[str, str] | None = None, wrapper: list[str] | None = None, slower: float = 1) -> Ran:
        """Runs cases in one process; in as many as it takes where some crash or hang, whose result says so. With a wrapper (what
        records them), which ends what it started when it is asked to."""
        ran = Ran()
        left = list(cases)
        while left:
            ran.processes += 1
            log, names = folder / f"{ran.processes}.qpa", folder / f"{ran.processes}.txt"
            names.write_text("".join(f"{case}\n" for case in left))
            try:
                done = self.processes.watch([*(wrapper or []), *self.command(f"--deqp-caselist-file={names}", f"--deqp-log-filename={log}")], self.path.parent,
                             environment(self.driver, env), folder, self.seconds * slower, log)
            except OSError as error:
                raise BinaryError(f"{self.path} can't be started: {error.strerror}") from error
            ran.seconds += done.seconds
            ran.err += done.err
            results, open_case = parse_log(log.read_text(errors="replace") if log.exists() else "")
            if open_case is None and not results and (done.late or done.status):
                open_case = left[0]  # it did not come as far as the log
            if open_case:
                results[open_case] = Result(TIMEOUT if done.late else CRASH, f"no end after {self.seconds * slower:.0f} s" if done.late
                                            else f"the process ended with {done.status}")
            ran.results |= {case: result for case, result in results.items() if case in left}
            before = len(left)
            left = [case for case in left if case not in results]
            if len(left) == before or (left and not open_case and done.status == 0):
                ran.results |= {case: Result(MISSING, "the binary has no such case") for case in left}
                break
        return ran
