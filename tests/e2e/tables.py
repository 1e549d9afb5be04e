# SPDX-License-Identifier: MIT
"""Shader binding tables on devices whose shader group handles are others, or of another size."""

from __future__ import annotations

import json
import re
from typing import Callable

from e2e.cases import LAYER, SHAPE, Context, Skip, check, check_verified

PROGRAMS = [["raytrace"], ["raypipe"], ["raypipe", "--library"]]
# Records are longer here, or there; what is recorded so is played by the driver as it is.
LONGER = "handles=64,limits=shaderGroupHandleSize:64+shaderGroupHandleAlignment:64"


def record(context: Context, arguments: list[str], file: str, shape: str = "", *more: str) -> None:
    layers = (LAYER, SHAPE) if shape else (LAYER,)
    environment = context.layer_env(*layers, LAPILLI_VERIFY="all", **({"LAPILLI_SHAPE": shape} if shape else {}))
    environment["LAPILLI_FILE"] = file
    done = context.run([context.app(arguments[0]), *arguments[1:], *more], environment, expect=None)
    if done.status == 77:
        raise Skip(done.out.strip())
    check(done.status == 0, done.text)


def copied(err: str) -> int:
    found = re.search(r"binding tables were copied for (\d+) commands", err)
    check(found is not None, f"nothing is said of binding tables:\n{err}")
    return int(found[1])


def other_handles(arguments: list[str]) -> Callable[[Context], None]:
    """Nothing is copied where nothing differs; other handles, and other alignments, are."""
    def run(context: Context) -> None:
        record(context, arguments, "out.lapilli")
        done = context.replay()
        check_verified(done)
        check(copied(done.err) == 0, done.err)
        for shape in ("groups=1", "limits=shaderGroupHandleAlignment:64+shaderGroupBaseAlignment:256", "groups=2,split,crowded=1000000"):
            done = context.replay(env=context.layer_env(SHAPE, LAPILLI_SHAPE=shape))
            check_verified(done)
            check(copied(done.err) > 0, f"{shape}: {done.err}")
    return run


def results(context: Context, trace: str, folder: str) -> tuple[list[bytes], int]:
    """What the device wrote into the first checked buffer, and how many checks differ."""
    context.replay(trace, "--dump-checks", folder, expect=None)
    data = (context.folder / folder / "checks.bin").read_bytes()
    found = [json.loads(line) for line in (context.folder / folder / "checks.ndjson").read_text().splitlines()]
    at, contents = 0, []
    for line in found:
        contents.append((line["object"], data[at:at + line["bytes"]]))
        at += line["bytes"]
    return [content for name, content in contents if name == contents[0][0]], sum(not line["same"] for line in found)


def longer_handles(arguments: list[str]) -> Callable[[Context], None]:
    """The driver does not understand what was recorded, and gives other results then; a replay has the right ones."""
    def run(context: Context) -> None:
        record(context, arguments, "plain.lapilli")
        record(context, arguments, "longer.lapilli", LONGER, "--no-check")
        plain, differences = results(context, "plain.lapilli", "plain")
        check(differences == 0, f"{differences} checks of the plain trace differ")
        longer, differences = results(context, "longer.lapilli", "longer")
        check(differences > 0, "the driver understood handles of another size")
        check(len(plain) > 1 and plain == longer, "handles of another size call other shaders")
    return run


def too_deep(context: Context) -> None:
    record(context, ["raytrace"], "out.lapilli")
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE="limits=maxRayRecursionDepth:0")
    report = json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"], environment, expect=1).out)
    sentence = "rays call rays to a depth of 1, the GPU allows 0"
    check(report["can_replay"] is False and sentence in report["refusal"], str(report))
    check(sentence in context.replay(env=environment, expect=5).err, "the replay says something else")


def cases() -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = {"a-device-that-traces-less-deep-is-refused": too_deep}
    for arguments in PROGRAMS:
        name = "".join(arguments).replace("--", "-")
        result[f"other-handles-{name}"] = other_handles(arguments)
        result[f"longer-handles-{name}"] = longer_handles(arguments)
    return result
