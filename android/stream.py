# SPDX-License-Identifier: MIT
"""A recording that is streamed: `lapilli receive` on this machine, the way from the device to it, and the token that both have."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from android.adb import FAILED, INCOMPLETE, NOT_STARTED, NO_TRACE, Adb, Fault, Tools
from android.files import Place
from android.traces import Output

END_SECONDS = 20


def leash() -> list[str]:
    """What lets the kernel end a command with us; nothing where there is no setpriv."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []


def make_token(folder: str) -> Path:
    """A new secret in a file of this user alone."""
    token = Path(folder, "token")
    with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(base64.b64encode(secrets.token_bytes(32)) + b"\n")
    return token


@dataclass
class Receiver:
    """Writes the traces that come. `address` is where it listens, `token` the file that lapilli control needs, too."""

    process: subprocess.Popen
    address: str
    token: Path | None
    folder: tempfile.TemporaryDirectory
    rows: list[dict] = field(default_factory=list)
    reader: threading.Thread | None = None

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @classmethod
    def start(cls, tools: Tools, output: Output, package: str, with_token: bool) -> Receiver:
        folder = tempfile.TemporaryDirectory(prefix="lapilli-android-")
        token = make_token(folder.name) if with_token else None
        name = (output.name or f"{package}.lapilli").replace("%", "%%")
        command = [tools.path("lapilli-receive"), "--listen", "tcp://127.0.0.1:0", "--json", "--exit-when-done", "-o", str(output.folder), "--name", name]
        try:
            process = subprocess.Popen([*leash(), *command, *(["--token-file", str(token)] if token else [])], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            folder.cleanup()
            raise Fault(f"lapilli-receive can't be started: {error.strerror}", NOT_STARTED) from None
        try:
            address = json.loads(process.stdout.readline())["listening"]
        except (ValueError, KeyError):
            folder.cleanup()
            raise Fault(f"lapilli-receive ended with {process.wait()}") from None
        made = cls(process, address, token, folder)
        made.reader = threading.Thread(target=made._read, daemon=True)
        made.reader.start()
        return made

    def _read(self) -> None:
        for line in self.process.stdout:
            self.rows.append(json.loads(line))

    def end(self, seconds: float = END_SECONDS) -> int:
        """Waits for the ends of traces; the exit status."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.terminate()
        status = self.process.wait()
        self.reader.join(END_SECONDS)
        self.folder.cleanup()
        if not self.rows:
            return NO_TRACE
        return status if status in (0, INCOMPLETE) else FAILED

    def stop(self) -> None:
        """Ends it where that has not happened."""
        if self.process.poll() is None:
            self.end(0)


def lay(adb: Adb, receiver: Receiver, name: str) -> str:
    """The way to the receiver; what the file property says."""
    done = adb.run("reverse", f"localabstract:{name}", f"tcp:{receiver.port}")
    if done.status:
        raise Fault(f"adb reverse failed: {done.said}")
    return f"unix:@{name}"


def put_token(receiver: Receiver, place: Place, name: str) -> None:
    place.make()
    place.put(receiver.token, name)
