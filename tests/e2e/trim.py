# SPDX-License-Identifier: MIT
"""Parts of traces: each program is recorded with all checks, cut, and the part gives the very hashes that the whole gave.

A program without frames is cut by its submits. Each is cut twice: earlier work makes what the part reads, or a replay gives it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import struct
import subprocess
import time
from pathlib import Path
from typing import Callable

from e2e import parts
from e2e.cases import OTHER_DRIVERS, STUCK, VALIDATION, Cases, Context, Done, Program, Skip, check, check_no_validation_message, check_verified, name_of, patience, \
    prepare, prepare_on, programs, validation_layer
from e2e.draws import check_resumed
from e2e.torture import faults

CASES = Cases()
case = CASES.add

CHECKS = ("lapilliCheckPresent", "lapilliCheckBuffer", "lapilliCheckImage", "lapilliCheckTexels", "lapilliCheckRegion")
SUBMITS = ("vkQueueSubmit", "vkQueueSubmit2")

# Only the null driver has the extensions of all vendors, and video.
ON_NULL = ["vendors", "video", "codecs", "generated", "generated-preprocess", "heaps", "heaps-secondary", "ranges", "micromaps", "raypipe",
           "rays", "nested", "mesh", "shader_objects"]

# Also replayed under the validation layer.
VALIDATED = ["triangle", "compute-timeline", "modern", "churn-present", "depth", "descriptors", "stages", "nested", "suballoc", "push", "redraws", "suspended"]


def trim(context: Context, what: str, part: str, new: str, file: str, *options: str, expect: int | None = 0) -> Done:
    return context.run([context.program("lapilli"), "trim", f"--{what}", part, *options, "-o", new, file], expect=expect)


def checks_of(lines: list[dict]) -> list[tuple[str, str]]:
    return [(line["name"], json.dumps(line["args"], sort_keys=True)) for line in lines if line["name"] in CHECKS and "block" not in line]


def submits_of(lines: list[dict]) -> list[int]:
    return [i for i, line in enumerate(lines) if line["name"] in SUBMITS and "block" not in line]


def parts_of(frames: int, lines: list[dict]) -> list[tuple[str, int, int, list[dict]]]:
    """What to cut by, the part, and its packets in the whole trace."""
    if frames >= 2:
        last = max(line["frame"] for line in lines if line["frame"] is not None)
        ranges = {(frames // 2, frames // 2), (frames, frames), (2, min(4, frames))}
        return [("frames", a, b, [line for line in lines if a <= (line["frame"] or last + 1) <= b]) for a, b in sorted(ranges)]
    at = submits_of(lines)
    ranges = {(len(at), len(at)), (len(at) // 2 + 1, len(at)), (len(at) // 2 + 1, len(at) // 2 + 1)} if len(at) >= 2 else set()
    return [("submits", a, b, lines[at[a - 1]:at[b] if b < len(at) else len(lines)]) for a, b in sorted(ranges)]


def replay(context: Context, file: str, verified: bool, env: dict[str, str] | None = None) -> Done:
    command = [context.program("lapilli-replay"), *(["--verify"] if verified else []), "--present", "headless", file]
    return context.run(command, env=env, expect=None)


# With contents from a replay, and on other drivers. make parts takes all programs.
SAMPLE = {*VALIDATED, *parts.ON_SWIFTSHADER, "again", "answers", "codeless", "feedback", "formats", "hostcopy", "multi", "queues", "sparse", "texels",
          "threads"}
# A replay can't stop there: submitted work waits for what the program does later.
WAITS_FOR_LATER = "submitted work waits for a later call of the trace"


def buffers_of(submit: dict) -> list[str]:
    batches = submit["args"]["pSubmits"] or []
    if submit["name"] == "vkQueueSubmit":
        return [buffer for batch in batches for buffer in batch["pCommandBuffers"] or []]
    return [info["commandBuffer"] for batch in batches for info in batch["pCommandBufferInfos"] or []]


def work_of(lines: list[dict], count: int) -> list[str]:
    """Command buffers with commands that are submitted by the first packets, each as often as it is."""
    counts, found = {}, []
    for line in [line for line in lines if "block" not in line][:count]:
        if line["name"] == "lapilliBlock":
            counts[line["args"]["commandBuffer"]] = line["args"]["commandCount"]
        elif line["name"] in SUBMITS:
            found += [buffer for buffer in buffers_of(line) if counts.get(buffer, 0) > 2]
    return found


def trim_with_gpu(context: Context, what: str, part: str, new: str, file: str) -> None:
    """Contents come from a replay, and the work that made them is not there; or it is said why not."""
    without, options = f"{new}.without", (what, part)
    plain = json.loads(trim(context, *options, without, file, "--no-gpu", "--json").out)
    done = trim(context, *options, new, file, "--gpu", "--json", expect=None)
    if done.status == 5:
        check(WAITS_FOR_LATER in done.err and not (context.folder / new).exists(), done.text)
        report = json.loads(trim(context, *options, new, file, "--json").out)
        check(report["contents"].pop("reason").startswith(WAITS_FOR_LATER) and report["contents"] == {"gpu": False, "wanted": 0, "taken": 0}, str(report["contents"]))
        check(report["commands"] == plain["commands"], f"{new}: not the packets of the cut without a GPU")
        return
    check(done.status == 0, f"trim --gpu of {file} ends with {done.status}:\n{done.text[-2000:]}")
    report = json.loads(done.out)
    contents = report["contents"]
    check(contents["gpu"] and contents["taken"] <= contents["wanted"], str(contents))
    before = work_of(context.print_lines(without), plain["packets_kept"])
    now = work_of(context.print_lines(new), report["packets_kept"])
    check(len(now) <= len(before), f"{new}: {len(now)} command buffers before the part, and {len(before)} without a GPU")
    if contents["taken"] == contents["wanted"]:
        check(not now, f"{new}: all contents were taken, and still there is work before: {now}")
    check(context.info(new)["trimmed_contents"] is bool(contents["taken"]), new)


def cut_and_compare(context: Context, file: str, with_gpu: bool = False) -> int:
    lines = context.print_lines(file)
    info = context.info(file)
    whole = context.replay(file, expect=None)
    checks = 0
    for what, first, last, part in parts_of(info["frames"], lines):
        new = f"{Path(file).stem}-{what}-{first}-{last}.cut"
        if with_gpu:
            trim_with_gpu(context, what, f"{first}-{last}", new, file)
        else:
            trim(context, what, f"{first}-{last}", new, file, "--no-gpu")
            bytes_before, bytes_after = ((context.folder / name).stat().st_size for name in (file, new))
            check(bytes_after < bytes_before, f"{new}: {bytes_after} bytes of {bytes_before}")
        found = context.info(new)
        check(found["complete"] is True, f"{new} is not complete: {found['stopped']}")
        cut = context.print_lines(new)
        check(checks_of(cut) == checks_of(part), f"{new}: not the checks of the part")
        if what == "frames":
            check(found["frames"] == last - first + found["trimmed_first_frame"], f"{new} has {found['frames']} frames")
        else:
            check(len(submits_of(cut)) >= last - first + 1, f"{new} has {len(submits_of(cut))} submits")
        if whole.status != 0:
            continue
        done = replay(context, new, bool(checks_of(part)))
        check(done.status == 0, f"the replay of {new} ends with {done.status}:\n{done.text[-3000:]}")
        checks += check_verified(done) if checks_of(part) else 0
        done = context.run([context.program("lapilli"), "check", new], expect=None)
        check(done.status == 0, f"check of {new}: {done.status}\n{done.text[-2000:]}")
    return checks


def cut(program: Program, driver: str | None = None, with_gpu: bool = False) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", *command])
        for file in sorted(p.name for p in context.folder.glob("*.lapilli")):
            cut_and_compare(context, file, with_gpu)
    return run


def validate(program: Program, *options: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        prepare(context, program)
        context.capture(program.command)
        for what, first, last, part in parts_of(context.info()["frames"], context.print_lines()):
            trim(context, what, f"{first}-{last}", f"{first}-{last}.cut", "out.lapilli", *options)
            done = replay(context, f"{first}-{last}.cut", bool(checks_of(part)), context.layer_env(VALIDATION))
            check(done.status == 0, done.text[-3000:])
            check_no_validation_message(done, f"of the replay of {what} {first} to {last}")
    return run


@case
def what_is_not_there_is_said(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "churn")
    prepare(context, program)
    context.capture(program.command)
    frames = context.info()["frames"]
    for part in (f"{frames + 1}", f"1-{frames + 1}"):
        done = trim(context, "frames", part, "new.cut", "out.lapilli", expect=2)
        check(f"{frames} frames" in done.err, done.text)
        check(not (context.folder / "new.cut").exists(), "the new file was left")
    for part in ("0", "3-2", "x", "1-2-3", ""):
        check("--frames wants" in trim(context, "frames", part, "new.cut", "out.lapilli", expect=2).err, part)
    done = context.run([context.program("lapilli"), "trim", "--frames", "2", "-o", "out.lapilli", "out.lapilli"], expect=1)
    check("out.lapilli" in done.err, done.text)
    done = context.run([context.program("lapilli"), "trim", "--frames", "2-3", "--json", "-o", "new.cut", "out.lapilli"])
    report = json.loads(done.out)
    check(report["frames"] == report["first_frame"] + 1, done.out)
    trimmed = context.info("new.cut")
    check((trimmed["frames"], trimmed["trimmed_first_frame"]) == (report["frames"], report["first_frame"]), str(trimmed))
    check(trimmed["trimmed"].startswith("frames 2 to 3 of "), str(trimmed))


@case
def a_part_is_never_larger_than_the_whole(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "churn")
    prepare(context, program)
    context.capture(program.command)
    context.run([context.program("lapilli"), "compress", "--level", "19", "-o", "small.lapilli", "out.lapilli"])
    size, frames = (context.folder / "small.lapilli").stat().st_size, context.info()["frames"]
    for part in ("1-", "2-", f"-{frames}", f"-{frames - 1}", f"{frames // 2}", f"{frames}"):
        new = f"part{part}.cut"
        done = context.run([context.program("lapilli"), "trim", "--frames", part, "--json", "-o", new, "small.lapilli"])
        report, now = json.loads(done.out), (context.folder / new).stat().st_size
        check(now <= size, f"{new}: {now} bytes of {size}")
        check((report["bytes_before"], report["bytes_after"]) == (size, now), done.out)
        kept = sum(command["kept"] for command in report["commands"].values())
        check(kept == report["packets_kept"], f"{kept} packets by command\n{done.out}")
        check(sum(command["before"] for command in report["commands"].values()) == report["packets_before"], done.out)
        check_verified(context.replay(new))


@case
def a_late_part_is_no_larger_than_an_early_one(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "vkcube")
    prepare(context, program)
    context.capture([*program.command[:-1], "400"])
    reports = []
    for frame in ("20", "400"):
        done = context.run([context.program("lapilli"), "trim", "--frames", frame, "--json", "-o", f"{frame}.cut", "out.lapilli"])
        reports.append(json.loads(done.out))
        check(check_verified(context.replay(f"{frame}.cut")) == 1, f"checks of frame {frame}")
    early, late = reports
    check(late["packets_before"] > early["packets_before"] + 2000, str(late["packets_before"]))
    check(late["packets_kept"] <= early["packets_kept"] + 20, f"{early['packets_kept']} packets, and {late['packets_kept']}")
    check(late["bytes_after"] <= early["bytes_after"] + 1000, f"{early['bytes_after']} bytes, and {late['bytes_after']}")


@case
def frames_look_as_they_did(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "triangle")
    prepare(context, program)
    context.capture(program.command)
    trim(context, "frames", "20-21", "new.cut", "out.lapilli")
    pictures = []
    for file, first in (("out.lapilli", 20), ("new.cut", context.info("new.cut")["trimmed_first_frame"])):
        context.replay(file, "--screenshot", f"{first},{first + 1}")
        pictures.append([(context.folder / f"frame_{n}.png").read_bytes() for n in (first, first + 1)])
        for n in (first, first + 1):
            (context.folder / f"frame_{n}.png").unlink()
    check(pictures[0] == pictures[1], "the pictures differ")


@case
def suspended_rendering_stays_together(context: Context) -> None:
    """The last submit needs the first command buffers of each picture only."""
    program = next(p for p in programs(context) if p.name == "suspended")
    prepare(context, program)
    context.capture(program.command)
    wanted = check_resumed(context.print_lines(), "the whole")
    check(wanted == 16, f"{wanted} times rendering is suspended")
    frames = context.info()["frames"]
    for option in ("--no-gpu", "--gpu"):
        trim(context, "frames", str(frames), f"last{option}.cut", "out.lapilli", option)
        found = check_resumed(context.print_lines(f"last{option}.cut"), option)
        check(found == (wanted if option == "--no-gpu" else 0), f"{option}: {found} times rendering is suspended")


@case
def work_that_waits_reads_what_the_host_writes_later(context: Context) -> None:
    """Its submit comes before that, and the part behind it: the write stays, which nothing behind the submit would need."""
    context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", context.app("answers"), "--semaphores"])
    lines = context.print_lines()
    at, cuts = submits_of(lines), 0
    for number in range(1, len(at) + 1):
        part = lines[at[number - 1]:at[number] if number < len(at) else len(lines)]
        if not checks_of(part):
            continue
        trim(context, "submits", str(number), f"{number}.cut", "out.lapilli", "--no-gpu")
        check_verified(replay(context, f"{number}.cut", True))
        cuts += 1
    check(cuts > 4, f"{cuts} parts have checks")


@case
def a_replay_gives_images_where_a_buffer_was(context: Context) -> None:
    """At the end they lie over nothing that is still there, and side by side. Half-way an image lies over a buffer."""
    prepare(context, next(p for p in programs(context) if p.name == "alias"))
    context.capture([context.app("alias")])
    frames = context.info()["frames"]
    late, early = (json.loads(trim(context, "frames", str(frame), new, "out.lapilli", "--gpu", "--json").out)["contents"]
                   for frame, new in ((frames, "new.cut"), (frames // 2, "half.cut")))
    check(late["taken"] == late["wanted"] > 0 and early["taken"] < early["wanted"], f"{late} {early}")
    check("vkCmdCopyBufferToImage" not in [line["name"] for line in context.print_lines("new.cut")], "the images are written by earlier work")
    check_verified(context.replay("new.cut"))


def given(context: Context, file: str) -> dict[str, int]:
    """The images whose contents stand in a trace, and their bytes."""
    lines = [line["args"] for line in context.print_lines(file) if line["name"] == "lapilliWriteTexels"]
    return {name: sum(args["dataSize"] for args in lines if args["image"] == name) for name in sorted({args["image"] for args in lines})}


@case
def images_that_the_part_clears_are_not_given(context: Context) -> None:
    """Of six, it needs what two held: by a replay of the whole, and of what a part of the run has written."""
    program = [context.app("targets")]
    prepare(context, Program("targets", program, False))
    context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "whole.lapilli", "--", *program])
    parts.capture(context, program, "part.lapilli", "--frames", "4-6")
    trim(context, "frames", "4-6", "whole.cut", "whole.lapilli", "--gpu")
    trim(context, "frames", "1-", "part.cut", "part.lapilli", "--no-gpu")
    trim(context, "frames", "1-", "again.cut", "part.lapilli", "--gpu")
    every = given(context, "part.lapilli")
    needed = {name: every[name] for name in ("VkImage:5", "VkImage:6")}
    check(len(every) == 6, str(every))
    for file in ("whole.cut", "part.cut", "again.cut"):
        check(given(context, file) == needed, f"{file} has the contents of {given(context, file)}, of {every}")
        checks = check_verified(context.replay(file))
        check(checks == check_verified(context.replay("part.lapilli")), f"{file} has {checks} checks")


@case
def presented_images_are_taken(context: Context) -> None:
    """Each picture is drawn over one that was presented before."""
    program = next(p for p in programs(context) if p.name == "redraws")
    prepare(context, program)
    context.capture(program.command)
    report = json.loads(trim(context, "frames", "20-21", "new.cut", "out.lapilli", "--gpu", "--json").out)
    check(report["contents"]["taken"] == report["contents"]["wanted"] > 0, str(report["contents"]))
    check_verified(context.replay("new.cut"))


@case
def without_a_driver_it_says_why(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "compute")
    prepare(context, program)
    context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", *program.command])
    nothing = {"VK_DRIVER_FILES": "/nonexistent.json", "VK_ICD_FILENAMES": "/nonexistent.json"}
    command = [context.program("lapilli"), "trim", "--frames", "30", "--json"]
    report = json.loads(context.run([*command, "-o", "new.cut", "out.lapilli"], env=nothing).out)
    check(report["contents"]["gpu"] is False and report["contents"]["reason"], str(report["contents"]))
    plain = json.loads(context.run([*command, "--no-gpu", "-o", "plain.cut", "out.lapilli"], env=nothing).out)
    check(plain["contents"]["reason"] is None and plain["commands"] == report["commands"], str(plain["contents"]))
    done = context.run([*command, "--gpu", "-o", "none.cut", "out.lapilli"], env=nothing, expect=5)
    check(report["contents"]["reason"] in done.err and not (context.folder / "none.cut").exists(), done.text)
    done = context.run([*command[:-1], "--gpu=nobody has this one", "-o", "none.cut", "out.lapilli"], expect=5)
    check("nobody has this one" in done.err, done.text)
    done = context.run([*command[:-1], "--gpu", "--sandbox", "on", "-o", "gpu.cut", "out.lapilli"])
    check("contents were taken from a replay" in done.out, done.text)
    check_verified(context.replay("gpu.cut"))


def family(process: int) -> list[int]:
    """It and what it has started, unless they have ended."""
    try:
        if Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1][0] == "Z":
            return []
        started = [int(number) for task in Path(f"/proc/{process}/task").glob("*/children") for number in task.read_text().split()]
    except OSError:
        return []
    return [process] + [one for number in started for one in family(number)]


def is_stopped(process: int) -> bool:
    try:
        return any("\nState:\tT" in Path(f"/proc/{one}/status").read_text() for one in family(process))
    except (FileNotFoundError, ProcessLookupError):  # one has ended meanwhile
        return False


def is_playing(process: int) -> bool:
    return any(name_of(one) == "lapilli-replay" for one in family(process))


def start_until(context: Context, command: list[str], env: dict[str, str], seen: Callable[[int], bool]) -> subprocess.Popen:
    process = subprocess.Popen(command, cwd=context.folder, env=context.environment(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    end = time.monotonic() + patience(60)
    while not seen(process.pid):
        check(process.poll() is None and time.monotonic() < end, f"{command} got nowhere: {process.poll()}")
    return process


def end_all(process: subprocess.Popen, number: int) -> None:
    """By SIGKILL to the first one, or by what Ctrl-C sends to all."""
    all_of_them = family(process.pid)
    if number == signal.SIGKILL:
        process.kill()
    else:
        os.killpg(process.pid, number)
        os.killpg(process.pid, signal.SIGCONT)
    process.communicate(timeout=patience(60))
    end = time.monotonic() + patience(60)
    while any(family(one) for one in all_of_them):
        check(time.monotonic() < end, f"still there: {[name_of(one) for one in all_of_them]}")


def faulty(context: Context, at: int, how: str) -> dict[str, str]:
    if not (context.build / "tests/faults/libfaults.so").exists():
        raise Skip("there is no tests/faults/libfaults.so")
    return faults(context, "main:liblapilli", "files", at=str(at), how=how)


def recorded_for_new_files(context: Context) -> tuple[list[str], bytes]:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env(LAPILLI_VERIFY="1"))
    return [context.program("lapilli"), "trim", "--frames", "10-12", "-o", "new", "out.lapilli"], (context.folder / "out.lapilli").read_bytes()


@case
def what_is_killed_leaves_nothing(context: Context) -> None:
    """While a replay plays on a device that finishes nothing, and in some of the calls that write."""
    command, source = recorded_for_new_files(context)
    in_place = [context.program("lapilli"), "compress", "--in-place", "out.lapilli"]
    compile_it = [context.program("lapilli"), "compile", "-o", "new", "out.lapilli"]
    (context.folder / "tmp").mkdir()
    moments = [(command, context.layer_env(STUCK, LAPILLI_STUCK="1"), is_playing),
               *((command, faulty(context, at, "stop"), is_stopped) for at in (2, 5)),
               *(([*some, "--no-gpu"] if some is command else some, faulty(context, at, "stop"), is_stopped) for some in (command, in_place, compile_it)[:2 + context.has("compile")] for at in (1, 3, 10, 20))]
    before = sorted(context.folder.rglob("*"))
    for some, env, seen in moments:
        for number in (signal.SIGKILL, signal.SIGINT):
            end_all(start_until(context, some, {**env, "TMPDIR": str(context.folder / "tmp")}, seen), number)
            left = sorted(context.folder.rglob("*"))
            check(left == before and (context.folder / "out.lapilli").read_bytes() == source, f"{number} of {some}: {left}")
    context.run(command)
    context.run(in_place)
    for file in ("new", "out.lapilli"):
        check_verified(context.replay(file))


@case
def a_name_that_is_taken_meanwhile_is_kept(context: Context) -> None:
    command, _ = recorded_for_new_files(context)
    process = start_until(context, [*command, "--no-gpu"], faulty(context, 10, "stop"), is_stopped)
    (context.folder / "new").write_text("of another")
    os.killpg(process.pid, signal.SIGCONT)
    _, err = process.communicate(timeout=patience(60))
    check(process.returncode == 1 and f"can't create new: {os.strerror(errno.EEXIST)}" in err, err)
    check((context.folder / "new").read_text() == "of another", "it was replaced")


@case
def where_every_file_has_a_name(context: Context) -> None:
    """The filesystem makes none without: it has it from the beginning, and loses it if there is no such part."""
    command, _ = recorded_for_new_files(context)
    context.run([*command, "--no-gpu"], faulty(context, 1, str(errno.EOPNOTSUPP)))
    check_verified(context.replay("new"))
    (context.folder / "new").unlink()
    context.run([word.replace("10-12", "999") for word in command], faulty(context, 1, str(errno.EOPNOTSUPP)), expect=2)
    check(not (context.folder / "new").exists(), "the new file was left")


@case
def a_disk_that_is_full_is_said(context: Context) -> None:
    """That of the new file, and TMPDIR: there is no room for all that a replay reads, or none even for the list of that."""
    command, _ = recorded_for_new_files(context)
    own = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if context.run([*own, "mkdir full && mount -t tmpfs -o size=4k none full"], expect=None).status != 0:
        raise Skip("nothing can be mounted here")
    for size in (4, 8, 16):
        full = [*own, f'mount -t tmpfs -o size={size}k none full && "$@"; status=$?; ls full; exit $status', "sh"]
        for some in ([*command, "--no-gpu"], [*command, "--gpu"], *([context.program("lapilli"), verb, "-o", "new", "out.lapilli"] for verb in ("compress", "compile")[:1 + (size == 4 and context.has("compile"))])):
            done = context.run([*full, *("full/new" if word == "new" else word for word in some)], expect=1)
            says = "full/new: can't write the program" if "compile" in some else "can't write full/new"
            check(done.out == "" and f"{says}: {os.strerror(errno.ENOSPC)}" in done.err, done.text)
    for filled in ("true", "head -c 4096 /dev/zero > full/all"):
        full = [*own, f'mount -t tmpfs -o size=4k none full && {filled} && TMPDIR="$PWD/full" exec "$@"', "sh"]
        done = context.run([*full, *command, "--gpu"], expect=5)
        check(os.strerror(errno.ENOSPC) in done.err and not (context.folder / "new").exists(), done.text)
        contents = json.loads(context.run([*full, *command, "--json"]).out)["contents"]
        check(contents["gpu"] is False and os.strerror(errno.ENOSPC) in (contents["reason"] or ""), str(contents))
        (context.folder / "new").unlink()


@case
def what_a_replay_reads_is_in_a_file(context: Context) -> None:
    """A record for each line, whether or not it can be read; what is no line is an error."""
    program = next(p for p in programs(context) if p.name == "compute")
    prepare(context, program)
    context.capture(program.command)
    lines = [line for line in context.print_lines() if "block" not in line]
    last = next(line for line in reversed(lines) if line["name"] in SUBMITS)
    buffer = next(line["args"] for line in lines if line["name"] == "lapilliBindBuffer")
    index, size = int(buffer["buffer"].split(":")[1]), buffer["size"]
    (context.folder / "list").write_text(f"buffer {index} 4 {size - 4}\nimage 999 1 0 0 1 0\nbuffer {index} 0 {size + 4}\n")
    command = [context.program("lapilli-replay"), "--present", "headless", "--stop-at", str(last["ticket"]), "--read", "list", "--read-to", "read"]
    done = context.run([*command, "out.lapilli"])
    read = (context.folder / "read").read_bytes()
    heads = [read[:32], read[32 + size - 4:][:32], read[64 + size - 4:]]
    found = [struct.unpack("<4sIQQQ", head) for head in heads]
    check(found == [(b"LPCN", 1, index, 0, size - 4), (b"LPCN", 0, 999, 1, 0), (b"LPCN", 0, index, 2, 0)], str(found))
    check("VkImage:999 can't be read" in done.err and f"VkBuffer:{index} can't be read" in done.err, done.text)
    (context.folder / "list").write_text("buffer 1 2\n")
    check("line 1" in context.run([*command, "out.lapilli"], expect=2).err, "a line that is none")
    context.run([*command[:-2], "out.lapilli"], expect=2)


@case
def what_submitted_work_waits_for_is_named(context: Context) -> None:
    """Where a replay can't stop: what waits, for what, and the later call that ends it."""
    (context.folder / "list").write_text("buffer 1 0 4\n")
    for options, call in ([], "vkSignalSemaphore"), (["--event"], "vkSetEvent"):
        context.run([context.app("gated"), *options], context.layer_env())
        lines = {line["ticket"]: line for line in context.print_lines() if "block" not in line}
        stop = next(ticket for ticket, line in lines.items() if line["name"] == call) - 1
        done = context.run([context.program("lapilli-replay"), "--stop-at", str(stop), "--read", "list", "--read-to", "read", "out.lapilli"], expect=1)
        found = re.search(WAITS_FOR_LATER + rf": packet (\d+) waits for (?:the value (\d+) of )?(\w+:\d+), which packet (\d+) \({call}, frame \d+\) (?:signals|sets)$", done.err, re.M)
        check(found is not None, done.text)
        waits, ends = lines[int(found[1])], lines[int(found[4])]["args"]
        check(waits["name"] in SUBMITS and int(found[1]) <= stop < int(found[4]), f"{found[0]}: {waits}")
        check((ends["event"] if found[2] is None else ends["pSignalInfo"]["semaphore"]) == found[3], f"{found[0]}: {ends}")
        check(found[2] is None or int(ends["pSignalInfo"]["value"]) >= int(found[2]), f"{found[0]}: {ends}")
        (context.folder / "out.lapilli").unlink()
        (context.folder / "read").unlink(missing_ok=True)


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    for program in programs(context):
        result[f"cut/{program.name}"] = cut(program)
        if program.name in SAMPLE:
            result[f"gpu/{program.name}"] = cut(program, with_gpu=True)
        if program.name in SAMPLE and program.name != "vkcube":
            result |= {f"cut/{driver}/{program.name}": cut(program, driver) for driver in OTHER_DRIVERS}
            result |= {f"gpu/{driver}/{program.name}": cut(program, driver, True) for driver in OTHER_DRIVERS}
        if program.name in ON_NULL:
            result[f"cut/null/{program.name}"] = cut(program, "null")
        if program.name in VALIDATED:
            result[f"validate/{program.name}"] = validate(program, "--no-gpu")
            result[f"validate-gpu/{program.name}"] = validate(program)
    return result
