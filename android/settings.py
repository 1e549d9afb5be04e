# SPDX-License-Identifier: MIT
"""The device's settings and properties that a recording changes, and how they come back.

A file on this machine, one for each device, has the old values before the first one is changed. It goes away when all of them are restored,
so that one that lies there says that a recording was killed, or its cable pulled. A lock beside it lets one process at a time change a device;
the kernel drops it with the process. A value that somebody else has changed meanwhile stays as it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import urllib.parse
from pathlib import Path
from typing import Callable, Iterator

from android.adb import Adb, Fault, answer, line_of

LAYER, APP = "VK_LAYER_LAPILLI_capture", "org.lapilli.replay"
LISTS = {"gpu_debug_layers": LAYER, "gpu_debug_layer_app": APP}  # with colons, of which others have a part
SETTINGS = ("enable_gpu_debug_layers", "gpu_debug_app", "gpu_debug_layer_app", "gpu_debug_layers")
PREFIX = "debug.lapilli."
PROPERTY_BYTES = 91
DEVICE_FOLDER = "/data/local/tmp/lapilli"
Say = Callable[[str], None]


def folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    path = (Path(home) if home.startswith("/") else Path.home() / ".local/state") / "lapilli/android"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def path_of(serial: str, ending: str = "json") -> Path:
    return folder() / f"{urllib.parse.quote(serial, safe='')}.{ending}"


@contextlib.contextmanager
def lock(serial: str) -> Iterator[bool]:
    """Whether this process may change the device: no other one does."""
    file = os.open(path_of(serial, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(file)


def load(serial: str) -> dict | None:
    """What is to be restored; None: nothing."""
    path = path_of(serial)
    try:
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict) or not all(isinstance(found.get(key), dict) for key in ("settings", "properties")):
            raise ValueError
    except FileNotFoundError:
        return None
    except ValueError:
        raise Fault(f"{path} can't be read: 'adb shell settings list global' shows gpu_debug settings, which are to be restored by hand; then delete it") from None
    return found


def save(serial: str, state: dict) -> None:
    path = path_of(serial)
    own = path.with_name(f"{path.name}.{os.getpid()}")
    file = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with open(file, "wb") as out:
            out.write(json.dumps(state, indent=1).encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())
        own.replace(path)
        directory = os.open(path.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
    finally:
        with contextlib.suppress(FileNotFoundError):
            own.unlink()


def read(adb: Adb) -> tuple[dict[str, str], dict[str, str]]:
    """The settings, "" for none, and the properties of the layer that have a value."""
    lines = adb.shell("\n".join([*(answer(("settings", "get", "global", key)) for key in SETTINGS), "getprop"])).out.splitlines()
    if len(lines) < len(SETTINGS):
        raise Fault(f"the device {adb.serial} does not tell its settings: {lines}")
    values = {key: "" if value.strip() == "null" else value.strip() for key, value in zip(SETTINGS, lines)}
    properties = re.findall(r"^\[([^]]+)\]: \[(.*)\]$", "\n".join(lines[len(SETTINGS):]), re.M)
    return values, {key: value for key, value in properties if key.startswith(PREFIX) and value}


def line_for(key: str, value: str) -> str:
    """What gives a setting, or a property, its value."""
    return line_of(["setprop", key, value] if key.startswith(PREFIX) else ["settings", "put", "global", key, value] if value else ["settings", "delete", "global", key])


def with_ours(text: str, ours: str) -> str:
    names = [name for name in text.split(":") if name]
    return ":".join(names if ours in names else names + [ours])


def without_ours(text: str, ours: str) -> str:
    return ":".join(name for name in text.split(":") if name and name != ours)


def change(adb: Adb, package: str, in_app: bool, properties: dict[str, str], more: dict[str, str]) -> None:
    """Notes all old values, then changes them. Others of the layer's properties are emptied: they are of no recording that runs. `in_app`: the
    layer is in the app itself."""
    old, there = read(adb)
    lists = {key: with_ours(old[key], ours) for key, ours in LISTS.items() if not (in_app and ours == APP)}
    wanted = {"gpu_debug_app": package, **lists, "enable_gpu_debug_layers": "1"}
    properties = {**dict.fromkeys(there, ""), **{PREFIX + key: value for key, value in properties.items()}}
    state = {"settings": {key: [old[key], value] for key, value in wanted.items() if old[key] != value},
             "properties": {key: [there.get(key, ""), value] for key, value in properties.items() if there.get(key, "") != value}, **more}
    save(adb.serial, state)
    done = adb.shell(" &&\n".join(line_for(key, new) for key, (_, new) in [*state["properties"].items(), *state["settings"].items()]))
    if done.status:
        raise Fault(f"the device refuses a setting: {done.said}")
    now, _ = read(adb)
    lost = [key for key, value in wanted.items() if now[key] != value]
    if lost:
        raise Fault(f"the device does not keep the setting {lost[0]}: it is '{now[lost[0]]}'")


def _settings_back(now: dict[str, str], changed: dict[str, list[str]], say: Say) -> Iterator[str]:
    for key, (old, new) in reversed(changed.items()):
        if now[key] == new:
            yield line_for(key, old)
        elif LISTS.get(key) in now[key].split(":"):
            value = without_ours(now[key], LISTS[key])
            say(f"{key} was changed meanwhile, and is '{value}' now: {LISTS[key]} is taken out")
            yield line_for(key, value)
        elif now[key] != old:
            say(f"{key} was changed meanwhile, and stays '{now[key]}'")


def _properties_back(now: dict[str, str], changed: dict[str, list[str]], say: Say) -> Iterator[str]:
    for key, (old, new) in changed.items():
        value = now.get(key, "")
        if value == new and value != old:
            yield line_for(key, old)
        elif value not in ("", old):  # a device that has started anew has none
            say(f"{key} was changed meanwhile, and stays '{value}'")


def restore(adb: Adb, say: Say) -> bool:
    """Whether there was something to restore. Gone: it stays noted. The lock is held."""
    state = load(adb.serial)
    if state is None:
        return False
    settings, properties = read(adb)
    lines = [*_settings_back(settings, state["settings"], say), *_properties_back(properties, state["properties"], say)]
    failed = adb.shell("\n".join(["failed=", *(f"{line} || failed=1" for line in lines), state.get("remove") or ":", '[ "$failed" = "" ]']))
    if failed.status:
        raise Fault(f"the device refuses a setting: {failed.said}")
    if state.get("reverse"):
        adb.run("reverse", "--remove", state["reverse"])  # a device that was away has none
    path_of(adb.serial).unlink(missing_ok=True)
    return True


def repair(adb: Adb, say: Say) -> None:
    """Restores what an earlier recording left, unless one is under way."""
    with lock(adb.serial) as held:
        if held and restore(adb, say):
            say("the settings that an earlier recording left are restored")
