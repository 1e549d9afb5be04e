# SPDX-License-Identifier: MIT
"""Processes that copy themselves, and processes that end in awkward places: they go on as without the layer."""

from __future__ import annotations

import json
import re
import struct
from typing import Callable

from e2e.cases import OTHER_DRIVERS, Cases, Context, Skip, check, check_verified, display

CASES = Cases()
case = CASES.add


# Ways in which tests/apps/lives.c ends, and with which settings it is recorded.
LIVES: dict[str, dict[str, str]] = {
    "--reopen": {},
    "--leave": {},
    "--at-exit": {},
    "--destructor": {},
    "--plugin": {},
    "--exits": {},
    "--cancels": {},
    "--cancels --exits": {"LAPILLI_QUEUE": "0"},
    "--reopen --cancels": {"LAPILLI_WRITE_WATCH": "mprotect"},
}


def life(way: str, settings: dict[str, str], driver: str | None) -> Callable[[Context], None]:
    """The process ends as without the layer, and its trace has all that it did."""
    def run(context: Context) -> None:
        context = context.on(driver)
        command = [context.app("lives"), *way.split()]
        alone = context.run(command, expect=None)
        done = context.run(command, context.layer_env(LAPILLI_VERIFY="1", **settings), expect=None)
        check(done.status == alone.status and done.out == alone.out, f"alone: {alone.status}\n{alone.text}\nrecorded: {done.status}\n{done.text}")
        if alone.status != 0:  # the driver has ended before the program
            info = context.info()
            check(not info["complete"] and info["frames"] >= 3, f"{info}")
            raise Skip(f"without Lapilli too: exit status {alone.status}, and {info['stopped']}")
        submits = sum(int(count) for count in re.findall(r"^(\d+) submits$", done.out, re.MULTILINE))
        check("ok lives" in done.out and submits > 0, done.text)
        info = context.info()
        check(info["complete"] is True and info["frames"] == submits, f"{submits} submits, and: {info}")
        check(check_verified(context.replay()) == submits, f"not {submits} checks")
        names = [line["name"] for line in context.print_lines()]
        check(names.count("vkQueueSubmit") == submits, f"print shows {names.count('vkQueueSubmit')} of {submits} submits")
        check(names.count("vkCreateInstance") == done.out.count("ok lives"), "print does not show all instances")
    return run


def cases() -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    for end in LOADS:
        for driver in (None, *OTHER_DRIVERS):
            result["-".join([*([driver] if driver else []), "loads", end])] = loads(end, driver)
    for what, settings in CLOSES:
        for driver in (None, *OTHER_DRIVERS):
            label = "-".join([*([driver] if driver else []), "closes", str(what), *settings.values()])
            result[label] = closes(what, driver, settings)
    for way, settings in LIVES.items():
        for driver in (None, *OTHER_DRIVERS):
            label = "-".join(word.strip("-") for word in (driver, "lives", *way.split()) if word)
            result[label] = life(way, settings, driver)
    return result


def children(context: Context) -> list[str]:
    return sorted(p.name for p in context.folder.glob("*.lapilli") if p.name != "out.lapilli")


@case
def children_of_forks_record_into_files_of_their_own(context: Context) -> None:
    alone = context.run([context.app("forks")], expect=None if context.driver_dir else 0)
    if alone.status != 0:  # Mesa 25 shares what it allocates with children, and the program does not expect that
        raise Skip(f"without Lapilli too: {alone.err.strip()}")
    done = context.capture([context.app("forks")])
    check("ok forks" in done.out, done.text)
    check(context.info()["complete"] is True, "the parent's trace is not complete")
    check(check_verified(context.replay()) == context.info()["frames"], "not every frame was checked")
    traces = children(context)
    check(len(traces) == 25, f"{len(traces)} traces of children, not 25")
    for trace in traces:
        # Such a child leaves by _exit: its trace has no end, but its frame.
        info = context.info(trace)
        check(info["frames"] == 1 and info["pid"] != context.info()["pid"], f"{trace}: {info}")
    out = context.run([context.program("lapilli"), "print", "--json", traces[0]], expect=None).out
    names = [json.loads(line)["name"] for line in out.splitlines()]
    check(names.count("vkCreateInstance") == 1 and names.count("vkCreateDevice") == 1, f"{traces[0]}: {names}")


@case
def children_of_a_fork_before_vulkan_record_their_own_devices(context: Context) -> None:
    done = context.capture([context.app("forks"), "--bare", "--frames", "16"])
    check("ok forks" in done.out, done.text)
    traces = children(context)
    check(len(traces) == 2, f"{len(traces)} traces of children, not 2")
    for trace in ["out.lapilli", *traces]:
        info = context.info(trace)
        check(info["complete"] is True and info["frames"] == 1, f"{trace}: {info}")
        names = [line["name"] for line in context.print_lines(trace)]
        check(names.count("vkCreateDevice") == 1, f"{trace} has a device of the parent's instance")
        check_verified(context.replay(trace))


@case
def exit_in_a_signal_handler_ends_the_trace(context: Context) -> None:
    """The handler interrupts malloc() most of the time: what closes the file must not need it, or any lock for long."""
    whole = 0
    for number in range(12):
        trace = f"quits{number}.lapilli"
        context.run([context.program("lapilli"), "capture", "--verify", "-o", trace, "--", context.app("quits"),
                     "--frames", str(60 + 7 * number)])
        whole += context.info(trace)["complete"] is True
        check_verified(context.replay(trace, expect=None))
    check(whole > 0, "no trace has an end")


@case
def work_after_the_end_of_the_trace_is_reported(context: Context) -> None:
    """A handler of exit() that comes when the trace has ended: the trace does not claim to have what it does."""
    done = context.capture([context.app("lives"), "--behind"])
    check(done.out == "4 submits\nok lives\n" and "at the very end of its process" in done.err, done.text)
    info = context.info()
    check(not info["complete"] and "went on after the end" in info["stopped"] and info["frames"] == 3, f"{info}")
    check_verified(context.replay(expect=4))


@case
def programs_survive_files_that_others_cut(context: Context) -> None:
    """The program goes on unharmed; its trace is whole, or ends with its last whole frame and says why."""
    for what in [*range(1, 16), 17, 19, 25, 27]:
        trace, frames = f"cut{what}.lapilli", 40
        cuts_tail, cuts_trace, deletes, killed = (bool(what & bit) for bit in (1, 2, 4, 8))
        if not cuts_tail and not cuts_trace:
            continue
        env = context.layer_env(LAPILLI_FILE=trace, LAPILLI_VERIFY="1")
        done = context.run([context.app("cuts"), "--frames", str(frames), "--what", str(what)], env=env, expect=-9 if killed else 0)
        check(killed or done.out.endswith("ok cuts\n"), done.text)
        check(killed or not (context.folder / f"{trace}.tail").exists(), f"--what {what}: the tail file is left")
        if cuts_trace and deletes:
            check(not (context.folder / trace).exists(), f"--what {what}: the trace is back")
            check(killed or "another process has deleted" in done.err, done.text)
            continue
        if cuts_trace:
            # Half of a trace that has little but its dictionary, for the helper thread is slow, has none.
            opened = context.run([context.program("lapilli"), "info", trace], expect=None)
            check(opened.status in (0, 3), opened.text)
            if opened.status == 3:
                check("no dictionary" in opened.err or "no trace" in opened.err, opened.text)
                continue
        info = context.info(trace)
        if killed:
            check(info["frames"] <= frames, f"--what {what}: {info}")
        elif cuts_trace:
            check(not info["complete"] and info["frames"] < frames, f"--what {what}: {info}")
            # Whichever is noticed first; a trace that was ended for the sake of the tail file may be cut after that.
            said = ("another process has cut", "another process has changed", "damaged or cut") if cuts_tail else ("another process has cut",)
            check(any(text in (info["stopped"] or "") for text in said), f"--what {what}: {info['stopped']}")
            check("recording has stopped" in done.err, done.text)
        else:
            # Chunks that were only in the tail file may be lost with it.
            check(info["complete"] or "another process has changed" in info["stopped"], f"--what {what}: {info}")
            check(info["frames"] == frames or not info["complete"], f"--what {what}: {info}")
        if info["frames"]:
            # What the host sees of a frame is checked in the next one.
            check_verified(context.replay(trace, expect=0 if info["complete"] else 4), fewest=min(info["frames"] - 1, 1))


def closes(what: int, driver: str | None, settings: dict[str, str]) -> Callable[[Context], None]:
    """A program's own files under numbers that were ours are as without the layer; what was recorded goes on, or ends with a sentence."""
    deleted, killed, aborted = (bool(what & bit) for bit in (8, 16, 32))

    def run(context: Context) -> None:
        context = context.on(driver)
        frames, expect = 40, -9 if killed else -6 if aborted else 0
        env = context.layer_env(LAPILLI_VERIFY="1", **settings)
        done = context.run([context.app("closes"), "--what", str(what)], env=env, expect=expect)
        check(killed or aborted or done.out.endswith("ok closes\n"), done.text)
        if deleted:
            check(not (context.folder / "out.lapilli").exists(), "the trace is back")
            check(done.err.count("recording has stopped") == 1 and "another process has deleted" in done.err or
                  "the program has closed it" in done.err, done.text)
            return
        check(done.err == "", done.text)
        info = context.info()
        check(info["complete"] is (expect == 0) and info["frames"] == frames, f"{info}")
        check(check_verified(context.replay(expect=4 if expect else 0)) == frames, "not every frame was checked")
    return run


# Who closes what, with which settings.
CLOSES: tuple[tuple[int, dict[str, str]], ...] = (
    (1, {}), (2, {}), (4, {}), (4, {"LAPILLI_QUEUE": "0"}), (4, {"LAPILLI_WRITE_WATCH": "mprotect"}), (10, {}), (12, {}), (12, {"LAPILLI_QUEUE": "0"}),
    (20, {}), (36, {}))


# How tests/apps/loads.c ends: its option, and the exit status.
LOADS: dict[str, tuple[int, int]] = {"abort": (1, -6), "kill": (2, -9), "exit": (3, 0), "term": (4, -15), "fault": (5, -11)}


def returned(context: Context) -> list[int]:
    """What tests/apps/loads.c has counted."""
    data = (context.folder / "returned").read_bytes()
    return list(struct.unpack(f"<{len(data) // 8}Q", data))


def loads(end: str, driver: str | None) -> Callable[[Context], None]:
    """A window, and 300 submits before anything is presented: all that had returned is there, however the process ends."""
    def run(context: Context) -> None:
        display()
        context = context.on(driver)
        option, status = LOADS[end]
        context.run([context.app("loads"), "--end", str(option)], context.layer_env(LAPILLI_VERIFY="1", LOADS_RETURNED="returned"), expect=status)
        check(returned(context)[0] == 300, f"{returned(context)[0]} submits")
        info = context.info()
        printed = context.run([context.program("lapilli"), "print", "--json", "out.lapilli"], expect=4)
        names = [json.loads(line)["name"] for line in printed.out.splitlines()]
        check(names.count("vkQueueSubmit") == 300, f"{names.count('vkQueueSubmit')} submits are in the trace: {info['stopped']}")
        check(not info["complete"] and info["frames"] == 0 and info["recovered"]["packets"] > 1000 and info["calls"] > 1000, f"{info}")
        check(check_verified(context.replay(expect=4)) == 300, "not every submit was compared")
        context.run([context.program("lapilli"), "compress", "-o", "small.lapilli", "out.lapilli"], expect=None)
        check(check_verified(context.replay("small.lapilli", expect=4)) == 300, "not every submit was compared behind compress")
    return run
