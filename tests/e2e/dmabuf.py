# SPDX-License-Identifier: MIT
"""Memory that is a dma-buf, and images with DRM format modifiers: recorded on tests/layers/dmabuf.c, which stands next to the driver
and has them, and replayed where there are none."""

from __future__ import annotations

from typing import Callable

from e2e.cases import LAYER, OTHER_DRIVERS, Context, Skip, check, check_verified, validation_layer
from e2e.validation import check_above_and_below

DMABUF = "VK_LAYER_LAPILLI_TEST_dmabuf"
RUNS = {"one-device": [], "two-devices": ["--devices"], "camera": ["--camera"]}
TILED = 0x5a00000000000001


def program(context: Context, arguments: list[str]) -> list[str]:
    command = [context.app("dmabuf"), *arguments]
    done = context.run(command, context.layer_env(DMABUF), expect=None)
    if done.status == 77:
        raise Skip(done.text.strip().splitlines()[-1])
    check(done.status == 0, f"without Lapilli the program itself ends with {done.status}:\n{done.text[-2000:]}")
    return command


def record(context: Context, arguments: list[str], verify: str) -> None:
    context.run(program(context, arguments), context.layer_env(LAYER, DMABUF, LAPILLI_VERIFY=verify))
    info = context.info()
    check(info["complete"] is True, f"{info}")
    check(not info["memory_from_outside"] and not info["memory_of_two_devices"], "something was not seen, though all of it can be mapped")


def recorded_and_replayed(arguments: list[str], verify: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        record(context, arguments, verify)
        check_verified(context.replay())
        check_verified(context.replay(env=context.layer_env(DMABUF)))
        if not context.driver_dir and OTHER_DRIVERS["swiftshader"].exists():
            check_verified(context.on("swiftshader").replay())
    return run


def choices_are_recorded(context: Context) -> None:
    """A program leaves the modifier to the driver: the trace says which one it became, and where its planes lie."""
    record(context, [], "1")
    images = [line["args"]["pCreateInfo"] for line in context.print_lines() if line["name"] == "vkCreateImage"]
    explicit = [next(s for s in image["pNext"] if s["sType"].endswith("EXPLICIT_CREATE_INFO_EXT")) for image in images]
    check({int(s["drmFormatModifier"]) for s in explicit} == {0, TILED}, f"{explicit}")
    check(all(s["drmFormatModifierPlaneCount"] == 1 == len(s["pPlaneLayouts"]) for s in explicit), f"{explicit}")


def what_a_camera_writes_is_recorded(context: Context) -> None:
    record(context, ["--camera"], "1")
    names = [line["name"] for line in context.print_lines()]
    check("vkMapMemory" in names, "it maps its own buffers")
    check(any(name.startswith("lapilliUpdateImage") for name in names), "nothing was written into the image")


def tiled_images_are_named(context: Context) -> None:
    """Of images whose layout nobody knows nothing can be read; alone among the process's own devices is it not needed."""
    record(context, [], "1")
    check(not context.info()["images_from_outside"], "both names are this device's")


def validated(context: Context) -> None:
    validation_layer(context)
    check_above_and_below(context, program(context, []), (DMABUF,))


def cases() -> dict[str, Callable[[Context], None]]:
    result = {f"replay/{name}": recorded_and_replayed(arguments, "1") for name, arguments in RUNS.items()}
    result |= {f"replay/{name}-all": recorded_and_replayed(arguments, "all") for name, arguments in RUNS.items()}
    return result | {"the-modifier-that-was-chosen-is-recorded": choices_are_recorded,
                     "what-a-camera-writes-is-recorded": what_a_camera_writes_is_recorded,
                     "images-of-one-device-need-no-note": tiled_images_are_named, "validate": validated}
