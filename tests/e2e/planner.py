# SPDX-License-Identifier: MIT
"""Where a replay puts objects: how much memory it takes for them, and what the host can't see is written through staging.

The figures are those of `lapilli replay --measure`.
"""

from __future__ import annotations

import json
import pathlib
from typing import Callable

from e2e.cases import SHAPE, VALIDATION, Context, Program, check, check_no_validation_message, check_verified, prepare, programs, \
    validation_layer
from e2e.matrix import EXPECTED, WITHOUT, traces_with_work

# Machines that pad nothing. `hidden`: none of a program's objects lies where the host can map it, so all that the host
# writes goes through staging, and all that is checked is read back.
SHAPES = {
    "plain": "",
    "hidden": "split,crowded=1000000",
    "unlike": "split,one-visible,merged,reverse,garbage,families=behind",
    "coarse": "split,granularity=65536,families=one",
}
BOUND = 1.25

BLACKHOLE = ["triangle-offscreen", "compute", "compute-timeline", "queues"]
VALIDATED = ["alias", "attached", "churn", "compute-timeline", "linear", "rebind", "suballoc", "teardown", "teardown-one-by-one",
             "texels", "threads"]


def replay_measured(context: Context, trace: str, shape: str, *layers: str) -> tuple[object, dict]:
    environment = context.layer_env(*layers, SHAPE, LAPILLI_SHAPE=SHAPES[shape]) if SHAPES[shape] else None
    done = context.replay(trace, "--measure=measure.json", env=environment, expect=0)
    check_verified(done)
    return done, json.loads((context.folder / "measure.json").read_text())


def check_bound(figures: dict, shape: str) -> None:
    for device in figures["devices"]:
        for moment in ("peak", "worst"):
            use = device["memory"][moment]
            check(use["ratio"] <= BOUND, f"{shape}: {moment}: {use}")
            check(use["allocated_bytes"] <= BOUND * use["required_bytes"], f"{shape}: {moment}: {use}")
        check(device["memory"]["most_allocations"] <= device["memory"]["max_allocations"], f"{shape}: {device}")


def bound_in_all_shapes(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        prepare(context, program)
        context.capture(program.command)
        for trace in traces_with_work(context):
            for shape in SHAPES:
                _, figures = replay_measured(context, trace, shape)
                check_bound(figures, shape)
                if shape == "hidden":
                    updates = any(line["name"].startswith("lapilliUpdate") for line in context.print_lines(trace))
                    batches = sum(device["staging"]["batches"] for device in figures["devices"])
                    check(batches > 0 or not updates, f"{trace}: nothing was staged")
    return run


def validate_staging(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        prepare(context, program)
        context.capture(program.command)
        for trace in traces_with_work(context):
            done, _ = replay_measured(context, trace, "hidden", VALIDATION)
            check_no_validation_message(done, "of a replay that stages everything")
    return run


def figures_as_text(context: Context) -> None:
    program = next(p for p in programs(context) if p.name == "triangle-offscreen")
    prepare(context, program)
    context.capture(program.command)
    done = context.replay("out.lapilli", "--measure", expect=0)
    check_verified(done)
    for words in ("frames: ", "CPU ms", "memory on ", "peak", "worst", "fragmentation", "staging"):
        check(words in done.out, f"no word of {words!r}\n{done.out}")
    # The JSON goes to the file and nowhere else, also when it is the next word.
    done = context.replay("out.lapilli", "--measure", "figures.json", expect=0)
    check("memory on" not in done.out, done.out)
    figures = json.loads((context.folder / "figures.json").read_text())
    info = context.info()
    check(figures["frames"]["count"] == info["frames"], f"{figures['frames']} {info['frames']}")
    check(figures["frames"]["cpu_ms"]["p50"] <= figures["frames"]["cpu_ms"]["p99"] <= figures["frames"]["cpu_ms"]["max"],
          str(figures["frames"]))
    check(figures["frames"]["process_cpu_ms"]["max"] > 0, str(figures["frames"]))
    check(figures["frames"]["gpu_ms"]["max"] >= figures["frames"]["gpu_ms"]["p50"] > 0, str(figures["frames"]))
    check(figures["frames"]["submits"]["max"] >= figures["frames"]["submits"]["mean"] >= 1, str(figures["frames"]))
    check(info["frames"] >= 4, f"{info['frames']} frames are too few for what follows")
    for options, count in ((("--frames", f"2-{info['frames'] - 1}"), info["frames"] - 2), (("--frames", "3"), 1),
                           (("--frames", "2-", "--warm-up", "1", "--preload"), info["frames"] - 2),
                           (("--warm-up", "1000000", "--ahead", "0"), 0), (("--last-frame", "2", "--ahead", "1"), 2)):
        context.run([context.program("lapilli-replay"), "--measure=figures.json", "--present", "off", *options, "out.lapilli"])
        found = json.loads((context.folder / "figures.json").read_text())["frames"]
        check(found["count"] == count and ("cpu_ms" in found) == (count > 0), f"{options}: {found}")
    for options in (("--frames", "0-3"), ("--frames", "5-3"), ("--frames", "2-x"), ("--warm-up", "-1"), ("--ahead", "many")):
        context.run([context.program("lapilli-replay"), "--measure", *options, "out.lapilli"], expect=2)
    context.run([context.program("lapilli-replay"), "--frames", "2-3", "out.lapilli"], expect=2)
    context.run([context.program("lapilli-replay"), "--blackhole", "--verify", "out.lapilli"], expect=2)
    done = context.replay("out.lapilli", "--measure=no/such/folder/figures.json", expect=1)
    check("can't be written" in done.err, done.err)
    done = context.replay("no-such.lapilli", "--measure=figures.json", expect=3)
    failed = json.loads((context.folder / "figures.json").read_text())
    check(list(failed) == ["failed"] and done.err.strip().endswith(": " + failed["failed"]), f"{failed}\n{done.err}")


def nothing_submitted(context: Context) -> None:
    """With --blackhole whatever waits for the device goes on, though it does nothing, and nothing is wrong with that."""
    validation_layer(context)
    for name in BLACKHOLE:
        program = next(p for p in programs(context) if p.name == name)
        prepare(context, program)
        context.capture(program.command)
        for trace in traces_with_work(context):
            done = context.run([context.program("lapilli-replay"), "--blackhole", "--measure", trace], context.layer_env(VALIDATION))
            check("frames: " in done.out and "can cause the recorded result" not in done.err, f"{name}: {done.out}\n{done.err}")
            check_no_validation_message(done, f"of {name} with --blackhole")
            pathlib.Path(context.folder / trace).unlink()


def too_little_memory(context: Context) -> None:
    """A machine that has no room says what is needed and what there is."""
    program = next(p for p in programs(context) if p.name == "suballoc")
    prepare(context, program)
    context.capture(program.command)
    done = context.replay("out.lapilli", env=context.layer_env(SHAPE, LAPILLI_SHAPE="crowded=1000000000"), expect=1)
    for words in ("there is no memory for an object of ", "VK_ERROR_OUT_OF_DEVICE_MEMORY", "heap 0 has ", "the replay has "):
        check(words in done.err, f"no word of {words!r}\n{done.err}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    headless = [p for p in programs(context)
                if not p.needs_display and p.name not in WITHOUT and not any((p.name, s) in EXPECTED for s in SHAPES)]
    result = {"measured-figures-are-consistent": figures_as_text, "blackhole-submits-nothing-and-ends-well": nothing_submitted,
              "a-lack-of-memory-is-reported-with-figures": too_little_memory}
    result |= {p.name: bound_in_all_shapes(p) for p in headless}
    result |= {f"validate/{p.name}": validate_staging(p) for p in headless if p.name in VALIDATED}
    return result
