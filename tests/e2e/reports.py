# SPDX-License-Identifier: MIT
"""What a replay tells the program that runs it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from typing import Callable

from e2e.after import draws_of
from e2e.cases import CRASH, Cases, Context, check, crashing, display, patience

CASES = Cases()
case = CASES.add

PIPE_BYTES = 4096


def with_descriptor(context: Context, fd: int, *command: str) -> subprocess.Popen:
    return subprocess.Popen([*command, "--progress", str(fd)], cwd=context.folder, env=context.environment(), pass_fds=[fd], stdout=subprocess.DEVNULL)


def lines_of(context: Context, *command: str) -> list[dict]:
    with open(context.folder / "progress", "w+", encoding="utf-8") as file:
        status = with_descriptor(context, file.fileno(), *command).wait(patience(60))
        check(status == 0, f"{command}: {status}")
        file.seek(0)
        return [json.loads(line) for line in file]


@case
def progress_counts_the_packets_that_are_played(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    replay = [context.program("lapilli-replay"), "--quiet", "--present", "headless", "out.lapilli"]
    lines = context.print_lines("out.lapilli", "--no-blocks")
    position = draws_of(context, "out.lapilli")[2]["position"]
    frame, submit = map(int, position.split(".")[:2])
    submits = [line["ticket"] for line in lines if line["name"] == "vkQueueSubmit" and line["frame"] == frame]
    ends = [max(line["ticket"] for line in lines if line["frame"] <= last) for last in (1, 1000)]
    image = [context.program("lapilli"), "image", "out.lapilli", "-o", "shots", "--after", position]
    for command, last in ((replay, ends[1]), ([*replay, "--last-frame", "1"], ends[0]), ([*replay, "--stop-at", "7"], 7), (image, submits[submit - 1])):
        told = lines_of(context, *command)
        check(told[-1] == {"done": last, "all": last} and {line["all"] for line in told} == {last}, f"{command}, {last}: {told}")
        check([line["done"] for line in told] == sorted({line["done"] for line in told}), f"{command}: {told}")


@case
def only_screenshots_wait_for_a_reader_of_progress(context: Context) -> None:
    display()
    context.run([context.app("triangle"), "--frames", "3"], context.layer_env())
    replay = [context.program("lapilli-replay"), "--quiet", "--present", "headless", "out.lapilli"]
    for is_gone in (False, True):
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        os.write(write, bytes(PIPE_BYTES))  # there is no room
        if is_gone:
            os.close(read)
        check(with_descriptor(context, write, *replay).wait(patience(60)) == 0, "the replay")
        process = with_descriptor(context, write, *replay, "--screenshot", "2,3", "--screenshot-dir", f"shots-{is_gone}")
        os.close(write)
        if not is_gone:
            while process.poll() is None and not (context.folder / "shots-False/frame_2.png").exists():
                time.sleep(0.01)
            with os.fdopen(read, "rb") as file:
                lines = [json.loads(line) for line in file.read()[PIPE_BYTES:].splitlines()]
            check([line for line in lines if "file" in line] == [{"screenshot": frame, "file": f"frame_{frame}.png"} for frame in (2, 3)], f"{lines}")
        check(process.wait(patience(60)) == 0, "the replay with screenshots")
        check(len(list((context.folder / f"shots-{is_gone}").iterdir())) == 2, "screenshots")


@case
def a_crash_names_the_call_and_its_packet(context: Context) -> None:
    crashing(context)
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    lines = context.print_lines("out.lapilli")
    replay = [context.program("lapilli-replay"), "--quiet", "--present", "headless", "out.lapilli"]
    after = [context.program("lapilli"), "image", "out.lapilli", "-o", "shots", "--after", draws_of(context, "out.lapilli")[3]["position"]]
    for command, name, number, how, sign, where in (
            (replay, "vkCreateGraphicsPipelines", 1, "segv", "SIGSEGV", "in"), (replay, "vkCmdDrawIndexed", 2, "abort", "SIGABRT", "in"), (replay, "vkCmdDrawIndexed", 3, "overflow", "SIGSEGV", "in"),
            ([*replay, "--threads", "2"], "vkCmdDrawIndexed", 1, "trap", "SIGTRAP", "in"), (replay, "vkCmdDrawIndexed", 2, "thread", "SIGSEGV", "in another thread, during"),
            (after, "vkCmdDrawIndexed", 2, "fpe", "SIGFPE", "in")):
        done = context.run(command, context.layer_env(CRASH, LAPILLI_CRASH=f"{name}:{number}:{how}"), expect=-signal.Signals[sign])
        line = [line for line in lines if line["name"] == name][number - 1]
        packet = f"{line['ticket']}.{line['command']}" if "command" in line and where == "in" else line["ticket"]
        check(done.err.endswith(f"lapilli-replay: error: crashed ({sign}) {where} {name}, packet {packet}, frame {line['frame']}\n"), f"{name} {number} {how}: {done.text}")


@case
def gpus_are_listed_as_recordings_name_them(context: Context) -> None:
    context.run([context.app("compute")], context.layer_env())
    recorded = context.info()["recorded_on"]
    gpus = json.loads(context.run([context.program("lapilli-replay"), "--list-gpus", "--json"]).out)["gpus"]
    lines = [line.split("\t") for line in context.run([context.program("lapilli-replay"), "--list-gpus"]).out.splitlines()]
    check([[str(g["number"]), g["name"], f"{g['kind']}, Vulkan {g['api_version']}", g["uuid"]] for g in gpus] == lines, f"{gpus}, {lines}")
    check((recorded["device"], recorded["driver"], recorded["api_version"], recorded["device_uuid"]) in
          [(g["name"], g["driver"], g["api_version"], g["uuid"]) for g in gpus], f"{recorded}, {gpus}")


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES
