# SPDX-License-Identifier: MIT
"""What a replay that has been taken over can still do (SECURITY.md): next to nothing, while it plays whatever it should.

The test layer "intruder" tries things in vkCreateDevice, with the rights of the replay, and says what came of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Callable

from e2e.cases import INTRUDER, Cases, Context, Done, Skip, check, check_verified, display, prepare, programs
from e2e.present import weston

CASES = Cases()
case = CASES.add

# What the file has and whoever is nobody in particular may do anywhere: it must be done without a sandbox, or the test tells nothing.
ANYBODY = {"execve", "execveat", "fork", "socket", "internet-socket", "message-sockets", "create", "write", "chmod", "truncate", "open-truncate", "mkdir",
           "symlink", "ptrace", "kill", "fcntl-owner", "msgget", "setpriority", "utimensat", "utimes", "shmctl-info", "rename", "unlink", "environ", "device"}


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def state(context: Context) -> dict:
    """What the kernel has."""
    return json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"]).out)["sandbox"]


def needs_sandbox(context: Context) -> None:
    sandbox = state(context)
    if sandbox["state"] != "on":
        raise Skip(sandbox["lack"])


def intrude(context: Context, *arguments: str, expect: int | None = 0, **environment: str) -> Done:
    folder = context.folder / "outside"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "victim").write_text("precious")
    return context.run([context.program("lapilli-replay"), "--verify", "--present", "headless", *arguments, "out.lapilli"],
                       context.layer_env(INTRUDER, LAPILLI_INTRUDER=str(folder), LAPILLI_INTRUDER_KEEPS=str(context.folder / "shots/kept"),
                                         **environment), expect=expect)


def attempts(done: Done) -> dict[str, str]:
    return dict(re.findall(r"^intruder: ([\w-]+): (\w+)$", done.err, re.MULTILINE))


def shuts_in(context: Context) -> None:
    """An intruder in the replay of out.lapilli does nothing that it should not."""
    free = intrude(context, "--sandbox=off", "--screenshot", "1", "--screenshot-dir", "shots")
    done = {name for name, came in attempts(free).items() if came == "done"}
    check(ANYBODY <= done, f"these are not done without a sandbox: {ANYBODY - done}\n{free.err}")
    (context.folder / "shots/kept").unlink()
    for arguments in ([], ["--sandbox=on"], ["--threads", "3", "--sandbox", "auto"]):
        shut = intrude(context, *arguments, "--screenshot", "1", "--screenshot-dir", "shots")
        check_verified(shut)
        came = attempts(shut)
        check(came.keys() == attempts(free).keys(), f"{shut.err}")
        for name, what in came.items():
            if name.startswith("may-"):
                check(what == "done", f"{name}: {what}")
            else:
                check(what in ("EPERM", "EACCES", "ENOSYS"), f"{name}: {what}")
        check([(p.name, p.read_text()) for p in (context.folder / "outside").iterdir()] == [("victim", "precious")], "something was changed")
        check((context.folder / "shots/kept").exists(), "nothing was written where pictures go")
        (context.folder / "shots/kept").unlink()
    # Nor can it write where pictures would go, when there are none.
    check(attempts(intrude(context))["may-write"] in ("EPERM", "EACCES"), "it writes where nothing should be written")


@case
def a_compromised_replay_is_contained(context: Context) -> None:
    context.capture([context.app("headless")])
    needs_sandbox(context)
    shuts_in(context)


@case
def a_replay_that_types_on_the_terminal_is_ended(context: Context) -> None:
    context.capture([context.app("headless")])
    needs_sandbox(context)
    free = intrude(context, "--sandbox=off", LAPILLI_INTRUDER_TYPES="1")
    check("type" in attempts(free) and check_verified(free) > 0, free.text)
    shut = intrude(context, expect=-signal.SIGSYS, LAPILLI_INTRUDER_TYPES="1")
    check("type" not in attempts(shut), shut.text)


@case
def a_compromised_check_is_contained(context: Context) -> None:
    context.capture([context.app("headless")])
    needs_sandbox(context)
    folder = context.folder / "outside"
    folder.mkdir()
    (folder / "victim").write_text("precious")
    environment = context.layer_env(INTRUDER, LAPILLI_INTRUDER=str(folder), LAPILLI_INTRUDER_KEEPS=str(folder / "kept"))
    came = attempts(context.run([context.program("lapilli"), "check", "out.lapilli"], environment))
    check("execve" in came and not [name for name, what in came.items() if what == "done" and name not in ("may-read", "may-memfd", "may-map-code", "may-be-nice", "may-choose-processors")], f"{came}")


@case
def outputs_on_the_command_line_can_be_written(context: Context) -> None:
    """Pictures, checks, figures, also anew; and caches of drivers that nobody else reads."""
    context.capture([context.app("triangle"), "--offscreen"])
    needs_sandbox(context)
    caches = context.folder / "caches"
    caches.mkdir()
    for _ in range(2):
        check_verified(context.replay("out.lapilli", "--sandbox=on", "--measure=figures.json", "--dump-checks", "checks", "--mismatch-dir", "different",
                                      env={"XDG_CACHE_HOME": str(caches)}))
        check(json.loads((context.folder / "figures.json").read_text())["sandbox"] == {"state": "on", "lack": None}, "the figures")
        check((context.folder / "checks/checks.bin").stat().st_size > 0, "the checks")
    check([p.name for p in caches.iterdir()] == ["lapilli-replay"], f"{list(caches.iterdir())}")
    # A folder that is not ours alone is no place for what drivers execute.
    shutil.rmtree(caches / "lapilli-replay")
    (caches / "elsewhere").mkdir()
    (caches / "lapilli-replay").symlink_to("elsewhere")
    check_verified(context.replay("out.lapilli", "--sandbox=on", env={"XDG_CACHE_HOME": str(caches)}))
    check(not list((caches / "elsewhere").iterdir()), "a cache went through a symbolic link")
    check_verified(context.replay("out.lapilli", "--sandbox=off", "--measure=figures.json"))
    check(json.loads((context.folder / "figures.json").read_text())["sandbox"] == {"state": "off", "lack": None}, "the figures")
    context.run([context.program("lapilli-replay"), "--sandbox=open", "out.lapilli"], expect=2)


@case
def outputs_on_the_command_line_are_no_links(context: Context) -> None:
    """Who can make files where output goes does not decide what is written over, nor read it."""
    context.capture([context.app("headless")])
    (context.folder / "victim").write_text("precious")
    (context.folder / "checks").mkdir()
    for link, arguments in (("figures.json", ["--measure=figures.json"]), ("checks/checks.bin", ["--dump-checks", "checks"]),
                            ("checks/checks.ndjson", ["--dump-checks", "checks"])):
        for target in (context.folder / "victim", context.folder / "missing"):
            (context.folder / link).symlink_to(target)
            done = context.replay("out.lapilli", "--sandbox=off", *arguments, expect=None)
            check(done.status not in (0, -signal.SIGSEGV) and "it is a symbolic link" in done.err, f"{link}: {done.text}")
            (context.folder / link).unlink()
    check((context.folder / "victim").read_text() == "precious" and not (context.folder / "missing").exists(), "a link was followed")
    if context.has("compile"):
        context.run([context.program("lapilli"), "compile", "-o", "out.lapvm", "out.lapilli"])
        (context.folder / "out.txt").write_text(context.run([context.program("lapilli"), "disasm", "out.lapvm"]).out)
    (context.folder / "empty").mkdir()
    for target in ("victim", "missing", "empty"):
        (context.folder / "new").symlink_to(target)
        for command in (["compress", "out.lapilli"], ["compile", "out.lapilli"], ["asm", "out.txt"], ["export", "out.lapilli"]):
            if not context.has(command[0]):
                continue
            done = context.run([context.program("lapilli"), *command, "-o", "new"], expect=1)
            check("can't create new: File exists" in done.err and (context.folder / "new").is_symlink(), f"{command}: {done.text}")
        (context.folder / "new").unlink()
    check(not list((context.folder / "empty").iterdir()), "a link was followed")
    (context.folder / "checks/checks.bin").unlink(missing_ok=True)
    (context.folder / "checks/checks.bin").hardlink_to(context.folder / "victim")
    check_verified(context.replay("out.lapilli", "--measure=figures.json", "--dump-checks", "checks"))
    check((context.folder / "victim").read_text() == "precious", "what has another name was written over")
    for name in ("figures.json", "checks/checks.bin", "checks/checks.ndjson"):
        check((context.folder / name).stat().st_mode & 0o777 == 0o600, f"{name} can be read by others")


@case
def rights_are_given_up_before_the_trace_is_opened(context: Context) -> None:
    """Whoever reads a trace has given up its rights before it opens the file."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    context.capture([context.app("headless")])
    needs_sandbox(context)
    objects = {"lapilli-memory": ["VkBuffer:1"], "lapilli-find": ["Draw"]}
    for command in (["lapilli-replay", "--present", "headless"], ["lapilli-replay", "--check"], ["lapilli-info"], ["lapilli-print"], ["lapilli-tree"],
                    ["lapilli-draws"], ["lapilli-find"], ["lapilli-shaders"], ["lapilli-state", "--at", "1"], ["lapilli-uses", "--unused"], ["lapilli-image", "--after", "1", "-o", "shot"], ["lapilli-memory", "--at", "1", "--parts"],
                    ["lapilli-compress", "-o", "new"], ["lapilli-compress", "--in-place", "--sandbox=on"], ["lapilli-compile", "-o", "out.lapvm"], ["lapilli-export", "-o", "folder"],
                    ["lapilli-disasm"], ["lapilli-asm", "-o", "other.lapvm"], ["lapilli-run", "--sandbox=on"]):
        if not context.has(command[0].removeprefix("lapilli-")):
            continue
        file = {"lapilli-disasm": "out.lapvm", "lapilli-asm": "out.txt", "lapilli-run": "out.lapvm"}.get(command[0], "out.lapilli")
        done = context.run(["strace", "-f", "-o", "calls", "-e", "trace=openat,seccomp,landlock_restrict_self", context.program(command[0]), *command[1:], file, *objects.get(command[0], ())])
        if command[0] == "lapilli-disasm":
            (context.folder / "out.txt").write_text(done.out)
        lines = (context.folder / "calls").read_text().splitlines()
        places = [[i for i, line in enumerate(lines) if what in line] for what in ("landlock_restrict_self(", "seccomp(SECCOMP_SET_MODE_FILTER", f'{file}"')]
        entered = [place[0] for place in places[:2] if place] if command[0] == "lapilli-run" else places[0] + places[1]  # the replay enters one of its own later
        check(all(places) and max(entered) < places[2][0], f"{command}: {places}\n{done.err}")


def plays(driver: str | None, name: str, *arguments: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context = context.on(driver)
        display()
        with weston(context) as (environment, _):
            context.capture([context.app(name), *arguments])
            needs_sandbox(context)
            for window in ("xcb", "wayland"):
                if driver and window == "wayland":
                    continue  # it has no such windows
                done = context.run([context.program("lapilli-replay"), "--verify", "--sandbox=on", "--window-system", window, "out.lapilli"], environment)
                check_verified(done)
                check("no window shows frames" not in done.err, done.err)
            check_verified(context.replay("out.lapilli", "--sandbox=on"))
    return run


CASES["windows-are-shown"] = plays(None, "triangle", "--present")
CASES["windows-are-shown-swiftshader"] = plays("swiftshader", "triangle", "--present")


# By which the loader finds it, or who runs the tests names it.
NVIDIA = [*(folder / "nvidia_icd*.json" for folder in map(Path, ("/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d"))),
          *map(Path, filter(lambda path: "nvidia" in path, os.environ.get("VK_DRIVER_FILES", "").split(":")))]


@case
def an_nvidia_driver_plays_in_the_sandbox(context: Context) -> None:
    """Its library asks device files of its own for everything, and reads what the kernel tells of it."""
    found = sorted(path for pattern in NVIDIA for path in pattern.parent.glob(pattern.name))
    if not found or context.driver_dir:
        raise Skip("there is no NVIDIA driver")
    context = replace(context, driver=found[0])
    played = [program for program in programs(context) if program.name in
              ("triangle-offscreen", "compute", "headless", "threads", "descriptors", "bindless", "memory", "multi", "linear", "modern")]
    prepare(context, played[0])
    for program in played:
        inner = context.in_folder(context.folder / program.name)
        inner.folder.mkdir()
        try:
            prepare(inner, program)
        except Skip:
            continue
        inner.capture(program.command)
        needs_sandbox(inner)
        done = inner.replay("out.lapilli", "--sandbox=on", "--threads", "3", "--measure=figures.json")
        check_verified(done)
        check(json.loads((inner.folder / "figures.json").read_text())["sandbox"] == {"state": "on", "lack": None}, "the figures")
    shuts_in(context.in_folder(context.folder / played[0].name))


@case
def a_kernel_without_sandbox_is_reported(context: Context) -> None:
    """Where the sandbox can't be had (here: seccomp forbids to ask for it), --sandbox=on refuses, and all else plays and says so."""
    context.capture([context.app("headless")])
    tool = context.build / "tests/bin/old-kernel"
    if not tool.exists():
        raise Skip("old-kernel is not built")
    old = [str(tool), context.program("lapilli-replay"), "--verify", "--present", "headless"]
    done = context.run([*old, "out.lapilli"])
    check_verified(done)
    check(len(re.findall(r"the sandbox is partial: files can be written, for there is no Landlock here", done.err)) == 1, done.err)
    done = context.run([*old, "--sandbox=on", "out.lapilli"], expect=5)
    check("--sandbox=on can't be had: files can be written" in done.err and "verify:" not in done.out, done.text)
    done = context.run([*old, "--sandbox=off", "out.lapilli"])
    check("sandbox" not in done.err, done.err)
    report = json.loads(context.run([str(tool), context.program("lapilli-replay"), "--check", "--json", "out.lapilli"]).out)
    check(report["sandbox"]["state"] == "partial" and "Landlock" in report["sandbox"]["lack"], f"{report}")
    text = context.run([str(tool), context.program("lapilli-replay"), "--check", "out.lapilli"]).out
    check("sandbox  partial: files can be written" in text, text)


@case
def a_compromised_compress_has_its_output_alone(context: Context) -> None:
    """The process that reads the trace has the new file before it is shut in, and opens nothing for writing afterwards; the other one never opens the trace
    (but to put it in its place: the new file is what it looks at)."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    context.capture([context.app("headless")])
    needs_sandbox(context)
    compress = [context.program("lapilli-compress"), "-o", "new.lapilli"]
    for count, command, file in ((2, compress, "out.lapilli"), (2, [context.program("lapilli-compile"), "-o", "out.lapvm"], "out.lapilli"),
                                 (3, [context.program("lapilli-export"), "-o", "folder"], "out.lapilli"), (3, [context.program("lapilli-export"), "-o", "another"], "out.lapvm"),
                                 (2, [context.program("lapilli-asm"), "-o", "other.lapvm"], "out.txt")):
        if not context.has(command[0].rpartition("lapilli-")[2]):
            continue
        if file == "out.txt":
            (context.folder / file).write_text(context.run([context.program("lapilli"), "disasm", "out.lapvm"]).out)
        context.run(["strace", "-ff", "-o", "calls", *command, file])
        paths = list(context.folder.glob("calls.*"))
        logs = [path.read_text() for path in paths]
        check(len(logs) == count, f"{command}: {len(logs)} processes")
        reader, = [log for log in logs if f'"{file}", O_RDONLY' in log]
        behind = reader.split("seccomp(SECCOMP_SET_MODE_FILTER", 1)[1]
        check(f'"{command[2]}", O_RDWR' not in reader and not re.search(r"O_WRONLY|O_RDWR|O_CREAT|unlink|rename|chmod\(", behind), f"{command}: {behind}")
        check(re.search(r"\b(pwritev|pwrite64|write)\((?![12],)\d", behind), f"{command}: it wrote nothing")
        for path in paths:
            path.unlink()
    old = context.build / "tests/bin/old-kernel"
    if old.exists():
        done = context.run([str(old), *compress[:-1], "other.lapilli", "--sandbox=on", "out.lapilli"], expect=1)
        check("--sandbox=on can't be had: files can be written" in done.err and not (context.folder / "other.lapilli").exists(), done.text)
        context.run([str(old), *compress[:-1], "other.lapilli", "out.lapilli"])
    (context.folder / "new.lapilli").unlink()
    context.run([*compress, "--sandbox=off", "out.lapilli"])
    context.run([*compress, "--sandbox=open", "out.lapilli"], expect=2)
