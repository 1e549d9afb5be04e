# SPDX-License-Identifier: MIT
"""Traces of programs that could not end them: lapilli capture finishes them, lapilli repair does the same without a launcher, and
whatever is in the way, nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Callable

from e2e.cases import CRASH, LAYER, Cases, Context, Done, Skip, check, check_verified, child_of, children_of, chunks_of, crashing, patience
from e2e.in_flight import read
from e2e.torture import LAYER_FILES, faults

CASES = Cases()
case = CASES.add

ENDLESS = ("triangle", "--offscreen", "--tell", "--frames", "1000000")
ENDS = ("SIGTERM", "SIGKILL", "SIGABRT", "SIGSEGV", "SIGINT")


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def endless(context: Context) -> list[str]:
    return [context.app(ENDLESS[0]), *ENDLESS[1:]]


def start(context: Context, command: list[str], env: dict[str, str] | None = None, frames: int = 30, **more: object) -> subprocess.Popen[bytes]:
    """Runs until so many frames are told."""
    process = subprocess.Popen(command, cwd=context.folder, env=context.environment(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    for _ in range(frames):
        line = process.stdout.readline()
        check(line == b"frame\n", f"{line!r}: {process.stderr.read().decode() if not line else ''}")
    return process


def finish(process: subprocess.Popen[bytes]) -> Done:
    out, err = process.communicate(timeout=patience(120))
    return Done(process.returncode, out.decode(), err.decode())


def stopped_child_of(process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + patience(60)
    while not (stopped := [child for child in children_of(process) if Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"]):
        check(time.monotonic() < end and process.poll() is None, "it does not stop")
        time.sleep(0.005)
    return stopped[0]


def capturing(context: Context, *command: str, file: str = "out.lapilli") -> list[str]:
    return [context.program("lapilli"), "capture", "--verify", "-o", file, "--", *(command or endless(context))]


def check_finished(context: Context, sign: str | None, by: str, file: str = "out.lapilli", frames: int = 30) -> dict:
    """One complete file, which plays, and says how its program ended."""
    check(sorted(p.name for p in context.folder.glob("*.lapilli*")) == [file], f"{sorted(context.folder.glob('*.lapilli*'))}")
    info = context.info(file)
    check(info["complete"] is True and info["indexed"] and info["stopped"] is None, f"{info}")
    check(info["ended"] and info["ended"]["finished_by"] == by and info["ended"]["signal"] == sign, f"{info['ended']}")
    check(info["frames"] >= frames, f"{info['frames']} frames, {frames} were told")
    if frames:  # but for those that were under way
        check(check_verified(context.replay(file)) >= frames - 5, "not all frames were compared")
    context.run([context.program("lapilli"), "replay", "--present", "headless", file])
    text = context.run([context.program("lapilli"), "info", file]).out
    check(info["ended"]["text"] in text and "complete" in text.splitlines()[0], text)
    check(info["mappings"] > 0 and info["mappings_compared"] == 0, f"{info['mappings_compared']} of {info['mappings']} mappings")
    check(context.run([context.program("lapilli"), "print", file]).err == "", "print has something to say")
    return info


@case
def traces_of_killed_programs_are_finished(context: Context) -> None:
    """By whatever signal: the launcher has the status of a shell, and one file that is complete."""
    for name in ENDS:
        number = signal.Signals[name]
        process = start(context, capturing(context))
        child = child_of(process)
        os.kill(child, number)
        done = finish(process)
        check(done.status == 128 + number, f"{name}: exit status {done.status}\n{done.text[-2000:]}")
        info = check_finished(context, name, "capture")
        check(f"; {info['ended']['text']}" in done.err, done.err)
        (context.folder / "out.lapilli").unlink()


@case
def programs_that_are_killed_as_they_begin_a_file_leave_one_that_is_read_or_none(context: Context) -> None:
    """At each step: tests/faults stops the program there."""
    if not (context.build / "tests/faults/libfaults.so").exists():
        raise Skip("there is no tests/faults/libfaults.so")
    command = [context.program("lapilli"), "capture", "-o", "out.lapilli", "--keep-last", "3f", "--", context.app("triangle"), "--offscreen"]
    texts = []
    for step in range(1, 14):
        process = subprocess.Popen(command, cwd=context.folder, env=context.environment(faults(context, LAYER_FILES, "files", on="once", at=str(step), how="stop")),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.kill(stopped_child_of(process), signal.SIGKILL)
        texts.append(finish(process).err)
        for path in context.folder.glob("out*"):
            check(context.info(path.name)["ended"]["finished_by"] == "capture", f"step {step}: {path} {texts[-1]}")
            path.unlink()
    check(any("out.lapilli is deleted" in text for text in texts) and "out.lapilli: " in texts[-1], f"{texts}")


@case
def a_launcher_that_is_told_to_end_finishes_the_trace(context: Context) -> None:
    """It passes that on, or the terminal has done so, waits, and finishes the trace all the same."""
    for number, group in ((signal.SIGTERM, False), (signal.SIGINT, True), (signal.SIGHUP, False)):
        process = start(context, capturing(context), start_new_session=True)
        (os.killpg if group else os.kill)(process.pid, number)
        done = finish(process)
        check(done.status == 128 + number, f"exit status {done.status}\n{done.text[-2000:]}")
        check_finished(context, number.name, "capture")
        (context.folder / "out.lapilli").unlink()


@case
def traces_of_programs_that_exit_at_once_are_finished(context: Context) -> None:
    """_exit and exec end no trace; all processes of the tree have theirs finished, and know how theirs ended if the launcher has started it."""
    app = context.app("headless")
    done = context.run(capturing(context, "sh", "-c", f"timeout -s KILL 1 {' '.join(endless(context))} > log; timeout 1 {' '.join(endless(context))} > log; {app}"))
    names = sorted(p.name for p in context.folder.glob("*.lapilli*"))
    check(names == ["out-2.lapilli", "out-3.lapilli", "out.lapilli"], f"{names}\n{done.err}")
    for name in names:
        info = context.info(name)
        check(info["complete"] is True, f"{name}: {info}")
        check((info["ended"] is None) == (name == "out-3.lapilli"), f"{name}: {info['ended']}")
        check(info["ended"] is None or info["ended"] | {"text": ""} == {"signal": None, "status": None, "finished_by": "capture", "text": ""}, f"{info['ended']}")
        check(len([line for line in done.err.splitlines() if name + ":" in line]) == 1, done.err)


@case
def calls_in_flight_are_in_the_trace(context: Context) -> None:
    """They move from the tail file into the trace, and go on from there into a smaller one."""
    crashing(context)
    for how, number in (("segv", signal.SIGSEGV), ("abort", signal.SIGABRT), ("kill", signal.SIGKILL), ("term", signal.SIGTERM)):
        env = {k: v for k, v in context.layer_env(LAYER, CRASH, LAPILLI_CRASH=f"vkQueueSubmit:3:{how}").items() if k != "LAPILLI_FILE"}
        env["VK_INSTANCE_LAYERS"] = f"{LAYER}:{CRASH}"
        context.run(capturing(context, context.app("triangle"), "--offscreen", "--frames", "9"), env, expect=128 + number)
        info = check_finished(context, number.name, "capture", frames=0)
        check(info["ended"]["signal"] == number.name, f"{info['ended']}")
        found = read(context)
        check([call["name"] for call in found] == ["vkQueueSubmit"] and found[0]["args"]["queue"].startswith("VkQueue:"), f"{how}: {found}")
        check(found[0]["inFlight"]["guilty"] is (how in ("segv", "abort")), f"{how}: {found}")
        context.run([context.program("lapilli"), "compress", "--in-place", "out.lapilli"])
        check(read(context) == found and context.info()["ended"] == info["ended"], "they are lost in a smaller file")
        (context.folder / "out.lapilli").unlink()


def leave_unfinished(context: Context, number: int = signal.SIGKILL, frames: int = 30) -> None:
    process = start(context, endless(context), context.layer_env(LAPILLI_VERIFY="1"), frames)
    process.send_signal(number)
    finish(process)
    check((context.folder / "out.lapilli.tail").exists(), "there is no tail file")


def repair(context: Context, *arguments: str, **options: object) -> Done:
    return context.run([context.program("lapilli"), "repair", *arguments, "out.lapilli"], **options)


@case
def repair_finishes_a_trace_without_a_launcher(context: Context) -> None:
    leave_unfinished(context, signal.SIGTERM)
    calls, before = read(context), context.info()
    check(before["complete"] is False and before["ended"] is None, f"{before}")
    report = json.loads(repair(context, "--json", "--sandbox=auto").out)
    check(report["finished"] and report["complete"] and report["frames"] == before["frames"] and report["packets"] == before["packets"], f"{report}")
    check_finished(context, None, "repair")
    check(read(context) == calls, "other calls in flight")
    data = (context.folder / "out.lapilli").read_bytes()
    done = repair(context)
    check("the trace is complete, nothing to repair" in done.out and not done.err, done.text)
    check(json.loads(repair(context, "--json").out)["finished"] is False, "it was finished again")
    check((context.folder / "out.lapilli").read_bytes() == data, "a complete trace was changed")


@case
def mappings_are_counted_without_an_end(context: Context) -> None:
    """How many there were, and how many of them could not be watched, though nobody destroys the device."""
    leave_unfinished(context)
    info = context.info()
    check(info["mappings"] > 0 and info["mappings_compared"] == 0, f"{info['mappings_compared']} of {info['mappings']} mappings")
    names = [line["name"] for line in map(json.loads, context.run([context.program("lapilli"), "print", "--json", "out.lapilli"], expect=4).out.splitlines())]
    check(info["mappings"] == sum(name.startswith("vkMapMemory") for name in names), f"{info['mappings']} mappings")


@case
def a_recording_is_not_repaired(context: Context) -> None:
    """Neither with a tail file nor without: whoever writes holds a lock."""
    for settings in ({}, {"LAPILLI_QUEUE": "0"}):
        process = start(context, endless(context), context.layer_env(LAPILLI_VERIFY="1", **settings))
        for _ in range(5):
            done = repair(context, expect=1)
            check("still being recorded" in done.err and len(done.err.splitlines()) == 1, done.err)
        process.terminate()
        finish(process)
        if settings:  # nobody knows what the process still had in its memory
            check("incomplete" in repair(context, expect=4).err, "it is called whole")
            check(context.info()["indexed"] is True, "there is no index")
        else:
            repair(context)
            check_finished(context, None, "repair")
        (context.folder / "out.lapilli").unlink()


@case
def processes_that_outlive_the_launcher_are_left_alone(context: Context) -> None:
    command = " ".join(endless(context))
    process = subprocess.Popen(capturing(context, "sh", "-c", f"{command} > log 2>&1 & echo $!; while ! grep -qs frame log; do sleep 0.05; done"),
                               cwd=context.folder, env=context.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child = int(process.stdout.readline())
    try:
        process.stdout.close()
        err = process.stderr.read().decode()
        check(process.wait(timeout=patience(60)) == 0 and "still being recorded" in err and len(err.splitlines()) == 1, err)
        check((context.folder / "out.lapilli.tail").exists(), "its tail file is gone")
        frames = (context.folder / "log").read_text().count("frame")
        time.sleep(0.3)
        check((context.folder / "log").read_text().count("frame") > frames, "it does not go on")
    finally:
        os.kill(child, signal.SIGTERM)
    for _ in range(100):
        if repair(context, expect=None).status == 0:
            break
        time.sleep(0.1)
    (context.folder / "log").unlink()
    check_finished(context, None, "repair")


@case
def repair_keeps_what_is_behind_damage(context: Context) -> None:
    """What stands behind damage is not thrown away; what nobody can read is, and the trace says that it is not whole."""
    leave_unfinished(context, frames=1500)
    trace, tail = context.folder / "out.lapilli", context.folder / "out.lapilli.tail"
    whole, kept = trace.read_bytes(), tail.read_bytes()
    packets = chunks_of(whole, 3)
    tail.unlink()
    damaged = bytearray(whole)
    damaged[packets[0] + 80] ^= 1
    trace.write_bytes(damaged)
    done = repair(context, expect=1)
    check("would be lost" in done.err and trace.read_bytes() == damaged, done.text)
    for ending in (b"", bytes(10_000), os.urandom(999)):
        trace.write_bytes(whole + ending)
        done = repair(context, expect=4)
        check("incomplete" in done.err and "has an end now" in done.out, done.text)
        info = context.info()
        check(info["complete"] is False and info["indexed"] is True and info["ended"], f"{info}")
        check(repair(context, expect=4).out.startswith("out.lapilli: the trace has an end"), "it was changed again")
    tail.write_bytes(b"no tail file" * 1000)
    trace.write_bytes(whole)
    done = repair(context, expect=1)
    check("may have calls that the trace lacks" in done.err and trace.read_bytes() == whole, done.text)
    tail.write_bytes(kept)
    repair(context)
    check_finished(context, None, "repair")
    for content in (b"", b"no trace" * 100):
        trace.write_bytes(content)
        check(len(repair(context, expect=3).err.splitlines()) == 1, "not one sentence")


@case
def repair_without_room_changes_nothing(context: Context) -> None:
    """On a full disk the trace is as it was, with its tail file."""
    own = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if context.run([*own, "mkdir full && mount -t tmpfs -o size=15m none full"], expect=None).status != 0:
        raise Skip("nothing can be mounted here")
    leave_unfinished(context, frames=60)
    mounted = [*own, 'mount -t tmpfs -o size=15m none full && cp --sparse=always out.lapilli* full && '
               'dd if=/dev/zero of=full/rest bs=1k >/dev/null 2>&1; "$@"; status=$?; rm full/rest; cmp full/out.lapilli out.lapilli && '
               'cmp full/out.lapilli.tail out.lapilli.tail && exit $status', "sh"]
    done = context.run([*mounted, context.program("lapilli"), "repair", "full/out.lapilli"], expect=1)
    check(os.strerror(errno.ENOSPC) in done.err and len(done.err.splitlines()) == 1, done.text)


@case
def repair_reads_the_trace_in_a_sandbox(context: Context) -> None:
    """Who reads the trace has it open for writing before it is shut in, and opens and removes nothing afterwards."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    leave_unfinished(context)
    context.run(["strace", "-ff", "-o", "calls", context.program("lapilli-repair"), "out.lapilli"])
    logs = [path.read_text() for path in context.folder.glob("calls.*")]
    check(len(logs) == 2, f"{len(logs)} processes")
    reader, = [log for log in logs if '"out.lapilli", O_RDONLY' in log]
    if "seccomp(SECCOMP_SET_MODE_FILTER" not in reader:
        raise Skip("there is no sandbox here")
    before, behind = reader.split("seccomp(SECCOMP_SET_MODE_FILTER", 1)
    check("out.lapilli" not in before and "O_RDWR" not in behind and "unlink" not in behind and "pwritev(" in behind, behind)


# ---- sentences


@case
def outputs_that_can_not_be_made_are_refused_before_the_program_starts(context: Context) -> None:
    """Said before the program is started."""
    (context.folder / "folder").mkdir()
    os.mkfifo(context.folder / "pipe")
    for name, says in (("/dev/null", "no regular file"), ("/dev/stdout", "no regular file"), ("pipe", "no regular file"), ("folder", "is a folder"), ("folder/", "is a folder"),
                       ("x" * 251, "more than the 250"), ("%e" + "x" * 240, ""), ("y/" * 2100 + "z", "more than the"), ("%p" + "x" * 252, "more than the 250")):
        command = [context.program("lapilli"), "capture", "-o", name, "--", "touch", "started"]
        done = context.run(command, expect=0 if not says else 2)
        check(says in done.err and len(done.err.splitlines()) == 1, f"{name[:20]}: {done.text}")
        check((context.folder / "started").exists() == (not says), f"{name[:20]}: the program was started")
        (context.folder / "started").unlink(missing_ok=True)
    check(not Path("/dev/null-2").exists(), "there is a /dev/null-2")
    for name in ("/dev/null", "pipe", "x" * 300):
        done = context.run([context.app("headless")], context.layer_env(LAPILLI_FILE=name))
        check("nothing is recorded" in done.err and len(done.err.splitlines()) == 1, done.err)
    long = context.folder / ("p" * 250)
    long.symlink_to("/bin/true")
    check("name of the trace has 258 bytes" in context.run([context.program("lapilli"), "capture", "--", str(long)], expect=2).err, "a long program")


@case
def must_record_says_by_the_status_whether_all_was_recorded(context: Context) -> None:
    """The program has run all the same, and its own status counts where all was."""
    app = context.app("compute")

    def run(script: str, *options: str, expect: int, says: str = "", output: str = "out.lapilli", env: dict[str, str] | None = None) -> None:
        done = context.run([context.program("lapilli"), "capture", "--must-record", *options, "-o", output, "--", "sh", "-c", script], env, expect=expect)
        check("ran" in done.out and says in done.err, done.text)
        check(done.err.count("lapilli-capture: not all was recorded: ") + done.err.count("there is no trace: ") == (expect == 3), done.err)

    run(f"{app}; echo ran; exit 7", expect=7)
    run("echo ran", expect=3, says="started no process that used Vulkan with the layer")
    run(f"{app}; echo ran", expect=3, says="there is no trace", env={"VK_DRIVER_FILES": "/dev/null", "VK_ICD_FILENAMES": "/dev/null"})
    run(f"{app}; echo ran", "--frames", "1000", expect=3, says="ended before a part began")
    run(f"prlimit --fsize=71680 {app}; echo ran", "--quiet", expect=3, says="out-2.lapilli is incomplete: ")
    (context.folder / "gone").mkdir()
    run(f"mv gone moved; {app}; echo ran", output="gone/%e.lapilli", expect=3, says="could not be recorded")
    run(f"{app}; echo ran", "--no-wait", output="unix:none", expect=3, says="could not be recorded")


@case
def temporary_files_of_killed_launchers_go(context: Context) -> None:
    """When the next launcher comes. That of one that lives stays, and without a folder for it the program runs, too."""
    def reports() -> list[Path]:
        return sorted((context.folder / "tmp").glob("*"))

    (context.folder / "tmp").mkdir()
    env = {"TMPDIR": str(context.folder / "tmp")}
    killed = start(context, capturing(context), env)
    child = child_of(killed)
    killed.kill()
    os.kill(child, signal.SIGKILL)
    finish(killed)
    old = reports()
    living = start(context, capturing(context, file="living.lapilli"), env)
    new = reports()
    check(len(old) == len(new) == 1 and old != new, f"{old} {new}")
    context.run(capturing(context, context.app("compute"), file="other.lapilli"), env)
    check(reports() == new, f"{reports()}")
    os.kill(child_of(living), signal.SIGTERM)
    check("living.lapilli: " in finish(living).err and reports() == [], f"{reports()}")
    done = context.run(capturing(context, context.app("compute"), file="last.lapilli"), {"TMPDIR": str(context.folder / "missing")})
    check("last.lapilli: " in done.err and done.out.endswith("ok compute\n"), done.text)


@case
def a_program_that_records_nothing_is_named_once(context: Context) -> None:
    """The sentence names what was started, and does not come on top of others."""
    done = context.run([context.program("lapilli"), "capture", "-o", "a.lapilli", "--", "timeout", "9", "true"])
    check(done.err == "lapilli-capture: there is no trace: `timeout 9 true` started no process that used Vulkan with the layer\n", done.err)
    done = context.run([context.program("lapilli"), "capture", "-o", "a.lapilli", "--", "./no-such"], expect=127)
    check(done.err == f"lapilli-capture: ./no-such can't be started: {os.strerror(errno.ENOENT)}\n", done.err)
    folder = context.folder / "gone"
    folder.mkdir()
    done = context.run([context.program("lapilli"), "capture", "-o", "gone/a.lapilli", "--", "sh", "-c", f"rmdir gone; {context.app('headless')}"])
    check("nothing is recorded: " in done.err and "there is no trace" not in done.err, done.err)


@case
def every_compression_records(context: Context) -> None:
    for how in ("lz4", "lz4hc", "none"):
        context.run([context.program("lapilli"), "capture", "--compression", how, "-o", f"{how}.lapilli", "--", context.app("headless")])
        check(context.info(f"{how}.lapilli")["complete"] is True, how)
    done = context.run([context.program("lapilli"), "capture", "--compression", "zip", "--", "true"], expect=2)
    check("--compression can't be 'zip': it is lz4, lz4hc or none" in done.err, done.err)


@case
def hidden_extensions_are_named(context: Context) -> None:
    """The loader refuses them, and says nothing; whoever only asks, or gets a device, is told nothing."""
    context = replace(context, driver=context.build / "tests/null/null_icd.json")
    if not context.driver.exists():
        raise Skip("the null driver is not built")
    wants = context.app("wants")
    for name in ("VK_NVX_image_view_handle", "VK_NVX_binary_import"):
        for arguments, told in (([name], True), ([name, "--leave"], True),
                                ([name, "--twice"], True), (["--ask"], False), (["--ask", "--leave"], False),
                                (["VK_KHR_maintenance1"], False), (["VK_KHR_maintenance1", "--leave"], False)):
            alone = context.run([wants, *arguments])
            done = context.run([wants, *arguments], context.layer_env())
            check(not told or (alone.out.startswith("0") and done.out.startswith("-7")), f"{arguments}: {alone.out}, recorded: {done.out}")
            lines = [line for line in done.err.splitlines() if line.startswith("lapilli")]
            check(len(lines) == told, f"{arguments}: {done.err}")
            check(not told or ("docs/extensions.md" in lines[0] and name in lines[0]), done.err)
