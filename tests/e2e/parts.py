# SPDX-License-Identifier: MIT
"""Parts of a run, each a trace of its own: by frames, submits, seconds, a signal, a file, or the program's calls.

Each program is recorded whole and in part, with all checks: the part has the very hashes that the whole has of these frames, and gives
them in a replay.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Callable, Collection

from e2e.cases import OTHER_DRIVERS, VALIDATION, Cases, Context, Program, Skip, check, check_no_validation_message, check_verified, child_of, is_finished, patience, prepare, prepare_on, programs, \
    validation_layer
from e2e.finish import endless
from e2e.torture import LAYER_FILES, calls, faults

CASES = Cases()
case = CASES.add

CHECKS = ("lapilliCheckPresent", "lapilliCheckBuffer", "lapilliCheckImage", "lapilliCheckTexels", "lapilliCheckRegion")

# What a part can't begin with, which is said.
REFUSED = {"signals-two": "share a semaphore", "rays-pointers": "pointers on the device", "rays-indirect": "bytes on the device", "rays-serialize": "serialized bytes",
           "micromaps": "micromaps", "heaps": "heaps of descriptors", "video": "video sessions", "codecs": "video sessions", "generated": "that devices generate"}

# Only the null driver has the extensions of all vendors, and video.
ON_NULL = ["vendors", "video", "codecs", "generated", "generated-preprocess", "descbuf", "descbuf-early", "heaps", "heaps-secondary", "nested", "mesh", "shader_objects"]

# Bytes that are other ones in each run: addresses, or what threads do in no order.
VARIES = {"wsi", "address", "descbuf", "raypipe", "rays-copy", "rays-shader", "threads", "stores"}

# Also on SwiftShader.
ON_SWIFTSHADER = ["triangle", "redraws", "compute", "compute-timeline", "descriptors", "depth", "churn", "queues-two", "suballoc", "gated-random", "vkcube", "memory",
                  "linear", "ownership_transfer", "push-early", "alias", "signals", "planes", "targets"]

# Also recorded so that their last frames are kept, by turns that begin with what they have built, and with a part for each frame.
KEPT = ["rays", "rays-fleeting"]

# Also recorded with --verify alone, which checks presents and mapped memory.
PLAIN = ["triangle", "redraws", "vkcube", "modern", "churn-present", "push", "parts"]

VALIDATED = ["triangle", "redraws", "compute", "modern", "churn-present", "depth", "descriptors", "stages", "suballoc", "push", "parts", "parts-early", "rays", "rays-fleeting",
             "raytrace", "raypipe", "sparse"]


def refusal_of(program: Program) -> str | None:
    return next((text for name, text in REFUSED.items() if name in (program.name, program.name.split("-")[0])), None)


def varies(program: Program) -> bool:
    return bool({program.name, program.name.split("-")[0]} & VARIES)


def checks_of(lines: list[dict]) -> list[str]:
    return [f"{line['name']} {json.dumps(line['args'], sort_keys=True)}" for line in lines if line["name"] in CHECKS and "block" not in line]


def part_of(frames: int) -> tuple[int, int]:
    first = frames // 2 + 1
    return first, min(first + 2, frames)


def capture(context: Context, program: list[str], file: str, *options: str, expect: int = 0):
    return context.run([context.program("lapilli"), "capture", "--verify=all", "-o", file, *options, "--", *program], expect=expect)


def record(program: Program, driver: str | None = None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        capture(context, command, "whole.lapilli")
        frames = context.info("whole.lapilli")["frames"] if (context.folder / "whole.lapilli").exists() else 0
        if frames < 2:
            return  # nothing lies behind a first frame
        first, last = part_of(frames)
        done = capture(context, command, "part.lapilli", "--frames", f"{first}-{last}")
        sentence = refusal_of(program)
        if not (context.folder / "part.lapilli").exists() and sentence:
            check(sentence in done.err, done.text)
            return
        info = context.info("part.lapilli")
        check(info["complete"] is True and info["frames"] == last - first + 1, f"{info['frames']} frames, {info['stopped']}")
        # Where work waits for the host a part begins later.
        later = info["part"]["first_frame"] != first
        compare(context, first, last, not later and not varies(program))
    return run


def compare(context: Context, first: int, last: int, equal: bool) -> None:
    whole = [line for line in context.print_lines("whole.lapilli") if line["frame"] is not None and first <= line["frame"] <= last]
    part = context.print_lines("part.lapilli")
    wanted, found = checks_of(whole), checks_of([line for line in part if line["frame"] is not None])
    # What work wrote is checked where the program waits for it: a part may lack that, or the work.
    rest = iter(wanted)
    check(all(c in rest for c in found) or not equal, f"{len(found)} checks of the part, {len(wanted)} of the whole, and {sum(c in wanted for c in found)} of those are there")
    context.run([context.program("lapilli"), "trim", "--frames", "1-", "--no-gpu", "-o", "part.cut", "part.lapilli"])
    check(checks_of(context.print_lines("part.cut")) == checks_of(part), "not all checks of the part are in it without what it does not need")
    for file in ("part.lapilli", "part.cut"):
        done = context.run([context.program("lapilli-replay"), "--verify", "--present", "headless", file], expect=None)
        check(done.status == 0 or (done.status == 1 and "nothing to compare" in done.err), f"the replay of {file} ends with {done.status}:\n{done.text[-3000:]}")


def plain(program: Program) -> Callable[[Context], None]:
    """The layer then follows less of what work does."""
    def run(context: Context) -> None:
        prepare(context, program)
        context.run([context.program("lapilli"), "capture", "--verify", "-o", "whole.lapilli", "--", *program.command])
        first, last = part_of(context.info("whole.lapilli")["frames"])
        context.run([context.program("lapilli"), "capture", "--verify", "--frames", f"{first}-{last}", "-o", "part.lapilli", "--", *program.command])
        check_verified(context.replay("part.lapilli"))
    return run


def validate(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        prepare(context, program)
        capture(context, program.command, "whole.lapilli")
        first, last = part_of(context.info("whole.lapilli")["frames"])
        capture(context, program.command, "part.lapilli", "--frames", f"{first}-{last}")
        done = context.run([context.program("lapilli-replay"), "--present", "headless", "part.lapilli"], env=context.layer_env(VALIDATION), expect=None)
        check(done.status == 0, done.text[-3000:])
        check_no_validation_message(done, f"of the replay of frames {first} to {last}")
    return run


def kept(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        prepare(context, program)
        done = capture(context, program.command, "out.lapilli", "--keep-last", "3f")
        check("can't" not in done.err and len(names(context)) == 2, f"{names(context)}\n{done.text}")
        for info in in_order(context):
            check(info["complete"] is True and info["frames"] <= 3 and info.get("part"), f"{info}")
            done = context.replay(info["name"], expect=None)
            check(done.status == 0 or (done.status == 1 and "nothing to compare" in done.err), done.text)
    return run


def each(program: Program) -> Callable[[Context], None]:
    """Every frame is a part, whatever the program is doing then."""
    def run(context: Context) -> None:
        validation_layer(context)
        prepare(context, program)
        capture(context, program.command, "out.lapilli", "--frames", ",".join(str(i) for i in range(2, 30)))
        check(len(names(context)) > 10, f"{names(context)}")
        for name in names(context):
            done = context.replay(name, env=context.layer_env(VALIDATION), expect=None)
            check(done.status == 0 or (done.status == 1 and "nothing to compare" in done.err), f"{name}: {done.text[-3000:]}")
            check_no_validation_message(done, f"of the replay of {name}")
    return run


def names(context: Context) -> list[str]:
    return sorted(p.name for p in context.folder.glob("*.lapilli"))


@case
def each_range_is_a_trace(context: Context) -> None:
    program = [context.app("parts"), "--frames", "10"]  # of two submits, which are frames, behind one
    done = capture(context, program, "out.lapilli", "--frames", "3-4,5,9-100")
    check(names(context) == ["out-2.lapilli", "out-3.lapilli", "out.lapilli"], str(names(context)))
    for name, frames in (("out.lapilli", 2), ("out-2.lapilli", 1), ("out-3.lapilli", 13)):
        check(context.info(name)["frames"] == frames, f"{name}: {context.info(name)['frames']} frames")
        check(name in done.err, done.text)
        check_verified(context.replay(name))
    check(context.info("out-2.lapilli")["part"]["first_frame"] == 5, str(context.info("out-2.lapilli").get("part")))


@case
def submits_of_a_program_with_frames(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "triangle")
    prepare(context, program)
    capture(context, program.command, "out.lapilli", "--submits", "5-7")
    check(sum(line["name"] in ("vkQueueSubmit", "vkQueueSubmit2") for line in state_left_out(context.print_lines())) == 3, "not three submits")
    check_verified(context.replay())


def state_left_out(lines: list[dict]) -> list[dict]:
    end = max(i for i, line in enumerate(lines) if line["name"] == "lapilliState")
    return lines[end + 1:]


@case
def the_program_says_which_part(context: Context) -> None:
    done = capture(context, [context.app("parts"), "--begin", "4", "--end", "6"], "out.lapilli", "--trigger", "call")
    check("lapBeginCapture: yes\nlapEndCapture: yes" in done.out, done.out)
    submits = [line for line in state_left_out(context.print_lines()) if line["name"] == "vkQueueSubmit"]
    check(len(submits) == 6, f"{len(submits)} submits")
    check_verified(context.replay())


@case
def calls_of_the_program_are_answered_where_all_is_recorded(context: Context) -> None:
    done = capture(context, [context.app("parts"), "--begin", "4", "--end", "6"], "out.lapilli")
    check("lapBeginCapture: no\nlapEndCapture: no" in done.out, done.out)
    done = context.run([context.app("parts"), "--begin", "4", "--end", "6"])
    check("lapBeginCapture: not there" in done.out, done.out)


@case
def frames_end_where_the_program_says(context: Context) -> None:
    """The layer has VK_EXT_frame_boundary where the driver has it not, and a driver without it replays the trace."""
    program = [context.app("parts"), "--boundary", "--frames", "10"]  # of two submits each
    done = context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "whole.lapilli", "--", *program], expect=None)
    if done.status == 77 and "these headers" in done.text:
        raise Skip("the headers have no VK_EXT_frame_boundary")
    check(done.status == 0 and "skip" not in done.out, done.text)
    capture(context, program, "part.lapilli", "--frames", "4-6")
    check(context.info("part.lapilli")["frames"] == 3, str(context.info("part.lapilli")["frames"]))
    submits = [line for line in state_left_out(context.print_lines("part.lapilli")) if line["name"] == "vkQueueSubmit"]
    check(len(submits) == 6, f"{len(submits)} submits")
    for file in ("whole.lapilli", "part.lapilli"):
        check_verified(context.replay(file))
        done = context.run([context.program("lapilli"), "check", file])
        check("frame_boundary" not in done.out or "ignored" in done.out or "dropped" in done.out, done.text)


@case
def what_was_presented_is_written_when_it_is_acquired(context: Context) -> None:
    """Behind the acquire, once for each image of the window, and before the program uses it."""
    program = next(p for p in programs(context) if p.name == "redraws")
    prepare(context, program)
    capture(context, program.command, "out.lapilli", "--frames", "9-23")
    lines = state_left_out(context.print_lines())
    texels = [i for i, line in enumerate(lines) if line["name"] == "lapilliWriteTexels"]
    images = {json.dumps(lines[i]["args"]["image"]) for i in texels}
    check(1 <= len(images) == len(texels), f"{len(texels)} of {len(images)} images")
    check(all(lines[i - 1]["name"] == "vkAcquireNextImageKHR" for i in texels), str([lines[i - 1]["name"] for i in texels]))
    check_verified(context.replay("out.lapilli"))


@case
def a_hundred_parts(context: Context) -> None:
    ranges = ",".join(f"{i}" for i in range(3, 203, 2))
    capture(context, [context.app("parts"), "--frames", "120"], "out.lapilli", "--frames", ranges)
    check(len(names(context)) == 100, f"{len(names(context))} traces")
    for name in names(context)[::33]:
        check_verified(context.replay(name))


@case
def the_program_ends_behind_the_last_part(context: Context) -> None:
    done = capture(context, [context.app("parts"), "--frames", "1000000"], "out.lapilli", "--frames", "3", "--exit-after", expect=128 + signal.SIGTERM)
    check(context.info()["frames"] == 1 and context.info()["complete"] is True, done.text)


def start(context: Context, *options: str) -> subprocess.Popen:
    process = subprocess.Popen([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", *options, "--", *endless(context)],
                               cwd=context.folder, env=context.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    check(line.startswith("frame"), line)
    return process


def finish(process: subprocess.Popen) -> None:
    child = child_of(process)
    os.kill(child, signal.SIGKILL)
    process.communicate(timeout=patience(60))


def until(context: Context, count: int) -> None:
    end = time.monotonic() + patience(60)
    while len(names(context)) < count or not all(is_finished(context.folder / name) for name in names(context)):
        check(time.monotonic() < end, f"{count} traces are not there: {names(context)}")
        time.sleep(0.05)


@case
def a_file_that_appears_begins_a_part(context: Context) -> None:
    process = start(context, "--trigger", f"file:{context.folder / 'now'}", "--trigger-frames", "3")
    for count in (1, 2):
        (context.folder / "now").touch()
        until(context, count)
    finish(process)
    check(not (context.folder / "now").exists(), "the file is still there")
    for name in names(context):
        check(context.info(name)["frames"] == 3, f"{name}: {context.info(name)['frames']} frames")
        check_verified(context.replay(name))


@case
def a_signal_begins_a_part(context: Context) -> None:
    process = start(context, "--trigger", "signal", "--trigger-frames", "2")
    child = child_of(process)
    os.kill(child, signal.SIGUSR2)
    until(context, 1)
    finish(process)
    check(context.info()["frames"] == 2, str(context.info()["frames"]))
    check_verified(context.replay())


@case
def a_part_follows_where_a_trigger_came_during_one(context: Context) -> None:
    """One part, however many triggers came, and right behind."""
    trigger = context.folder / "now"
    process = start(context, "--trigger", f"file:{trigger}", "--trigger-frames", "400")
    end = time.monotonic() + patience(60)
    trigger.touch()
    while not names(context) or trigger.exists():
        check(time.monotonic() < end, "no trace")
        run_frames(process, 1)
    for _ in range(2):
        trigger.touch()
        while trigger.exists():
            check(time.monotonic() < end, "nobody has seen the second trigger")
            run_frames(process, 1)
    check((context.folder / "out.lapilli.tail").exists(), "the first part was over too soon")
    run_frames(process, 900)
    finish(process)
    infos = in_order(context)
    check(len(infos) == 2 and all(info["frames"] == 400 and info["complete"] for info in infos), str([info["frames"] for info in infos]))
    check(infos[1]["part"]["first_frame"] == infos[0]["part"]["first_frame"] + 400, str([info["part"] for info in infos]))


@case
def want_of_memory_ends_one_part_alone(context: Context) -> None:
    """Some of the ways on which memory is asked for while a part is recorded, and not otherwise: that fails once. The program goes on, and the
    other part is whole. Where it was wanted for tracking what the host writes, both are lost, and that is said."""
    program = [context.app("parts"), "--frames", "6"]

    def run(frames: str) -> Callable[[dict[str, str]], object]:
        return lambda env: context.run(program, {**context.layer_env(LAPILLI_VERIFY="all", LAPILLI_FILE="out.lapilli", LAPILLI_FRAMES=frames), **env})

    if not (context.build / "tests/faults/libfaults.so").exists():
        raise Skip("there is no tests/faults/libfaults.so")
    without = calls(context, run("1000-1001"), LAYER_FILES, "memory").firsts
    ways = {way: number for way, number in calls(context, run("4-5,8-9"), LAYER_FILES, "memory").firsts.items() if way not in without}
    check(len(ways) > 20, f"{len(ways)} ways")
    failed = 0
    numbers = sorted(ways.values())
    for number in numbers[::max(1, len(numbers) // 12)]:
        for path in context.folder.glob("out*.lapilli*"):
            path.unlink()
        done = run("4-5,8-9")(faults(context, LAYER_FILES, "memory", at=str(number), on="once"))
        check("ok parts" in done.out, f"at {number}: {done.text}")
        if "while tracking what the program writes" in done.err:
            continue
        whole = [name for name in names(context) if context.info(name)["complete"]]
        check(whole, f"at {number}: no part is whole: {done.text}")
        check(len(whole) == 2 or done.err, f"at {number}: nothing was said")
        failed += len(whole) < 2
        for name in whole:
            check(context.info(name)["frames"] == 2, f"at {number}: {name} has {context.info(name)['frames']} frames")
            check(context.replay(name, expect=None).status == 0, f"at {number}: {name} does not replay")
    check(failed, "memory was never missed")


@case
def what_was_recorded_of_a_part_survives_a_kill(context: Context) -> None:
    process = start(context, "--frames", "5-1000000000")
    until_frames = time.monotonic() + patience(60)
    while not names(context):
        check(time.monotonic() < until_frames, "no trace")
        time.sleep(0.05)
    time.sleep(0.5)
    finish(process)
    check(context.info()["frames"] > 0, str(context.info()))
    check_verified(context.replay())


@case
def seconds_of_the_run(context: Context) -> None:
    process = start(context, "--seconds", "0.5-1")
    until(context, 1)
    finish(process)
    check(context.info()["complete"] is True, str(context.info()["stopped"]))
    check_verified(context.replay())


def files(context: Context) -> list[str]:
    return sorted(p.name for p in context.folder.iterdir() if ".lapilli" in p.name)


def in_order(context: Context, without: Collection[str] = ()) -> list[dict]:
    """What is said of the traces that are there, the oldest first."""
    infos = [{"name": name, **context.info(name)} for name in names(context) if name not in without]
    return sorted(infos, key=lambda info: info["part"]["first_frame"] if info.get("part") else 1)


def begins_only(context: Context, name: str) -> bool:
    """The program was killed as it began that file, which has no packet yet."""
    done = context.run([context.program("lapilli"), "info", "--json", name], expect=None)
    if done.status == 3:
        return "the trace has no dictionary" in done.err or "it has only 0 bytes" in done.err
    return json.loads(done.out)["packets"] == 0


def run_frames(process: subprocess.Popen, count: int) -> None:
    for _ in range(count):
        check(process.stdout.readline() == "frame\n", "the program has ended")


@case
def the_last_frames_are_kept(context: Context) -> None:
    """At each moment there are at most two files and their tail file; at the end what is left is as long as was asked for."""
    done = capture(context, [context.app("parts"), "--frames", "105"], "out.lapilli", "--keep-last", "20f")  # two submits in each
    older, newer = in_order(context)
    check(files(context) == ["out-2.lapilli", "out.lapilli"], f"{files(context)}")
    check(older["frames"] == 20 and 1 <= newer["frames"] <= 20 and older["complete"] and newer["complete"], f"{older['frames']} {newer['frames']}")
    check(newer["part"]["first_frame"] == older["part"]["first_frame"] + 20 > 180, f"{older['part']} {newer['part']}")
    check(all(done.err.count(f"/{name}: ") == 1 for name in names(context)) and "can't" not in done.err, done.err)
    for name in names(context):
        check_verified(context.replay(name))


@case
def what_the_last_frames_are_checked_for_is_waited_for(context: Context) -> None:
    """With --verify alone the layer waits where the next file begins, which the program did not."""
    context.run([context.program("lapilli"), "capture", "--verify", "-o", "out.lapilli", "--keep-last", "10f", "--", context.app("triangle"), "--offscreen", "--frames", "25"])
    older, newer = in_order(context)
    check(older["frames"] == 10 and newer["frames"] >= 5, f"{older['frames']} {newer['frames']}")
    for name in names(context):
        check(check_verified(context.replay(name)) >= (9 if name == older["name"] else 1), "little was compared")


@case
def short_runs_are_kept_whole(context: Context) -> None:
    capture(context, [context.app("parts"), "--frames", "5"], "out.lapilli", "--keep-last", "1GiB")
    check(files(context) == ["out.lapilli"] and context.info().get("part") is None and context.info()["complete"], f"{files(context)}")
    check_verified(context.replay())


@case
def files_of_the_last_frames_stay_few(context: Context) -> None:
    """A killed program leaves at most two traces, which play, wherever it was killed."""
    for frames in (40, 95, 151, 407):
        process = start(context, "--keep-last", "25f")
        for _ in range(frames):
            run_frames(process, 1)
            check(sum(name.endswith(".lapilli") for name in files(context)) <= 2, f"{files(context)}")
        finish(process)
        # Where it was killed while a file began, or ended, that one may have no packet, and its tail file.
        begun = [name for name in names(context) if begins_only(context, name)]
        infos = [{"name": name, **context.info(name)} for name in names(context) if name not in begun]
        left = set(files(context)) - {info["name"] for info in infos} - set(begun)
        check(sum(info["frames"] for info in infos) >= 25, f"{[info['frames'] for info in infos]}, {begun}")
        check(all(info["frames"] <= 25 for info in infos) and len(infos) + len(begun) <= 2 and len(begun) <= 1, f"{infos}, {begun}")
        check(left <= {f"{name}.tail" for name in names(context)}, f"{left}")
        for info in infos:
            if info["frames"] > 2:
                check_verified(context.replay(info["name"], expect=0 if info["complete"] else 4))
        for name in files(context):
            (context.folder / name).unlink()


@case
def the_last_mebibytes_are_kept(context: Context) -> None:
    program = [str(context.build / "tests/bench/stream"), "--size-mib", "1", "--frames", "200"]
    context.run([context.program("lapilli"), "capture", "--compression", "none", "-o", "whole.lapilli", "--", *program])
    whole = (context.folder / "whole.lapilli").stat().st_size
    (context.folder / "whole.lapilli").unlink()
    context.run([context.program("lapilli"), "capture", "--compression", "none", "-o", "out.lapilli", "--keep-last", "8MiB", "--", *program],
                env={"LAPILLI_QUEUE": "16"})
    infos = in_order(context)
    check(len(infos) == 2 and infos[0]["frames"] >= 2, f"{[info['frames'] for info in infos]}")  # the newer one may just have begun
    sizes = [(context.folder / info["name"]).stat().st_size for info in infos]
    check(8 << 20 <= sum(sizes) < whole // 2, f"{sizes} of {whole}")
    for info in infos:
        context.run([context.program("lapilli"), "replay", "--present", "off", info["name"]])


@case
def the_last_seconds_are_kept(context: Context) -> None:
    process = start(context, "--keep-last", "0.4s")
    end = time.monotonic() + 3
    while time.monotonic() < end:
        run_frames(process, 1)
    finish(process)
    infos = in_order(context)
    check(len(infos) == 2 and infos[0]["part"]["milliseconds"] >= 800, f"{infos}")
    check(infos[1]["part"]["milliseconds"] - infos[0]["part"]["milliseconds"] >= 400, f"{infos}")
    check_verified(context.replay(infos[0]["name"]))


@case
def what_is_kept_by_a_trigger_stays(context: Context) -> None:
    process = start(context, "--keep-last", "20f", "--trigger", f"file:{context.folder / 'now'}")
    threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()

    def wait_for(what: Callable[[], bool], text: str) -> None:
        end = time.monotonic() + patience(60)
        while not what():
            check(time.monotonic() < end, f"{text} has not come: {files(context)}")
            time.sleep(0.01)

    def stamp(name: str) -> int:
        return (context.folder / name).stat().st_mtime_ns if (context.folder / name).exists() else 0

    wait_for(lambda: len(names(context)) == 2, "the second file")
    (context.folder / "now").touch()
    wait_for(lambda: stamp("out-4.lapilli") > 0, "the second turn behind the trigger")
    fourth = stamp("out-4.lapilli")
    wait_for(lambda: stamp("out-3.lapilli") > fourth and stamp("out-4.lapilli") > stamp("out-3.lapilli"), "a few turns more")
    os.kill(child_of(process), signal.SIGKILL)
    process.wait(timeout=patience(60))
    begun = [name for name in names(context) if begins_only(context, name)]
    infos = in_order(context, begun)
    check(len(infos) >= 3 and len(infos) + len(begun) <= 4 and len(begun) <= 1 and not (context.folder / "now").exists(), f"{files(context)}")
    begins, lengths = [info["part"]["first_frame"] if info.get("part") else 1 for info in infos], [info["frames"] for info in infos]
    check(lengths[0] == 20 and begins[1] == begins[0] + 20 and 1 <= lengths[1] <= 20, f"{begins} {lengths}")
    check(begins[2] > begins[1] + lengths[1] and {info["name"] for info in infos[:2]} == {"out.lapilli", "out-2.lapilli"}, f"{begins} {lengths}")
    for info in infos[:2]:
        check_verified(context.replay(info["name"]))


@case
def programs_that_change_their_folder_keep_their_last_frames(context: Context) -> None:
    """And files that somebody has put in the place of theirs are nobody's to delete."""
    context.run([context.app("parts"), "--frames", "100"], context.layer_env(LAPILLI_FILE="own.lapilli", LAPILLI_KEEP_LAST="20f"))
    check(files(context) == ["own-2.lapilli", "own.lapilli"], f"{files(context)}")
    for name in names(context):
        (context.folder / name).unlink()
    process = start(context, "--keep-last", "30f")
    (context.folder / "mine").write_text("mine")
    end = time.monotonic() + patience(60)
    while len(names(context)) < 2:
        check(time.monotonic() < end, "there is no second file")
        run_frames(process, 1)
    done = [name for name in names(context) if is_finished(context.folder / name)]
    (context.folder / "mine").rename(context.folder / done[0])
    run_frames(process, 200)
    finish(process)
    check((context.folder / done[0]).read_text() == "mine", "a file of somebody else's is gone")


@case
def parts_begin_while_other_threads_submit(context: Context) -> None:
    ranges = ",".join(str(i) for i in range(3, 60, 4))
    capture(context, [context.app("threads")], "out.lapilli", "--submits", ranges)
    check(len(names(context)) > 1, str(names(context)))
    for name in names(context):
        info = context.info(name)
        check(info["complete"] is True and "part" in info, f"{name}: {info['stopped']}")
        done = context.replay(name, expect=None)
        check(done.status == 0, f"{name}: {done.text[-2000:]}")


@case
def parts_begin_around_resizes(context: Context) -> None:
    """Each second frame of a program that makes swapchains again and again is a part."""
    program = next(p for p in programs(context) if p.name == "churn-present")
    prepare(context, program)
    capture(context, program.command, "out.lapilli", "--frames", ",".join(str(i) for i in range(2, 40, 2)))
    check(len(names(context)) > 2, str(names(context)))
    for name in names(context):
        check(context.info(name)["complete"] is True, f"{name}: {context.info(name)['stopped']}")
        check(context.replay(name, "--present", "headless", expect=None).status == 0, name)


@case
def a_disk_that_is_full_ends_the_part_alone(context: Context) -> None:
    """The state does not fit: the program goes on to its end, and what is lost is said."""
    own = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if context.run([*own, "mkdir full && mount -t tmpfs -o size=64k none full"], expect=None).status != 0:
        raise Skip("nothing can be mounted here")
    capture(context, [context.app("parts")], "out.lapilli", "--frames", "5-6")
    whole = (context.folder / "out.lapilli").stat().st_size
    sizes = [size for size in (4, 8, 12, 16, 24) if size * 1024 < whole]
    check(len(sizes) > 2, f"the whole trace has {whole} bytes")
    for size in sizes:
        mounted = [*own, f'mount -t tmpfs -o size={size}k none full && "$@"; status=$?; cp full/* . 2>/dev/null; exit $status', "sh"]
        done = context.run([*mounted, context.program("lapilli"), "capture", "--verify=all", "-o", f"full/{size}.lapilli", "--frames", "5-6", "--",
                            context.app("parts")], expect=None)
        check("ok parts" in done.out, f"the program did not get to its end: {done.text}")
        check(os.strerror(errno.ENOSPC) in done.err, done.text)


@case
def results_of_queries_from_before_a_part_are_told(context: Context) -> None:
    """Only where the device copies them, and once in each part. The part itself makes those of later frames."""
    for driver in (None, *(path for path in OTHER_DRIVERS.values() if path.exists())):
        one = replace(context, driver=driver)
        counts = [context.app("counts"), "--frames", "9"]
        done = capture(one, [*counts, "--last"], "out.lapilli", "--submits", "3-5,7-8", expect=None)
        if done.status == 77:
            continue
        check(done.err.count("the device copies results of queries that ended before this part of the run began") == 2, done.err)
        for name in ("out.lapilli", "out-2.lapilli"):
            check("copies results of queries" in one.info(name)["queries_before_part"], name)
            done = one.replay(name, expect=1)
            check(done.out.endswith(" checks, 1 different\n") and "That may be the difference below" in done.err, done.text)
        done = capture(one, [*counts, "--last"], "whole.lapilli")
        check(check_verified(one.replay("whole.lapilli")) > 8 and one.info("whole.lapilli")["queries_before_part"] is None, "the whole run differs")
        done = capture(one, counts, "none.lapilli", "--submits", "3-5", expect=None)
        check(done.status == 77 or ("copies results" not in done.err and one.info("none.lapilli")["queries_before_part"] is None), done.err)
        for path in one.folder.glob("*.lapilli"):
            path.unlink()


@case
def a_kill_while_the_state_is_written(context: Context) -> None:
    """Whatever is left is a trace that says that it ends early, or is refused in one sentence."""
    for delay in (0, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016):
        process = start(context, "--frames", "40-1000000000")
        end = time.monotonic() + patience(60)
        while not names(context):
            check(time.monotonic() < end, "no trace")
        time.sleep(delay)
        finish(process)
        done = context.run([context.program("lapilli"), "info", "--json", "out.lapilli"], expect=None)
        if done.status == 0:
            info = json.loads(done.out)
            check(info["complete"] is False or info["ended"]["signal"] == signal.SIGKILL or info["ended"]["finished_by"] == "capture", done.out)
            done = context.run([context.program("lapilli-replay"), "out.lapilli"], expect=0 if info["complete"] else 4)
        else:
            check(done.status == 3 and len(done.err.splitlines()) == 1, f"{done.status}: {done.text}")
        for path in context.folder.glob("out.lapilli*"):
            path.unlink()


@case
def bad_options_are_named(context: Context) -> None:
    for options, text in ((["--frames", "3-2"], "--frames"), (["--seconds", "5"], "--seconds"), (["--submits", "x"], "--submits"),
                          (["--trigger", "keys"], "--trigger"), (["--trigger", "signal", "--trigger-frames", "0"], "--trigger-frames"),
                          (["--trigger-frames", "2"], "--trigger-frames"), (["--keep-last", "10"], "--keep-last"), (["--keep-last", "0f"], "--keep-last"),
                          (["--keep-last", "1.5f"], "--keep-last"), (["--keep-last", "9f", "--frames", "1"], "--keep-last"),
                          (["--keep-last", "9f", "--trigger", "call"], "--keep-last"), (["--keep-last", "9f", "--trigger", "control"], "--control"), (["--exit-after"], "--exit-after")):
        done = context.run([context.program("lapilli"), "capture", *options, "--", "true"], expect=2)
        check(text in done.err, done.text)
    done = context.run([context.app("parts")], context.layer_env(LAPILLI_FILE="two.lapilli", LAPILLI_KEEP_LAST="9f", LAPILLI_FRAMES="2"))
    check("LAPILLI_KEEP_LAST is ignored" in done.err and context.info("two.lapilli")["frames"] == 1, done.text)
    (context.folder / "two.lapilli").unlink()
    done = capture(context, [context.app("parts")], "out.lapilli", "--frames", "1000-1001")
    check("ended before a part began" in done.err and not names(context), done.text)


@case
def what_shares_a_payload_shares_it_in_a_part(context: Context) -> None:
    context = context.on("swiftshader")
    prepare(context, next(p for p in programs(context) if p.name == "signals"))
    capture(context, [context.app("signals")], "part.lapilli", "--frames", "5-8")
    lines = context.print_lines("part.lapilli")
    end = next(i for i, line in enumerate(lines) if line["name"] == "lapilliState" and i)
    state = Counter(line["name"] for line in lines[:end])
    check((state["lapilliExportSync"], state["lapilliImportSync"]) == (1, 1), f"the part begins with {state}")
    done = context.replay("part.lapilli")
    check_verified(done)
    check("warning" not in done.err, done.err)


@case
def what_a_part_has_lost_is_said(context: Context) -> None:
    """By the trace, also in a part of it, and by a replay."""
    program = [context.app("planes"), "--samples"]
    capture(context, program, "whole.lapilli")
    done = capture(context, program, "part.lapilli", "--frames", "3-5")
    check("can't be read: a part of the run begins without it" in done.err, done.text)
    context.run([context.program("lapilli"), "trim", "--frames", "2", "-o", "cut.lapilli", "part.lapilli"])
    for file, lost in (("whole.lapilli", {}), ("part.lapilli", {"several samples": 1}), ("cut.lapilli", {"several samples": 1})):
        check(context.info(file)["contents_lost"] == lost, f"{file}: {context.info(file)['contents_lost']}")
        done = context.run([context.program("lapilli"), "info", file])
        check(("held before the part: several samples" in done.out) is bool(lost), done.text)
        done = context.replay(file, expect=None)
        check(("lacks contents" in done.err) is bool(lost), done.text)


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    for program in programs(context):
        result[f"cut/{program.name}"] = record(program)
        if program.name in ON_NULL:
            result[f"cut/null/{program.name}"] = record(program, "null")
        if program.name in ON_SWIFTSHADER:
            result |= {f"cut/{driver}/{program.name}": record(program, driver) for driver in OTHER_DRIVERS}
        if program.name in VALIDATED:
            result[f"validate/{program.name}"] = validate(program)
        if program.name in KEPT:
            result |= {f"kept/{program.name}": kept(program), f"each/{program.name}": each(program)}
        if program.name in PLAIN:
            result[f"plain/{program.name}"] = plain(program)
    return result
