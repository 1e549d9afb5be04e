# SPDX-License-Identifier: MIT
"""Calls that don't return: programs crash, hang and are killed in the driver (tests/layers/crash.c), and the trace names
the call, with its arguments. What becomes of the process is what becomes of it without the layer."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from typing import Callable

from e2e.cases import CRASH, LAYER, Cases, Context, Done, Skip, check, crashing, display

CASES = Cases()
case = CASES.add

BEFORE, AFTER, JUMP, LEAVE, OLD, STACK, THREADS, KILLED, DEAF, IGNORE, LEAP, ELSEWHERE = (1 << bit for bit in range(12))  # tests/apps/falls.c
# What the driver gets first from the layer, within another call of the program's: for what a device is like, and to find out
# whether it takes pages of the host.
MADE_WITHIN = {"vkGetPhysicalDeviceProperties": "vkEnumeratePhysicalDevices", "vkGetPhysicalDeviceMemoryProperties": "vkEnumeratePhysicalDevices"} | \
    dict.fromkeys(("vkGetDeviceQueue", "vkCreateBuffer", "vkGetBufferMemoryRequirements", "vkAllocateMemory", "vkMapMemory", "vkDestroyBuffer",
                   "vkFreeMemory"), "vkCreateDevice")


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def fall(context: Context, crash: str, what: int = 0, command: list[str] | None = None, **more: str) -> Done:
    crashing(context)
    env = context.layer_env(LAYER, CRASH, LAPILLI_CRASH=crash, **more)
    return context.run(command or [context.app("falls"), "--what", str(what)], env, expect=None)


def read(context: Context, file: str = "out.lapilli") -> list[dict]:
    """The calls in flight."""
    out = context.run([context.program("lapilli"), "print", "--json", file], expect=None).out
    lines = [json.loads(line) for line in out.splitlines()]
    found = [line for line in lines if "inFlight" in line]
    check(lines[len(lines) - len(found):] == found, "calls in flight are not the last lines")
    return found


def guilty(context: Context, command: str, sign: str | None = "SIGSEGV") -> dict:
    found = [call for call in read(context) if call["inFlight"]["guilty"]]
    check(len(found) == 1, f"{command}: {len(found)} calls got the signal")
    check(found[0]["name"] == command and found[0]["inFlight"]["signal"] == sign, f"{command}, {sign}: {found[0]}")
    return found[0]


def remove(context: Context) -> None:
    for name in ("out.lapilli", "out.lapilli.tail"):
        (context.folder / name).unlink(missing_ok=True)


def first_calls(context: Context, command: list[str]) -> dict[str, dict]:
    """The first call of each command in a run that ends well."""
    context.run(command, context.layer_env())
    calls: dict[str, dict] = {}
    for line in context.print_lines():
        if not line["name"].startswith("lapilli"):
            calls.setdefault(line["name"], line)
    remove(context)
    return calls


def other_arguments(call: dict, whole: dict) -> str:
    """What went in is the same; what came out is left out. What is not so, or nothing."""
    if call["args"] is None:
        return f"{call['name']} has no arguments"
    for key, value in call["args"].items():
        if value != whole["args"][key]:
            return f"{call['name']}, {key}: {value}, not {whole['args'][key]}"
    for key in whole["args"].keys() - call["args"].keys():
        if not key.startswith("p"):
            return f"{call['name']}: {key} is left out"
    return ""


def has_arguments_of(call: dict, whole: dict) -> bool:
    return not other_arguments(call, whole)


def same_arguments(call: dict, whole: dict) -> None:
    check(not other_arguments(call, whole), other_arguments(call, whole))


ENDS = {"segv": {"guilty": True, "signal": "SIGSEGV"}, "kill": {"guilty": False, "signal": None}}


def crash_in_each(context: Context, command: list[str], names: list[str] | None, how: str = "segv") -> None:
    """The call in flight is the one that the driver got, or the one of the program's within which the layer made it."""
    whole = first_calls(context, command)
    check(len(whole) >= 27, f"{len(whole)} commands")
    for name in names or whole:
        expected = name if names else MADE_WITHIN.get(name, name)
        remove(context)
        done = fall(context, f"{name}:1:{how}", command=command)
        check(done.status == -signal.Signals[f"SIG{how.upper()}"], f"{name}: exit status {done.status}\n{done.text}")
        found = [call for call in read(context) if call["inFlight"] == ENDS[how]]
        check([call["name"] for call in found] == [expected], f"{name}: {found}, not {expected}")
        same_arguments(found[0], whole[expected])


@case
def a_crash_in_any_command_names_it(context: Context) -> None:
    crash_in_each(context, [context.app("falls")], None)


@case
def a_crash_in_a_command_that_draws_names_it(context: Context) -> None:
    crash_in_each(context, [context.app("triangle"), "--offscreen", "--frames", "2"],
                  ["vkCreateShaderModule", "vkCreateGraphicsPipelines", "vkUpdateDescriptorSets", "vkCmdBindDescriptorSets",
                   "vkCmdBeginRenderPass", "vkCmdBindPipeline", "vkCmdDrawIndexed", "vkBindImageMemory"])


@case
def a_crash_in_a_command_that_presents_names_it(context: Context) -> None:
    display()
    crash_in_each(context, [context.app("triangle"), "--frames", "2"],
                  ["vkCreateSwapchainKHR", "vkGetSwapchainImagesKHR", "vkAcquireNextImageKHR", "vkQueuePresentKHR",
                   "vkDestroySwapchainKHR"])


@case
def a_kill_in_any_command_names_it(context: Context) -> None:
    crash_in_each(context, [context.app("falls")], None, "kill")


@case
def a_kill_in_a_command_that_draws_names_it(context: Context) -> None:
    crash_in_each(context, [context.app("triangle"), "--offscreen", "--frames", "2"],
                  ["vkCreateShaderModule", "vkCreateGraphicsPipelines", "vkUpdateDescriptorSets", "vkCmdBindDescriptorSets",
                   "vkCmdBeginRenderPass", "vkCmdBindPipeline", "vkCmdDrawIndexed", "vkBindImageMemory"], "kill")


@case
def a_kill_in_a_command_that_presents_names_it(context: Context) -> None:
    display()
    crash_in_each(context, [context.app("triangle"), "--frames", "2"],
                  ["vkCreateSwapchainKHR", "vkGetSwapchainImagesKHR", "vkAcquireNextImageKHR", "vkQueuePresentKHR",
                   "vkDestroySwapchainKHR"], "kill")


CREATES = """
import ctypes, sys
info, instance = (ctypes.c_uint64 * 8)(1), ctypes.c_void_p()  # VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
sys.exit(ctypes.CDLL("libvulkan.so.1").vkCreateInstance(info, None, ctypes.byref(instance)) != -3)
"""


@case
def a_program_that_gets_no_instance_leaves_no_trace(context: Context) -> None:
    """The file is there before the driver is asked for the first instance, and goes with a program that never gets one."""
    program = [*context.installed("python3"), "-c", CREATES]
    context.run(program, context.layer_env(LAYER, CRASH, LAPILLI_CRASH="vkCreateInstance:1:refuse"))
    check(not list(context.folder.glob("out.lapilli*")), "a trace is left of nothing")
    done = context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *program],
                       context.layer_env(CRASH, LAPILLI_CRASH="vkCreateInstance:1:refuse"))
    check("there is no trace" in done.err and not list(context.folder.glob("out.lapilli*")), done.text)
    context.run(program, context.layer_env(LAYER), expect=1)
    check(context.info()["complete"], "and what gets one has a trace")


@case
def a_crash_ends_the_process_by_its_own_signal(context: Context) -> None:
    for how, name in (("segv", "SIGSEGV"), ("bus", "SIGBUS"), ("ill", "SIGILL"), ("fpe", "SIGFPE"), ("abort", "SIGABRT"),
                      ("trap", "SIGTRAP"), ("sys", "SIGSYS")):
        remove(context)
        done = fall(context, f"vkCmdFillBuffer:2:{how}")
        check(done.status == -getattr(signal, name), f"{how}: exit status {done.status}\n{done.text}")
        call = guilty(context, "vkCmdFillBuffer", name)
        check(call["args"] == {"commandBuffer": "VkCommandBuffer:2", "dstBuffer": "VkBuffer:1", "dstOffset": 64, "size": 64,
                               "data": 0x1001}, f"{call['args']}")
        done = context.replay(expect=4)
        check(f"crashed in vkCmdFillBuffer (signal {getattr(signal, name):d})" in done.err, done.text)
    check(context.info()["in_flight"] == [{"name": "vkCmdFillBuffer", "thread": call["thread"], "guilty": True,
                                           "signal": "SIGSYS"}], f"{context.info()['in_flight']}")
    done = context.run([context.program("lapilli"), "compress", "--in-place", "out.lapilli"], expect=1)
    context.run([context.program("lapilli"), "compress", "-o", "new.lapilli", "out.lapilli"], expect=4)
    (context.folder / "new.lapilli").unlink()
    check("use -o" in done.err and guilty(context, "vkCmdFillBuffer", "SIGSYS")["args"]["size"] == 64, done.text)
    remove(context)
    done = fall(context, "vkCreateBuffer:1:overflow")  # there is no stack for a handler
    check(done.status == -signal.SIGSEGV and context.info()["frames"] == 0, f"{done.status}")


@case
def handlers_of_the_program_are_called(context: Context) -> None:
    """They are called as without the layer, and the process ends as they say."""
    for what, status in ((BEFORE, 9), (BEFORE | LEAVE, 9), (BEFORE | STACK, 9), (BEFORE | OLD, -signal.SIGSEGV),
                         (AFTER | OLD, -signal.SIGSEGV)):
        remove(context)
        done = fall(context, "vkQueueSubmit:2:segv", what)
        check(done.status == status and done.out == "handler\n", f"--what {what}: exit status {done.status}\n{done.text}")
        call = guilty(context, "vkQueueSubmit")
        check(call["args"]["pSubmits"][0]["pCommandBuffers"] == ["VkCommandBuffer:2"], f"{call}")
    remove(context)
    done = fall(context, "vkQueueSubmit:2:segv", AFTER)  # nobody hears of the signal, and the call's note stays
    check(done.status == 9 and done.out == "handler\n", done.text)
    calls = [(call["name"], call["inFlight"]) for call in read(context)]
    check(calls == [("vkQueueSubmit", ENDS["kill"])], f"{calls}")


@case
def a_call_left_from_a_handler_is_not_in_flight(context: Context) -> None:
    """It jumps out of the call; nothing is said of that later."""
    for crash, what in (("vkQueueSubmit:2:segv", BEFORE), ("vkCmdFillBuffer:2:segv", BEFORE), ("vkCreateFence:2:segv", BEFORE),
                        ("vkQueueSubmit:2:segv", AFTER)):
        remove(context)
        done = fall(context, crash, what | JUMP, LAPILLI_VERIFY="1")
        check(done.status == 0 and done.out == "handler\nok falls\n", f"{crash}: {done.status}\n{done.text}")
        check(context.info()["complete"] is True and not read(context), f"{crash}: {context.info()}")
        remove(context)
        done = fall(context, crash, what | JUMP | KILLED)
        check(done.status == -signal.SIGKILL and not read(context), f"{crash}: {done.status}\n{done.text}")
    for data in ("200", "400", "4092"):  # a command that stands in its thread's place is left, and its thread goes on, or another one
        for what in (BEFORE | JUMP, BEFORE | JUMP | KILLED):
            remove(context)
            done = fall(context, "vkCmdUpdateBuffer:2:segv", command=[context.app("falls"), "--what", str(what), "--data", data])
            check(done.status == (-signal.SIGKILL if what & KILLED else 0) and not read(context), f"{data}: {done.status}\n{done.text}")


@case
def a_call_left_by_a_jump_is_not_in_flight(context: Context) -> None:
    """No signal handler hears of it: not a byte of the program's stack is stored to, and the call that was left is not in flight later."""
    for what in (LEAP, LEAP | KILLED):
        remove(context)
        done = fall(context, "vkDeviceWaitIdle:1:slow", what)
        check(done.status == (-signal.SIGKILL if what & KILLED else 0) and "returned" not in done.out, f"{done.status}\n{done.text}")
        check(not read(context) and context.info()["complete"] is not bool(what & KILLED), f"{read(context)}")


@case
def a_command_of_another_thread_is_named_with_it(context: Context) -> None:
    """It has made no other call, and may not hear of a file that is cut."""
    for data in ("4", "400"):
        for what in (ELSEWHERE, ELSEWHERE | DEAF):
            remove(context)
            command = [context.app("falls"), "--what", str(what), "--data", data]
            done = fall(context, "vkCmdUpdateBuffer:2:kill", command=command)
            found = read(context)
            check(done.status == -signal.SIGKILL and len(found) == (0 if what & DEAF else 1), f"{data}: {done.status}, {found}")
            main = {line["thread"] for line in [json.loads(line) for line in context.run(
                [context.program("lapilli"), "print", "--json", "out.lapilli"], expect=None).out.splitlines()] if line["name"] == "vkCreateDevice"}
            for call in found:
                check(call["args"]["dataSize"] == int(data) and call["thread"] and call["thread"] not in main, f"{call}, {main}")
    remove(context)
    check(fall(context, "vkCmdFillBuffer:9:kill", ELSEWHERE).status == 0 and context.info()["complete"], "without a crash")


@case
def inheritance_of_a_secondary_command_buffer_is_noted(context: Context) -> None:
    """The note has what it inherits."""
    command = [context.app("modern")]
    context.run(command, context.layer_env())
    begins = [line for line in context.print_lines() if line["name"] == "vkBeginCommandBuffer"]
    number = next((i for i, line in enumerate(begins) if line["args"]["pBeginInfo"].get("pInheritanceInfo")), None)
    if number is None:
        raise Skip("modern has no secondary command buffer here")
    remove(context)
    done = fall(context, f"vkBeginCommandBuffer:{number + 1}:kill", command=command)
    call, = read(context)
    check(done.status == -signal.SIGKILL and call["name"] == "vkBeginCommandBuffer", f"{call}")
    same_arguments(call, begins[number])


@case
def calls_of_all_threads_are_named(context: Context) -> None:
    done = fall(context, "vkQueueSubmit:2:segv", THREADS)
    check(done.status == -signal.SIGSEGV, done.text)
    guilty(context, "vkQueueSubmit")
    others = [call for call in read(context) if not call["inFlight"]["guilty"]]
    check([call["name"] for call in others] == ["vkWaitForFences"] * 3, f"{others}")
    check({call["args"]["pFences"][0] for call in others} == {"VkFence:1", "VkFence:2", "VkFence:3"}, f"{others}")
    check(len({call["thread"] for call in read(context)}) == 4, "threads are not told apart")


def read_copy(context: Context) -> list[dict]:
    """What a process that is alive would leave if it were killed now: a copy of its files is not in use."""
    try:
        for suffix in ("", ".tail"):
            shutil.copy(context.folder / f"out.lapilli{suffix}", context.folder / f"copy.lapilli{suffix}")
    except FileNotFoundError:
        return []
    return read(context, "copy.lapilli")


@case
def a_call_that_hangs_is_named_and_a_late_one_is_not(context: Context) -> None:
    """A call that does not return is there; one that returned late is not."""
    crashing(context)
    env = context.environment(context.layer_env(LAYER, CRASH, LAPILLI_CRASH="vkQueueSubmit:2:hang"))
    if context.driver:
        env["VK_DRIVER_FILES"] = env["VK_ICD_FILENAMES"] = str(context.driver)
    process = subprocess.Popen([context.app("falls")], cwd=context.folder, env=env, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if "vkQueueSubmit" in [call["name"] for call in read_copy(context)]:
                break
            time.sleep(0.1)
        check(process.poll() is None, "the program has ended")
    finally:
        process.kill()
        process.wait()
    call, = read(context)
    check(call["name"] == "vkQueueSubmit" and call["args"]["fence"].startswith("VkFence:") and call["inFlight"] == ENDS["kill"], f"{call}")
    remove(context)
    done = fall(context, "vkQueueSubmit:2:slow", KILLED)
    check(done.status == -signal.SIGKILL and not read(context), f"{done.status}: {read(context)}")


@case
def as_many_threads_as_there_are_places_are_named(context: Context) -> None:
    """More threads wait than there are places: those that have one are named, once each."""
    fall(context, "vkQueueSubmit:2:kill", command=[context.app("falls"), "--what", str(THREADS), "--threads", "150"])
    calls = read(context)
    waits = [call for call in calls if call["name"] == "vkWaitForFences"]
    check(len(waits) == 127 and [call["name"] for call in calls if call not in waits] == ["vkQueueSubmit"], f"{len(waits)} calls")
    check(len({call["args"]["pFences"][0] for call in waits}) == len({call["thread"] for call in waits}) == 127, "they are not told apart")


@case
def a_crash_in_a_thread_of_the_driver_names_the_call_with_its_signal(context: Context) -> None:
    done = fall(context, "vkQueueSubmit:2:thread")
    check(done.status == -signal.SIGSEGV, done.text)
    call, = read(context)
    check(call["name"] == "vkQueueSubmit" and call["inFlight"] == {"guilty": False, "signal": "SIGSEGV"}, f"{call}")


@case
def a_program_that_takes_sigbus_is_warned_and_keeps_whole_frames(context: Context) -> None:
    """Its handler would not know what to do with a store to a file that somebody cuts: at the end of the frame notes and journal go."""
    sentence = "the trace ends with its last frame and names no calls in flight"
    for what in (IGNORE | BEFORE, IGNORE | AFTER):
        done = fall(context, "vkQueueSubmit:3:kill", what)
        check(done.status == -signal.SIGKILL and done.err.count(sentence) == 1, f"{done.status}\n{done.text}")
        check(not read(context) and context.info()["frames"] == 2, f"{context.info()}")
        remove(context)
    done = fall(context, "vkQueueSubmit:3:kill", BEFORE)
    check(sentence not in done.err and len(read(context)) == 1, done.text)


@case
def nothing_is_noted_where_sigbus_would_end_the_program(context: Context) -> None:
    """Nothing is stored to a mapping where SIGBUS would end the program: no call is noted, and the recording is whole."""
    for crash, what in (("slow", DEAF | BEFORE | KILLED), ("kill", DEAF | BEFORE), ("kill", IGNORE | BEFORE), ("kill", IGNORE | AFTER)):
        done = fall(context, f"vkQueueSubmit:2:{crash}", what)
        check(done.status == -signal.SIGKILL and not read(context), f"{done.status}: {read(context)}")
        remove(context)


@case
def long_calls_are_noted_up_to_a_mebibyte(context: Context) -> None:
    """What does not fit the usual place: of calls as much as a mebibyte, of commands all that a block has."""
    for how in ("kill", "segv"):
        for fences in (3, 3000, 50_000):
            remove(context)
            done = fall(context, f"vkWaitForFences:1:{how}", command=[context.app("falls"), "--fences", str(fences)])
            check(done.status == -signal.Signals[f"SIG{how.upper()}"], done.text)
            call, = read(context)
            check(call["name"] == "vkWaitForFences" and call["inFlight"] == ENDS[how], f"{fences}: {call['name']}")
            check(call["args"] and call["args"]["pFences"] == ["VkFence:1"] * fences, f"{fences}: {call['args']}")
        remove(context)
        done = fall(context, f"vkWaitForFences:1:{how}", command=[context.app("falls"), "--fences", "2000000"])
        call, = read(context)
        check(done.status == -signal.Signals[f"SIG{how.upper()}"], done.text)
        check(call["name"] == "vkWaitForFences" and call["args"] is None, "there is room for more than a mebibyte")
        for size in (4, 200, 220, 224, 400, 4092):
            remove(context)
            done = fall(context, f"vkCmdUpdateBuffer:3:{how}", command=[context.app("falls"), "--data", str(size)])
            call, = read(context)
            check(done.status == -signal.Signals[f"SIG{how.upper()}"], done.text)
            check(call["name"] == "vkCmdUpdateBuffer" and call["args"]["commandBuffer"] == "VkCommandBuffer:3", f"{call}")
            check(call["args"]["dataSize"] == size and call["thread"], f"{size}: {call}")
            whole = context.run([context.program("lapilli"), "print", "out.lapilli"], expect=None).out
            check("vkCmdUpdateBuffer(" in whole.splitlines()[-1] and "did not return" in whole, whole[-2000:])


@case
def nothing_is_noted_where_the_option_is_off(context: Context) -> None:
    done = fall(context, "vkQueueSubmit:2:segv", LAPILLI_IN_FLIGHT="0")
    check(done.status == -signal.SIGSEGV and not read(context), f"{done.status}")
    check(context.info()["in_flight"] == [], "info knows of calls")
