# SPDX-License-Identifier: MIT
"""lapilli android capture: an app is recorded, its traces come here, and the device is as before."""

from __future__ import annotations

import argparse
import re
import secrets
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from android import devices, settings, stream, traces
from android.adb import INCOMPLETE, NO_TRACE, UNSUPPORTED, USAGE, Adb, Fault, Gone, Tools, line_of, until
from android.files import Place, of_app
from android.options import layer_properties
from android.settings import APP, Say
from android.signals import Ended, Signals

START_SECONDS = 15
POLL_SECONDS = 0.3


@dataclass
class Recording:
    adb: Adb
    args: argparse.Namespace
    tools: Tools
    signals: Signals
    say: Say
    package: str
    output: traces.Output
    mark: str
    place: Place | None = None
    receiver: stream.Receiver | None = None

    def pids(self) -> list[str]:
        """Of all processes of the app: PACKAGE, and PACKAGE:NAME."""
        rows = [line.split(None, 1) for line in self.adb.shell("ps -A -o PID,ARGS").out.splitlines()]
        return [row[0] for row in rows if len(row) == 2 and row[0].isdecimal() and row[1].strip().partition(":")[0] == self.package]

    def check(self) -> None:
        """Fault: this app can't be recorded so."""
        found = devices.properties(self.adb, self.package, APP)
        devices.check_release(found)
        if self.package not in found["packages"]:
            raise Fault(f"there is no app {self.package} on {self.adb.serial}: 'adb shell pm list packages -3' lists them", UNSUPPORTED)
        if not self.args.in_app and APP not in found["packages"]:
            raise Fault("Lapilli's app, which has the layer, is not installed: 'lapilli android install' does it; --in-app is for apps that have the layer themselves", UNSUPPORTED)
        try:
            self.place = of_app(self.adb, self.package)
        except Gone:
            raise
        except Fault:
            if not self.args.inject_layers:
                raise
            if not self.args.stream:
                raise Fault("--inject-layers needs --stream: nobody gets at the files of an app that is not debuggable", USAGE) from None
        if self.place:
            self.place.make()

    def properties(self) -> dict[str, str]:
        """Those of the layer. A trace on the device has a mark in its name, by which it is found."""
        wanted = layer_properties(self.args)
        if "screenshot" in wanted:
            wanted["screenshot_dir"] = f"lapilli-{self.mark}"
        wanted["file"] = f"%e.{self.mark}.lapilli"
        if self.args.stream:
            wanted["file"] = f"unix:@lapilli-{self.mark}"
            if self.place:
                wanted["token_file"] = f"lapilli-token-{self.mark}"
        return wanted

    def begin(self) -> None:
        """Changes the device, and notes before how it was."""
        properties, more = self.properties(), {"package": self.package, "mark": self.mark}
        if self.args.stream:
            more["reverse"] = f"localabstract:lapilli-{self.mark}"
            if self.place:
                more["remove"] = self.place.line(f"rm -f lapilli-token-{self.mark}")
            self.receiver = stream.Receiver.start(self.tools, self.output, self.package, with_token=self.place is not None)
        settings.change(self.adb, self.package, self.args.in_app, properties, more)
        if self.receiver:
            stream.lay(self.adb, self.receiver, f"lapilli-{self.mark}")
            if self.place:
                stream.put_token(self.receiver, self.place, f"lapilli-token-{self.mark}")
            token = f" --token-file {self.receiver.token}" if self.receiver.token else ""
            self.say(f"the app streams: lapilli control{token} {self.receiver.address} status")

    def start(self) -> None:
        resolve = f"cmd package resolve-activity --brief -c android.intent.category.LAUNCHER {self.package}"
        lines = self.adb.shell(f"am force-stop {self.package}\n{resolve}").out.split()
        if self.args.no_start:
            self.say(f"waiting until somebody starts {self.package}")
            return
        name = self.args.activity
        if not name:
            if not lines or not lines[-1].startswith(f"{self.package}/"):
                raise Fault(f"{self.package} has no activity that a launcher starts: --activity NAME, or --no-start", UNSUPPORTED)
            name = lines[-1]
        name = name if "/" in name else f"{self.package}/{name}"
        done = self.adb.shell(line_of(["am", "start", "-W", "-n", name]), seconds=120)
        if done.status or re.search(r"^Error|Exception", done.out + done.err, re.M):
            raise Fault(f"{name} can't be started: {done.said}")

    def wait(self) -> None:
        """Until the app has ended, its time is over, or Ctrl-C, which is an end like another."""
        late = time.monotonic() + self.args.stop_after if self.args.stop_after else None
        began, seen = time.monotonic(), False

        def over() -> bool:
            nonlocal seen
            if self.pids():
                seen = True
                return False
            if seen or self.left_something():
                return not self.pids()  # it may have begun between the two
            return not self.args.no_start and time.monotonic() - began > START_SECONDS
        with self.signals.hold():
            while not self.signals.number and (late is None or time.monotonic() < late) and not over():
                self.signals.pause(POLL_SECONDS)
        number, self.signals.number = self.signals.number, 0
        if number and number != signal.SIGINT:
            raise Ended(number)
        if self.pids():
            self.say(f"ending {self.package}")
            self.adb.shell(f"am force-stop {self.package}")
            if not until(lambda: not self.pids(), START_SECONDS):
                raise Fault(f"{self.package} does not end: its trace stays on the device until 'lapilli android pull {self.package}'")

    def left_something(self) -> bool:
        """Whether the app ran, and has ended before anybody looked."""
        return bool(self.receiver.rows) if self.receiver else bool(traces.there(self.place, self.mark))

    def finish(self) -> int:
        """What was recorded comes here; the exit status."""
        if self.place:
            self.screenshots()
        if self.receiver:
            status = self.receiver.end()
            for row in self.receiver.rows:
                traces.tell(traces.summary(self.tools, Path(row["file"])), self.args.json)
        else:
            names = traces.there(self.place, self.mark)
            status = traces.fetch(self.place, self.tools, self.output, names, self.args.keep, self.args.json, self.say) if names else NO_TRACE
        if status == NO_TRACE:
            self.say(f"nothing was recorded: {self.why()}")
        return status

    def why(self) -> str:
        """The layer's last word in logcat."""
        lines = [line for line in self.adb.shell("logcat -d -s lapilli -v brief -t 20").out.splitlines() if "lapilli" in line and not line.startswith("-")]
        return lines[-1].partition(": ")[2] or lines[-1] if lines else \
            "the layer said nothing; either the app did not use Vulkan, or Android did not load the layer ('adb logcat -s vulkan' may say why)"

    def screenshots(self) -> None:
        if self.args.screenshot:
            folder = Place(self.adb, f"{self.place.path}/lapilli-{self.mark}", self.place.way)
            for name, size in folder.files().items():
                folder.fetch(name, size, Path(self.args.screenshot_dir or ".", name))
            self.place.remove(f"lapilli-{self.mark}")


def put_right(recording: Recording) -> bool:
    """Whether the device is as before."""
    with recording.signals.hold():
        if recording.receiver:
            recording.receiver.stop()
        try:
            settings.restore(recording.adb, recording.say)
        except Fault as error:
            recording.say(f"the settings are not restored yet: {error}. The next command of lapilli android for this device does it, or lapilli android clean")
            return False
    return True


def capture(adb: Adb, args: argparse.Namespace, tools: Tools, signals: Signals, say: Say) -> int:
    recording = Recording(adb, args, tools, signals, say, args.package, traces.Output.of(args.output), f"r{secrets.token_hex(4)}")
    layer_properties(args)
    if args.screenshot_dir and not args.screenshot:
        raise Fault("--screenshot-dir is for --screenshot", USAGE)
    if not recording.output.folder.is_dir():
        raise Fault(f"there is no folder {recording.output.folder}", USAGE)
    with settings.lock(adb.serial) as held:
        if not held:
            raise Fault(f"another lapilli android works on {adb.serial}: two recordings at a time would change the same settings")
        if settings.restore(adb, say):
            say("the settings that an earlier recording left are restored")
        recording.check()
        good = False
        try:
            recording.begin()
            recording.start()
            say(f"recording {args.package}; Ctrl-C ends the recording")
            recording.wait()
            status = recording.finish()
            good = True
        except Gone as error:
            raise Gone(f"{error}. When it is there again: lapilli android pull {args.package}", INCOMPLETE) from None
        except Ended:
            say(f"what was recorded, and did not come here, stays on the device: lapilli android pull {args.package}")
            raise
        finally:
            restored = put_right(recording)
            if good and signals.number:
                raise Ended(signals.number)
        return status if restored else status or 1
