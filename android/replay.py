# SPDX-License-Identifier: MIT
"""lapilli android replay: a trace goes to the device and is played there, by the program of the shell or by Lapilli's app; files come back.

Options of lapilli replay that name files are known here: those that are read go to the device, those that are written lie in the replay's own
folder there until it ends. All others are passed on.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from android import devices
from android.adb import MOVE_SECONDS, NO_TRACE, UNSUPPORTED, USAGE, Adb, Fault, Tools, line_of, until
from android.files import Place, no_room, of_app, own_place, shell_place
from android.settings import APP, DEVICE_FOLDER, Say

FOLDERS = {"--mismatch-dir", "--dump-checks", "--screenshot-dir", "--pictures"}
WRITTEN = {"--hashes", "--report", "--read-to", "--measure"}
READ = {"--ignore-checks", "--read", "--picture-list", "--replace-shader"}
REFUSED = {"--listen", "--token-file", "--wait", "--progress", "--resources", "--window-system"}
PROGRAM = f"{DEVICE_FOLDER}/bin/lapilli-replay"
WORDS = re.compile(r"^ {2,6}(--[a-z-]+)( [A-Z]\S*)?", re.M)


@dataclass
class Request:
    """A command line of lapilli replay, and which of its words are files."""

    words: list[str] = field(default_factory=list)  # {N} stands for a file
    sources: list[Path] = field(default_factory=list)
    targets: dict[int, tuple[Path, bool]] = field(default_factory=dict)  # by N; whether it is a folder
    trace: int = -1

    def add(self, path: Path | None = None) -> int:
        self.sources.append(path or Path())
        return len(self.sources) - 1

    def name(self, number: int) -> str:
        """Of a file in the replay's own folder. The endings of some say what is in them."""
        return f"{number}{re.sub('[^A-Za-z0-9.]', '', ''.join(self.sources[number].suffixes))}"


def _file(request: Request, option: str, value: str) -> str:
    """The value of an option that names a file."""
    if option in FOLDERS | WRITTEN:
        number = request.add()
        request.targets[number] = (Path(value), option in FOLDERS)
        return f"{{{number}}}"
    before, equals, path = value.rpartition("=") if option == "--replace-shader" else ("", "", value)
    if not Path(path).is_file():
        raise Fault(f"{option}: {path} can't be read", USAGE)
    return f"{before}{equals}{{{request.add(Path(path))}}}"


def parse(words: list[str], valued: set[str]) -> Request:
    """`valued`: options of lapilli replay with a value in the next word."""
    request, traces, at = Request(), [], 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        at += 1
        if not name.startswith("-"):
            traces.append(words[at - 1])
            request.trace = request.add(Path(words[at - 1]))
            request.words.append(f"{{{request.trace}}}")
            continue
        if name in REFUSED:
            raise Fault(f"{name} is not for a replay on a device", USAGE)
        if not equals and name in valued:
            if at == len(words):
                raise Fault(f"{name} needs a value", USAGE)
            value, equals = words[at], "="
            at += 1
        if equals and name in FOLDERS | WRITTEN | READ:
            value = _file(request, name, value)
        else:
            value = value.replace("{", "{{").replace("}", "}}")
        request.words.append(f"{name}={value}" if equals else name)
    if len(traces) > 1 or not traces and "--list-gpus" not in request.words:
        raise Fault(f"one trace is wanted, not {len(traces)}. Try 'lapilli android replay --help'", USAGE)
    if traces and not Path(traces[0]).is_file():
        raise Fault(f"{traces[0]} can't be read", NO_TRACE)
    if any(word.startswith("--screenshot=") for word in request.words) and not any(word.startswith("--screenshot-dir=") for word in request.words):
        request.words.insert(0, f"--screenshot-dir={_file(request, '--screenshot-dir', '.')}")
    return request


def valued_options(tools: Tools) -> set[str]:
    done = tools.run("lapilli-replay", "--help")
    return {name for name, value in WORDS.findall(done.out) if value}


def name_of(path: Path) -> str:
    """Of a trace on the device: of what is in it, so that it is copied once."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:24] + (path.suffix if re.fullmatch(r"\.[a-z]+", path.suffix) else "")


def push(adb: Adb, path: Path, say: Say) -> str:
    """The trace's path on the device, where it is whole."""
    place, name, size = shell_place(adb, "traces"), name_of(path), path.stat().st_size
    place.make()
    if place.files().get(name) != size:
        say(f"copying {path} to the device ({size} bytes)")
        done = adb.run("push", str(path), f"{place.path}/{name}.part", seconds=MOVE_SECONDS)
        if done.status or place.files().get(f"{name}.part") != size:
            place.remove(f"{name}.part")
            raise Fault(f"{path} can't be copied to the device: {no_room(done.said)}")
        place.run(line_of(["mv", f"{name}.part", name]))
    return f"{place.path}/{name}"


def bring(place: Place, number: int, target: tuple[Path, bool]) -> None:
    """What was written there comes here; parts that are missing were not written."""
    path, is_folder = target
    for name, size in place.files().items():
        first, _, rest = name.partition("/")
        if first == str(number) and bool(rest) == is_folder:
            place.fetch(name, size, path / rest if is_folder else path)


def pass_on(source: BinaryIO, to: BinaryIO, names: list[tuple[bytes, bytes]]) -> None:
    """Lines, in which the device's names of files are those of here."""
    for line in source:
        for there, here in names:
            line = line.replace(there, here)
        to.write(line)
        to.flush()


def translated(request: Request, place: Place, trace: str) -> list[tuple[bytes, bytes]]:
    pairs = [(f"{place.path}/{number}", str(path)) for number, (path, _) in request.targets.items()]
    pairs += [(f"{place.path}/{request.name(number)}", str(path)) for number, path in enumerate(request.sources) if path != Path()]
    if trace:
        pairs.insert(0, (trace, str(request.sources[request.trace])))
    return [(os.fsencode(there), os.fsencode(here)) for there, here in sorted(pairs, key=lambda pair: -len(pair[0]))]


def ended(adb: Adb, place: Place) -> int:
    """The exit status that the shell has noted."""
    text = place.run("cat status 2> /dev/null || true").strip()
    if not text.isdecimal():
        raise Fault(f"the replay on {adb.serial} has no end: {DEVICE_FOLDER} may be full")
    return int(text)


def in_shell(adb: Adb, request: Request, place: Place, trace: str) -> int:
    """By the program of the shell. Its output comes while it plays."""
    paths = [trace if number == request.trace else f"{place.path}/{request.name(number)}" for number in range(len(request.sources))]
    words = [word.format(*paths) for word in request.words]
    script = f"echo $$ > pid; {line_of([PROGRAM, *words])}; echo $? > status.part; mv status.part status"
    process = adb.start("shell", place.line(script), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    names = translated(request, place, trace)
    readers = [threading.Thread(target=pass_on, args=(source, to.buffer, names), daemon=True) for source, to in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))]
    for reader in readers:
        reader.start()
    try:
        process.wait()
    finally:
        if process.poll() is None:  # a signal has ended the wait
            process.kill()
            place.run("kill -9 -- $(cat pid) $(pgrep -P $(cat pid)) 2> /dev/null || true")
    for reader in readers:
        reader.join()
    return ended(adb, place)


def crashed(adb: Adb, place: Place, name: str) -> int:
    """The app is gone, and left no status: what is known of it, and the exit status of a replay that a signal ended."""
    log = adb.shell("logcat -d -b crash -t 40").out.splitlines()
    found = [int(number) for line in log for number in re.findall(r"\bsignal (\d+) \(SIG", line)]
    tail = place.run(f"tail -n 20 {name}.err 2> /dev/null || true")
    number = found[-1] if found else signal.SIGKILL
    print(tail + "\n".join(log[-20:]) + f"\nlapilli-android: the app ended in the replay: {signal.Signals(number).name if number in iter(signal.Signals) else number}" +
          ("" if found else ", or the system took its memory"), file=sys.stderr)
    return 128 + number


def in_app(adb: Adb, request: Request, place: Place, trace: str) -> int:
    """By Lapilli's app, which has a window. Its output comes at the end."""
    name = f"r{secrets.token_hex(4)}"
    folder = Place(adb, f"{place.path}/{name}", place.way)
    folder.make()
    try:
        for number, path in enumerate(request.sources):
            if number == request.trace:
                done = adb.shell(f"cat {trace} | {folder.line(f'umask 077; cat > {request.name(number)}')}", seconds=MOVE_SECONDS)
                if done.status or folder.files().get(request.name(number)) != path.stat().st_size:
                    raise Fault(f"the trace can't be copied to the app: {no_room(done.said)}")
            elif path != Path():
                folder.put(path, request.name(number))
        words = [word.format(*(f"{name}/{request.name(number)}" for number in range(len(request.sources)))) for word in request.words]
        if any("\\" in word for word in words):
            raise Fault("with --window no word may have a backslash", USAGE)
        arguments = ",".join(word.replace(",", "\\,") for word in words)
        done = adb.shell(line_of(["am", "start", "-S", "-W", "-n", f"{APP}/android.app.NativeActivity", "--es", "run", name, "--esa", "arguments", arguments]), seconds=120)
        if done.status or re.search(r"^Error|Exception", done.out + done.err, re.M):
            raise Fault(f"Lapilli's app can't be started: {done.said}")
        status = wait_for(adb, place, name)
        for end, to in ((".out", sys.stdout), (".err", sys.stderr)):
            if status is not None:
                data = adb.run("exec-out", place.line(f"cat {name}{end} 2> /dev/null")).out
                to.write(data.replace(f"{name}/{request.name(request.trace)}", str(request.sources[request.trace])))
        for number, target in request.targets.items():
            bring(folder, number, target)
        return crashed(adb, place, name) if status is None else status
    finally:
        adb.shell(f"am force-stop {APP}")
        place.remove(name, *(f"{name}{end}" for end in (".out", ".err", ".status")))


def wait_for(adb: Adb, place: Place, name: str) -> int | None:
    """The exit status that the app has written; None: it is gone without."""
    status: list[str] = []

    def over() -> bool:
        gone = not adb.shell(f"pidof {APP}").out.strip()  # before the status is looked for
        text = place.run(f"cat {name}.status 2> /dev/null || true").strip()
        if text or gone:
            status.append(text)
        return bool(status)
    until(over, float("inf"))
    return int(status[0]) if status[0].isdecimal() else None


def replay(adb: Adb, request: Request, window: bool, say: Say) -> int:
    found = devices.properties(adb, APP)
    devices.check_release(found)
    if window and not found["packages"]:
        raise Fault("Lapilli's app is not installed: lapilli android install", UNSUPPORTED)
    if not window:
        devices.check_program(adb, PROGRAM)
    trace = push(adb, request.sources[request.trace], say) if request.trace >= 0 else ""
    if window:
        place = of_app(adb, APP)
        place.make()
        return in_app(adb, request, place, trace)
    with own_place(adb) as place:
        for number, path in enumerate(request.sources):
            if number != request.trace and path != Path():
                place.put(path, request.name(number))
        status = in_shell(adb, request, place, trace)
        for number, target in request.targets.items():
            bring(place, number, target)
        return status
