# SPDX-License-Identifier: MIT
"""lapilli android: the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from android import adb as adb_module
from android import capture, devices, install, options, replay, serve, settings, traces
from android.adb import USAGE, Adb, Fault, Tools
from android.files import of_app
from android.signals import Ended, Signals


def say(text: str) -> None:
    print(f"lapilli-android: {text}", file=sys.stderr, flush=True)


def quiet(_text: str) -> None:
    pass


def run(command: str, words: list[str], tools: Tools, signals: Signals) -> int:
    parser, request, rest = options.parser(command), replay.Request(), []
    if command == "replay":
        args, of_replay = parser.parse_known_args(words)
        request = replay.parse(of_replay + ["--quiet"] * args.quiet, replay.valued_options(tools))
    elif command == "serve":
        args, rest = options.with_rest(command, words)
        if not any(word != "--quiet" for word in rest):
            raise Fault("a trace is wanted. Try 'lapilli android serve --help'", USAGE)
    else:
        args = parser.parse_args(["--verify=1" if word == "--verify" else word for word in words])
    if command in ("capture", "pull"):
        options.package_name(args.package)
    if command == "capture":
        options.layer_properties(args)
    adb = Adb(adb_module.find(args.adb or os.environ.get("ADB", "")), args.serial or os.environ.get("ANDROID_SERIAL", ""))
    if command == "devices":
        return devices.show(adb, args.json)
    adb = devices.choose(adb)
    tell = quiet if args.quiet else say
    if command == "capture":
        return capture.capture(adb, args, tools, signals, tell)
    if command == "clean":
        return install.clean(adb, args.all, tell)
    settings.repair(adb, tell)
    if command == "install":
        return install.install(adb, args.apk, args.programs, tools, tell)
    if command == "pull":
        return traces.pull(of_app(adb, args.package), tools, traces.Output.of(args.output), args.package, args.keep, args.json, tell)
    if command == "serve":
        return serve.serve(adb, rest, tools, signals, tell)
    return replay.replay(adb, request, args.window, tell)


def main(arguments: list[str], folder: Path) -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # names come from strangers
    tools, signals = Tools(folder), Signals()
    command = arguments[0] if arguments else ""
    if "--help" in arguments or command == "help":
        print(options.help_text(command if command in options.COMMANDS else ""), end="")
        return 0
    try:
        if "--version" in arguments:
            done = tools.run("lapilli-replay", "--version")
            print(f"lapilli-android {done.out.split()[-1]}")
            return 0
        if command not in options.COMMANDS:
            raise Fault(f"there is no command '{command}': {', '.join(options.COMMANDS)}" if command else f"a command is wanted: {', '.join(options.COMMANDS)}", USAGE)
        signals.take()
        return run(command, arguments[1:], tools, signals)
    except Fault as error:
        say(str(error))
        return error.status
    except Ended as end:
        say(f"ended by {end}")
        return 128 + end.number
    except BrokenPipeError:
        return 1
    except OSError as error:
        say(f"{error.filename or 'a file'}: {error.strerror}")
        return 1
