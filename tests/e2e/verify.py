# SPDX-License-Identifier: MIT
"""Recordings with capture --verify=all: all programs, with the layer's own copies under the validation layer."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Callable

from e2e.cases import LAYER, VALIDATION, Cases, Context, Program, Skip, check, check_no_validation_message, check_verified, programs, skip_lacking
from e2e.contents import RACES, check_known
from e2e.validation import FORBIDDEN_SINCE, MISTAKEN, prepare_anywhere

CASES = Cases()
case = CASES.add


@case
def unread_work_is_checked(context: Context) -> None:
    """Nobody reads what it writes: of that --verify has nothing, --verify=all all, and says what it leaves out."""
    said = context.capture([context.app("unread")], "plain.lapilli").err
    check("no checks: there was nothing that could be compared; --verify=all compares" in said, said)
    check(sum(context.info("plain.lapilli")["checks"].values()) == 0, "there is something to check")
    said = context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", context.app("unread")]).err
    check("9 checks: 2 of buffers, 7 of images" in said, said)
    info = context.info()
    check(info["checks"] == {"presents": 0, "buffers": 2, "images": 7} and info["verify_all"], f"{info}")
    check(info["unchecked"] == {"contents are undefined": 1, "several samples": 1}, f"{info['unchecked']}")
    check(check_verified(context.replay()) == 9, "the replay compares something else")
    done = context.replay("out.lapilli", "--dump-checks", "checks")
    checked = [json.loads(line) for line in (context.folder / "checks/checks.ndjson").read_text().splitlines()]
    check([(c["at"], c["bytes"]) for c in checked if c["kind"] == "buffer"] == [(64, 512), (768, 128)], done.text)
    texels = [(c["aspect"], c["level"], c["layer"]) for c in checked if c["kind"] == "image"]
    check(texels == [(1, 1, 0), (1, 0, 1), (1, 1, 1), (1, 0, 0), (2, 0, 0), (4, 0, 0), (1, 0, 0)], f"{texels}")
    # Without --verify nothing is compared, and nothing waits.
    context.run([context.program("lapilli-replay"), "--present", "headless", "out.lapilli"])


@case
def buffers_with_their_usage_in_the_chain_are_checked(context: Context) -> None:
    """VkBufferUsageFlags2CreateInfo takes the place of the member: the null driver has it."""
    context = replace(context, driver=context.build / "tests/null/null_icd.json")
    done = context.run([context.app("upkeep"), "--no-check", "--five"], context.layer_env(LAYER, LAPILLI_VERIFY="all", LAPILLI_FILE="out.lapilli"), expect=None)
    skip_lacking(done)
    lines = context.print_lines()
    filled = {line["args"]["dstBuffer"] for line in lines if line["name"] == "vkCmdFillBuffer" and line["args"]["data"] == 0x2468ace0}
    checked = {line["args"]["buffer"] for line in lines if line["name"] == "lapilliCheckBuffer"}
    check(len(filled) == 2 and filled <= checked, f"{filled} of {checked}")
    check_verified(context.replay())


@case
def stores_through_a_binding_that_a_push_ran_on_into_are_known(context: Context) -> None:
    skip_lacking(context.run([context.app("push"), "--stores"], expect=None))
    context.capture([context.app("push"), "--stores"])
    check(check_verified(context.replay()) == 1, "the store is not checked")
    drawn = context.run([context.program("lapilli"), "draws", "--no-header", "out.lapilli"]).out.split("\t")[0]
    said = context.run([context.program("lapilli"), "memory", "--parts", "--at", drawn, "out.lapilli", "VkBuffer:2"]).out
    check(f"computed by {drawn} vkCmdDispatch" in said, said)


@case
def what_the_layer_did_not_see_is_said_beside_a_difference(context: Context) -> None:
    context.capture([context.app("payload")])
    unseen = context.info()["memory_of_two_devices"]
    check(unseen, "the program's devices share no memory")
    context.run([str(context.build / "tests/bin/break-check"), "out.lapilli", "broken.lapilli", "lapilliCheckBuffer"])
    said = context.replay("broken.lapilli", expect=1).err
    check(0 <= said.find(unseen) < said.find(" differs in bytes"), said)
    check(unseen not in context.replay().err, "nothing differs, yet it is said")


@case
def stores_through_addresses_into_mapped_memory_are_checked(context: Context) -> None:
    """The host stores in the same buffer meanwhile, or has it mapped only afterwards."""
    for verify in ("1", "all"):
        context.run([context.app("address")], context.layer_env(LAPILLI_VERIFY=verify))
        lines = context.print_lines()
        stores = [line["args"] for line in lines if line["name"] == "lapilliCheckStores"]
        mapped_later = sum((line["name"], after["name"]) == ("lapilliCheckStores", "vkMapMemory") for line, after in zip(lines, lines[1:]))
        check(len(stores) > 2 * mapped_later > 0, f"{len(stores)} checks, {mapped_later} of them before a map")
        check(not context.info()["unchecked"], f"{context.info()}")
        count = check_verified(context.replay())
        context.run([str(context.build / "tests/bin/break-check"), "out.lapilli", f"broken-{verify}.lapilli", "lapilliCheckStores"])
        done = context.replay(f"broken-{verify}.lapilli", expect=1)
        ends_with_the_devices = [one for one in stores if one["offset"] + one["dataSize"] <= 16]
        check(done.out.splitlines()[-1] == f"verify: {count} checks, {len(ends_with_the_devices)} different", done.text)
        check(re.search(r"VkBuffer:\d+ differs from byte \d+ on, which shaders store to through an address", done.err) is not None, done.err)


@case
def what_differs_is_found(context: Context) -> None:
    """Of each kind of check."""
    context.run([context.app("unread")], context.layer_env(LAPILLI_VERIFY="all"))
    for packet, count, sentence in (("lapilliCheckTexels", 7, r"VkImage:1 differs in level 1, layer 0, slice 0, rows 0 to 16"),
                                    ("lapilliCheckBuffer", 2, r"VkBuffer:1 differs in bytes 64 to 576")):
        context.run([str(context.build / "tests/bin/break-check"), "out.lapilli", f"{packet}.lapilli", packet])
        done = context.replay(f"{packet}.lapilli", expect=1)
        check(done.out.splitlines()[-1] == f"verify: 9 checks, {count} different", done.text)
        check(re.search(sentence, done.err) is not None, done.err)


@case
def tolerance_counts_what_is_near(context: Context) -> None:
    """SwiftShader rounds depths otherwise than lavapipe. Without bytes in the trace nothing is near."""
    other = context.on("swiftshader")
    capture = [context.program("lapilli"), "capture", "--verify=all", "-q"]
    context.run([*capture, "--keep-bytes", "-o", "out.lapilli", "--", context.app("depth")])
    context.run([*capture, "-o", "hashes.lapilli", "--", context.app("depth")])
    check(context.replay("out.lapilli", "--tolerance", "0").out.endswith(" 0 within, 0 different\n"), "on the same driver")
    plain = re.fullmatch(r"verify: (\d+) checks, (\d+) different", other.replay(expect=None).out.splitlines()[-1])
    if plain is None or plain.group(2) == "0":
        raise Skip("both drivers round alike")
    checks, different = plain.groups()
    done = other.replay("out.lapilli", "--tolerance", "1")
    check(done.out.splitlines()[-1] == f"verify: {checks} checks, {different} within, 0 different", done.text)
    done = other.replay("out.lapilli", "--tolerance", "0", expect=1)
    check(done.out.splitlines()[-1] == f"verify: {checks} checks, 0 within, {different} different", done.text)
    done = other.replay("hashes.lapilli", "--tolerance", "1", expect=1)
    check("--tolerance does nothing (capture --keep-bytes)" in done.err, done.text)
    done = context.run([context.program("lapilli-replay"), "--tolerance", "1", "out.lapilli"], expect=2)
    check("--tolerance is for --verify" in done.err, done.text)


@case
def checks_of_what_the_host_copied_are_counted(context: Context) -> None:
    """By each tool as the replay counts them, and as `capture` says at the end."""
    context = context.on("swiftshader")
    capture = context.run([context.program("lapilli"), "capture", "--verify", "-o", "out.lapilli", "--", context.app("hostcopy")], expect=None)
    skip_lacking(capture)
    checks, counts = check_verified(context.replay()), context.info()["checks"]
    regions = sum(line["name"] == "lapilliCheckRegion" for line in context.print_lines())
    check(regions > 10 and sum(counts.values()) == checks and counts["images"] >= regions, f"{checks} checks, {counts}, {regions} of regions")
    check(f"{checks} checks: {counts['buffers']} of buffers, {counts['images']} of images" in capture.err, capture.err)
    context.run([str(context.build / "tests/bin/break-check"), "out.lapilli", "other.lapilli", "lapilliCheckRegion"])
    done = context.run([context.program("lapilli"), "compare-checks", "out.lapilli", "other.lapilli"])
    check(f"{checks} checks, {regions} different" in done.err, done.err)


@case
def checks_that_differ_can_be_left_out(context: Context) -> None:
    """Two traces of one program, of which one has other hashes."""
    context.run([context.app("unread")], context.layer_env(LAPILLI_VERIFY="all"))
    context.run([str(context.build / "tests/bin/break-check"), "out.lapilli", "other.lapilli", "lapilliCheckTexels"])
    compare = [context.program("lapilli"), "compare-checks"]
    done = context.run([*compare, "out.lapilli", "out.lapilli"])
    check(done.out == "" and "9 checks, 0 different" in done.err, done.text)
    done = context.run([*compare, "out.lapilli", "other.lapilli"])
    check(len(done.out.splitlines()) == 7 and "VkImage:1 3\n" in done.out and "9 checks, 7 different" in done.err, done.text)
    (context.folder / "some").write_text(done.out)
    check(check_verified(context.replay("other.lapilli", "--ignore-checks", "some")) == 2, "the rest is compared")
    (context.folder / "some").write_text("VkImage:1 *  # clears\n")
    done = context.replay("other.lapilli", "--ignore-checks", "some", expect=1)
    check(done.out.splitlines()[-1] == "verify: 6 checks, 4 different" and "3 checks were left out" in done.err, done.text)
    (context.folder / "some").write_text("VkImage:1\n")
    done = context.replay("other.lapilli", "--ignore-checks", "some", expect=2)
    check("some, line 1: this is not an object and the number of a check" in done.err and not done.out, done.text)
    context.replay("other.lapilli", "--ignore-checks", "none", expect=2)
    context.run([context.app("texels")], context.layer_env(LAPILLI_VERIFY="1", LAPILLI_FILE="texels.lapilli"))
    done = context.run([*compare, "out.lapilli", "texels.lapilli"], expect=1)
    check("have not the same checks" in done.err and not done.out, done.text)


@case
def results_of_queries_are_checked_where_they_are_the_same(context: Context) -> None:
    """What is copied with waiting, of precise counts: not times, statistics, or what may not be there yet."""
    context.capture([context.app("counts")])
    context.replay("out.lapilli", "--dump-checks", "checks")
    checked = [json.loads(line) for line in (context.folder / "checks/checks.ndjson").read_text().splitlines()]
    check([(c["object"], c["at"], c["bytes"]) for c in checked] == [("VkBuffer:1", 64, 48)], f"{checked}")


@case
def contents_that_an_alias_has_overwritten_are_not_checked(context: Context) -> None:
    """Images and buffers over the same bytes, in one submit: images lose theirs to whatever is written later, buffers to images alone."""
    context.run([context.app("alias"), "--turns", "--frames", "2"], context.layer_env(LAPILLI_VERIFY="all"))
    info = context.info()
    checked = [next(value for name, value in line["args"].items() if name in ("image", "buffer"))
               for line in context.print_lines() if line["name"] in ("lapilliCheckTexels", "lapilliCheckBuffer")]
    own = [name for name in checked if name in ("VkImage:1", "VkImage:2", "VkBuffer:1", "VkBuffer:2")]
    check(own == ["VkBuffer:1", "VkBuffer:2", "VkImage:2"] and len(checked) == 5, f"{checked}")  # and what is read of them, twice
    check(info["unchecked"] == {"shares memory": 4}, f"{info['unchecked']}")
    check_verified(context.replay())


@case
def transform_feedback_is_checked(context: Context) -> None:
    context.run([context.app("feedback")], context.layer_env(LAPILLI_VERIFY="1"))
    if not context.info()["frames"]:
        raise Skip("there is no transform feedback")
    context.replay("out.lapilli", "--dump-checks", "checks")
    checked = [json.loads(line) for line in (context.folder / "checks/checks.ndjson").read_text().splitlines()]
    one_frame = [("VkBuffer:1", 64, 256), ("VkBuffer:2", 16, 4), ("VkBuffer:3", 0, 16)]  # captured, counter, query
    check([(c["object"], c["at"], c["bytes"]) for c in checked] == 3 * one_frame, f"{checked}")


def everything(program: Program) -> Callable[[Context], None]:
    """What every submit wrote is read back, which changes no result and is valid, and a replay finds the same."""
    def run(context: Context) -> None:
        context = prepare_anywhere(context, program)
        validation = (VALIDATION,) if (context.validation_folder / "VkLayer_khronos_validation.json").exists() else ()
        done = context.run(program.command, context.layer_env(LAYER, *validation, LAPILLI_VERIFY="all", LAPILLI_CAPTURE="1"), expect=None)
        skip_lacking(done)
        check(done.status == 0, f"recorded, it ends with {done.status}:\n{done.text[-2000:]}")
        reported = set(re.findall(r"VUID-[\w-]+", done.text))
        if not reported <= FORBIDDEN_SINCE.keys() | MISTAKEN.keys():
            check_no_validation_message(done, "below the layer")
        for trace in sorted(path.name for path in context.folder.glob("*.lapilli")):
            if not sum(context.info(trace)["checks"].values()):
                continue
            # What is mistaken about a program may also fall over its replay.
            environment = context.layer_env(*validation) if validation and not reported & MISTAKEN.keys() else {}
            done = context.replay(trace, env=environment, expect=None if program.name in RACES else 0)
            if not reported:
                check_no_validation_message(done, "of the replay")
            check_known(context, trace, program.name)
    return run


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    result |= {f"all/{program.name}": everything(program) for program in programs(context)}
    return result
