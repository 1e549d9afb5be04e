# SPDX-License-Identifier: MIT
"""Processes that a run starts: each in a group of its own, watched, and ended with the run. tests/conformance uses it, too."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

POLL_SECONDS = 0.02
GRACE_SECONDS = 10


class Stopped(Exception):
    """The run is to end: nothing is started any more."""


@dataclass
class Ended:
    """A process that ran to its end, or until nothing came of it any more."""

    status: int  # negative: the signal that ended it
    late: bool
    seconds: float
    out: str = ""
    err: str = ""


@functools.cache
def leash() -> tuple[str, ...]:
    """What makes of a command one that the kernel kills when the thread that started it is gone; nothing where there is no setpriv."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


def environment(driver: Path | str | None, more: dict[str, str] | None = None) -> dict[str, str]:
    """That of this process, with one driver, without what would change what the loader and Lapilli do."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("LAPILLI_", "VK_", "DEQP"))}
    icd = str(driver) if driver else os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    if icd:
        variables["VK_DRIVER_FILES"] = variables["VK_ICD_FILENAMES"] = icd
    return variables | (more or {})


@dataclass
class Processes:
    """Those of one run; any thread may call."""

    running: set[subprocess.Popen] = field(default_factory=set)
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, command: list[str], folder: Path, env: dict[str, str], output: Path, seconds: float, progress: Path | None = None) -> Ended:
        """Runs a command, its output in files, until `seconds` have passed in which `progress` did not grow (without it: in all)."""
        start = time.monotonic()
        with (output / "out").open("wb") as out, (output / "err").open("wb") as err:
            with self.lock:
                if self.stopped:
                    raise Stopped
                process = subprocess.Popen([*leash(), *command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
                self.running.add(process)
            try:
                late = wait(process, start, seconds, progress)
            except BaseException:  # a signal's handler has raised it
                end(process)
                raise
            finally:
                with self.lock:
                    self.running.discard(process)
        if self.stopped:
            raise Stopped

        def text(name: str) -> str:
            return (output / name).read_text(errors="replace")
        return Ended(process.returncode, late, time.monotonic() - start, text("out"), text("err"))

    def stop(self) -> None:
        """Ends all of them, and lets none be started; their watch raises Stopped."""
        with self.lock:
            self.stopped = True
            ending = list(self.running)
        for process in ending:
            kill(process, signal.SIGTERM)
        late = time.monotonic() + GRACE_SECONDS
        while self.running and time.monotonic() < late:
            time.sleep(POLL_SECONDS)
        for process in ending:
            kill(process, signal.SIGKILL)


def wait(process: subprocess.Popen, start: float, seconds: float, progress: Path | None) -> bool:
    """Whether it was late."""
    last, size = start, -1
    while process.poll() is None:
        time.sleep(POLL_SECONDS)
        now = time.monotonic()
        grown = progress.stat().st_size if progress and progress.exists() else -1
        if grown != size:
            last, size = now, grown
        if now - last > seconds:
            end(process)
            return True
    return False


def kill(process: subprocess.Popen, number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def end(process: subprocess.Popen) -> None:
    """Asks its group to end, then makes it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        kill(process, number)
        try:
            process.wait(GRACE_SECONDS)
            break
        except subprocess.TimeoutExpired:
            continue
    kill(process, signal.SIGKILL)  # those of its group that outlived it
