# SPDX-License-Identifier: MIT
"""Replay programs: what one plays is what its trace plays, by the hashes of the recording and by the driver's calls; the machine does
what an interpreter of docs/vm.md does (e2e/machine.py)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Callable

from e2e.cases import Cases, Context, Done, Program, Skip, check, prepare, prepare_on, programs, skip_lacking
from e2e.experiments import DRIVERS, play, played
from e2e.machine import Made
from e2e.parts import ON_SWIFTSHADER

CASES = Cases()
case = CASES.add

SAMPLE = ("compressed", "descriptors", "modern", "multi", "queues", "stencil", "suspended", "threads", "forks")  # others in make check-full
SUMS = re.compile(r"^verify: .*$", re.MULTILINE)


def compile_trace(context: Context, file: str, to: str, *options: str) -> str:
    if not context.has("compile"):
        raise Skip("replay programs are of 64-bit builds")
    context.run([context.program("lapilli"), "compile", "--quiet", *options, "-o", to, file])
    return to


def text_of(context: Context, file: str, expect: int = 0) -> str:
    return context.run([context.program("lapilli"), "disasm", file], expect=expect).out


def assemble(context: Context, text: str, to: str, *options: str, expect: int = 0) -> Done:
    (context.folder / to).unlink(missing_ok=True)
    (context.folder / "in.txt").write_text(text)
    return context.run([context.program("lapilli"), "asm", *options, "in.txt", "-o", to], expect=expect)


def plays_the_same(program: Program, driver: str | None = None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        skip_lacking(context.run(command, context.layer_env(LAPILLI_VERIFY="all"), expect=None))
        traces = sorted(context.folder.glob("*.lapilli"))
        check(bool(traces), "nothing was recorded")
        for trace in traces:
            made = compile_trace(context, trace.name, trace.name + ".lapvm")
            whole, again = (play(context, file, "--verify", expect=None) for file in (trace.name, made))
            check(whole.status == again.status and SUMS.findall(whole.out) == SUMS.findall(again.out), f"{trace.name}: {whole.text}\nas a program: {again.text}")
            check(assemble(context, text_of(context, made), "again.lapvm", "--resources", made).status == 0 and
                  (context.folder / "again.lapvm").read_bytes() == (context.folder / made).read_bytes(), f"{made}: its text is another program")

    return run


@case
def the_driver_gets_the_same_calls(context: Context) -> None:
    """As the layer records them, of a replay of the trace and of one of the program: pipelines, and the command buffers that draw. What
    a replay adds of its own depends on when the device is done."""
    context.run([context.app("modern")], context.layer_env(LAPILLI_VERIFY="all"))
    compile_trace(context, "out.lapilli", "out.lapvm")
    recorded = []
    for file in ("out.lapilli", "out.lapvm"):
        played(context, file)
        lines, buffers = context.print_lines("replayed.lapilli"), {}
        for line in lines:
            if "block" in line:
                buffers.setdefault(line["index"], []).append((line["name"], line["args"]))
        drawing = [buffer for buffer in buffers.values() if any(name.startswith("vkCmdD") for name, _ in buffer)]
        recorded.append(drawing + [line["args"]["pCreateInfos"] for line in lines if line["name"].endswith("Pipelines")])
    check(sum(map(len, recorded[0])) > 500 and recorded[0] == recorded[1], "the calls differ")


@case
def edits_are_in_the_program(context: Context) -> None:
    context.run([context.app("modern")], context.layer_env())
    draws = context.run([context.program("lapilli"), "draws", "--no-header", "out.lapilli"]).out.splitlines()
    first = draws[1].split("\t")[0]
    compile_trace(context, "out.lapilli", "less.lapvm", "--skip", first, "--wireframe")
    whole, less = played(context, "out.lapilli", "--skip", first, "--wireframe"), played(context, "less.lapvm")
    check(len(whole) == len(draws) - 1 and whole == less, f"{len(draws)} draws, without one {len(whole)}, in the program {len(less)}")
    refused = play(context, "less.lapvm", "--skip", first, expect=None)
    check(refused.status not in (0, 3) and "program" in refused.err, refused.text)


@case
def a_part_ends_where_it_should(context: Context) -> None:
    """Frames 2 to 3 of more: what comes before is the initial part."""
    context.run([context.app("modern")], context.layer_env(LAPILLI_VERIFY="all"))
    compile_trace(context, "out.lapilli", "part.lapvm", "--frames", "2-3")
    told = SUMS.findall(play(context, "part.lapvm", "--verify").out)
    check(told == SUMS.findall(play(context, "out.lapilli", "--verify", "--last-frame", "3").out), str(told))
    lines = text_of(context, "part.lapvm").splitlines()
    at = lines.index("request")
    label = re.compile(r"  LABEL (\d+)")
    frames = [int(line.split()[2]) for line in lines if line.startswith("label ")]
    before, behind = ([frames[int(found[1])] for line in part if (found := label.match(line))] for part in (lines[:at], lines[at:]))
    check(set(before) == {0} and set(behind) == {1, 2}, f"{sorted(set(before))}, then {sorted(set(behind))}")
    compile_trace(context, "out.lapilli", "rest.lapvm", "--frames", "2-")
    rest = text_of(context, "rest.lapvm").splitlines()
    initial = [[line for line in part if label.match(line)] for part in (lines[:at], rest[:rest.index("request")])]
    check(initial[0] == initial[1] and len(rest) > len(lines), "the initial part of 2- is another one than that of 2-3")
    check("it has" in context.run([context.program("lapilli"), "compile", "--frames", "900", "-o", "no.lapvm", "out.lapilli"], expect=2).err, "no sentence")
    check(not (context.folder / "no.lapvm").exists(), "a file is left")


@case
def a_program_ends_at_a_position(context: Context) -> None:
    """Behind a draw, as pictures there do; behind a submit; and its frame is what comes behind the initial part."""
    context.run([context.app("modern")], context.layer_env(LAPILLI_VERIFY="all"))
    draws = [line.split("\t")[0] for line in context.run([context.program("lapilli"), "draws", "--no-header", "out.lapilli"]).out.splitlines()]
    counts = []
    for at in (draws[0], draws[len(draws) // 2], draws[-1]):
        compile_trace(context, "out.lapilli", f"{at}.lapvm", "--at", at)
        there, here = played(context, f"{at}.lapvm"), played(context, "out.lapilli", "--pictures", "shots", "--after", at)
        check(there == here, f"{at}: {len(there)} draws, not {len(here)}")
        counts.append(len(there))
    check(0 < counts[0] < counts[1] < counts[2], str(counts))
    lines, frame = text_of(context, f"{draws[-1]}.lapvm").splitlines(), int(draws[-1].split(".")[0])
    behind = {int(line.split()[2]) for line in lines if line.startswith("label ")}
    check("request" in lines and max(behind) == frame - 1, f"frame {frame}: {sorted(behind)}")
    packet = [line["ticket"] for line in context.print_lines() if line["name"].startswith("vkQueueSubmit")][-2]
    compile_trace(context, "out.lapilli", "submit.lapvm", "--at", f"#{packet}")
    told = SUMS.findall(play(context, "submit.lapvm", "--verify").out)
    check(told == SUMS.findall(play(context, "out.lapilli", "--verify", "--stop-at", str(packet)).out), str(told))
    for at, says in (("99", "the trace has"), ("1.1.1.0", "")):
        done = context.run([context.program("lapilli"), "compile", "--at", at, "-o", "no.lapvm", "out.lapilli"], expect=None)
        check(done.status in (2, 3) and says in done.err and not (context.folder / "no.lapvm").exists(), f"{at}: {done.text}")


@case
def resources_come_with_the_program_or_not(context: Context) -> None:
    context.run([context.app("formats")], context.layer_env(LAPILLI_VERIFY="all"))
    compile_trace(context, "out.lapilli", "all.lapvm")
    compile_trace(context, "out.lapilli", "none.lapvm", "--no-resources")
    assemble(context, text_of(context, "none.lapvm"), "again.lapvm", "--resources", "all.lapvm")
    check(SUMS.findall(play(context, "again.lapvm", "--verify").out) == SUMS.findall(play(context, "out.lapilli", "--verify").out), "others")


@case
def the_machine_does_what_is_written(context: Context) -> None:
    """Random programs, valid and not, in the machine and in the interpreter."""
    if not context.has("asm"):
        raise Skip("replay programs are of 64-bit builds")
    outcomes = {"done": 0, "failed": 0, "refused": 0}
    for seed in range(60):
        made = Made(seed)
        last = len(made.words) - 1
        done = assemble(context, made.text(), "out.lapvm", expect=None)
        if done.status:
            place = re.search(r"instruction (\d+)", done.err)
            check(done.status == 3 and made.fault and place is not None and int(place[1]) == last, f"seed {seed}: {done.text}")
            outcomes["refused"] += 1
            continue
        first, *said, end = context.run([str(context.build / "tests/bin/vm-check"), "out.lapvm"]).out.splitlines()
        expected, fault = made.run(tuple(map(int, first.split()[1:])))
        place = re.search(r"failed: instruction (\d+)", end)
        check(said[:len(expected)] == expected and (end == "done" if fault is None else place is not None and int(place[1]) == fault),
              f"seed {seed}: {said[-3:]} {end}\nwritten: {expected[-3:]} {fault}")
        outcomes["failed" if place else "done"] += 1
    check(outcomes["done"] > 40 and outcomes["refused"] > 1, str(outcomes))


@case
def forged_programs_are_refused_with_their_place(context: Context) -> None:
    context.run([context.app("compute")], context.layer_env())
    compile_trace(context, "out.lapilli", "out.lapvm")
    text = text_of(context, "out.lapvm")
    submit = re.search(r"(?:  PUSH_I[^\n]*\n|  EXTEND[^\n]*\n)+  CALL vkQueueSubmit\n", text)
    assert submit
    forged = [(text.replace("  CALL vkQueueSubmit\n", "  POP 1\n  CALL vkQueueSubmit\n", 1), "instruction", "CALL vkQueueSubmit"),
              (text.replace("code\n", "code\n  RESOURCE 5\n", 1), "instruction 0", "RESOURCE"),
              (text.replace("code\n", "code\n  LABEL 99999999\n", 1), "line", "26 bits"),
              (text.replace("code\n", "code\n  CALL vkNoSuch\n", 1), "line", "no function"),
              (text.replace("volatile ", "volatile 9", 1).replace("code\n", "code\n  LOAD_V Uint64 1048575\n", 1), "instruction 0", "LOAD_V")]
    for what, *words in forged:
        done = assemble(context, what, "forged.lapvm", expect=3)
        check(what != text and all(word in done.err for word in words) and done.err.count("\n") == 1 and not (context.folder / "forged.lapvm").exists(),
              f"{words}: {done.text}")
    # What shows only while it runs: a structure behind the memory, a chain in a circle, a function of another registry.
    constants = int(re.search(r"^constants (\d+)$", text, re.MULTILINE)[1])
    for change, word in (((submit[0], re.sub(r"ConstantPointer \d+|VolatilePointer \d+", f"ConstantPointer {constants}", submit[0], count=1)), "no memory"),
                         (("function 0 vkQueueSubmit Nothing Uint64 Uint32 Pointer", "function 0 vkQueueSubmit Nothing Uint64 Uint64 Pointer"), "argument 2"),
                         ((" vkQueueSubmit", " vkQueueSubmitted"), "has no function"),
                         (("label #1 ", "label #99 "), "in front of")):
        changed = text.replace(*change)
        check(changed != text, str(change))
        done = assemble(context, changed, "forged.lapvm", expect=None)
        done = play(context, "forged.lapvm", expect=None) if done.status == 0 else done
        check(done.status == 3 and word in done.err, f"{word}: {done.status} {done.text}")


@case
def hostile_programs_end_with_a_sentence(context: Context) -> None:
    context.run([context.app("descriptors")], context.layer_env())
    compile_trace(context, "out.lapilli", "out.lapvm")
    text = text_of(context, "out.lapvm")
    volatile, resource = (re.search(pattern, text, re.MULTILINE) for pattern in (r"^volatile (\d+)$", r"^resource \w+ (\d+)"))
    labels = [line for line in text.splitlines() if line.startswith("label ")]
    frames = [(line, re.sub(r"^(label \S+) \d+", rf"\1 {len(labels) + i}", line)) for i, line in enumerate(labels[-2:])]
    assert volatile and resource
    room = ("\n" + volatile[0], f"\nvolatile {int(volatile[1]) + (1 << 31)}")

    def calls(function: str, types: str, *pushes: str) -> tuple[tuple[str, str], ...]:
        """Its first call."""
        listed = () if f" {function} " in text else (("\nconstants ", f"\nfunction 0 {function} Nothing {types}\nconstants "),)
        return room, *listed, ("\ncode\n", "\ncode\n  LABEL 0\n" + "".join(f"  {push}\n" for push in (*pushes, f"CALL {function}")))

    array = "PUSH_I VolatilePointer 0"
    # The number of elements is behind a pointer that is null. Structures that a resource replaces while they are looked at. More bytes
    # than a call may have. Then labels, and what would reach a terminal.
    for changes, word in ((calls("vkEnumeratePhysicalDevices", "Uint64 Pointer Pointer Int32", "PUSH_I Uint64 1", "PUSH_I AbsolutePointer 0", array, "PUSH_I Int32 0"), ""),
                          (calls("vkGetCalibratedTimestampsKHR", "Uint64 Uint32 Pointer Pointer Pointer Int32", array, "RESOURCE 0", "PUSH_I Uint64 1",
                                 f"PUSH_I Uint32 {int(resource[1]) // 24}", array, array, array, "PUSH_I Int32 0"), "CALL vkGetCalibratedTimestampsKHR"),
                          (calls("vkCreateShaderModule", "Uint64 Pointer Pointer Int32", "PUSH_I Uint64 23", "EXTEND 0", "STORE_V 24", array, "STORE_V 32",
                                 "PUSH_I Uint64 1", array, array, "PUSH_I Int32 0"), "vkCreateShaderModule) at #1: the parameters of a call take more than 1024 MiB"),
                          ((("  LABEL 5\n", "  LABEL 0\n"),), "label 0"),
                          (frames, "too far"),
                          ((("\ninfo {", "\ninfo {\x1b[31m"),), "control characters"),
                          ((("\ninfo {", "\ninfo {\xc2\x9b31m"),), "control characters"),
                          ((("function 0 vkCreateDevice ", "function 0 vkCreate\x1b[31mDevice "),), "API NAME")):
        changed = text
        for old, new in changes:
            check(old in changed, old)
            changed = changed.replace(old, new, 1)
        done = assemble(context, changed, "forged.lapvm", "--resources", "out.lapvm", expect=None)
        done = play(context, "forged.lapvm", expect=None) if done.status == 0 else done
        check(done.status in ((1, 3) if word else (0,)) and word in done.err and "\x1b" not in done.err, f"{changes[-1]}: {done.status} {done.text}")


@case
def a_name_of_a_program_does_not_reach_the_terminal(context: Context) -> None:
    named = context.folder / "a\x7f\x9b31m"
    shutil.copy(context.app("compute"), named)
    context.run([str(named)], context.layer_env())
    compile_trace(context, "out.lapilli", "out.lapvm")
    info = next(line for line in text_of(context, "out.lapvm").splitlines() if line.startswith("info "))
    check(json.loads(info[5:])["trace"]["program"] == f"{context.folder}/a???31m", info)


@case
def damage_is_named(context: Context) -> None:
    context.run([context.app("compute")], context.layer_env())
    compile_trace(context, "out.lapilli", "out.lapvm")
    good = (context.folder / "out.lapvm").read_bytes()
    for at in range(0, len(good), max(1, len(good) // 60)):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:]):
            (context.folder / "bad.lapvm").write_bytes(bad)
            done = context.run([context.program("lapilli"), "disasm", "bad.lapvm"], expect=None)
            check(done.status == 3 and done.err.startswith("lapilli-disasm: bad.lapvm: ") and done.err.count("\n") == 1, f"{at}: {done.status} {done.err}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    for program in programs(context):
        driver = next((name for name, those in DRIVERS.items() if program.name in those), None)
        result[f"{'plays' if program.name in SAMPLE else 'each'}/{program.name}"] = plays_the_same(program, driver)
        if program.name in ON_SWIFTSHADER:
            result[f"swiftshader/{program.name}"] = plays_the_same(program, "swiftshader")
    return result
