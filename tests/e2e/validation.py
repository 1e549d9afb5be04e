# SPDX-License-Identifier: MIT
"""Programs under the validation layer: by themselves, recorded with it above the layer and below, and replayed.

All of tests/apps: what list.txt names, and what unlisted.txt does. What never runs here has its reason there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from e2e.cases import LAYER, OTHER_DRIVERS, TEST_LAYER, VALIDATION, Context, Done, Failure, Program, Skip, check, check_no_validation_message, \
    prepare, programs, skip_lacking, validation_layer

# What programs did with good reason until the specification forbade it; validation layers of that time on report it.
FORBIDDEN_SINCE = {"VUID-vkSetEvent-event-09543": "Vulkan 1.3.276"}
# What older validation layers report by mistake.
MISTAKEN = {"VUID-VkGraphicsPipelineCreateInfo-renderPass-06054": "libraries without the state of fragment output need no such structure"}
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


def skip_mistaken(done: Done) -> None:
    reported = set(re.findall(r"VUID-[\w-]+", done.text))
    if reported and reported <= MISTAKEN.keys():
        raise Skip(", ".join(f"{name} is mistaken: {MISTAKEN[name]}" for name in sorted(reported)))


def check_above_and_below(context: Context, program: list[str], below: tuple[str, ...] = (), **more: str) -> None:
    """With layers below it that stand for another machine."""
    native = context.run(program, context.layer_env(VALIDATION, *below, **more), expect=None)
    skip_lacking(native)
    check(native.status == 0, f"under the validation layer the program itself ends with {native.status}:\n{native.text[-2000:]}")
    reported = set(re.findall(r"VUID-[\w-]+", native.text))
    if reported and reported <= FORBIDDEN_SINCE.keys():
        raise Skip(", ".join(f"forbidden since {FORBIDDEN_SINCE[name]}: {name}" for name in sorted(reported)))
    skip_mistaken(native)
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
            done = context.run(entry.program.command, context.layer_env(below), expect=None)
            skip_lacking(done)
            check(done.status == 0, f"without Lapilli the program itself ends with {done.status}:\n{done.text[-2000:]}")
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


# ---- lapilli replay --validate ----

FEW = 10  # messages of one VUID that a replay writes


def replay_validating(context: Context, *arguments: str, expect: int, env: dict[str, str] | None = None) -> Done:
    # The manifest of the layer that the run is about: with another one the loader may still find that library.
    env = env or {"VK_LAYER_PATH": str(context.validation_folder)}
    return context.run([context.program("lapilli"), "replay", "--present", "headless", *arguments, "out.lapilli"], env=env, expect=expect)


def record_plain(context: Context, *command: str) -> None:
    context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command])


def numbers_of(context: Context, name: str) -> list[tuple[int, int | None]]:
    """Where the commands of that name stand in the trace: ticket of the packet and number in its block."""
    lines = context.print_lines()
    tickets = {line["index"]: line["ticket"] for line in lines if "ticket" in line}
    return [(tickets[line["index"]], line.get("command")) for line in lines if line["name"] == name]


def messages_are_at_their_commands(driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context = context.on(driver)
        validation_layer(context)
        record_plain(context, context.app("invalid"), "--times", str(FEW + 2))
        lines = [json.loads(line) for line in replay_validating(context, "--validate", "--json", expect=1).out.splitlines()]
        *messages, last = lines
        summary = last["summary"]
        widths = numbers_of(context, "vkCmdSetLineWidth")
        found = [(m["packet"], m["command"]) for m in messages if m["vuid"] == "VUID-vkCmdSetLineWidth-lineWidth-00788"]
        check(len(widths) == FEW + 2 and found == widths[:FEW], f"line widths at {found}, not at {widths}")
        check(all(m["name"] == "vkCmdSetLineWidth" and {"type": "VkCommandBuffer", "index": 1, "name": None} in m["objects"]
                  for m in messages if m["command"] is not None), f"{messages}")
        samplers = [m for m in messages if m["vuid"] == "VUID-VkSamplerCreateInfo-mipLodBias-01069"]
        check([(m["packet"], m["command"], m["name"]) for m in samplers] == [(*numbers_of(context, "vkCreateSampler")[0], "vkCreateSampler")],
              f"{samplers}")
        layouts = [m for m in messages if "VkImage:1" in m["text"]]
        check([(m["packet"], m["name"]) for m in layouts] == [(numbers_of(context, "vkQueueSubmit")[1][0], "vkQueueSubmit")], f"{messages}")
        counts = {entry["vuid"]: entry["count"] for entry in summary["vuids"]}
        check(counts["VUID-vkCmdSetLineWidth-lineWidth-00788"] == FEW + 2 and summary["errors"] == FEW + 4, f"{summary}")
        text = replay_validating(context, "--validate", expect=1)
        packet, command = widths[0]
        check(f"packet {packet}.{command} (vkCmdSetLineWidth): VUID-vkCmdSetLineWidth-lineWidth-00788: " in text.err, text.err[-3000:])
        check(text.out.splitlines()[-1] == f"validate: {FEW + 4} errors, 0 warnings", text.out[-2000:])
    return run


def hazards_are_found_on_request(driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context = context.on(driver)
        validation_layer(context)
        record_plain(context, context.app("invalid"), "--hazard")
        check(replay_validating(context, "--validate", expect=0).out.endswith("validate: 0 errors, 0 warnings\n"), "without sync")
        *messages, _ = [json.loads(line) for line in replay_validating(context, "--validate=sync", "--json", expect=1).out.splitlines()]
        place = numbers_of(context, "vkCmdFillBuffer")[1]
        check([(m["vuid"], m["packet"], m["command"]) for m in messages] == [("SYNC-HAZARD-WRITE-AFTER-WRITE", *place)], f"{messages}")
    return run


def a_valid_trace_has_no_messages(driver: str | None) -> Callable[[Context], None]:
    """Also where shaders are looked at while they run, and under the sandbox in full."""
    def run(context: Context) -> None:
        context = context.on(driver)
        validation_layer(context)
        for name in ("headless", "compute"):
            context.run([context.program("lapilli"), "capture", "--verify", "-o", "out.lapilli", "--", context.app(name)])
            done = replay_validating(context, "--validate=sync", "--verify", "--sandbox=on", expect=0)
            check(done.out.endswith("validate: 0 errors, 0 warnings\n") and " 0 different" in done.out, done.text[-2000:])
            done = replay_validating(context, "--validate=gpu", expect=0)
            check("validate: 0 errors, " in done.out, done.text[-2000:])
            (context.folder / "out.lapilli").unlink()
    return run


def without_the_layer_there_is_a_sentence(context: Context) -> None:
    record_plain(context, context.app("headless"))
    done = replay_validating(context, "--validate", env={"VK_LAYER_PATH": str(context.folder)}, expect=5)
    check(f"the loader finds no {VALIDATION}" in done.err and "validate:" not in done.out, done.text[-2000:])


def replays() -> dict[str, Callable[[Context], None]]:
    result = {"without-the-layer-there-is-a-sentence": without_the_layer_there_is_a_sentence}
    for make in (messages_are_at_their_commands, hazards_are_found_on_request, a_valid_trace_has_no_messages):
        for driver in (None, *OTHER_DRIVERS):
            result["/".join([make.__name__.replace("_", "-"), *([driver] if driver else [])])] = make(driver)
    return result


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = {"every-program-is-in-one-list": apps_are_listed} | replays()
    result |= {program.name: listed(program) for program in programs(context)}
    result |= {entry.program.name: not_listed(entry) for entry in unlisted(context) if entry.below != NEVER}
    return result
