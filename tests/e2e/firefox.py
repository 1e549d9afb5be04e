# SPDX-License-Identifier: MIT
"""Firefox without windows, driven over its Marionette protocol: messages of JSON, each behind its length, on a socket.

It has a profile of its own, and asks no other machine for anything that a test does not name.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from typing import Any

from e2e.cases import Context, Failure, Skip, check, patience

SECONDS = 30
PREFERENCES = {"marionette.port": 0, "app.update.enabled": False, "app.normandy.enabled": False, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
               "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False, "extensions.update.enabled": False,
               "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9, "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": 9, "network.proxy.no_proxies_on": "127.0.0.1"}
# Errors that scripts, styles and policies of a page left, as its console has them.
ERRORS = """return Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError && !(one.flags & one.warningFlag) && one.sourceName.startsWith(arguments[0]))
    .map((one) => `${one.sourceName}:${one.lineNumber}: ${one.errorMessage}`)"""


class Firefox:
    """With one page. Use it in a with statement: at its end no process of it is left."""

    def __init__(self, context: Context) -> None:
        program = shutil.which("firefox-esr")
        if not program:
            raise Skip("firefox-esr is not installed")
        profile = context.folder / "firefox"
        profile.mkdir()
        (profile / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()))
        self.last, self.log = 0, context.folder / "firefox.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([program, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", profile, "--width", "1280", "--height", "900"],
                                            cwd=context.folder, env=context.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            port, deadline = profile / "MarionetteActivePort", time.monotonic() + patience(SECONDS)
            while not port.exists() or not port.read_text():
                check(self.process.poll() is None and time.monotonic() < deadline, f"firefox does not listen: {self.log.read_text()[-2000:]}")
                time.sleep(0.05)
            self.socket = socket.create_connection(("127.0.0.1", int(port.read_text())), timeout=patience(SECONDS))
            self.answers = self.socket.makefile("rb")
            self.receive()  # what it is
            self.send("NewSession", capabilities={})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Firefox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def receive(self) -> Any:
        digits = b""
        while (digit := self.answers.read(1)) != b":":
            check(digit != b"", f"firefox has ended: {self.log.read_text()[-2000:]}")
            digits += digit
        return json.loads(self.answers.read(int(digits)))

    def send(self, command: str, **parameters: Any) -> Any:
        self.last += 1
        data = json.dumps([0, self.last, f"{'' if ':' in command else 'WebDriver:'}{command}", parameters]).encode()
        self.socket.sendall(b"%d:%b" % (len(data), data))
        _, _, error, result = self.receive()
        if error:
            raise Failure(f"{command} {str(parameters)[:300]}: {error['message']}")
        return result

    # ---- what a user does

    def open(self, url: str) -> None:
        self.send("Navigate", url=url)

    def evaluate(self, script: str) -> Any:
        """The value of an expression; of a promise, what it comes to."""
        return self.send("ExecuteScript", script=f"return {script}", args=[])["value"]

    def wait_until(self, condition: str, seconds: float = 30) -> None:
        deadline = time.monotonic() + patience(seconds)
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise Failure(f"not after {seconds} seconds: {condition}")
            time.sleep(0.02)

    def tap(self, selector: str, pointer: str = "touch") -> None:
        """A finger on the middle of an element, or another pointer."""
        [element] = self.send("FindElement", using="css selector", value=selector)["value"].values()
        middle = {"element-6066-11e4-a52e-4f735466cecf": element}
        steps = [{"type": "pointerMove", "x": 0, "y": 0, "origin": middle}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.send("PerformActions", actions=[{"type": "pointer", "id": pointer, "parameters": {"pointerType": pointer}, "actions": steps}])

    def check_quiet(self, origin: str) -> None:
        """The page has left no error on the console."""
        self.send("Marionette:SetContext", value="chrome")
        errors = self.send("ExecuteScript", script=ERRORS, args=[origin])["value"]
        self.send("Marionette:SetContext", value="content")
        check(not errors, f"the page complains: {errors[:10]}")
