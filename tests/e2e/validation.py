# SPDX-License-Identifier: MIT
"""Programs under the validation layer: by themselves, recorded with it above the layer and below, and replayed.

All of tests/apps: what list.txt names, and what unlisted.txt does. What never runs here has its reason there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from e2e.cases import LAYER, OTHER_DRIVERS, TEST_LAYER, VALIDATION, Context, Failure, Program, Skip, check, check_no_validation_message, \
    prepare, programs, validation_layer

# What programs did with good reason until the specification forbade it; validation layers of that time on report it.
FORBIDDEN_SINCE = {"VUID-vkSetEvent-event-09543": "Vulkan 1.3.276"}
NEVER = "never"


@dataclass
class Unlisted:
    """A line of tests/apps/unlisted.txt."""

    program: Program
    below: str  # a test layer, "-" or NEVER
    reason: str


def unlisted(context: Context) -> list[Unlisted]:
    result = []
    for line in (context.root / "tests/apps/unlisted.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, arguments, below, needs_display, reason = line.split("\t")
            label = "-".join([name, *(word.lstrip("-") for word in arguments.split())])
            result.append(Unlisted(Program(label, [context.app(name), *arguments.split()], needs_display == "1"), below, reason))
    return result


def apps_are_listed(context: Context) -> None:
    """Every program is in one of the two lists, each line is of a program, and none in both."""
    apps = {path.stem for path in (context.root / "tests/apps").glob("*.c")}
    listed = [line.split("\t") for line in (context.root / "tests/apps/list.txt").read_text().splitlines()]
    table = unlisted(context)
    runs = [(name, " ".join(arguments).strip()) for name, _, *arguments in listed]
    others = [(Path(entry.program.command[0]).name, " ".join(entry.program.command[1:])) for entry in table]
    named = {name for name, _ in runs + others}
    check(named == apps, f"in no list: {sorted(apps - named)}; no programs: {sorted(named - apps)}")
    twice = [run for run in runs + others if (runs + others).count(run) > 1]
    check(not twice, f"listed twice: {twice}")
    check(all(entry.reason for entry in table), "a line has no reason")
    layers = {path.stem.removeprefix("VkLayer_") for path in (context.root / "tests/layers").glob("VkLayer_*.json")}
    check(all(entry.below in {"-", NEVER, *layers} for entry in table), "a line names no test layer")


def prepare_anywhere(context: Context, program: Program) -> Context:
    """With the loader's driver, or the first other one that can run the program."""
    try:
        prepare(context, program)
        return context
    except Skip:
        for driver in OTHER_DRIVERS.values():
            other = replace(context, driver=driver)
            if driver.exists() and context.driver is None:
                prepare(other, program)
                return other
        raise


def check_above_and_below(context: Context, program: list[str], below: tuple[str, ...] = (), **more: str) -> None:
    """With layers below it that stand for another machine."""
    native = context.run(program, context.layer_env(VALIDATION, *below, **more))
    reported = set(re.findall(r"VUID-[\w-]+", native.text))
    if reported and reported <= FORBIDDEN_SINCE.keys():
        raise Skip(", ".join(f"forbidden since {FORBIDDEN_SINCE[name]}: {name}" for name in sorted(reported)))
    check_no_validation_message(native, "of the program itself, without Lapilli")
    for where, order in (("on top of the layer", (VALIDATION, LAYER)), ("below the layer", (LAYER, VALIDATION))):
        done = context.run(program, context.layer_env(*order, *below, LAPILLI_VERIFY="1", LAPILLI_CAPTURE="1", **more))
        check_no_validation_message(done, where)
    traces = sorted(path.name for path in context.folder.glob("*.lapilli"))
    check(len(traces) >= 2, f"recorded twice: {traces}")
    for trace in traces:
        info = context.info(trace, expect=None)
        if info["frames"] or info["complete"]:
            done = context.run([context.program("lapilli-replay"), "--present", "headless", trace], context.layer_env(VALIDATION, *below, **more),
                               expect=0 if info["complete"] else 4)
            check_no_validation_message(done, "of the replay")


def listed(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context = prepare_anywhere(context, program)
        validation_layer(context)
        check_above_and_below(context, program.command)
    return run


def not_listed(entry: Unlisted) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        if entry.below != "-":  # without it the machine lacks something
            below = TEST_LAYER + entry.below
            check(context.run(entry.program.command, context.layer_env(below)).status == 0, "the program itself")
            check_above_and_below(context, entry.program.command, (below,))
            return
        try:
            context = prepare_anywhere(context, entry.program)
        except Failure as failure:
            if not context.driver_dir:
                raise
            raise Skip(f"{failure}".strip().splitlines()[-1]) from failure  # newer Mesa shares with children what it allocates
        check_above_and_below(context, entry.program.command)
    return run


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = {"apps-are-listed": apps_are_listed}
    result |= {program.name: listed(program) for program in programs(context)}
    result |= {entry.program.name: not_listed(entry) for entry in unlisted(context) if entry.below != NEVER}
    return result
