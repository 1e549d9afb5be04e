# SPDX-License-Identifier: MIT
"""lapilli import: files of gfxreconstruct, made here and by its layer, played by a stand-in and by gfxrecon-replay."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
from pathlib import Path
from typing import Callable

from e2e.cases import OTHER_DRIVERS, Cases, Context, Skip, check, check_verified, display
from e2e.order import RECORDER, is_installed
from e2e.sandbox import needs_sandbox

CASES = Cases()
case = CASES.add
PLAYER = "gfxrecon-replay"
# Calls, by their numbers there.
CREATE_DEVICE, SUBMIT, DISPATCH, PRESENT = 0x1100b, 0x11012, 0x1106e, 0x110ae
CUTS = 200


def block(kind: int, body: bytes) -> bytes:
    return struct.pack("<QI", len(body), kind) + body


def call(number: int, arguments: bytes = bytes(8)) -> bytes:
    return block(4, struct.pack("<IQ", number, 1) + arguments)


def file_of(device: str, *blocks: bytes) -> bytes:
    """Of one GPU with this name, without compression, and with these blocks behind vkCreateDevice."""
    gpu = struct.pack("<IQQ5I16xI", 0x1000b, 1, 2, 0, 0, 0, 0, 0, len(device)) + device.encode()
    return b"GFXR" + struct.pack("<5I", 0, 0, 1, 1, 0) + block(3, gpu) + call(CREATE_DEVICE, struct.pack("<Q", 2)) + b"".join(blocks)


def stand_in(context: Context, script: str) -> dict[str, str]:
    """An environment in which this shell script is gfxrecon-replay. It writes down what it was asked for."""
    folder = context.folder / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / PLAYER
    program.write_text(f'#!/bin/sh\necho "$@" >> calls\n{script}\n')
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def calls(context: Context) -> list[str]:
    """Of the stand-in, since the last time."""
    path = context.folder / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


def bring(context: Context, file: str, env: dict[str, str] | None, *arguments: str, expect: int = 0, to: str = "out.lapilli") -> tuple[dict, str]:
    """What --json says, and stderr."""
    (context.folder / to).unlink(missing_ok=True)
    done = context.run([context.program("lapilli"), "import", "--json", file, "-o", to, *arguments], env, expect=expect)
    return json.loads(done.out) if done.out else {}, done.err


def store(context: Context, *blocks: bytes, device: str = "no such GPU", name: str = "a.gfxr") -> str:
    (context.folder / name).write_bytes(file_of(device, *blocks))
    return name


@case
def a_file_becomes_a_trace(context: Context) -> None:
    """The stand-in runs a program that dispatches and submits more than the file says."""
    env = stand_in(context, f"exec {context.app('compute')}")
    file = store(context, call(DISPATCH), call(SUBMIT), block(77, b"later"))
    said, err = bring(context, file, {**env, "LAPILLI_FRAMES": "1"})
    check(calls(context) == ["-m rebind a.gfxr"], "another GPU was recorded, so memory is to be bound anew")
    check("blocks of unknown kinds: 1 of 5" in err and said["file"]["unknown_blocks"] == 1, err)
    check(said["file"]["whole"] and said["rebind"] and said["player"] is None and said["tries"] == 1, f"{said}")
    check((said["file"]["device"], said["file"]["submits"], said["file"]["dispatches"]) == ("no such GPU", 1, 1), f"{said}")
    trace, info = said["trace"], context.info()
    check(trace["complete"] and trace["played"] and trace["checks"] > 0 and trace["different"] == 0, f"{trace}")
    check((trace["submits"], trace["dispatches"], trace["presents"]) == (info["submits"], info["dispatches"], 0), f"{trace} {info}")
    check(info["imported_from"] == {"kind": "gfxr", "version": "0.0", "recorder": None, "device": "no such GPU", "hash": said["file"]["hash"]}, f"{info}")
    check("no such GPU" in context.run([context.program("lapilli"), "info", "out.lapilli"]).out, "info does not name the recorded GPU")
    check(len(context.print_lines()) > 50, "a part was recorded, which the environment asks for")
    check_verified(context.replay())
    # On the GPU of the recording its memory types fit. The user's options go before ours.
    here = json.loads(context.run([context.program("lapilli-replay"), "--list-gpus", "--gpu", "0", "--json"]).out)["gpus"]
    check(len(here) == 1 and here[0]["number"] == 0, f"{here}")
    store(context, call(SUBMIT), device=here[0]["name"])
    check(not bring(context, file, env)[0]["rebind"] and calls(context) == ["-m none a.gfxr"], "")
    bring(context, file, env, "--gpu", here[0]["name"], "--", "--sync")
    check(calls(context) == ["-m none --gpu 0 --sync a.gfxr"], "")
    bring(context, file, env, "--gpu", "0", "--", "-m", "remap", "--gpu", "3")
    check(calls(context) == ["-m remap --gpu 3 a.gfxr"], "")
    # Text says the same; a name with percent signs is a name.
    done = context.run([context.program("lapilli"), "import", file, "-o", "100%p.lapilli"], env)
    check("100%p.lapilli: presents 0" in done.out and (context.folder / "100%p.lapilli").exists(), done.text)
    done = context.run([context.program("lapilli"), "import", "--quiet", file, "-o", "quiet.lapilli"], env)
    check(not done.text, done.text)


@case
def what_is_missing_is_said(context: Context) -> None:
    app = context.app("compute")
    file = store(context, call(SUBMIT), call(PRESENT), call(PRESENT))
    env = stand_in(context, f"exec {app}")
    said, err = bring(context, file, env, expect=4)
    check("file: presents 2" in err and "trace: presents 0" in err and said["trace"]["presents"] == 0, err)
    # A file that is cut: in a block, in front of the first call, and in the head.
    whole = (context.folder / store(context, call(SUBMIT), call(SUBMIT))).read_bytes()
    Path(context.folder / file).write_bytes(whole[:-1])
    said, err = bring(context, file, env, expect=4)
    check(f"is cut: the block at byte {len(whole) - 32} of {len(whole) - 1}" in err and not said["file"]["whole"], err)
    check(said["file"]["submits"] == 1 and said["trace"]["different"] == 0, f"{said}")
    for size in (60, 20, 5):
        Path(context.folder / file).write_bytes(whole[:size])
        check("it is cut" in bring(context, file, env, expect=3)[1], "")
    # The trace does not play as it was recorded.
    Path(context.folder / file).write_bytes(whole)
    broken = f"{app} && {context.build}/tests/bin/break-check out.lapilli new lapilliCheckBuffer && mv new out.lapilli"
    said, err = bring(context, file, stand_in(context, broken), expect=1)
    check(said["trace"]["different"] > 0 and "checks differ" in err and (context.folder / "out.lapilli").exists(), err)


@case
def a_player_that_crashes_gets_another_chance(context: Context) -> None:
    file = store(context, call(SUBMIT))
    app = context.app("compute")
    said, err = bring(context, file, stand_in(context, f"{app}; test -e tried || {{ touch tried; kill -SEGV $$; }}"))
    check(said["tries"] == 2 and said["player"] is None and "SIGSEGV; once more" in err and len(calls(context)) == 2, err)
    said, err = bring(context, file, stand_in(context, f"{app}; kill -SEGV $$"), expect=4)
    check(said["tries"] == 2 and said["player"] == "signal SIGSEGV" and said["trace"]["checks"] > 0 and len(calls(context)) == 2, err)
    said, err = bring(context, file, stand_in(context, f"{app}; kill -TERM $$"), expect=4)
    check(len(calls(context)) == 1, "SIGTERM is no crash")
    # It plays nothing.
    said, err = bring(context, file, stand_in(context, "exit 9"), expect=5)
    check(said["trace"] is None and "status 9" in err and len(calls(context)) == 2, err)


@case
def without_a_player_or_a_file_nothing_is_made(context: Context) -> None:
    file = store(context, call(SUBMIT))
    said, err = bring(context, file, {"PATH": str(context.folder)}, expect=5)
    check("package gfxreconstruct" in err and said["file"]["submits"] == 1 and said["trace"] is None, err)
    env = stand_in(context, "false")
    for number, content in enumerate((os.urandom(5000), b"", b"GFX", b"RXFG" + bytes(100), file_of("a")[:24], b"GFXR" + b"\xff" * 100)):
        (context.folder / "b.gfxr").write_bytes(content)
        _, err = bring(context, "b.gfxr", env, expect=3)
        check(len(err.splitlines()) == 1, f"{number}: {err}")
    bring(context, ".", env, expect=3)
    bring(context, "no-such.gfxr", env, expect=3)
    check(not calls(context) and not (context.folder / "out.lapilli").exists(), "something was played")
    (context.folder / "there.lapilli").write_text("mine")
    done = context.run([context.program("lapilli"), "import", file, "-o", "there.lapilli"], env, expect=1)
    check("File exists" in done.err and (context.folder / "there.lapilli").read_text() == "mine" and not calls(context), done.text)
    context.run([context.program("lapilli"), "import", file, "-o", "no/such.lapilli"], env, expect=1)
    _, err = bring(context, file, env, "--gpu", "no such GPU", expect=5)
    check("no GPU of this machine" in err and not calls(context), err)


@case
def the_file_is_read_in_a_sandbox(context: Context) -> None:
    strace = shutil.which("strace")
    if not strace:
        raise Skip("strace is not installed")
    context.capture([context.app("headless")])
    needs_sandbox(context)
    file = store(context, call(SUBMIT))
    context.run([strace, "-f", "-o", "traced", "-e", "trace=openat,seccomp,landlock_restrict_self", context.program("lapilli-import"), "-o", "new", file],
                {"PATH": str(context.folder)}, expect=5)
    lines = (context.folder / "traced").read_text().splitlines()
    opened = [line.split()[0] for line in lines if f'"{file}"' in line]
    for entered in ("landlock_restrict_self(", "seccomp(SECCOMP_SET_MODE_FILTER"):
        before = next((line.split()[0] for line in lines if entered in line or f'"{file}"' in line), "")
        check(len(opened) == 1 and before == opened[0] and any(entered in line for line in lines), f"{lines[-20:]}")


def player(context: Context) -> None:
    if not shutil.which(PLAYER) or not is_installed(context, RECORDER):
        raise Skip(f"{PLAYER} is not installed (Debian package gfxreconstruct)")
    if context.driver_dir or Path(context.program("lapilli")).read_bytes()[4] != 2:
        raise Skip(f"{PLAYER} is the system's own")


def recorded(context: Context, command: list[str]) -> str:
    context.run(command, {"VK_INSTANCE_LAYERS": RECORDER, "GFXRECON_CAPTURE_FILE": "a.gfxr", "GFXRECON_CAPTURE_FILE_TIMESTAMP": "0",
                          "GFXRECON_LOG_LEVEL": "error"})
    return "a.gfxr"


def by_both(command: Callable[[Context], list[str]], presents: int = 0) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        player(context)
        said, _ = bring(context, recorded(context, command(context)), None)
        file, trace = said["file"], said["trace"]
        check(file["presents"] == trace["presents"] == presents and file["draws"] == trace["draws"], f"{said}")
        check(file["dispatches"] == trace["dispatches"] and 0 < file["submits"] <= trace["submits"], f"{said}")
        check(file["compression"] == "LZ4" and file["recorder"] and file["device"] and not said["rebind"], f"{said}")
        context.run([context.program("lapilli"), "capture", "--verify", "--memory-types", "real", "-o", "direct.lapilli", "--", *command(context)])
        done = context.run([context.program("lapilli"), "compare-checks", "out.lapilli", "direct.lapilli"])
        check(re.search(rf"{trace['checks']} checks, 0 different", done.err) is not None and trace["checks"] > 0, done.text)
    return run


def vkcube(context: Context) -> list[str]:
    display()
    return [*context.installed("vkcube"), "--c", "20"]


@case
def cuts_of_a_recorded_file_are_seen(context: Context) -> None:
    player(context)
    whole = (context.folder / recorded(context, [context.app("linear")])).read_bytes()
    ends, at = {32 - 8}, 24
    while at < len(whole):
        at += 12 + int.from_bytes(whole[at:at + 8], "little")
        ends.add(at)
    check(at == len(whole) and len(ends) > CUTS, f"{at} {len(whole)} {len(ends)}")
    for size in [len(whole) * step // CUTS for step in range(1, CUTS + 1)]:
        (context.folder / "b.gfxr").write_bytes(whole[:size])
        done = context.run([context.program("lapilli"), "import", "--json", "b.gfxr", "-o", "out.lapilli"], {"PATH": ""}, expect=None)
        check(done.status in ((5,) if size > 3000 else (3, 5)), f"{size}: {done.text}")
        check(not done.out or json.loads(done.out)["file"]["whole"] == (size in ends), f"{size}: {done.text}")


def on_another_gpu(context: Context) -> None:
    """Memory is bound anew there, by gfxrecon-replay."""
    player(context)
    swiftshader = OTHER_DRIVERS["swiftshader"]
    if not swiftshader.exists() or context.driver:
        raise Skip("there is no second driver")
    file = recorded(context, [context.app("memory")])
    drivers = ":".join(map(str, (swiftshader, *sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd.*.json")))))
    both = {"VK_DRIVER_FILES": drivers, "VK_ICD_FILENAMES": drivers}
    for gpu, rebind in ((["--gpu", "SwiftShader"], True), ([], False)):
        said, _ = bring(context, file, both, *gpu)
        check(said["rebind"] == rebind and said["trace"]["different"] == 0 < said["trace"]["checks"], f"{said}")
        check(("SwiftShader" in context.info()["recorded_on"]["device"]) == rebind, f"{context.info()['recorded_on']}")


def cases() -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    result["recorded/on-another-gpu"] = on_another_gpu
    result["recorded/vkcube"] = by_both(vkcube, 20)
    for name in ("linear", "memory", "formats"):
        result[f"recorded/{name}"] = by_both(lambda context, name=name: [context.app(name)])
    return result
