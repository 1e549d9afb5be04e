# SPDX-License-Identifier: MIT
"""adb: the only way to a device. Each call has a time limit. A command of the device's shell says by a last line that it came to its end, so
that its exit status is known from any adb, and a cut cable is told from a command that fails."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SECONDS = 30
MOVE_SECONDS = 1800  # for a file or an app
END = "lapilli-end:"
LOST = re.compile(r"device '[^']*' not found|no devices/emulators found|device offline|device still |device unauthorized|error: closed|protocol fault|connection reset", re.I)

FAILED, USAGE, NO_TRACE, INCOMPLETE, UNSUPPORTED, NOT_STARTED = 1, 2, 3, 4, 5, 127  # base/exit_code.h


class Fault(Exception):
    """A sentence for the user, and the exit status."""

    def __init__(self, sentence: str, status: int = FAILED) -> None:
        super().__init__(sentence)
        self.status = status


class Gone(Fault):
    """The device does not answer any more."""


@dataclass
class Done:
    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The last line that says something, wherever it was printed."""
        lines = [line.strip() for line in (self.out + "\n" + self.err).splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {self.status}"


def line_of(words: tuple[str, ...] | list[str]) -> str:
    """Words as a line for the device's shell."""
    return " ".join(shlex.quote(word) for word in words)


def answer(words: tuple[str, ...]) -> str:
    """A line that prints the first line of a command's output, an empty one for none."""
    return f'echo "$({line_of(words)} 2> /dev/null | head -n 1)"'


def text_of(data: bytes) -> str:
    return data.decode(errors="replace").replace("\r\n", "\n")


@dataclass
class Adb:
    program: str
    serial: str = ""

    def command(self, *words: str) -> list[str]:
        return [self.program, *(["-s", self.serial] if self.serial else []), *words]

    def start(self, *words: str, **how: object) -> subprocess.Popen:
        """In a group of its own: Ctrl-C ends us, and we end it."""
        try:
            return subprocess.Popen(self.command(*words), start_new_session=True, **{"stdin": subprocess.DEVNULL, **how})
        except OSError as error:
            raise Fault(f"{self.program} can't be started: {error.strerror}. adb is in Android's platform tools, and in Debian's package adb; --adb PATH names it", NOT_STARTED) from None

    def run(self, *words: str, seconds: float = SECONDS, source: IO[bytes] | None = None, to: IO[bytes] | None = None) -> Done:
        """A command of adb itself. Gone: the device is not there."""
        process = self.start(*words, stdin=source or subprocess.DEVNULL, stdout=to or subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Gone(f"adb {words[0]} did not end within {seconds:g} seconds. Try 'adb kill-server', and the cable") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        done = Done(process.returncode, text_of(out or b""), text_of(err))
        if done.status and LOST.search(done.out + done.err):
            raise Gone(f"the device {self.serial} is not there any more: {done.said}")
        return done

    def shell(self, line: str, seconds: float = SECONDS, source: IO[bytes] | None = None) -> Done:
        """A line for the device's shell, whose words are quoted; its own exit status."""
        done = self.run("shell", f"{line}\necho {END}$?", seconds=seconds, source=source)
        out, mark, status = done.out.rpartition(END)
        if not mark or not status.strip().isdecimal():
            raise Gone(f"the device {self.serial} went away while it ran '{line.splitlines()[0][:60]}': {done.said}")
        return Done(int(status), out, done.err)

    def ask(self, *words: str) -> str:
        """The output of a command that does not fail, without the spaces around it."""
        done = self.shell(line_of(words))
        if done.status:
            raise Fault(f"{words[0]} failed on the device: {done.said}")
        return done.out.strip()

    def answers(self, *commands: tuple[str, ...]) -> list[str]:
        """The first line of each of some commands, by one call."""
        lines = self.shell("\n".join(map(answer, commands))).out.splitlines()
        if len(lines) != len(commands):
            raise Fault(f"the device {self.serial} gave {len(lines)} answers to {len(commands)} questions")
        return [line.strip() for line in lines]


def find(path: str) -> str:
    """The adb that is meant; Fault: there is none."""
    found = shutil.which(path or "adb")
    if not found:
        raise Fault(f"{path or 'adb'} is not there: it is in Android's platform tools, and in Debian's package adb; --adb PATH names it", NOT_STARTED)
    return found


@dataclass
class Tools:
    """Programs of Lapilli, beside this one or in PATH."""

    folder: Path

    def path(self, name: str) -> str:
        return str(self.folder / name) if (self.folder / name).exists() else shutil.which(name) or name

    def run(self, name: str, *words: str) -> Done:
        try:
            done = subprocess.run([self.path(name), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except OSError as error:
            raise Fault(f"{name} can't be started: {error.strerror}", NOT_STARTED) from None
        return Done(done.returncode, text_of(done.stdout), text_of(done.stderr))


def until(holds: object, seconds: float) -> bool:
    """Whether it came to hold within this time."""
    late = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > late:
            return False
        time.sleep(0.1)
    return True
