# SPDX-License-Identifier: MIT
"""What can be asked for: the options of all commands, in one table of which their help and their parsers are made, and the layer's properties
that those of `capture` become. Their names are those of `lapilli capture`."""

from __future__ import annotations

import argparse
import re
import textwrap
from dataclasses import dataclass
from typing import NoReturn

from android.adb import USAGE, Fault
from android.settings import PROPERTY_BYTES

COMMANDS = {
    "devices": ("", "the devices that adb sees, and what they are"),
    "install": ("", "put Lapilli's app and its programs on the device"),
    "capture": ("PACKAGE", "record an app: switch the layer on, start the app, fetch its traces, and restore all"),
    "pull": ("PACKAGE", "fetch the traces that an app has left, as after a pulled cable"),
    "replay": ("TRACE", "play a trace on the device: all options of lapilli replay; files come back"),
    "serve": ("TRACE…", "show traces in a browser, as lapilli serve, with pictures of the device's GPU"),
    "clean": ("", "restore settings, and remove what was put on the device"),
}
COMMON = " ".join(COMMANDS)


@dataclass
class Row:
    commands: str
    name: str  # with the letter in front
    value: str = ""
    text: str = ""
    key: str = ""  # of the layer, where it becomes one
    choices: str = ""

    @property
    def long(self) -> str:
        return self.name.split()[-1]

    def head(self) -> str:
        return f"{self.name.replace(' ', ', ')}{' ' + self.value if self.value and not self.value.startswith('[') else self.value}"


ROWS = [
    Row(COMMON, "--serial", "S", "the device, as adb devices calls it (default: ANDROID_SERIAL, or the only one)"),
    Row(COMMON, "--adb", "PATH", "the program adb (default: ADB, or the one in PATH)"),
    Row("install", "--apk", "FILE", "the app (default: the one beside this program)"),
    Row("install", "--programs", "DIR", "the folder with bin and lib for this device, of make android; without --apk these alone (default: the one beside this program)"),
    Row("clean", "--all", "", "also uninstall the app"),
    Row("capture pull", "-o --output", "FILE", "the trace, or a folder for it (default: PACKAGE.lapilli here). Nothing is overwritten: a number is added"),
    Row("capture", "--activity", "NAME", "start this activity (default: the one that the launcher starts)"),
    Row("capture", "--no-start", "", "wait until somebody starts the app"),
    Row("capture", "--stop-after", "N", "end the app after so many seconds (default: wait until it ends, or for Ctrl-C, which ends it)"),
    Row("capture", "--in-app", "", "the app has the layer in its own APK: Lapilli's app is not needed"),
    Row("capture", "--inject-layers", "", "the app is not debuggable, but its manifest has com.android.graphics.injectLayers.enable; wants --stream"),
    Row("capture", "--stream", "", "the app sends its trace while it runs: it needs no room on the device, and takes the commands of lapilli control"),
    Row("capture pull", "--keep", "", "leave the traces on the device, too"),
    Row("capture", "--frames", "LIST", "record these frames, each range into a trace of its own: 500-510,900", "frames"),
    Row("capture", "--submits", "LIST", "the same by submits", "submits"),
    Row("capture", "--seconds", "LIST", "the same by seconds since the app's first Vulkan call: 60-62.5", "seconds"),
    Row("capture", "--trigger", "HOW", "record frames on SIGUSR2 (signal), when a file appears (file:PATH), between two calls of the app (call), or with --stream by "
        "lapilli control (control)", "trigger"),
    Row("capture", "--trigger-frames", "N", "how many frames --trigger records", "trigger_frames"),
    Row("capture", "--keep-last", "LENGTH", "keep the end of the run: 10s, 300f (frames), 64MiB", "keep_last"),
    Row("capture", "--exit-after", "", "end the app when the last part is recorded", "exit_after"),
    Row("capture", "--verify", "[=all]", "store hashes of presented images and of device writes to mappable memory, or of all", "verify"),
    Row("capture", "--keep-bytes", "", "with --verify: store checked texels, too", "verify_bytes"),
    Row("capture", "--screenshot", "N,M-L", "write these frames as frame_N.png", "screenshot"),
    Row("capture", "--screenshot-dir", "DIR", "into this folder on this machine (default: the current one)"),
    Row("capture", "--compression", "HOW", "lz4, lz4hc or none", "compression", "lz4 lz4hc none"),
    Row("capture", "--memory-types", "HOW", "virtual or real", "memory_types", "virtual real"),
    Row("capture", "--write-watch", "HOW", "auto, pagemap, mprotect or compare", "write_watch", "auto pagemap mprotect compare"),
    Row("capture", "--backing", "HOW", "auto, host or off", "backing", "auto host off"),
    Row("capture", "--log", "LEVEL", "error, warning, info or debug; to logcat", "log", "error warning info debug"),
    Row("capture", "--option", "KEY=VALUE", "any option of the layer by its key: queue=64"),
    Row("replay", "--window", "", "show the frames on the device's screen: Lapilli's app plays"),
    Row("devices capture pull", "--json", "", "one JSON object in a line for each device, or trace"),
    Row("capture pull install replay serve clean", "-q --quiet", "", "only errors and results"),
    Row(COMMON, "--help", "", "this text; behind a command its options"),
    Row("", "--version", "", "the version"),
]
KEYS = {row.key for row in ROWS if row.key} | {"queue", "addresses", "in_flight", "stream_wait"}
OWN_KEYS = {"file", "screenshot_dir", "token_file", "control"}
STATUS = """\
Exit status: 0; 1 adb, the device or the app failed; 2 wrong usage; 3 no trace, or none that can be read; 4 a trace is
incomplete; 5 the device or the app can't do it; 127 adb, or a program of Lapilli, can't be started; 128 + n signal n
ended it. replay, serve: those of lapilli replay and lapilli serve.
"""


def row_text(row: Row) -> str:
    head = f"  {row.head()}"
    first = f"{head:<23}  " if len(head) <= 23 else f"{head}\n{'':25}"
    return first + textwrap.fill(row.text, 114, initial_indent=" " * 25, subsequent_indent=" " * 25).lstrip() + "\n"


def help_text(command: str) -> str:
    if command:
        words, text = COMMANDS[command]
        more = f" [options of lapilli {command}]" if command in ("replay", "serve") else ""
        return (f"usage: lapilli android {command} [options]{' ' + words if words else ''}{more}\n{text[0].upper()}{text[1:]}.\n\n" +
                "".join(row_text(row) for row in ROWS if command in row.commands.split()) + f"\n{STATUS}")
    return ("usage: lapilli android COMMAND [options]\n\nRecords and plays on an Android device, by adb, and leaves its settings as they were (docs/android.md).\n\n" +
            "".join(f"  {name:<10}  {text}\n" for name, (_, text) in COMMANDS.items()) + "\n" + "".join(row_text(row) for row in ROWS) +
            "\nCommands that are killed, or lose their cable, are made good by the next one.\n\n" + STATUS)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Fault(f"{message}. Try 'lapilli android --help'", USAGE)


def positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise ValueError
    return number


def parser(command: str) -> Parser:
    made = Parser(prog="lapilli-android", add_help=False, allow_abbrev=False)
    for row in ROWS:
        if command not in row.commands.split() or row.long == "--help":
            continue
        names = row.name.split()
        if row.long == "--option":
            made.add_argument(*names, action="append", default=[])
        elif row.value.startswith("["):
            made.add_argument(*names, choices=["all", "1", "0"])
        elif row.value:
            made.add_argument(*names, default=None if row.value == "N" else "", choices=row.choices.split() or None, type=positive if row.long == "--stop-after" else str)
        else:
            made.add_argument(*names, action="store_true")
    if command in ("capture", "pull"):
        made.add_argument("package")
    return made


def with_rest(command: str, words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options, and all words that are not ours: those behind -- are none."""
    at = words.index("--") if "--" in words else len(words)
    args, rest = parser(command).parse_known_args(words[:at])
    rest += words[at + 1:]
    args.quiet = args.quiet or "--quiet" in rest
    return args, [*(["--quiet"] if args.quiet else []), *(word for word in rest if word != "--quiet")]


def package_name(text: str) -> str:
    """Of an app; it goes into lines of the device's shell."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+", text):
        raise Fault(f"'{text}' is no package: com.example.game", USAGE)
    return text


def layer_properties(args: argparse.Namespace) -> dict[str, str]:
    """The layer's options by their keys. Fault: a value that it would refuse, or that is too long for a property."""
    found = {}
    for row in ROWS:
        value = getattr(args, row.long[2:].replace("-", "_"), None) if row.key else None
        if value:
            found[row.key] = "1" if value is True else value
    for text in args.option:
        key, equals, value = text.partition("=")
        if not equals or key not in KEYS:
            raise Fault(f"--option {text}: it is KEY=VALUE, and KEY one of {', '.join(sorted(KEYS))}" if key not in OWN_KEYS else f"--option {key} is set by this program itself", USAGE)
        found[key] = value
    trigger = found.get("trigger", "")
    if trigger == "key" or trigger.startswith("key:"):
        raise Fault("--trigger key is for windows of X and Wayland: on Android there are signal, call, control and file:PATH", USAGE)
    if trigger == "control" and not args.stream:
        raise Fault("--trigger control needs --stream: lapilli control reaches the app by its receiver", USAGE)
    for key, value in found.items():
        if len(value.encode()) > PROPERTY_BYTES or not value.isprintable():
            raise Fault(f"the value of {key} has {len(value.encode())} bytes: a property of Android has at most {PROPERTY_BYTES}", USAGE)
    return found
