# SPDX-License-Identifier: MIT
"""Programs that die while a part of their run is recorded, or its end is kept: all calls that had returned are there and play, and
those that had not are named, as in whole recordings (in_flight.py)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import Callable

from e2e.cases import CRASH, LAYER, Cases, Context, Done, Failure, check, check_verified, child_of, crashing, display, patience
from e2e.in_flight import THREADS, has_arguments_of, read
from e2e.parts import files, in_order, names, state_left_out

CASES = Cases()
case = CASES.add

FRAMES = 20  # of the program, which has one submit, and so one frame of a trace, before them, and two in each
# What becomes of the launcher's exit status, and of the note of the end.
WAYS = {"segv": (139, "SIGSEGV"), "abort": (134, "SIGABRT"), "kill": (137, "SIGKILL"), "term": (143, "SIGTERM"), "leave": (7, None), "exec": (0, None)}
CRASHES = ("segv", "abort")


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def program(context: Context) -> list[str]:
    return [context.app("parts"), "--frames", str(FRAMES)]


def capture(context: Context, crash: str, *options: str, command: list[str] | None = None, file: str = "out.lapilli", expect: int | None = None) -> Done:
    crashing(context)
    return context.run([context.program("lapilli"), "capture", "--verify", "-o", file, *options, "--", *(command or program(context))],
                       context.layer_env(LAYER, CRASH, LAPILLI_CRASH=crash), expect=expect)


def die(context: Context, command: str, number: int, how: str, *options: str) -> Done:
    """In a call of the program's: the layer, too, makes some, when a part begins, and nothing is noted of these."""
    for more in range(8):
        done = capture(context, f"{command}:{number + more}:{how}", *options)
        if not names(context) or read(context, newest(context)):
            return done
        forget(context)
    raise Failure(f"no call in flight:\n{done.text}")


def lines_of(context: Context, file: str) -> list[dict]:
    """Calls of the program, without those in flight and what is in command buffers."""
    out = context.run([context.program("lapilli"), "print", "--json", file], expect=None).out
    lines = [json.loads(line) for line in out.splitlines()]
    if any(line["name"] == "lapilliState" for line in lines):
        lines = state_left_out(lines)
    return [line for line in lines if "inFlight" not in line and "block" not in line and line["name"].startswith("vk")]


def key(line: dict) -> tuple[str, str]:
    return line["name"], json.dumps({k: v for k, v in (line["args"] or {}).items()}, sort_keys=True)


def newest(context: Context) -> str:
    return in_order(context)[-1]["name"]


def check_all_is_there(context: Context, file: str, whole: list[dict], call: dict) -> None:
    """The part's calls stand in the whole run side by side, and the next one is the call in flight, or the submit of the command."""
    part = [key(line) for line in lines_of(context, file)]
    if part and part[-1][0] == call["name"]:
        part.pop()  # whose packet comes before it is made
    wanted = [key(line) for line in whole]
    check(len(part) > 0, "the part has no calls")
    following = [whole[i + len(part)] for i in range(len(wanted) - len(part)) if wanted[i:i + len(part)] == part]  # frames are much alike
    check(bool(following), f"{file}: the calls are not those of the run: {part[-4:]}")
    after = "vkQueueSubmit" if call["name"].startswith("vkCmd") else call["name"]
    following = [line for line in following if line["name"] == after]
    check(bool(following), f"{file}: {call['name']} is in flight, and the whole run does not go on with {after}")
    check(after != call["name"] or any(has_arguments_of(call, line) for line in following), f"{call} is not {following[0]}")


def check_plays(context: Context, file: str) -> None:
    done = context.replay(file, expect=None)  # the part may be too short for a check
    check(done.status == 0 or (done.status == 1 and "nothing in it that could be compared" in done.err), f"the replay ends with {done.status}: {done.text[-2000:]}")


def check_end(context: Context, file: str, how: str, command: str, whole: list[dict]) -> None:
    info = context.info(file)
    check(info["complete"] is True and info["ended"]["signal"] == WAYS[how][1] and info["ended"]["finished_by"] == "capture", f"{how}: {info['ended']}")
    call, = read(context, file)
    guilty = how in CRASHES
    check(call["name"] == command and call["inFlight"] == {"guilty": guilty, "signal": WAYS[how][1] if guilty else None}, f"{how}: {call}")
    check([c["name"] for c in info["in_flight"]] == [command], f"{info['in_flight']}")
    check_all_is_there(context, file, whole, call)
    check_plays(context, file)
    check(context.run([context.program("lapilli"), "print", file], expect=None).err == "", "print has something to say")


def run_whole(context: Context) -> list[dict]:
    context.run([context.program("lapilli"), "capture", "--verify", "-o", "whole.lapilli", "--", *program(context)])
    whole = lines_of(context, "whole.lapilli")
    (context.folder / "whole.lapilli").unlink()
    return whole


def forget(context: Context) -> None:
    for name in files(context):
        (context.folder / name).unlink()


@case
def what_returned_before_a_program_died_is_in_the_part(context: Context) -> None:
    """In the first frame of the part or later, in a call or a command, and however it dies."""
    whole = run_whole(context)
    for how, (status, _) in WAYS.items():
        for command, number in (("vkResetFences", 3), ("vkCmdFillBuffer", 5), ("vkResetFences", 9)):
            done = die(context, command, number, how, "--frames", "8-1000")
            check(done.status == status and files(context) == ["out.lapilli"], f"{how}: {done.status}, {files(context)}\n{done.text[-2000:]}")
            check_end(context, "out.lapilli", how, command, whole)
            forget(context)


@case
def what_returned_before_a_program_died_is_in_the_newer_file(context: Context) -> None:
    """Of two that are kept in turn. It has just begun, or is nearly as long as it can be; the older one is whole."""
    whole = run_whole(context)
    for how, (status, _) in WAYS.items():
        for command, number in (("vkResetFences", 2), ("vkCmdFillBuffer", 7), ("vkResetFences", 10)):
            done = die(context, command, number, how, "--keep-last", "5f")
            check(done.status == status, f"{how}: {done.status}\n{done.text[-2000:]}")
            infos = in_order(context)
            check(len(infos) <= 2 and files(context) == sorted(info["name"] for info in infos), f"{files(context)}")
            check_end(context, infos[-1]["name"], how, command, whole)
            if len(infos) == 2:
                check(infos[0]["complete"] is True and infos[0]["ended"] is None and infos[0]["frames"] == 5, f"{infos[0]}")
                check(not infos[0]["in_flight"] and not read(context, infos[0]["name"]), "calls are in flight in the older file")
                check_verified(context.replay(infos[0]["name"]))
            check(all(done.err.count(f"/{info['name']}: ") == 1 for info in infos), done.err)
            forget(context)


@case
def each_part_of_a_program_that_dies_later_is_whole(context: Context) -> None:
    """Between parts nothing is noted, and nothing is left behind; the next part has notes again."""
    done = die(context, "vkResetFences", 14, "segv", "--frames", "3-4,7-8,15-1000")
    check(files(context) == ["out-2.lapilli", "out-3.lapilli", "out.lapilli"], f"{files(context)}\n{done.text}")
    for name in ("out.lapilli", "out-2.lapilli"):
        info = context.info(name)
        check(info["complete"] is True and info["ended"] is None and info["frames"] == 2 and not info["in_flight"], f"{info}")
        check_verified(context.replay(name))
    check_end(context, "out-3.lapilli", "segv", "vkResetFences", run_whole(context))
    forget(context)
    done = capture(context, "vkCmdFillBuffer:7:segv", "--frames", "3-4,7-8,15-1000")
    check(done.status == 139 and files(context) == ["out-2.lapilli", "out.lapilli"], f"{done.status} {files(context)}")
    check(all(context.info(name)["ended"] is None for name in names(context)), "a part that had ended has a note of the end")


def until_in_flight(context: Context, command: str) -> None:
    """What a process that is alive would leave if it were killed now: copies of its files are not in use."""
    end = time.monotonic() + patience(120)
    while time.monotonic() < end:
        for name in names(context):
            try:
                for suffix in ("", ".tail"):
                    (context.folder / f"copy{suffix}").write_bytes((context.folder / f"{name}{suffix}").read_bytes())
            except FileNotFoundError:
                continue
            if [call["name"] for call in read(context, "copy")] == [command]:
                return
        time.sleep(0.2)
    check(False, f"{command} is not in flight: {files(context)}")


def hang(context: Context, command: str, number: int, launched: bool) -> subprocess.Popen:
    crashing(context)
    env = context.environment(context.layer_env(LAYER, CRASH, LAPILLI_CRASH=f"{command}:{number}:hang"))
    if not launched:
        env |= {"LAPILLI_KEEP_LAST": "5f", "LAPILLI_VERIFY": "1"}
    launcher = [context.program("lapilli"), "capture", "--verify", "-o", "out.lapilli", "--keep-last", "5f", "--"] if launched else []
    process = subprocess.Popen([*launcher, *program(context)], cwd=context.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until_in_flight(context, command)
    return process


@case
def a_program_that_hangs_is_kept_up_to_that_call(context: Context) -> None:
    """It is ended from outside, by the signal with which people look where it stands, or the one that none survives."""
    whole = run_whole(context)
    for number, sign in ((9, signal.SIGKILL), (10, signal.SIGABRT)):
        process = hang(context, "vkCmdFillBuffer", number, True)
        os.kill(child_of(process), sign)
        process.communicate(timeout=patience(60))
        infos = in_order(context)
        check(len(infos) == 2 and infos[-1]["ended"]["signal"] == sign.name, f"{infos}")
        call, = read(context, infos[-1]["name"])
        # Which thread gets a signal of the process is the kernel's choice; the driver's have no call.
        check(call["name"] == "vkCmdFillBuffer" and call["inFlight"]["signal"] in (None, sign.name), f"{call}")
        check_all_is_there(context, infos[-1]["name"], whole, call)
        for info in infos:
            check_plays(context, info["name"])
        forget(context)


@case
def files_that_nobody_finished_are_repaired(context: Context) -> None:
    """Without a launcher: both read, and lapilli repair ends what has no end."""
    whole = run_whole(context)
    process = hang(context, "vkCmdFillBuffer", 9, False)
    process.kill()
    process.communicate(timeout=patience(60))
    infos = in_order(context)
    check(len(infos) == 2 and infos[0]["complete"] is True, f"{infos}")
    name = infos[1]["name"]
    for _ in range(2):
        call, = read(context, name)
        check(call["name"] == "vkCmdFillBuffer", f"{call}")
        check_all_is_there(context, name, whole, call)
        context.run([context.program("lapilli"), "repair", name])
    check(context.info(name)["complete"] is True and files(context) == names(context), f"{files(context)}")
    check_plays(context, name)


@case
def calls_that_wait_through_turns_are_named(context: Context) -> None:
    """Threads that wait in a call for long are in it in each file that is begun meanwhile, which names them once each."""
    command = [context.app("falls"), "--what", str(THREADS), "--frames", "12"]
    done = capture(context, "vkCmdFillBuffer:12:segv", "--keep-last", "2f", command=command)
    check(done.status == 139, done.text)
    calls = read(context, newest(context))
    waits = [call for call in calls if call["name"] == "vkWaitForFences"]
    check([call["name"] for call in calls if call["inFlight"]["guilty"]] == ["vkCmdFillBuffer"] and len(calls) == 4, f"{calls}")
    check(len({call["args"]["pFences"][0] for call in waits}) == 3, f"{waits}")
    check(len({call["thread"] for call in calls}) == 4, "threads are not told apart")
    forget(context)
    done = capture(context, "vkCmdFillBuffer:12:segv", "--frames", "8-1000", command=command)  # nothing was noted when they began
    check([call["name"] for call in read(context)] == ["vkCmdFillBuffer"], f"{read(context)}")


@case
def a_crash_in_a_present_is_kept_with_its_frame(context: Context) -> None:
    """All that the program did for this frame is in the newer file, and plays."""
    display()
    command = [context.app("triangle"), "--frames", "30"]
    for number, first in ((8, 7), (9, 7), (13, 13)):
        done = capture(context, f"vkQueuePresentKHR:{number}:segv", "--keep-last", "6f", command=command)
        check(done.status == 139, done.text)
        info = in_order(context)[-1]
        call, = read(context, info["name"])
        check(call["name"] == "vkQueuePresentKHR" and call["inFlight"]["guilty"], f"{call}")
        check(info["part"]["first_frame"] == first and info["frames"] == number - first, f"{info['part']}, {info['frames']} frames")
        submits = [line for line in lines_of(context, info["name"]) if line["name"].startswith("vkQueueSubmit")]
        check(len(submits) == number - first + 1, f"{len(submits)} submits")
        check_plays(context, info["name"])
        forget(context)


@case
def nothing_is_in_flight_in_a_part_of_a_program_that_is_between_calls(context: Context) -> None:
    done = capture(context, "none:1:kill", "--keep-last", "3f", command=[context.app("falls"), "--what", "128", "--frames", "10"])
    check(done.status == 137 and not read(context, newest(context)), done.text)
    lines = lines_of(context, newest(context))
    check(lines[-1]["name"] in ("vkFreeCommandBuffers", "vkDestroyFence", "vkWaitForFences"), f"{lines[-1]}")
    check_verified(context.replay(newest(context)))
