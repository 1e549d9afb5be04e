# SPDX-License-Identifier: MIT
"""Traces on other machines: each program is recorded once, and replayed on tests/layers/shape in several shapes.

The shape stands below the replayer only, next to the driver. Nothing may differ then, but where EXPECTED says why.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Callable

from e2e.cases import LAYER, OTHER_DRIVERS, SHAPE, VALIDATION, Context, Program, Skip, check, check_no_validation_message, check_verified, display, prepare, \
    programs, validation_layer

# A kind of machine, and what the layer is told.
SHAPES = {
    # Optimal images where the host sees nothing, everything larger, at 64 KiB, and rather alone. Other shader group handles.
    "discrete": "split,pad=4096,align=65536,granularity=65536,offsets=256,dedicated,groups=1",
    # One type for the host, types and families in another order, memory that is not zero, longer rows, and longer records of
    # binding tables.
    # X8_D24 stands for D16 and D32, D24_S8 for D32_S8, and A8B8G8R8 for R8G8B8A8.
    "unlike": "split,one-visible,merged,reverse,garbage,pitch=5,families=behind,formats=37+43+124+126+130,"
              "limits=shaderGroupHandleAlignment:64+shaderGroupBaseAlignment:256",
    # Few allocations, of which the driver would rather give one to every object. D32 stands for X8_D24, D32_S8 for
    # D24_S8 and S8, R8G8B8A8 for B8G8R8A8, which windows have, and A2R10G10B10 for A2B10G10R10.
    "cramped": "pad=1024,granularity=1024,allocations=16,dedicated,garbage,families=one,formats=44+50+64+125+127+129",
    # No R5G6B5, for which B5G6R5 stands, no S8, for which D24_S8 does; no BC1 and no BC2, which are decoded: what reads their
    # blocks is refused.
    "formats": "formats=4+127+131+133+135",
    # Vulkan 1.1, with all that came later as extensions.
    "older": "version=1",
}

ALIGNMENT = "(it is aligned differently): device writes through one are not visible through the other"
ROWS = "(its rows lie differently): device writes through one are not visible through the other"
# Program and shape: the exit status, and a sentence. 1: some of it differs, which the replayer has foreseen and said;
# 5: refused. Where buffers are larger than what they are asked to hold, none lies over all of an object's memory. Objects that begin in the middle of others can't do so where everything begins at 64 KiB.
EXPECTED = {
    ("alias", "discrete"): (1, ALIGNMENT),
    ("alias", "unlike"): (1, ROWS),
    ("targets", "unlike"): (1, "VkBuffer:2 holds depths of another format than the recorded one"),
    ("rebind", "discrete"): (1, ALIGNMENT),
    ("hostptr-twice", "discrete"): (1, ALIGNMENT),
    ("fresh", "discrete"): (1, "new objects begin as their memory comes"),
    ("formats", "formats"): (5, "the blocks of an image of VK_FORMAT_BC1_RGBA_UNORM_BLOCK are copied"),
    ("compressed", "formats"): (1, "VK_FORMAT_R8G8B8A8_SRGB substitutes it, into which blocks are decoded"),
    ("compressed-read", "formats"): (5, "the blocks of an image of VK_FORMAT_BC1_RGB_UNORM_BLOCK are copied"),
    ("hostcopy", "formats"): (5, "the device has no optimal images of VK_FORMAT_BC1_RGBA_UNORM_BLOCK with usage 0x400003"),
    ("hostcopy-planes", "formats"): (5, "the device has no optimal images of VK_FORMAT_BC1_RGBA_UNORM_BLOCK with usage 0x400003"),
}

# Pages of sparse objects are as large as the driver says, which the layer can't change.
WITHOUT = {"sparse"}

# Replayed under the validation layer, too, which then knows the limits and types of the shape, and must have nothing to say.
VALIDATED = ["triangle-offscreen", "suballoc", "linear", "formats", "depth", "again", "alias", "compute-timeline", "modern", "descriptors",
             "stencil", "stencil-together"]


# Of these the shapes take formats away that are copied to and from buffers, or drawn to.
CONVERTED = ("formats", "depth", "again", "stencil", "stencil-together")


def traces_with_work(context: Context) -> list[str]:
    result = []
    for trace in sorted(p.name for p in context.folder.glob("*.lapilli")):
        names = {line["name"] for line in context.print_lines(trace)}
        if names & {"vkQueueSubmit", "vkQueueSubmit2"}:
            result.append(trace)
    check(bool(result), "no trace submits work")
    return result


def replay_as(context: Context, trace: str, program: str, shape: str) -> None:
    status, sentence = EXPECTED.get((program, shape), (0, ""))
    done = context.replay(trace, env=context.layer_env(SHAPE, LAPILLI_SHAPE=SHAPES[shape]), expect=None)
    check("shape: LAPILLI_SHAPE" not in done.err, done.err)
    check(done.status == status, f"{shape}: exit status {done.status}, expected {status}\n{done.text[-2000:]}")
    check(sentence in done.err, f"{shape}: no word of {sentence!r}\n{done.text[-2000:]}")
    if status == 0:
        check_verified(done)


def replay_in_all_shapes(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        prepare(context, program)
        context.capture(program.command)
        for trace in traces_with_work(context):
            for shape in SHAPES:
                replay_as(context, trace, program.name, shape)
    return run


def validate(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        prepare(context, program)
        context.capture(program.command)
        for shape in ("discrete", "unlike", "older", *(("cramped",) if program.name in CONVERTED else ())):
            done = context.replay(env=context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE=SHAPES[shape]), expect=None)
            check(done.status == EXPECTED.get((program.name, shape), (0, ""))[0], done.text[-2000:])
            check_no_validation_message(done, f"of the replay as {shape}")
    return run


def shape_is_there(context: Context) -> None:
    """The layer does what it is told: with the impossible it is the layer that stops the replay."""
    program = Program("suballoc", [str(context.build / "tests/apps/suballoc")], False)
    prepare(context, program)
    context.capture(program.command)
    done = context.replay(env=context.layer_env(SHAPE, LAPILLI_SHAPE="allocations=1,pad=100000000"), expect=1)
    check("VK_ERROR_TOO_MANY_OBJECTS" in done.err, done.text[-2000:])
    for split in ("", "split"):
        done = context.run(program.command, context.layer_env(SHAPE, LAPILLI_SHAPE=split))
        check(done.out.endswith("ok suballoc\n"), done.text[-2000:])
    context.capture([str(context.build / "tests/apps/compute"), "--timeline"], "timeline.lapilli")
    context.capture([str(context.build / "tests/apps/modern")], "modern.lapilli")
    for trace, word, name in (("timeline", "features", "timelineSemaphore"), ("modern", "extensions", "VK_EXT_multi_draw")):
        done = context.replay(f"{trace}.lapilli", env=context.layer_env(SHAPE, LAPILLI_SHAPE=f"{word}={name}"), expect=5)
        check(name in done.err, done.text[-2000:])
    done = context.run([context.program("lapilli"), "check", "timeline.lapilli"],
                       context.layer_env(SHAPE, LAPILLI_SHAPE="limits=maxPushConstantsSize:2"), expect=None)
    check("maxPushConstantsSize" in done.out, done.text[-2000:])
    pitches = []
    for shape in ("", "pitch=5"):
        context.run([str(context.build / "tests/apps/linear")],
                    context.layer_env(LAYER, SHAPE, LAPILLI_SHAPE=shape, LAPILLI_FILE=f"linear{len(pitches)}.lapilli"))
        pitches.append([line["args"]["pLayout"]["rowPitch"] for line in context.print_lines(f"linear{len(pitches)}.lapilli")
                        if line["name"] == "vkGetImageSubresourceLayout"])
    check(len(pitches[0]) == len(pitches[1]) and all(b >= a for a, b in zip(*pitches)) and pitches[0] != pitches[1], f"rows: {pitches}")
    done = context.run([str(context.build / "tests/apps/places")], context.layer_env(SHAPE, LAPILLI_SHAPE="no-such-word"), expect=None)
    check('what is "no-such-word"?' in done.err, done.text[-2000:])


def pushed(name: str, arguments: list[str]) -> Callable[[Context], None]:
    """Without VK_KHR_push_descriptor sets of the replay's own stand for what is pushed."""
    def run(context: Context) -> None:
        validation_layer(context)
        program = Program("-".join([name, *arguments]), [context.app(name), *arguments], False)
        prepare(context, program)
        context.capture(program.command)
        environment = context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE="extensions=VK_KHR_push_descriptor")
        done = context.replay("out.lapilli", "--threads", "3", env=environment)
        check_verified(done)
        check_no_validation_message(done, "of the replay")
        report = json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"], environment).out)
        found = [(f["name"], f["outcome"]) for f in report["findings"] if f["area"] == "extension"]
        check(("VK_KHR_push_descriptor", "mapped") in found and report["refusal"] is None, f"{report}")
    return run


def pushed_by_version(context: Context) -> None:
    """Vulkan 1.4's feature alone, on Vulkan 1.3: the extension stands for it, or sets of the replay's own."""
    validation_layer(context)
    program = [context.app("push"), "--core"]
    has_it = context.run(program, expect=None).status == 0
    null = context.build / "tests/null/null_icd.json"  # what is pushed there is not looked at
    source = context if has_it else replace(context, driver=null)
    done = source.capture([*program, *([] if has_it else ["--no-check"])], env={"NULL_NEWEST": "1"}, expect=None)
    if done.status == 77:  # older headers
        raise Skip(done.out.strip())
    check(done.status == 0, done.text[-2000:])
    for lacks in ("", ",extensions=VK_KHR_push_descriptor"):
        environment = context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE=f"version=3{lacks}")
        report = json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"], environment).out)
        mapped = {f["area"] for f in report["findings"] if f["outcome"] == "mapped" and f["area"] in ("extension", "feature")}
        check(mapped == {"feature" if lacks else "extension"} and report["refusal"] is None, f"{report}")
        verify = ["--verify"] if has_it else []
        done = context.run([context.program("lapilli-replay"), "--present", "headless", *verify, "out.lapilli"], environment)
        check_no_validation_message(done, "of the replay")
        if has_it:
            check_verified(done)


def older(context: Context) -> None:
    """Extensions that went into newer versions are enabled where the GPU has no such version, and only those that are used."""
    names = ("VK_KHR_timeline_semaphore", "VK_KHR_synchronization2", "VK_KHR_dynamic_rendering")
    program = str(context.build / "tests/apps/compute")
    for number, driver in enumerate((context.driver, OTHER_DRIVERS["swiftshader"])):
        if number and (context.driver or not driver.exists()):
            continue
        one = replace(context, driver=driver)
        trace = f"timeline{number}.lapilli"
        one.capture([program, "--timeline"], trace)
        for version in (1, 2):
            environment = one.layer_env(SHAPE, LAPILLI_SHAPE=f"version={version}")
            check_verified(one.replay(trace, env=environment))
            report = json.loads(one.run([one.program("lapilli"), "check", "--json", trace], environment).out)
            mapped = [f["name"] for f in report["findings"] if f["area"] == "extension" and f["outcome"] == "mapped"]
            check([n for n in mapped if n in names] == (["VK_KHR_timeline_semaphore"] if version == 1 else []), f"{version}: {mapped}")
        shape = "version=1,extensions=VK_KHR_timeline_semaphore,features=timelineSemaphore"
        done = one.replay(trace, env=one.layer_env(SHAPE, LAPILLI_SHAPE=shape), expect=5)
        check("timelineSemaphore" in done.err, done.text[-2000:])


def windows(context: Context) -> None:
    """The replayer's own swapchains have as many images as the surface wants, and need not have the program's format."""
    display()
    program = next(p for p in programs(context) if p.name == "triangle")
    prepare(context, program)
    context.capture(program.command)
    context.replay("out.lapilli", "--screenshot", "1")
    for images in (2, 5):
        environment = context.layer_env(SHAPE, LAPILLI_SHAPE=f"images={images}")
        done = context.run([context.program("lapilli-replay"), "--verify", "--window-system", "xcb", "out.lapilli"], environment)
        check_verified(done)
    for present in ("window", "headless"):
        environment = context.layer_env(SHAPE, LAPILLI_SHAPE="formats=44+50")
        shots = context.folder / present
        done = context.run([context.program("lapilli-replay"), "--verify", "--present", present, "--screenshot", "1",
                            "--screenshot-dir", str(shots), "out.lapilli"], environment)
        check_verified(done)
        check("substitutes it" in done.err, done.text[-2000:])
        check((shots / "frame_1.png").read_bytes() == (context.folder / "frame_1.png").read_bytes(), "another picture")


def stencil_alone(context: Context) -> None:
    """VK_FORMAT_S8_UINT where a driver lacks it, on each driver with what else that does with such images."""
    validation_layer(context)
    program = str(context.build / "tests/apps/stencil")
    ran = 0
    for number, (driver, option) in enumerate(((context.driver, "--blit"), (OTHER_DRIVERS["swiftshader"], "--resolve"))):
        if number and (context.driver or not driver.exists()):
            continue
        one = replace(context, driver=driver)
        if one.run([program, option], expect=None).status != 0:
            continue
        ran += 1
        trace = f"stencil{number}.lapilli"
        one.capture([program, option], trace)
        environment = one.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE="formats=127")
        done = one.replay(trace, env=environment)
        check_verified(done)
        check_no_validation_message(done, "of the replay")
        check("whose depth is left alone" in done.err, done.err)
        report = json.loads(one.run([one.program("lapilli"), "check", "--json", trace], environment).out)
        mapped = [f["name"] for f in report["findings"] if f["area"] == "format" and f["outcome"] == "mapped"]
        check(mapped == ["VK_FORMAT_S8_UINT"] and report["refusal"] is None, f"{report}")
        environment = one.layer_env(SHAPE, LAPILLI_SHAPE="formats=127+128+129+130")
        done = one.replay(trace, env=environment, expect=5)
        check("the device has no optimal images of VK_FORMAT_S8_UINT" in done.err, done.err)
        report = json.loads(one.run([one.program("lapilli"), "check", "--json", trace], environment, expect=None).out)
        check("VK_FORMAT_S8_UINT" in report["refusal"], f"{report}")
    if not ran:
        raise Skip("no driver here blits or resolves images of stencil alone")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    headless = [p for p in programs(context) if not p.needs_display and p.name not in WITHOUT]
    result = {"shape-is-there": shape_is_there, "window": windows, "older-version": older, "stencil-alone": stencil_alone}
    result["pushed/by-version"] = pushed_by_version
    result |= {f"pushed/{''.join((n, *a))}": pushed(n, a)
               for n, a in (("push", []), ("push", ["--two"]), ("push", ["--early"]), ("modern", []), ("depth", ["--push"]), ("attached", []))}
    result |= {p.name: replay_in_all_shapes(p) for p in headless}
    result |= {f"validate/{p.name}": validate(p) for p in headless if p.name in VALIDATED}
    return result
