# SPDX-License-Identifier: MIT
"""Replays with work left out. Their own recordings show which draws the driver got; the validation layer says nothing."""

from __future__ import annotations

import random
from collections import Counter
from typing import Callable

from e2e.cases import Cases, Context, Done, Program, check, prepare_on, programs, skip_lacking

CASES = Cases()
case = CASES.add

# In few cases: draws in command buffers that are recorded once, in secondary ones, and in render passes with labels.
FIRST = ("triangle-offscreen", "redraws", "nested", "modern")
DRIVERS = {"null": {"bindless", "descbuf", "generated", "generated-preprocess", "hostcopy", "mesh", "nested", "push-two", "rates", "raypipe",
                    "raypipe-deferred", "rays", "shader_objects", "upkeep-six"}}


def work(context: Context, file: str) -> list[tuple[str, ...]]:
    """Position, command and counts of each draw, dispatch and ray trace."""
    out = context.run([context.program("lapilli"), "draws", "--no-header", file]).out
    return [tuple(line.split("\t")[:5]) for line in out.splitlines()]


def play(context: Context, file: str, *arguments: str, **options) -> Done:
    return context.run([context.program("lapilli-replay"), "--quiet", "--present", "headless", *arguments, file], **options)


def played(context: Context, file: str, *arguments: str) -> list[tuple[str, ...]]:
    """What a replay gave to the driver, without positions: those are of the replay's own submits."""
    out = context.folder / "replayed.lapilli"
    out.unlink(missing_ok=True)
    play(context, file, "--sandbox", "off", *arguments, env=context.layer_env(LAPILLI_FILE=out.name))
    return [entry[1:] for entry in work(context, out.name)]


def is_draw(entry: tuple[str, ...]) -> bool:
    return entry[1].startswith("vkCmdDraw")


def only_that_is_left_out(program: Program, driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        skip_lacking(context.run(command, context.layer_env(), expect=None))
        for file in sorted(path.name for path in context.folder.glob("*.lapilli")):
            listed = work(context, file)
            if not listed:
                continue
            plain = played(context, file)
            in_order = plain == [entry[1:] for entry in listed]  # a replay may hold work back, or add some of its own
            validated = driver != "null" and play(context, file, "--validate", expect=None).status == 0
            chosen = set(random.Random(program.name).sample([entry[0] for entry in listed], (len(listed) + 1) // 2))
            draws = [entry[0] for entry in listed if is_draw(entry)]
            first = set(draws[:(len(draws) + 1) // 2])
            selections = [("--skip", ",".join(sorted(chosen)), [e for e in listed if e[0] not in chosen]),
                          ("--at-most-draws", str(len(first)), [e for e in listed if e[0] in first or not is_draw(e)])]
            if chosen & set(draws):
                selections.append(("--only", ",".join(chosen & set(draws)), [e for e in listed if e[0] in chosen or not is_draw(e)]))
            for option, value, left in selections:
                found, expected = played(context, file, option, value), [entry[1:] for entry in left]
                dropped = Counter(entry[1:] for entry in listed) - Counter(expected)
                check(found == expected if in_order else Counter(plain) - Counter(found) == dropped, f"{file} {option} {value}: {found}, not {expected}")
                play(context, file, *(["--validate"] if validated else []), option, value)
    return run


@case
def everything_is_the_whole(context: Context) -> None:
    context.capture([context.app("triangle"), "--offscreen"])
    frames = ",".join(str(i + 1) for i in range(context.info()["frames"]))
    for arguments in (["--only", frames], ["--at-most-draws", "1000"], ["--skip", "1.1.1.1"]):
        done = context.replay("out.lapilli", *arguments, expect=None)
        check(done.status == (1 if "--skip" in arguments else 0), f"{arguments}: {done.text}")


@case
def damage_is_reported_as_without_a_selection(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    whole = (context.folder / "out.lapilli").read_bytes()
    seen = set()
    for at in range(len(whole) // 3, len(whole), len(whole) // 7):
        (context.folder / "damaged.lapilli").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        plain, *found = (play(context, "damaged.lapilli", *arguments, expect=None) for arguments in ([], ["--at-most-draws", "3"], ["--tiny-viewport"]))
        for done in found:
            check((done.status, done.text) == (plain.status, plain.text), f"{at}: {done.text}, not {plain.text}")
        seen.add(plain.status)
    check(seen & {3, 4}, "nothing was damaged")


@case
def what_can_not_be_left_out_is_said(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    listed = work(context, "out.lapilli")
    pass_of = listed[0][0].rpartition(".")[0]
    for option, value, says in (("--skip", f"{pass_of}.0", f"{pass_of}.0 is vkBeginCommandBuffer, which is no draw, dispatch, ray trace or transfer"),
                                ("--only", f"{pass_of}.0", "which is no draw"), ("--skip", f"{pass_of}.99", "has the commands 0 to "),
                                ("--skip", "99999", "the trace has "), ("--only", "1.1.1.1.1.1", "which executes no command buffers"),
                                ("--skip", "#0", "#0 is no submit, and no command buffer that is submitted"), ("--skip", "1,,2", "'' is no position"), ("--at-most-draws", "-1", "wants a number")):
        done = context.run([context.program("lapilli-replay"), "--screenshot", "1", "--screenshot-dir", "shots", option, value, "out.lapilli"], expect=2)
        check(says in done.err, f"{option} {value}: {done.err}")
        check(not list(context.folder.glob("shots/*")), "a picture was written")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    for program in programs(context):
        driver = next((name for name, those in DRIVERS.items() if program.name in those), None)
        result[program.name if program.name in FIRST else f"each/{program.name}"] = only_that_is_left_out(program, driver)
    return result
