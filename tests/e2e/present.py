# SPDX-License-Identifier: MIT
"""Windows of every kind: what was recorded on one window system is replayed on all others, and on none.

X11 is the display that the tests run under, Wayland a headless Weston of the case's own. Headless surfaces
(VK_EXT_headless_surface) are tested where the driver has them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import Callable, Iterator

from e2e.cases import LAYER, SHAPE, VALIDATION, Cases, Context, Failure, Skip, check, check_no_validation_message, check_verified, patience, display, \
    validation_layer
from e2e.loader import windows_env

CASES = Cases()
case = CASES.add

KINDS = ("xcb", "xlib", "wayland", "headless")  # of programs
TARGETS = {"xcb": ["--window-system", "xcb"], "wayland": ["--window-system", "wayland"],
           "headless-surface": ["--window-system", "headless-surface"], "headless": ["--present", "headless"], "off": ["--present", "off"]}


def wait_for(what: Callable[[], bool], process: subprocess.Popen, sentence: str) -> None:
    end = time.monotonic() + patience(60)
    while time.monotonic() < end:
        if what():
            return
        if process.poll() is not None:
            raise Failure(f"{sentence}: the process ended with {process.returncode}")
        time.sleep(0.05)
    raise Failure(f"{sentence}: not within a minute")


@contextmanager
def weston(context: Context, shell: str = "desktop-shell.so") -> Iterator[tuple[dict[str, str], subprocess.Popen]]:
    """A compositor; its environment for clients, and its process."""
    if not shutil.which("weston"):
        raise Skip("weston is not installed")
    folder = context.folder / "run"
    folder.mkdir(mode=0o700, exist_ok=True)
    environment = context.environment({"XDG_RUNTIME_DIR": str(folder)})
    with (context.folder / "weston.log").open("w") as log:
        process = subprocess.Popen(["weston", "--backend=headless-backend.so", "--socket=wl", "--idle-time=0", "--no-config",
                                    f"--shell={shell}", "--width=400", "--height=300"],
                                   cwd=context.folder, env=environment, stdout=log, stderr=log)
    try:
        wait_for((folder / "wl").is_socket, process, "weston does not start")
        yield {"XDG_RUNTIME_DIR": str(folder), "WAYLAND_DISPLAY": "wl"}, process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


def extensions(context: Context, trace: str) -> set[str]:
    create = next(line for line in context.print_lines(trace) if line["name"] == "vkCreateInstance")
    return set(create["args"]["pCreateInfo"]["ppEnabledExtensionNames"])


def images(context: Context, trace: str) -> list[int]:
    """Which images the program got, in order."""
    return [line["args"]["pImageIndex"] for line in context.print_lines(trace) if line["name"].startswith("vkAcquireNextImage")]


def targets(context: Context, trace: str, environment: dict[str, str]) -> list[str]:
    """Those that the driver has; what the replayer says of others is checked."""
    result = list(TARGETS)
    done = context.run([context.program("lapilli-replay"), "--last-frame", "1", *TARGETS["headless-surface"], trace], environment, expect=None)
    if done.status != 0:
        check(done.status == 5 and "no VK_EXT_headless_surface" in done.err, done.text)
        result.remove("headless-surface")
    return result


def replay_everywhere(context: Context, trace: str, environment: dict[str, str]) -> None:
    counts = set()
    for target in targets(context, trace, environment):
        done = context.run([context.program("lapilli-replay"), "--verify", *TARGETS[target], trace], environment, expect=None)
        check(done.status == 0, f"{trace} on {target}: exit status {done.status}\n{done.text[-2000:]}")
        counts.add(check_verified(done))
    check(len(counts) == 1, f"{trace}: not as many checks everywhere: {counts}")


def across(name: str, driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        display()
        context = context.on(driver)
        recorded, skips = [], []
        with weston(context) as (environment, _):
            for kind in KINDS:
                command, trace = [context.app(name), "--window", kind], f"{kind}.lapilli"
                done = context.run(command, environment, expect=None)
                if done.status == 77:
                    skips.append(done.text.strip())
                    continue
                check(done.status == 0, f"{kind}: the program itself: {done.text[-2000:]}")
                context.capture(command, trace, env=environment)
                check(f"VK_{'EXT' if kind == 'headless' else 'KHR'}_{kind}_surface" in extensions(context, trace), f"{kind}: {extensions(context, trace)}")
                check(bool(images(context, trace)), f"{kind}: nothing was acquired")
                replay_everywhere(context, trace, environment)
                recorded.append(kind)
        if not recorded:
            raise Skip("; ".join(skips))
    return run


@case
def vkcube_is_shown_on_every_window_system(context: Context) -> None:
    display()
    recorded = []
    with weston(context) as (environment, _):
        for name in ("vkcube", "vkcube-wayland"):
            if not shutil.which(name):
                continue
            context.capture([*context.installed(name), "--c", "40"], f"{name}.lapilli", env=environment)
            check(context.info(f"{name}.lapilli")["frames"] == 40, f"{name}: not 40 frames")
            replay_everywhere(context, f"{name}.lapilli", environment)
            recorded.append(name)
    if not recorded:
        raise Skip("vkcube is not installed")


@case
def the_display_that_answers_is_taken(context: Context) -> None:
    """A Wayland compositor before an X display, and nothing where neither is; a display that is named must answer."""
    display()
    context.capture([context.app("triangle")])
    command = [context.program("lapilli-replay"), "--verify", "out.lapilli"]
    check_command = [context.program("lapilli"), "check", "--json", "out.lapilli"]

    def shown(environment: dict[str, str], *arguments: str) -> list[str]:
        report = json.loads(context.run([*check_command, *arguments], environment, expect=None).out)
        return [finding["text"] for finding in report["findings"] if finding["area"] == "presentation"]

    with weston(context) as (environment, process):
        done = context.run(command, {**environment, "WAYLAND_DEBUG": "1"})
        check_verified(done)
        check("xdg_toplevel" in done.err, "no Wayland window was opened")
        check(shown(environment) == [], f"{shown(environment)}")
        done = context.run(command, {"WAYLAND_DEBUG": "1"})
        check_verified(done)
        check("xdg_toplevel" not in done.err, "a Wayland window was opened")
        # A compositor that hangs, and none: the X display answers. Mesa's layer that sorts GPUs would wait without an end.
        process.send_signal(signal.SIGSTOP)
        done = context.run(command, {**environment, "NODEVICE_SELECT": "1"})
        check_verified(done)
        check("no window shows frames" not in done.err, done.err)
        process.kill()
        process.wait()
        check_verified(context.run(command, environment))
        done = context.run([*command, "--window-system", "wayland"], environment, expect=5)
        check("no Wayland compositor answers (WAYLAND_DISPLAY is wl)" in done.err, done.err)
    nothing = {"DISPLAY": ":no-such-display"}
    check_verified(context.run(command, nothing))
    check(any("no display answers" in text for text in shown(nothing)), f"{shown(nothing)}")
    done = context.run([*command, "--present", "window"], nothing, expect=5)
    check("no X display answers (DISPLAY is :no-such-display)" in done.err, done.err)
    check(any("no X display answers" in text for text in shown(nothing, "--present", "window")), f"{shown(nothing, '--present', 'window')}")
    done = context.run([*command, "--window-system", "android"], expect=5)
    check("the Vulkan driver has no VK_KHR_android_surface" in done.err, done.err)
    done = context.run([*command, "--window-system", "mir"], expect=2)
    check("--window-system wants" in done.err, done.err)
    context.run([*command, "--window-system", "xcb", "--present", "headless"], expect=2)


@contextmanager
def xvfb(context: Context) -> Iterator[tuple[dict[str, str], subprocess.Popen]]:
    """An X display of the case's own, as weston() is a compositor."""
    if not shutil.which("Xvfb"):
        raise Skip("Xvfb is not installed")
    reader, writer = os.pipe()
    with (context.folder / "xvfb.log").open("w") as log:
        process = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset"],
                                   cwd=context.folder, pass_fds=[writer], stdout=log, stderr=log)
    os.close(writer)
    try:
        with os.fdopen(reader) as number:
            display_number = number.readline().strip()
        check(bool(display_number), "Xvfb does not start")
        yield {"DISPLAY": f":{display_number}"}, process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


SYSTEMS = {"wayland": weston, "xcb": xvfb}


def replay_under_way(context: Context, system: str, environment: dict[str, str]) -> subprocess.Popen:
    """A long replay in a window that has shown its first frames."""
    context.capture([context.app("triangle"), "--frames", "600"])
    process = subprocess.Popen([context.program("lapilli-replay"), "--verify", "--window-system", system, "--screenshot", "10",
                                "out.lapilli"], cwd=context.folder, env=context.environment(environment), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_for((context.folder / "frame_10.png").exists, process, "the replay does not come to its tenth frame")
    return process


def a_display_that_goes_away(system: str) -> Callable[[Context], None]:
    """The replay ends with a sentence, not by a signal."""
    def run(context: Context) -> None:
        display()
        with SYSTEMS[system](context) as (environment, server):
            process = replay_under_way(context, system, environment)
            server.kill()
            out, err = process.communicate(timeout=patience(120))
        check(process.returncode == 1, f"exit status {process.returncode}\n{out}{err}")
        check(f"the window is lost: its display ({system}) does not answer any more" in err, err)
        check(out.splitlines()[-1].startswith("verify: "), out)
    return run


@case
def a_compositor_that_hangs_does_not_stop_the_replay(context: Context) -> None:
    """As one that does not draw the window: nothing more is shown, all is played and compared."""
    display()
    with weston(context) as (environment, compositor):
        process = replay_under_way(context, "wayland", environment)
        compositor.send_signal(signal.SIGSTOP)
        out, err = process.communicate(timeout=patience(120))
    check(process.returncode == 0, f"exit status {process.returncode}\n{out}{err}")
    check(out == context.replay().out, f"not as without a window: {out}")
    check("the window takes no image" in err, err)


@case
def another_drivers_present_modes_are_mapped(context: Context) -> None:
    """What says how images are presented is no reason to refuse a trace, and the report names the modes that differ."""
    display()
    other = context.on("swiftshader")
    context.capture([context.app("wsi")], "wsi.lapilli")
    recorded = {line["args"]["pCreateInfo"]["presentMode"] for line in context.print_lines("wsi.lapilli") if line["name"] == "vkCreateSwapchainKHR"}
    check(len(recorded) > 1, f"{recorded}")
    done = other.run([other.program("lapilli-replay"), "--verify", "--window-system", "xcb", "wsi.lapilli"])
    check_verified(done)
    report = json.loads(other.run([other.program("lapilli"), "check", "--json", "--window-system", "xcb", "wsi.lapilli"]).out)
    mapped = {finding["name"] for finding in report["findings"] if finding["area"] == "presentation" and finding["outcome"] == "mapped"}
    check(bool(mapped) and mapped < recorded, f"{mapped} of {recorded}")
    check(all(f"the window has no {mode}" in done.err for mode in mapped), done.err)
    if shutil.which("vkcube") and not context.driver_dir:
        context.capture(["vkcube", "--c", "10", "--incremental_present"], "regions.lapilli")
        check("VK_KHR_incremental_present" in json.dumps(context.print_lines("regions.lapilli")[:40]), "vkcube has no VK_KHR_incremental_present")
        other.run([other.program("lapilli-replay"), "--present", "window", "regions.lapilli"])


@case
def images_and_indices_are_the_recorded_ones(context: Context) -> None:
    """Recorded where surfaces give five images, replayed where they give others."""
    display()
    context.run([context.app("wsi")], context.layer_env(LAYER, SHAPE, LAPILLI_SHAPE="images=5", LAPILLI_VERIFY="1", LAPILLI_CAPTURE="1"))
    counts = {line["args"]["pSwapchainImageCount"] for line in context.print_lines() if line["name"] == "vkGetSwapchainImagesKHR"}
    check(min(counts) >= 5, f"{counts} images")
    check(len(set(images(context, "out.lapilli"))) > 1, f"{images(context, 'out.lapilli')}")
    with weston(context) as (environment, _):
        for number in (2, 4):
            shaped = {**environment, **context.layer_env(SHAPE, LAPILLI_SHAPE=f"images={number}")}
            for target in ("xcb", "wayland", "headless"):
                done = context.run([context.program("lapilli-replay"), "--verify", *TARGETS[target], "out.lapilli"], shaped, expect=None)
                check(done.status == 0, f"{number} images, {target}: exit status {done.status}\n{done.text[-2000:]}")
                check_verified(done)


@case
def images_are_scaled_to_the_size_that_a_compositor_chooses(context: Context) -> None:
    """Weston's kiosk makes each window as large as the screen: images are scaled to that, and are what they were."""
    display()
    context.capture([context.app("triangle")])
    with weston(context, "kiosk-shell.so") as (environment, _):
        done = context.run([context.program("lapilli-replay"), "--verify", "--window-system", "wayland", "out.lapilli"],
                           {**environment, "WAYLAND_DEBUG": "1"})
        check_verified(done)
        check(".configure(400, 300," in done.err, "the kiosk does not say how large windows are")
        check(", 0, 400, 300, " in done.err, "no image is as large as the window")


@case
def a_device_without_swapchains_replays_presents(context: Context) -> None:
    """Presented images are plain ones, so it needs none; they have another layout then."""
    display()
    shaped = context.layer_env(SHAPE, LAPILLI_SHAPE="extensions=VK_KHR_swapchain")
    for program in ("triangle", "wsi"):
        context.capture([context.app(program)], f"{program}.lapilli")
        done = context.run([context.program("lapilli-replay"), "--verify", f"{program}.lapilli"], shaped)
        check(check_verified(done) == check_verified(context.replay(f"{program}.lapilli")), done.text)
        done = context.run([context.program("lapilli-replay"), "--present", "window", f"{program}.lapilli"], shaped, expect=5)
        check("can't present to a window" in done.err, done.err)
        report = json.loads(context.run([context.program("lapilli"), "check", "--json", f"{program}.lapilli"], shaped).out)
        dropped = {finding["name"] for finding in report["findings"] if finding["outcome"] == "dropped"}
        check(dropped == {"VK_KHR_swapchain", "window"}, f"{dropped}")
        if (context.validation_folder / "VkLayer_khronos_validation.json").exists():
            done = context.run([context.program("lapilli-replay"), "--verify", f"{program}.lapilli"],
                               context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE="extensions=VK_KHR_swapchain"))
            check_no_validation_message(done, "of the replay")


@case
def windows_of_another_layer_are_recorded(context: Context) -> None:
    """Recorded above a layer that has windows, without a display: what the driver has is not asked for."""
    nowhere = ["--window", "headless"]
    programs = [["triangle", "--srgb", *nowhere], ["churn", "--present", *nowhere], ["wsi", *nowhere], ["maintenance", *nowhere]]
    if os.environ.get("DISPLAY"):
        programs += [["triangle"], ["wsi", "--window", "xlib"]]
    for number, program in enumerate(programs):
        trace, more = f"{number}.lapilli", {"DISPLAY": "", "WAYLAND_DISPLAY": ""} if "headless" in program else {}
        done = context.run([context.app(program[0]), *program[1:]], windows_env(context, LAPILLI_FILE=trace, **more))
        check(f"ok {program[0]}" in done.out, done.text)
        check("headless" not in program or "VK_EXT_headless_surface" in extensions(context, trace), f"{program} has another window")
        check_verified(context.replay(trace), context.info(trace)["frames"])


@case
def a_window_shows_what_was_presented(context: Context) -> None:
    """The replay in a window is a program that presents: recorded itself, its pictures are those of the trace, encoded or not."""
    display()
    pictures = {}
    for name, arguments in {"plain": [], "srgb": ["--srgb"]}.items():
        trace = f"{name}.lapilli"
        context.capture([context.app("triangle"), "--frames", "4", *arguments], trace)
        context.run([context.program("lapilli-replay"), "--present", "headless", "--screenshot", "1-3", "--screenshot-dir", f"{name}-trace", trace])
        replay = [context.program("lapilli-replay"), "--present", "window", "--window-system", "xcb", "--sandbox", "off", trace]
        done = context.run([context.program("lapilli"), "capture", "--screenshot", "1-3", "--screenshot-dir", f"{name}-window",
                            "-o", f"{name}-window.lapilli", "--", *replay])
        check("than they are" not in done.err, done.err)
        formats = {line["args"]["pCreateInfo"]["imageFormat"] for line in context.print_lines(f"{name}-window.lapilli")
                   if line["name"] == "vkCreateSwapchainKHR"}
        check(len(formats) == 1 and all(("SRGB" in str(format)) == (name == "srgb") for format in formats), f"{formats}")
        shown, presented = (sorted((context.folder / f"{name}-{what}").glob("*.png")) for what in ("window", "trace"))
        check(len(shown) == len(presented) == 3, f"{shown}, {presented}")
        for first, second in zip(shown, presented):
            check(first.read_bytes() == second.read_bytes(), f"{first} is not {second}")
        pictures[name] = presented[0].read_bytes()
    check(pictures["plain"] != pictures["srgb"], "nothing is encoded")


@case
def an_acquired_image_costs_no_submit(context: Context) -> None:
    """Where the queue that presented waits for it: one submit more in a frame than the program's, the present's, in a window or without one."""
    display()
    frames = 40  # beside what the replay submits once, for new memory and its window

    def submits(trace: str) -> int:
        return sum(line["name"] == "vkQueueSubmit" for line in context.print_lines(trace))

    context.capture([context.app("triangle"), "--frames", str(frames)], "program.lapilli")
    for present in ("window", "headless"):
        replay = [context.program("lapilli-replay"), "--present", present, "--sandbox", "off", "program.lapilli"]
        context.run([context.program("lapilli"), "capture", "-o", f"{present}.lapilli", "--", *replay])
        more = submits(f"{present}.lapilli") - submits("program.lapilli")
        check(frames <= more < frames + frames // 2, f"{present}: {more} submits more than the program's, of {frames} frames")


# What changes most of what the layer does to the images of a window, and to the memory they are drawn from.
RECORDED = ({}, {"LAPILLI_VERIFY": "1", "LAPILLI_SCREENSHOT": "1-4"}, {"LAPILLI_MEMORY_TYPES": "real", "LAPILLI_WRITE_WATCH": "compare"},
            {"LAPILLI_BACKING": "host", "LAPILLI_QUEUE": "0"}, {"LAPILLI_CAPTURE": "0"})


def pixels_are_the_same(driver: str | None) -> Callable[[Context], None]:
    """What a program reads back of the images that it presents is what it reads without the layer, each frame to the bit."""
    def run(context: Context) -> None:
        display()
        context = context.on(driver)
        shown = set()
        for program in (["triangle"], ["triangle", "--srgb"], ["triangle", "--window", "xlib"], ["churn", "--present"]):
            command = [context.app(program[0]), *program[1:], "--hash", "--frames", "8"]
            alone = context.run(command, expect=None)
            if alone.status == 77:
                continue
            frames = [line for line in alone.out.splitlines() if line.startswith("frame ")]
            check(len(frames) == 8 and len({line.split(": ")[1] for line in frames}) > 1, f"{program}: no pictures to compare:\n{alone.text}")
            for settings in RECORDED:
                done = context.run(command, context.layer_env(**settings), expect=alone.status)
                check(done.out == alone.out, f"{program}, {settings}:\n{alone.out}, and under the layer\n{done.text}")
            shown.add(tuple(frames))
        check(len(shown) >= 3, "programs show all the same")
    return run


def windows_are_valid(driver: str | None) -> Callable[[Context], None]:
    """What the replayer's own swapchains do, under the validation layer."""
    def run(context: Context) -> None:
        display()
        validation_layer(context)
        context = context.on(driver)
        with weston(context) as (environment, _):
            context.capture([context.app("wsi"), "--window", "wayland"], env=environment)
            for target in targets(context, "out.lapilli", environment):
                done = context.run([context.program("lapilli-replay"), *TARGETS[target], "out.lapilli"],
                                   {**environment, **context.layer_env(VALIDATION)})
                check_no_validation_message(done, f"of the replay on {target}")
    return run


WINDOWS = "VK_LAYER_LAPILLI_TEST_windows"
DISPLAYS = {"alone": [], "together": ["--together"], "shared": ["--shared"], "continuous": ["--continuous"]}
FRAMES = 8  # of tests/apps/displays, which presents them all but in one way


def displays(arguments: list[str]) -> Callable[[Context], None]:
    """Recorded on the display of tests/layers/windows, and replayed where there is none."""
    def run(context: Context) -> None:
        command = [context.app("displays"), *arguments]
        native = context.run(command, context.layer_env(WINDOWS), expect=None)
        if native.status == 77:
            raise Skip(native.text.strip().splitlines()[-1])
        context.run(command, context.layer_env(LAYER, WINDOWS, LAPILLI_VERIFY="1"))
        info = context.info()
        check(info["complete"] is True and info["frames"] == (1 if "--continuous" in arguments else FRAMES), f"{info}")
        names = [line["name"] for line in context.print_lines()]
        check(names.count("lapilliCheckPresent") == info["frames"] * (2 if "--together" in arguments else 1), "not all that was shown is checked")
        others = [context] if context.driver_dir else [context, context.on("swiftshader")]
        for other in others:
            done = other.replay()
            check_verified(done)
            check("left out" not in done.text and "not alive" not in done.text, done.text)
            check("refused" not in other.run([other.program("lapilli"), "check", "out.lapilli"]).out, "lapilli check refuses something")
    return run


@case
def images_that_have_the_handles_of_replaced_ones_are_new(context: Context) -> None:
    """A driver may free images when their swapchain is replaced, and give their handles again before it is destroyed; the null driver does."""
    context = replace(context, driver=context.build / "tests/null/null_icd.json")
    for arguments in ([], ["--replace-late"]):
        context.run([context.app("wsi"), "--no-check", "--window", "headless", *arguments], context.layer_env(LAYER, LAPILLI_FILE="wsi.lapilli"))
        context.run([context.program("lapilli-replay"), "--strict", "--present", "headless", "wsi.lapilli"])
        owners: dict[str, str] = {}
        for line in context.print_lines("wsi.lapilli"):
            for image in (line["args"].get("pSwapchainImages") or []) if line["name"] == "vkGetSwapchainImagesKHR" else []:
                check(owners.setdefault(image, line["args"]["swapchain"]) == line["args"]["swapchain"], f"{image} is an image of two swapchains")
        check(len(set(owners.values())) > 5, f"{len(set(owners.values()))} swapchains")
        (context.folder / "wsi.lapilli").unlink()


@case
def presents_of_images_that_are_bound_to_a_swapchains_are_checked(context: Context) -> None:
    """A program that never asks for the swapchain's images has a check for each present, too."""
    if context.driver_dir:
        raise Skip("newer versions of this driver fall over such images")
    context.capture([context.app("wsi"), "--bound"])
    presents = [len(line["args"]["pPresentInfo"]["pSwapchains"]) for line in context.print_lines() if line["name"] == "vkQueuePresentKHR"]
    check(context.info()["checks"]["presents"] == sum(presents) > 0, f"{context.info()['checks']} of {sum(presents)}")
    check_verified(context.replay())


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    result |= {f"a-display-that-goes-away-{system}": a_display_that_goes_away(system) for system in SYSTEMS}
    result |= {f"displays-{name}": displays(arguments) for name, arguments in DISPLAYS.items()}
    result["replays-in-windows-are-valid"] = windows_are_valid(None)
    result["recorded-programs-read-the-same-pixels"] = pixels_are_the_same(None)
    if not context.driver_dir:
        result["swiftshader/recorded-programs-read-the-same-pixels"] = pixels_are_the_same("swiftshader")
        result["swiftshader/replays-in-windows-are-valid"] = windows_are_valid("swiftshader")
    for name in ("wsi", "maintenance"):
        result[f"{name}-is-shown-on-every-window-system"] = across(name, None)
        if not context.driver_dir:
            result[f"swiftshader/{name}-is-shown-on-every-window-system"] = across(name, "swiftshader")
    return result
