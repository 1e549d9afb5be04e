# SPDX-License-Identifier: MIT
"""lapilli android serve: lapilli serve runs on this machine, and the device plays. There lapilli run listens at a name, adb leads a port of
this machine to the name, and a token that both sides have keeps others out."""

from __future__ import annotations

import contextlib
import secrets
import signal
import subprocess
import tempfile
import threading
from collections import deque
from typing import Iterator

from android import devices, stream
from android.adb import END, NOT_STARTED, Adb, Fault, Gone, Tools, line_of, until
from android.files import Place, own_place
from android.settings import DEVICE_FOLDER, Say
from android.signals import Ended, Signals

PROGRAM = f"{DEVICE_FOLDER}/bin/lapilli-run"
READY = "waits for programs at"
START_SECONDS, END_SECONDS, POLL_SECONDS = 20, 10, 0.1


class Player:
    """lapilli run on the device. The shell there ends it when its standard input ends: also when we are killed, or the cable is pulled."""

    def __init__(self, adb: Adb, place: Place, name: str) -> None:
        self.adb, self.place, self.ready = adb, place, False
        self.said: deque[str] = deque(maxlen=5)
        words = [PROGRAM, "--listen", f"unix:@{name}", "--cache", f"{DEVICE_FOLDER}/cache", "--token-file", f"{place.path}/token"]
        script = (f"exec 3<&0; TMPDIR={place.path} {line_of(words)} < /dev/null 3<&- & echo $! > pid; "
                  f"{{ cat <&3; kill $(cat pid); }} > /dev/null 2>&1 & wait $(cat pid); status=$?; rm -f token; echo {END}$status")
        self.process = adb.start("shell", place.line(script), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            text = line.decode(errors="replace").strip()
            if READY in text:
                self.ready = True
            else:
                self.said.append(text)

    def runs(self) -> bool:
        return self.process.poll() is None and not any(line.startswith(END) for line in list(self.said))

    def fault(self) -> Fault:
        """Why it does not run."""
        until(lambda: not self.reader.is_alive(), 1)
        *words, last = list(self.said) or [""]
        if last.startswith(END):
            return Fault(f"lapilli run on {self.adb.serial} has ended with {last.removeprefix(END)}: {'; '.join(words)}")
        return Gone(f"the device {self.adb.serial} is not there any more{': ' if last else ''}{last}")

    def stop(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(Fault):
                self.place.run("kill -9 $(cat pid)")
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def way(adb: Adb, name: str) -> Iterator[str]:
    """A port of this machine that leads to a name of the device."""
    done = adb.run("forward", "tcp:0", f"localabstract:{name}")
    port = done.out.split()[-1] if done.out.strip() else ""
    if done.status or not port.isdecimal():
        raise Fault(f"adb forward failed: {done.said}")
    try:
        yield port
    finally:
        with contextlib.suppress(Fault):  # a device that is away has none
            adb.run("forward", "--remove", f"tcp:{port}")


def start(tools: Tools, words: list[str]) -> subprocess.Popen:
    try:
        return subprocess.Popen([*stream.leash(), tools.path("lapilli-serve"), *words])
    except OSError as error:
        raise Fault(f"lapilli-serve can't be started: {error.strerror}", NOT_STARTED) from None


def wait(service: subprocess.Popen, player: Player, signals: Signals) -> int:
    """Until one of both, or we, shall end; the exit status of the service."""
    while service.poll() is None and player.runs() and not signals.number:
        signals.pause(POLL_SECONDS)
    lost = None if service.poll() is not None or signals.number else player.fault()
    if service.poll() is None:
        service.send_signal(signals.number or signal.SIGTERM)
    status = service.wait()
    if lost:
        raise lost
    return status if status >= 0 else 128 - status


def serve(adb: Adb, words: list[str], tools: Tools, signals: Signals, say: Say) -> int:
    devices.check_release(devices.properties(adb))
    devices.check_program(adb, PROGRAM)
    name = f"lapilli-run-{secrets.token_hex(4)}"
    with signals.hold(), contextlib.ExitStack() as stack:
        token = stream.make_token(stack.enter_context(tempfile.TemporaryDirectory(prefix="lapilli-android-")))
        place = stack.enter_context(own_place(adb))
        place.put(token, "token")
        player = Player(adb, place, name)
        stack.callback(player.stop)
        if not until(lambda: player.ready or not player.runs() or signals.number, START_SECONDS):
            raise Fault(f"lapilli run on {adb.serial} does not begin to listen: {'; '.join(player.said)}")
        if signals.number:
            raise Ended(signals.number)
        if not player.ready:
            raise player.fault()
        port = stack.enter_context(way(adb, name))
        say(f"replays are played on {adb.serial}")
        return wait(start(tools, ["--on", f"tcp://127.0.0.1:{port}", "--on-token-file", str(token), *words]), player, signals)
