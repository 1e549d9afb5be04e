# SPDX-License-Identifier: MIT
"""Folders on the device: of the shell, and of apps, whose files come and go by run-as, or as root. A file has arrived when its size is right."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from android.adb import MOVE_SECONDS, UNSUPPORTED, Adb, Fault, Gone, line_of
from android.settings import DEVICE_FOLDER


@dataclass
class Place:
    """A folder. `way` is in front of a program that shall reach it."""

    adb: Adb
    path: str
    way: tuple[str, ...] = ()

    def line(self, script: str) -> str:
        """A line for the device's shell that runs a script in the folder."""
        return line_of([*self.way, "sh", "-c", f"cd {line_of([self.path])} && {{ {script}\n}}"])

    def run(self, script: str) -> str:
        done = self.adb.shell(self.line(script))
        if done.status:
            raise Fault(f"{self.path} on the device: {done.said}")
        return done.out

    def make(self) -> None:
        done = self.adb.shell(line_of([*self.way, "mkdir", "-p", self.path]))
        if done.status:
            raise Fault(f"{self.path} can't be made on the device: {done.said}")

    def files(self, *tests: str) -> dict[str, int]:
        """Sizes of the files in it, also of those in its folders, or of those that pass tests of find; none where it is not there."""
        done = self.adb.shell(self.line(f"find . {line_of(tests)} -type f -exec stat -c '%s %n' '{{}}' +"))
        return {match.group(2): int(match.group(1)) for match in re.finditer(r"^(\d+) \./(.+)$", done.out, re.M)}

    def fetch(self, name: str, size: int, to: Path) -> None:
        """A new file, or nothing."""
        own = to.with_name(f".{to.name}.{secrets.token_hex(4)}")
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            with own.open("xb") as out:
                self.adb.run("exec-out", self.line(f"cat {line_of(['./' + name])} 2> /dev/null"), seconds=MOVE_SECONDS, to=out)
                out.flush()
                os.fsync(out.fileno())
            if own.stat().st_size != size:
                raise Gone(f"{name} did not arrive: {own.stat().st_size} of {size} bytes came")
            own.replace(to)
        except OSError as error:
            raise Fault(f"{to} can't be written: {error.strerror}") from None
        finally:
            with contextlib.suppress(OSError):
                own.unlink()

    def put(self, source: Path, name: str) -> None:
        """Appears under its name when it is whole."""
        own = f"{name}.part"
        with source.open("rb") as data:
            done = self.adb.shell(self.line(f"umask 077; cat > {line_of([own])} && mv {line_of([own])} {line_of([name])}"), seconds=MOVE_SECONDS, source=data)
        if done.status or self.files("-name", name).get(name) != source.stat().st_size:
            self.adb.shell(self.line(f"rm -f {line_of([own, name])}"))
            raise Fault(f"{source} can't be copied to the device: {no_room(done.said)}")

    def remove(self, *names: str) -> None:
        if names:
            self.run(f"rm -rf {line_of(names)}")


def no_room(said: str) -> str:
    return "it has no room left (lapilli android clean frees what was copied there)" if re.search(r"No space left|ENOSPC|INSUFFICIENT_STORAGE", said) else said


def shell_place(adb: Adb, name: str) -> Place:
    return Place(adb, f"{DEVICE_FOLDER}/{name}")


@contextlib.contextmanager
def own_place(adb: Adb) -> Iterator[Place]:
    """A new folder of the shell, which is removed in the end."""
    place = shell_place(adb, f"runs/{secrets.token_hex(4)}")
    place.make()
    try:
        yield place
    finally:
        with contextlib.suppress(Gone):
            adb.shell(line_of(["rm", "-rf", place.path]))


def of_app(adb: Adb, package: str, folder: str = "files") -> Place:
    """A folder of an app. Fault: nobody but the app may use it."""
    way: tuple[str, ...] = ("run-as", package)
    user, answer = adb.answers(("am", "get-current-user"), (*way, "echo", "yes"))
    user = user if user.isdecimal() else "0"
    if user == "0" and answer == "yes":
        return Place(adb, folder, way)
    way += ("--user", user) if user != "0" else ()
    refused = adb.shell(line_of([*way, "true"]))
    if not refused.status:
        return Place(adb, folder, way)
    path = f"/data/user/{user}/{package}/{folder}"
    for root in ((), ("su", "0")):
        if adb.shell(line_of([*root, "id", "-u"])).out.strip() == "0":
            return Place(adb, path, root)
    raise Fault(f"{package} does not let its files out: {refused.said}. It is to be a debuggable build, or the device one where adb is root", UNSUPPORTED)
