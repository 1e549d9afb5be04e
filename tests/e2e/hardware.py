# SPDX-License-Identifier: MIT
"""Memory that is an AHardwareBuffer of Android: recorded on tests/layers/hardware.c, which stands next to the driver and for the system's
library, and replayed where there is none."""

from __future__ import annotations

import os
from typing import Callable

from e2e.cases import LAYER, OTHER_DRIVERS, Context, Skip, check, check_verified, validation_layer

HARDWARE = "VK_LAYER_LAPILLI_TEST_hardware"
EXTENSION = "VK_ANDROID_external_memory_android_hardware_buffer"


def system(context: Context) -> dict[str, str]:
    before = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": str(context.build / "tests/layers") + (f":{before}" if before else "")}


def program(context: Context, *arguments: str) -> list[str]:
    command = [context.app("hardware"), *arguments]
    done = context.run(command, context.layer_env(HARDWARE, **system(context)), expect=None)
    if done.status == 77:
        raise Skip(done.text.strip().splitlines()[-1])
    check(done.status == 0, f"without Lapilli the program itself ends with {done.status}:\n{done.text[-2000:]}")
    return command


def record(context: Context, *arguments: str, verify: str = "1", **more: str) -> dict:
    context.run(program(context, *arguments), context.layer_env(LAYER, HARDWARE, LAPILLI_VERIFY=verify, **system(context), **more))
    info = context.info()
    check(info["complete"] is True, f"{info}")
    return info


def recorded_and_replayed(verify: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        info = record(context, verify=verify)
        check(not info["memory_from_outside"] and not info["images_from_outside"] and not info["memory_given_outside"], "all of it can be read")
        check_verified(context.replay())
        if not context.driver_dir and OTHER_DRIVERS["swiftshader"].exists():
            check_verified(context.on("swiftshader").replay())
        for first, last in ((3, 6), (7, 9)) if verify == "1" else ():
            context.run([context.program("lapilli"), "trim", "--quiet", "--frames", f"{first}-{last}", "-o", f"{first}.lapilli", "out.lapilli"])
            check_verified(context.replay(f"{first}.lapilli"))
    return run


def a_part_of_the_run_has_what_the_cpu_wrote_before(context: Context) -> None:
    record(context, LAPILLI_FRAMES="3-6")
    check_verified(context.replay())


def what_nobody_but_devices_may_read_is_said(context: Context) -> None:
    info = record(context, "--closed")
    check(info["memory_from_outside"] is not None, "whoever filled the buffer before: that is not in the trace")
    check_verified(context.replay())


def external_formats_are_refused_by_name(context: Context) -> None:
    answers = {}
    command = program(context, "--external")
    for name, layers in (("alone", (HARDWARE,)), ("recorded", (LAYER, HARDWARE))):
        done = context.run(command, context.layer_env(*layers, **system(context)))
        answers[name] = [line for line in done.out.splitlines() if line.startswith("external")]
    check(answers == {"alone": ["external: 0"] * 2, "recorded": ["external: -1000072003"] * 2}, f"{answers}")
    check(done.err.count("external format 0x7") == 1, done.err)
    check(not [line for line in context.print_lines() if line["name"] == "vkAllocateMemory" and "AndroidHardware" in str(line["args"])], "memory was made of it")


def without_the_system_the_extension_is_hidden(context: Context) -> None:
    program(context)
    done = context.run([context.app("hardware")], context.layer_env(LAYER, HARDWARE), expect=77)
    check(EXTENSION in done.text, done.text)


def validated(context: Context) -> None:
    """The replay. The validation layer of other systems than Android does not know these commands."""
    validation_layer(context)
    record(context)
    check("validate: 0 errors, 0 warnings" in context.replay("out.lapilli", "--validate").text, "messages")


def cases() -> dict[str, Callable[[Context], None]]:
    return {"replay": recorded_and_replayed("1"), "replay-all": recorded_and_replayed("all"), "part": a_part_of_the_run_has_what_the_cpu_wrote_before,
            "closed": what_nobody_but_devices_may_read_is_said, "external-formats": external_formats_are_refused_by_name,
            "hidden-without-the-system": without_the_system_the_extension_is_hidden, "validate": validated}
