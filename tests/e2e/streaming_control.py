# SPDX-License-Identifier: MIT
"""lapilli control of recordings into files, and the end of a run that is kept by command and on streams."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable

from e2e.cases import OTHER_DRIVERS, VALIDATION, Cases, Context, Program, Skip, check, check_no_validation_message, check_verified, child_of, prepare_on, programs
from e2e.finish import endless, finish, start
from e2e.parts import begins_only, capture, checks_of
from e2e.streaming import SOON, TCP, TRIANGLE, UNIX, Receiver, ReplayListening, app, capturing, control, names, obeys, state, until

CASES = Cases()
case = CASES.add


# The last frames of these are kept, on each driver.
KEPT = ["triangle", "vkcube", "modern", "churn-present", "depth", "descriptors", "queues-two", "compute-timeline", "suballoc"]


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    for program in programs(context):
        if program.name in KEPT:
            result |= {f"kept/{program.name}": keeps(program)} | {f"kept/{driver}/{program.name}": keeps(program, driver) for driver in OTHER_DRIVERS}
    return result


def recorded(process: subprocess.Popen) -> int:
    """The program, beside which the launcher may have a child that takes commands."""
    return child_of(process, "triangle")


def running(context: Context, *options: str, output: str = "out.lapilli", command: tuple[str, ...] = ()) -> subprocess.Popen:
    """A program that goes on and on; what it says is read, so that it never waits."""
    process = start(context, capturing(context, output, *(command or endless(context)), options=options))
    for stream in (process.stdout, process.stderr):
        process.said = []  # of the latter
        threading.Thread(target=lambda s=stream, said=process.said: said.extend(s), daemon=True).start()
    return process


def kill(process: subprocess.Popen, number: int = signal.SIGKILL) -> str:
    os.kill(recorded(process), number)
    check(process.wait(timeout=SOON) == 128 + number, f"exit status {process.returncode}")
    return b"".join(process.said).decode()


def commanded(context: Context, address: str = UNIX) -> None:
    until(lambda: len(control(context, address, "status", expect=None)) == 1, "the program's connection for commands")


def files(context: Context) -> list[str]:
    return sorted(p.name for p in context.folder.glob("*.lapilli"))


def frames_of(context: Context, name: str) -> tuple[int, int]:
    """The first one, and how many."""
    info = context.info(name)
    return (info["part"]["first_frame"] if info.get("part") else 1), info["frames"]


def plays(context: Context, name: str, expect: int = 0) -> None:
    """Short ones end before the program has waited for anything that could be compared."""
    if frames_of(context, name)[1] > 5:
        check(check_verified(context.replay(name, expect=expect)) > 0, f"nothing was compared of {name}")
    else:
        context.run([context.program("lapilli"), "replay", "--present", "off", name], expect=expect)


@case
def parts_into_files_begin_and_end_by_command(context: Context) -> None:
    """The launcher takes the commands, as long as the program runs; each part is a file."""
    process = running(context, "--control", UNIX, "--trigger", "control")
    commanded(context)
    told = state(context, UNIX)
    check(told["state"] == "waiting" and told["program"] == "triangle" and told["process"] == recorded(process) and not files(context), f"{told} {files(context)}")
    [begun] = control(context, UNIX, "frames", "3")
    check(begun["outcome"] == "done", f"{begun}")
    until(lambda: state(context, UNIX)["frames"] == 3 and state(context, UNIX)["state"] == "waiting", "three frames")
    control(context, UNIX, "start")
    until(lambda: state(context, UNIX)["state"] == "recording" and state(context, UNIX)["frames"] >= 5, "five frames")
    [stopped] = control(context, UNIX, "stop")
    check(stopped["state"] == "waiting" and stopped["frames"] >= 5, f"{stopped}")
    for words in (("keep",), ("keep-last", "off"), ("stop",)):
        [refused] = control(context, UNIX, *words, expect=1)
        check(refused["outcome"] == "refused" and "not being kept" in refused["reason"] or "nothing is being" in refused["reason"], f"{refused}")
    said = kill(process)
    check("takes commands at unix:" in said and not (context.folder / "socket").exists(), said)
    check(files(context) == ["out-2.lapilli", "out.lapilli"], f"{files(context)}")
    check(frames_of(context, "out.lapilli")[1] == 3 and frames_of(context, "out-2.lapilli")[1] == stopped["frames"], f"{stopped}")
    for name in files(context):
        check(context.info(name)["complete"] is True, name)
        plays(context, name)


@case
def whole_recordings_into_files_are_asked_and_stopped(context: Context) -> None:
    for address in (UNIX, TCP):
        process = running(context, "--control", address, output=f"{address[:3]}.lapilli")
        until(lambda: any(b"takes commands at" in line for line in process.said), "the address")
        address = next(line for line in process.said if b"takes commands at" in line).decode().split(" at ")[1].strip()
        commanded(context, address)
        for words in (("start",), ("frames", "3"), ("keep-last", "5f"), ("keep",)):
            [refused] = control(context, address, *words, expect=1)
            check(refused["outcome"] == "refused" and "the whole run is recorded" in refused["reason"], f"{refused}")
        first = state(context, address)
        check(first["state"] == "recording", f"{first}")
        until(lambda: state(context, address)["frames"] > first["frames"] + 5, "more frames")
        [stopped] = control(context, address, "stop")
        check(stopped["state"] == "ended" and stopped["frames"] >= 30, f"{stopped}")
        name = f"{address[:3]}.lapilli"
        check(not (context.folder / f"{name}.tail").exists() and (context.folder / name).stat().st_size == stopped["bytes"], "it is not at its end")
        said = kill(process, signal.SIGTERM)
        check("recording has stopped" not in said and "very end" not in said, said)
        info = context.info(name)
        check(info["complete"] is True and info["frames"] == stopped["frames"], f"{info}")
        check(check_verified(context.replay(name)) >= 30, "nothing was compared")


@case
def a_receiver_takes_the_commands_of_programs_that_record_into_files(context: Context) -> None:
    """Without lapilli capture."""
    receiver = Receiver(context)
    env = context.layer_env(LAPILLI_FILE="own.lapilli", LAPILLI_CONTROL=receiver.address, LAPILLI_TRIGGER="control")
    process = start(context, endless(context), env)
    obeys(context, receiver)
    control(context, receiver.address, "frames", "4")
    threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()
    until(lambda: state(context, receiver.address)["frames"] == 4, "four frames")
    process.kill()
    process.wait(timeout=SOON)
    check(receiver.end() == [] and names(context) == [], "there is a trace on the receiver's side")
    check(frames_of(context, "own.lapilli")[1] == 4 and context.info("own.lapilli")["complete"], "another trace")
    plays(context, "own.lapilli")


@case
def commands_for_files_need_the_token(context: Context) -> None:
    for name, text in (("one", "0123456789abcdef"), ("other", "0123456789abcdeX")):
        (context.folder / name).write_text(text)
        (context.folder / name).chmod(0o600)
    process = running(context, "--control", UNIX, "--token-file", "one")
    done = context.run([context.program("lapilli"), "control", UNIX, "stop"], expect=1)
    if "made without Nettle" in done.err or "can't check tokens" in done.err:
        kill(process)
        raise Skip("this build has no tokens")
    check("wants a token" in done.err, done.err)
    context.run([context.program("lapilli"), "control", UNIX, "stop", "--token-file", "other"], expect=1)
    until(lambda: len(control(context, UNIX, "status", "--token-file", "one", expect=None)) == 1, "the program's connection")
    [told] = control(context, UNIX, "stop", "--token-file", "one")
    check(told["state"] == "ended", f"{told}")
    kill(process)
    check(context.info("out.lapilli")["complete"] is True, "it is not complete")


@case
def strangers_at_the_address_of_commands_are_turned_away(context: Context) -> None:
    """Nobody can stream a trace there, and the program is recorded as before."""
    process = running(context, "--control", UNIX)
    commanded(context)
    done = context.run(capturing(context, UNIX, *app(context, *TRIANGLE)))
    check("nothing is recorded" in done.err and "the receiver takes no such connection" in done.err, done.err)
    check(state(context, UNIX)["state"] == "recording", "it is not recorded any more")
    done = context.run([context.program("lapilli"), "capture", "--control", UNIX, "--", "true"], expect=2)
    check("already in use" in done.err, done.err)
    kill(process)
    check(context.info("out.lapilli")["complete"] is True, "it is not complete")


@case
def addresses_for_commands_are_checked(context: Context) -> None:
    for options, text in ((("--control", "nowhere"), "nowhere"), (("--control", "tcp://0.0.0.0:0"), "--token-file"), (("--control", "unix:" + "x" * 200), "path"),
                          (("--trigger", "control"), "--control"), (("--control", "unix:no/such/folder"), "can't listen"), (("--token-file", "x"), "--control")):
        done = context.run([context.program("lapilli"), "capture", *options, "--", "true"], expect=2)
        check(text in done.err, done.err)
    done = context.run([context.program("lapilli"), "capture", "--control", UNIX, "--", "false"], expect=1)
    check("takes commands at" in done.err and not (context.folder / "socket").exists(), done.err)
    done = context.run(app(context, *TRIANGLE), context.layer_env(LAPILLI_FILE="a.lapilli", LAPILLI_TRIGGER="control"))
    check("LAPILLI_TRIGGER=control is ignored" in done.err, done.err)
    done = context.run(app(context, *TRIANGLE), context.layer_env(LAPILLI_FILE="b.lapilli", LAPILLI_CONTROL="unix:nobody"))
    check("the recording takes no commands" in done.err and context.info("b.lapilli")["complete"], done.err)
    done = context.run(app(context, *TRIANGLE), context.layer_env(LAPILLI_FILE="c.lapilli", LAPILLI_CONTROL="nowhere"))
    check("LAPILLI_CONTROL=nowhere: this is not where commands come from" in done.err, done.err)
    for words in (("keep-last",), ("keep-last", "3"), ("keep-last", "0f"), ("keep-last", "5f", "6f"), ("keep", "5f")):
        context.run([context.program("lapilli"), "control", UNIX, *words], expect=2)


@case
def the_end_of_a_run_is_kept_by_command(context: Context) -> None:
    """A part that is recorded ends, and stays; two files in turn; keep and off let both stay, and the next command may follow."""
    process = running(context, "--control", UNIX, "--trigger", "control")
    commanded(context)
    control(context, UNIX, "start")
    until(lambda: state(context, UNIX)["frames"] >= 3, "three frames")
    [told] = control(context, UNIX, "keep-last", "20f")
    check(told["outcome"] == "done" and "from when" in told["reason"], f"{told}")
    # The part stays, and at most two others are there; the older one is deleted again and again.
    until(lambda: len(files(context)) == 3, "two files in turn")
    until(lambda: state(context, UNIX)["reason"] == "the last 20f are kept", "the mode")
    begun = {"start": "the end of the run is being kept", "frames": "the end of the run is being kept"}
    for word, text in begun.items():
        [refused] = control(context, UNIX, word, *(("3",) if word == "frames" else ()), expect=1)
        check(refused["outcome"] == "refused" and text in refused["reason"], f"{refused}")
    stamp = (context.folder / "out-2.lapilli").stat().st_mtime_ns
    until(lambda: (p := context.folder / "out-2.lapilli").exists() and p.stat().st_mtime_ns > stamp, "a turn")
    check(len(files(context)) <= 4, f"{files(context)}")
    # Kept for good: two more, and the next ones begin.
    control(context, UNIX, "keep")
    until(lambda: len(files(context)) == 5, "the two that are kept, and two new ones")
    control(context, UNIX, "keep-last", "off")
    until(lambda: state(context, UNIX)["state"] == "waiting", "the end")
    kept = files(context)
    check(4 <= len(kept) <= 5, f"{kept}")
    control(context, UNIX, "frames", "2")
    until(lambda: state(context, UNIX)["frames"] == 2, "two frames")
    check(len(files(context)) == len(kept) + 1, f"{files(context)}")
    # Other lengths one after another, and stopped: the last two stay.
    control(context, UNIX, "keep-last", "1000s")
    until(lambda: state(context, UNIX)["reason"] == "the last 1000s are kept", "the mode")
    control(context, UNIX, "keep-last", "10f")
    until(lambda: len(files(context)) == len(kept) + 3, "a turn by the new length")
    [stopped] = control(context, UNIX, "stop")
    check(stopped["state"] == "waiting" and stopped["reason"] is None, f"{stopped}")
    there = files(context)
    check(len(there) in (len(kept) + 2, len(kept) + 3), f"{there}")
    time.sleep(0.3)
    check(files(context) == there and state(context, UNIX)["state"] == "waiting", "it has begun again")
    kill(process)
    check(files(context) == there, f"{files(context)} {there}")
    for name in there:
        check(context.info(name)["complete"] is True, name)
        plays(context, name)
    lengths = sorted(frames_of(context, name) for name in there)
    check(all(a + b <= c for (a, b), (c, _) in zip(lengths, lengths[1:])), f"parts that overlap: {lengths}")


@case
def ranges_go_on_behind_the_end_that_was_kept(context: Context) -> None:
    process = running(context, "--control", UNIX, "--frames", "10-100000000")
    commanded(context)
    until(lambda: state(context, UNIX)["state"] == "recording", "the range")
    control(context, UNIX, "keep-last", "1000f")
    until(lambda: state(context, UNIX)["reason"] == "the last 1000f are kept", "the mode")
    control(context, UNIX, "keep-last", "off")
    until(lambda: state(context, UNIX)["reason"] is None and state(context, UNIX)["state"] == "recording", "the range again")
    kill(process)
    check(len(files(context)) == 3, f"{files(context)}")
    first, second, third = sorted(frames_of(context, name) for name in files(context))
    check(first[0] == 10 and second[0] == sum(first) and third[0] == sum(second), f"{first} {second} {third}")
    for name in files(context):
        plays(context, name, expect=0 if context.info(name)["complete"] else 4)


def received(context: Context) -> list[Path]:
    return sorted((context.folder / "received").glob("*.lapilli"))


def inodes(context: Context) -> list[int]:
    """Files come and go meanwhile."""
    found = []
    for path in received(context):
        with contextlib.suppress(FileNotFoundError):
            found.append(path.stat().st_ino)
    return found


def ended(receiver: Receiver) -> list[dict]:
    """What it has said. All of it is complete where the end came between two recordings."""
    receiver.process.send_signal(signal.SIGTERM)
    out, err = receiver.process.communicate(timeout=SOON)
    told = [json.loads(line) for line in out.splitlines()]
    check(receiver.process.returncode == (0 if all(t["complete"] for t in told) else 4), f"{told} {err}")
    return told


def check_last_two(context: Context, told: list[dict], length: int) -> None:
    """Those that are there were reported, nothing else was, and each plays. One that only begins is the newest, and may not say where."""
    check(sorted(t["file"] for t in told) == [str(p) for p in received(context)], f"{told} {received(context)}")
    begun = [t["file"] for t in told if begins_only(context, t["file"])]
    spans = sorted((*frames_of(context, t["file"]), t["complete"], t["file"]) for t in told if t["file"] not in begun)
    check(spans and len(told) <= 2 and all(count <= length for _, count, _, _ in spans), f"{spans} {begun}")
    check(len(told) == 1 or spans[0][1:3] == (length, True), f"{spans} {begun}")
    check(len(spans) == 1 or spans[1][0] == spans[0][0] + length, f"{spans}")
    for trace in told:
        plays(context, trace["file"], expect=0 if trace["complete"] else 4)
        Path(trace["file"]).unlink()


@case
def the_end_of_a_run_is_kept_on_streams(context: Context) -> None:
    """The receiver has the last two traces, and says nothing of the others; also of a program that is killed."""
    for address in (UNIX, TCP):
        receiver = Receiver(context, address, "--name", "%e-%n.lapilli")
        done = context.run(capturing(context, receiver.address, *app(context, "triangle", "--offscreen", "--frames", "110"), options=("--keep-last", "20f")))
        check("1 process streamed" in done.err, done.err)
        told = receiver.end()
        check(len(told) == 2 and all(t["complete"] for t in told), f"{told}")
        check_last_two(context, told, 20)

        receiver = Receiver(context, address, "--name", "%e-%n.lapilli")
        process = running(context, "--keep-last", "20f", output=receiver.address)
        most, seen = 0, set()

        def turns() -> bool:
            nonlocal most
            there = inodes(context)
            most = max(most, len(there))
            seen.update(there)
            return len(seen) >= 3
        until(turns, "turns")
        check(2 <= most <= 5, f"{most} files at a time")  # the receiver may be late
        kill(process)
        told = ended(receiver)
        check(1 <= len(told) <= 2, f"{told}")
        check_last_two(context, told, 20)


def keeps(program: Program, driver: str | None = None) -> Callable[[Context], None]:
    """What is kept has the very hashes that the whole run has of these frames, gives them in a replay, and is valid."""
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        capture(context, command, "whole.lapilli")
        whole = context.print_lines("whole.lapilli")
        length = max(2, context.info("whole.lapilli")["frames"] // 4)
        receiver = Receiver(context, UNIX, "--name", "%e-%n.lapilli")
        capture(context, command, receiver.address, "--keep-last", f"{length}f")
        told = receiver.end()
        check(1 <= len(told) <= 2 and all(t["complete"] for t in told), f"{told}")
        for name in (t["file"] for t in told):
            first, count = frames_of(context, name)
            wanted = iter(checks_of([line for line in whole if line["frame"] is not None and line["frame"] >= first]))
            check(all(c in wanted for c in checks_of(context.print_lines(name))), f"frames {first} to {first + count} have other hashes than the whole")
            done = context.run([context.program("lapilli-replay"), "--verify", "--present", "headless", name], expect=None)
            check(done.status == 0 or "nothing to compare" in done.err, done.text[-3000:])
            if not driver and (context.validation_folder / "VkLayer_khronos_validation.json").exists():
                done = context.run([context.program("lapilli-replay"), "--present", "headless", name], env=context.layer_env(VALIDATION))
                check_no_validation_message(done, f"of the replay of frames {first} to {first + count}")
    return run


@case
def what_is_kept_on_streams_stays(context: Context) -> None:
    """By command and by signal; and keep-last can begin and end while the program streams."""
    receiver = Receiver(context, UNIX, "--name", "%e-%n.lapilli")
    process = running(context, "--trigger", "signal", output=receiver.address)
    obeys(context, receiver)
    control(context, receiver.address, "keep-last", "20f")
    until(lambda: state(context, receiver.address)["reason"] == "the last 20f are kept" and len(received(context)) >= 2, "the mode")
    lines: list[str] = []
    threading.Thread(target=lambda: lines.extend(receiver.process.stdout), daemon=True).start()
    for how in ("command", "signal"):
        wanted = len(lines) + 2
        until(lambda: len(received(context)) >= wanted, "a turn")  # there is an older one
        if how == "command":
            control(context, receiver.address, "keep")
        else:
            os.kill(recorded(process), signal.SIGUSR2)
        until(lambda: len(lines) >= wanted, "two traces that stay")
    control(context, receiver.address, "keep-last", "off")
    until(lambda: state(context, receiver.address)["state"] == "waiting", "the end")
    kill(process)
    until(lambda: len(lines) >= 5, "the last ones")
    receiver.process.send_signal(signal.SIGTERM)
    check(receiver.process.wait(timeout=SOON) == 0, f"exit status {receiver.process.returncode}")
    kept = [json.loads(line) for line in lines]
    check(5 <= len(kept) <= 6 and all(t["complete"] for t in kept), f"{kept}")
    check(sorted(t["file"] for t in kept) == [str(p) for p in received(context)], f"{kept} {received(context)}")
    spans = sorted(frames_of(context, t["file"]) for t in kept)
    check(all(a + b <= c for (a, b), (c, _) in zip(spans, spans[1:])) and spans[1][0] == sum(spans[0]) and spans[3][0] == sum(spans[2]), f"{spans}")
    for trace in kept:
        plays(context, trace["file"])


@case
def a_receiver_that_goes_away_ends_what_is_kept(context: Context) -> None:
    """The program runs on, the layer says so once of each trace that it ends, and what arrived plays."""
    receiver = Receiver(context, UNIX, "--name", "%e-%n.lapilli")
    process = running(context, "--keep-last", "20f", output=receiver.address)
    until(lambda: len(received(context)) >= 2, "the second trace")
    told = ended(receiver)
    check(1 <= len(told) <= 3 and sum(t["complete"] for t in told) >= len(told) - 1, f"{told}")
    time.sleep(1)
    said = kill(process)
    # In the middle of a recording, where one begins, or in both: where one follows another, whose connection is made before.
    stopped, unbegun = said.count("recording has stopped: can't stream to"), said.count("nothing is recorded: can't")
    check(stopped <= 1 and unbegun <= 1 and stopped + unbegun and said.count("can't be streamed") <= 1, said)
    for trace in told:
        plays(context, trace["file"], expect=0 if trace["complete"] else 4)


@case
def who_takes_one_trace_gets_a_longer_one(context: Context) -> None:
    """lapilli replay --listen has no place for the next one: the first one goes on, and that is said."""
    replay = ReplayListening(context, UNIX, "--verify")
    process = running(context, "--keep-last", "20f", output=UNIX)
    commanded(context)
    until(lambda: state(context, UNIX)["frames"] > 60, "a longer trace")
    check("no receiver takes another trace" in state(context, UNIX)["reason"], f"{state(context, UNIX)}")
    [stopped] = control(context, UNIX, "stop")
    check(stopped["frames"] > 60, f"{stopped}")
    done = replay.end()
    check(check_verified(done) > 50, "nothing was compared")
    said = kill(process)
    check("longer than was asked for" in said, said)


@case
def children_of_programs_that_keep_their_end_hold_no_connection(context: Context) -> None:
    """One that goes on after fork() streams its own, and the receiver hears of the end of its parent's."""
    receiver = Receiver(context, UNIX, "--name", "%e-%p-%n.lapilli")
    env = context.layer_env(LAPILLI_FILE=f"unix:{context.folder}/socket", LAPILLI_KEEP_LAST="3f")
    context.run(app(context, "forks", "--frames", "30"), env)
    told = receiver.end(4)
    check(len({t["process"] for t in told}) > 1 and all(Path(t["file"]).exists() for t in told), f"{told}")
    check(sorted(t["file"] for t in told) == [str(p) for p in received(context)], f"{told} {received(context)}")
