# SPDX-License-Identifier: MIT
"""A browser without windows for tests of pages: Chromium, driven over two pipes by its DevTools protocol.

It has a profile of its own, asks no other machine for anything, and notes what the page asked for and complained of.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from e2e.cases import Context, Failure, Skip, check, patience

OPTIONS = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--disable-sync", "--disable-extensions",
           "--disable-breakpad", "--disable-background-networking", "--disable-component-update", "--no-proxy-server", "--hide-scrollbars",
           "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
ANSWER_SECONDS = 30
KEY_CODES = {"Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}


def beyond_nine(descriptor: int) -> int:
    """A copy that is not in the way of descriptors 3 and 4."""
    with contextlib.closing(os.fdopen(descriptor, "rb", 0)):
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)


class Browser:
    """With one page. Use it in a with statement: at its end no process of it is left."""

    def __init__(self, context: Context, width: int = 1280, height: int = 800) -> None:
        program = shutil.which("chromium")
        if not program:
            raise Skip("chromium is not installed")
        self.complaints: list[str] = []  # of the page: exceptions, errors on the console, requests that failed
        self.said: list[str] = []  # all that came to the console
        self.requests: list[str] = []  # URLs, in order
        self.urls: dict[str, str] = {}
        self.last, self.loads, self.bytes, self.session = 0, 0, b"", ""
        self.answers: dict[int, dict] = {}
        commands, self.commands = os.pipe()
        self.events, events = os.pipe()
        theirs = [beyond_nine(commands), beyond_nine(events)]
        # Chromium reads commands from descriptor 3 and writes to 4. Only a child may give these numbers to anything.
        script = f'exec "$@" 3< /dev/fd/{theirs[0]} 4> /dev/fd/{theirs[1]}'
        options = [*OPTIONS, f"--user-data-dir={context.folder / 'chromium'}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        self.log = (context.folder / "chromium.log").open("w+b")
        self.process = subprocess.Popen(["sh", "-c", script, "sh", program, *options, "about:blank"], cwd=context.folder, env=context.environment(), pass_fds=theirs,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        for descriptor in theirs:
            os.close(descriptor)
        try:
            target = self.send("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.send(f"{domain}.enable")
            self.size(width, height)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.commands)
        os.close(self.events)
        self.log.close()

    # ---- the protocol

    def fail(self, what: str) -> Failure:
        lines = "\n".join(self.said[-30:] + self.complaints[-30:])
        return Failure(f"{what}\nthe page said:\n{lines or 'nothing'}")

    def send(self, method: str, **parameters: Any) -> dict:
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        data, number, deadline = json.dumps(message).encode() + b"\0", self.last, time.monotonic() + patience(ANSWER_SECONDS)
        while data:
            data = data[os.write(self.commands, data):]
        while number not in self.answers:
            self.receive(deadline, method)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise self.fail(f"{method} {str(parameters)[:300]}: {answer['error'].get('message')}")
        return answer["result"]

    def receive(self, deadline: float, method: str) -> None:
        """Takes what has come, or waits for it."""
        ready, _, _ = select.select([self.events], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            raise self.fail(f"chromium does not answer {method}")
        piece = os.read(self.events, 1 << 20)
        if not piece:
            self.log.seek(0)
            raise self.fail(f"chromium has ended: {self.log.read().decode(errors='replace')[-2000:]}")
        *messages, self.bytes = (self.bytes + piece).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.note(message["method"], message["params"])

    def note(self, event: str, told: dict) -> None:
        if event == "Page.loadEventFired":
            self.loads += 1
        elif event == "Runtime.consoleAPICalled":
            text = " ".join(str(part.get("value", part.get("description", ""))) for part in told["args"])
            self.said.append(f"{told['type']}: {text}")
            if told["type"] in ("error", "assert"):
                self.complaints.append(text)
        elif event == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
            self.urls[told["requestId"]] = told["request"]["url"]
        elif event == "Network.loadingFailed" and not told.get("canceled"):
            self.complaints.append(f"{self.urls.get(told['requestId'])}: {told['errorText']}")

    # ---- what a user does

    def open(self, url: str) -> None:
        """Returns when all is there that the document names."""
        loads, deadline = self.loads, time.monotonic() + patience(ANSWER_SECONDS)
        error = self.send("Page.navigate", url=url).get("errorText")
        if error:
            raise self.fail(f"{url} can't be opened: {error}")
        while self.loads == loads:
            self.receive(deadline, "Page.navigate")

    def evaluate(self, script: str) -> Any:
        """The value of an expression, as JSON has it; of a promise, what it comes to."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise self.fail(f"{script[:300]}: {details.get('exception', {}).get('description') or details['text']}")
        return done["result"].get("value")

    def wait_until(self, condition: str, seconds: float = 30) -> None:
        deadline = time.monotonic() + patience(seconds)
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise self.fail(f"not after {seconds} seconds: {condition}")
            time.sleep(0.02)

    def place(self, selector: str) -> dict[str, float]:
        """The middle of an element, where it can be seen."""
        place = self.evaluate(f"""(() => {{ const found = document.querySelector({json.dumps(selector)}); if (!found) return null;
            found.scrollIntoView({{block: "nearest", inline: "nearest"}}); const box = found.getBoundingClientRect();
            return box.width && box.height ? {{x: box.x + box.width / 2, y: box.y + box.height / 2}} : null; }})()""")
        if not place:
            raise self.fail(f"{selector} is not there, or can't be seen")
        return place

    def click(self, selector: str) -> None:
        place = self.place(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="none" if kind == "mouseMoved" else "left", clickCount=1, **place)

    def wheel(self, selector: str, lines: float) -> None:
        self.send("Input.dispatchMouseEvent", type="mouseWheel", deltaX=0, deltaY=lines * 40, **self.place(selector))

    def key(self, name: str) -> None:
        """One key: a character, or a name of KEY_CODES."""
        text = {"text": name} if len(name) == 1 else {"text": "\r"} if name == "Enter" else {}
        code = KEY_CODES[name] if len(name) > 1 else ord(name.upper())
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **(text if kind == "keyDown" else {}))

    def type(self, text: str) -> None:
        for character in text:
            self.key(character)

    # ---- how it looks

    def size(self, width: int, height: int) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name: str) -> None:
        """dark or light."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def check_quiet(self, origin: str) -> None:
        """The page has complained of nothing, and asked no other origin."""
        check(not self.complaints, f"the page complains: {self.complaints[:10]}")
        foreign = [url for url in self.requests if not url.startswith((origin + "/", "blob:" + origin, "data:", "about:"))]
        check(not foreign, f"the page asks others: {foreign[:10]}")
