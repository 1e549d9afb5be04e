# SPDX-License-Identifier: MIT
"""Acceleration structures: traces on drivers whose structures are larger and lie elsewhere, and what only one driver reads."""

from __future__ import annotations

import re
from typing import Callable

from e2e.cases import ADDRESSES, LAYER, SHAPE, VALIDATION, Context, Program, check, check_no_validation_message, check_verified, prepare

RUNS = ["", "--copy", "--shader", "--pointers"]
SHAPES = {"larger": "structures=3", "unlike": "structures=2,split,one-visible,merged,reverse,garbage,pad=4096,align=65536"}


def program(context: Context, *arguments: str) -> list[str]:
    command = [context.app("rays"), *arguments]
    prepare(context, Program("rays", command, False))
    return command


def in_other_shapes(argument: str) -> Callable[[Context], None]:
    """Sizes are those of the replay device, for structures, compact copies and scratch memory."""
    def run(context: Context) -> None:
        context.capture(program(context, *([argument] if argument else [])))
        for name, shape in SHAPES.items():
            done = context.replay(env=context.layer_env(SHAPE, LAPILLI_SHAPE=shape))
            check_verified(done)
            check("shape" not in done.err, f"{name}:\n{done.err}")
            found = re.search(r"and of (\d+) acceleration structures; translated: (\d+) in memory", done.err)
            check(found is not None and int(found.group(1)) > 0, done.err)
    return run


def where_buffers_stay(context: Context) -> None:
    """Buffers have their recorded addresses, and structures other ones: inside the ranges of buffers, too."""
    command = program(context)
    done = context.run(command, context.layer_env(LAYER, ADDRESSES, LAPILLI_VERIFY="all"))
    check("test layer addresses:" not in done.err, done.text)
    for how in ("", "moved"):
        check_verified(context.replay(env=context.layer_env(ADDRESSES, LAPILLI_TEST_ADDRESSES=how)))


def serialized(context: Context) -> None:
    """One driver's bytes: they are replayed there, and refused elsewhere."""
    context.capture(program(context, "--serialize"))
    check_verified(context.replay())
    other = context.layer_env(ADDRESSES, LAPILLI_TEST_ADDRESSES="driver")
    sentence = "serialized acceleration structures are bytes that only the recorded driver reads"
    check(sentence in context.replay(env=other, expect=5).err, "a replay on another driver says nothing of it")
    check(sentence in context.run([context.program("lapilli"), "check", "out.lapilli"], other, expect=1).out, "check says nothing of it")


def needs_the_feature(context: Context) -> None:
    context.capture(program(context))
    without = context.layer_env(SHAPE, LAPILLI_SHAPE="features=accelerationStructure")
    check("accelerationStructure" in context.replay(env=without, expect=5).err, "it is replayed without the feature")


def validate_replay(context: Context) -> None:
    context.capture(program(context))
    for shape in SHAPES.values():
        check_no_validation_message(context.replay(env=context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE=shape)), f"of a replay ({shape})")


def cases() -> dict[str, Callable[[Context], None]]:
    result = {f"structures-have-other-sizes{run[1:]}": in_other_shapes(run) for run in RUNS}
    return result | {"structures-lie-elsewhere-than-buffers": where_buffers_stay, "serialized-structures-are-one-driver's": serialized,
                     "a-device-without-structures-is-refused": needs_the_feature, "validate-replay": validate_replay}
