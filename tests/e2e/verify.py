# SPDX-License-Identifier: MIT
"""Recordings with capture --verify=all: all programs, with the layer's own copies under the validation layer."""

from __future__ import annotations

import json
import re
from typing import Callable

from e2e.cases import LAYER, VALIDATION, Cases, Context, Program, check, check_no_validation_message, check_verified, programs
from e2e.validation import FORBIDDEN_SINCE, prepare_anywhere

CASES = Cases()
case = CASES.add

# Its threads store to what the device reads meanwhile, and what comes of that is not the same twice.
RACES = {"stores"}


@case
def unread_work_is_checked(context: Context) -> None:
    """Nobody reads what it writes: of that --verify has nothing, --verify=all all, and says what it leaves out."""
    context.capture([context.app("unread")], "plain.lapilli")
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
def what_differs_is_found(context: Context) -> None:
    """Of each kind of check."""
    context.run([context.app("unread")], context.layer_env(LAPILLI_VERIFY="all"))
    for packet, count, sentence in (("lapilliCheckTexels", 7, r"VkImage:1 differs in level 1, layer 0, slice 0, rows 0 to 16"),
                                    ("lapilliCheckBuffer", 2, r"VkBuffer:1 differs in bytes 64 to 576")):
        context.run([str(context.build / "tests/bin/break-check"), "out.lapilli", f"{packet}.lapilli", packet])
        done = context.replay(f"{packet}.lapilli", expect=1)
        check(done.out.splitlines()[-1] == f"verify: 9 checks, {count} different", done.text)
        check(re.search(sentence, done.err) is not None, done.err)


def everything(program: Program) -> Callable[[Context], None]:
    """What every submit wrote is read back, which changes no result and is valid, and a replay finds the same."""
    def run(context: Context) -> None:
        context = prepare_anywhere(context, program)
        validation = (VALIDATION,) if (context.validation_folder / "VkLayer_khronos_validation.json").exists() else ()
        done = context.run(program.command, context.layer_env(LAYER, *validation, LAPILLI_VERIFY="all", LAPILLI_CAPTURE="1"))
        reported = set(re.findall(r"VUID-[\w-]+", done.text))
        if not reported or not reported <= FORBIDDEN_SINCE.keys():
            check_no_validation_message(done, "below the layer")
        for trace in sorted(path.name for path in context.folder.glob("*.lapilli")):
            if not sum(context.info(trace)["checks"].values()):
                continue
            environment = context.layer_env(*validation) if validation else {}
            done = context.replay(trace, env=environment, expect=None if program.name in RACES else 0)
            if not reported:
                check_no_validation_message(done, "of the replay")
    return run


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    result |= {f"all/{program.name}": everything(program) for program in programs(context)}
    return result
