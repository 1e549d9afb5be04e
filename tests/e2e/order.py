# SPDX-License-Identifier: MIT
"""Other layers above and below ours, explicit and implicit ones, and what switches an implicit layer on and off.

Each stack is looked at before it is believed: the loader says what it made of the order (VK_LOADER_DEBUG=layer).
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Callable

from e2e.cases import LAYER, VALIDATION, Cases, Context, Skip, check, check_no_validation_message, check_verified, display
from e2e.loader import implicit_folder

OVERLAY = "VK_LAYER_MESA_overlay"
RECORDER = "VK_LAYER_LUNARG_gfxreconstruct"
SELECT = "VK_LAYER_MESA_device_select"
PACKAGES = {OVERLAY: "mesa-vulkan-drivers", RECORDER: "gfxreconstruct", VALIDATION: "vulkan-validationlayers"}

CASES = Cases()
case = CASES.add


def cases() -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    for name in PACKAGES:
        short = name.rpartition("_")[2]
        result[f"{short}-above"] = beside((name, LAYER))
        result[f"{short}-below"] = beside((LAYER, name))
    return result


def is_installed(context: Context, name: str) -> bool:
    return any(json.loads(file.read_text())["layer"]["name"] == name for file in context.validation_folder.glob("*.json")
               if '"layer"' in file.read_text())


def needs(context: Context, *names: str) -> None:
    for name in names:
        if not is_installed(context, name):
            raise Skip(f"{name} is not installed (Debian package {PACKAGES[name]})")


def check_stack(text: str, order: tuple[str, ...], call: str = "vkCreateDevice") -> None:
    """The last stack that the loader made has these layers in this order, and our layer once."""
    check(f"{call} layer callstack" in text, f"the loader does not say what its layers are:\n{text[-2000:]}")
    stack = text[text.rindex(f"{call} layer callstack"):]
    stack = re.split("<Drivers>|<Device>", stack)[0]
    found = [name for name in re.findall(r"VK_LAYER_\w+", stack) if name in order]
    check(found == list(order), f"{order} were asked for:\n{stack}")


def record(context: Context, command: list[str], env: dict[str, str], order: tuple[str, ...], call: str = "vkCreateDevice") -> None:
    done = context.run(command, {**env, "LAPILLI_VERIFY": "1", "VK_LOADER_DEBUG": "layer"})
    check_stack(done.text, order, call)
    check_no_validation_message(done, f"of {order}")
    said = [line for line in done.text.splitlines() if re.match("lapilli|.*lapilli.*(warning|error):", line)]
    check(not said, "\n".join(said))


def replay(context: Context, trace: str) -> int:
    """Played silently, under the validation layer where there is one."""
    env = context.layer_env(VALIDATION) if is_installed(context, VALIDATION) else {}
    done = context.replay(trace, env=env)
    check_no_validation_message(done, f"of the replay of {trace}")
    check("warning" not in done.err, done.err)
    return check_verified(done)


def programs(context: Context) -> dict[str, list[str]]:
    """One that shows images, in whose present the overlay draws, and one that does not. (Not compute: page guards of gfxreconstruct
    0.9.18 lose what it reads back, with and without us.)"""
    return {"offscreen": [context.app("triangle"), "--offscreen"], "vkcube": [*context.installed("vkcube"), "--c", "20"]}


def beside(order: tuple[str, ...]) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        needs(context, *(name for name in order if name != LAYER))
        display()
        for program, command in programs(context).items():
            trace, other = f"{program}.lapilli", f"{program}.gfxr"
            record(context, command, context.layer_env(*order, LAPILLI_FILE=trace, GFXRECON_CAPTURE_FILE=other,
                                                       GFXRECON_CAPTURE_FILE_TIMESTAMP="false"), order)
            check(replay(context, trace) >= (20 if program == "vkcube" else 1), "not every image was checked")
        if RECORDER in order and shutil.which("gfxrecon-replay"):
            # A recorder above ours records the memory types that we show; one below records the driver's.
            options = ["-m", "rebind"] if order[0] == RECORDER else []
            done = context.run(["gfxrecon-replay", *options, "vkcube.gfxr"])
            check("20 frames" in done.text and "FATAL" not in done.text, done.text[-2000:])
    return run


@case
def a_recorder_above_real_memory_types_replays_without_translation(context: Context) -> None:
    """LAPILLI_MEMORY_TYPES=real: what another recorder writes above ours fits the driver without any translation."""
    needs(context, RECORDER)
    display()
    if not shutil.which("gfxrecon-replay"):
        raise Skip("gfxrecon-replay is not installed")
    order = (RECORDER, LAYER)
    record(context, programs(context)["vkcube"], context.layer_env(*order, LAPILLI_MEMORY_TYPES="real", GFXRECON_CAPTURE_FILE="out.gfxr",
                                                                   GFXRECON_CAPTURE_FILE_TIMESTAMP="false"), order)
    replay(context, "out.lapilli")
    done = context.run(["gfxrecon-replay", "out.gfxr"])
    check("20 frames" in done.text and "FATAL" not in done.text, done.text[-2000:])


@case
def all_layers_at_once_record(context: Context) -> None:
    """The others' own order is the loader's affair: with old ones, the folder's."""
    others = [name for name in PACKAGES if is_installed(context, name)]
    if len(others) < 2:
        raise Skip(f"of {', '.join(PACKAGES)} there are less than two")
    display()
    for where in ("above", "below"):
        names = (*others, LAYER) if where == "above" else (LAYER, *others)
        env = context.layer_env(*names, LAPILLI_FILE=f"{where}.lapilli", LAPILLI_VERIFY="1", VK_LOADER_DEBUG="layer",
                                GFXRECON_CAPTURE_FILE=f"{where}.gfxr")
        done = context.run(programs(context)["vkcube"], env)
        for name in others:
            check_stack(done.text, (name, LAYER) if where == "above" else (LAYER, name))
        replay(context, f"{where}.lapilli")


@case
def implicit_layers_may_be_above_and_below(context: Context) -> None:
    """Mesa's device_select is loaded into every program: in front of ours or behind it, as the folders are searched."""
    if context.driver_dir or not Path("/usr/share/vulkan/implicit_layer.d/VkLayer_MESA_device_select.json").exists():
        raise Skip(f"{SELECT} is not where the loader looks (Debian package mesa-vulkan-drivers)")
    ours = implicit_folder(context, "data")
    places = {"above": {"XDG_DATA_DIRS": f"{ours}:/usr/share"}, "below": {"XDG_DATA_DIRS": f"/usr/share:{ours}"},
              "explicit": context.layer_env()}
    orders = {"above": (LAYER, SELECT), "below": (SELECT, LAYER), "explicit": (SELECT, LAYER)}
    for where, places_here in places.items():
        trace = f"{where}.lapilli"
        record(context, [context.app("compute")], {**places_here, "LAPILLI_CAPTURE": "1", "LAPILLI_FILE": trace}, orders[where], "vkCreateInstance")
        replay(context, trace)
    # Theirs switched off, ours is none the worse.
    context.run([context.app("compute")], {**places["above"], "LAPILLI_CAPTURE": "1", "LAPILLI_FILE": "alone.lapilli", "LAPILLI_VERIFY": "1",
                                           "NODEVICE_SELECT": "1"})
    replay(context, "alone.lapilli")


@case
def switches_of_the_implicit_layer_decide_as_documented(context: Context) -> None:
    """What the loader's rules and our own say to each way of asking: the last column."""
    home = {"XDG_DATA_HOME": str(implicit_folder(context, "data"))}
    filters_known = loader_has_filters(context, home)
    table = [
        ({}, False),
        ({"LAPILLI_CAPTURE": "1"}, True),
        ({"LAPILLI_CAPTURE": "0"}, False),
        ({"LAPILLI_CAPTURE": "yes"}, False),
        ({"LAPILLI_CAPTURE": ""}, False),
        ({"LAPILLI_CAPTURE": "1", "DISABLE_LAPILLI_CAPTURE": "1"}, False),
        ({"LAPILLI_CAPTURE": "1", "DISABLE_LAPILLI_CAPTURE": "anything"}, False),
        # Named as well: whether that alone would load an implicit layer is the loader's affair.
        ({"VK_INSTANCE_LAYERS": LAYER, "LAPILLI_CAPTURE": "0"}, False),
        ({"VK_INSTANCE_LAYERS": LAYER, "LAPILLI_CAPTURE": "1"}, True),
    ]
    if filters_known:
        table += [
            ({"LAPILLI_CAPTURE": "1", "VK_LOADER_LAYERS_DISABLE": "~implicit~"}, False),
            ({"LAPILLI_CAPTURE": "1", "VK_LOADER_LAYERS_DISABLE": "~all~"}, False),
            ({"LAPILLI_CAPTURE": "1", "VK_LOADER_LAYERS_DISABLE": "*LAPILLI*"}, False),
            ({"LAPILLI_CAPTURE": "1", "VK_LOADER_LAYERS_DISABLE": "~explicit~"}, True),
            ({"LAPILLI_CAPTURE": "1", "VK_LOADER_LAYERS_ENABLE": LAYER}, True),
            # Who names it asks for a recording.
            ({"VK_LOADER_LAYERS_ENABLE": LAYER}, True),
            ({"LAPILLI_CAPTURE": "0", "VK_LOADER_LAYERS_ENABLE": LAYER}, False),
        ]
    for number, (env, recorded) in enumerate(table):
        trace = f"{number}.lapilli"
        done = context.run([context.app("headless")], {**home, **env, "LAPILLI_FILE": trace, "LAPILLI_VERIFY": "1"})
        check("ok headless" in done.out, f"{env}: {done.text}")
        check((context.folder / trace).exists() == recorded, f"{env}: {'no trace' if recorded else 'a trace'} was written")
        if recorded:
            lines = context.print_lines(trace)
            check(sum(line["name"] == "vkCreateInstance" for line in lines) == 1, f"{env}: the layer is not there exactly once")
    check(len(list(context.folder.glob("*.lapilli"))) == sum(recorded for _, recorded in table), "more traces than were asked for")


def loader_has_filters(context: Context, home: dict[str, str]) -> bool:
    """Since 1.3.234: VK_LOADER_LAYERS_DISABLE."""
    done = context.run([context.app("headless")], {**home, "VK_LOADER_LAYERS_DISABLE": "~implicit~", "VK_LOADER_DEBUG": "all"})
    return "VK_LOADER_LAYERS_DISABLE" in done.text
