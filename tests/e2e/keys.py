# SPDX-License-Identifier: MIT
"""Keys that begin parts of a run (capture --trigger key), in windows on X and on Wayland.

x-keys presses keys on an X display of the case's own (XTEST). compositor stands in for one of Wayland, for Weston has no keyboard where it
has no screen. Keys that must not begin a part come before one that must: then there is one trace, and it is the latter's.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager
from typing import Callable, Iterator

from e2e.cases import LAYER, OTHER_DRIVERS, VALIDATION, Cases, Context, Skip, check, check_no_validation_message, check_verified, is_finished, patience, display, validation_layer
from e2e.present import wait_for, weston, xvfb

CASES = Cases()
case = CASES.add

F11, F9, PRINT = "0xffc8", "0xffc6", "0xff61"  # X11/keysymdef.h
CODE_F11, CODE_F12 = "87", "88"  # linux/input-event-codes.h


class Commanded:
    """A program that takes commands, a line each, and answers with a line that ends with "done"."""

    def __init__(self, command: list[str], env: dict[str, str]):
        self.process = subprocess.Popen(command, env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, command: str) -> str:
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        check(line.endswith("done\n"), f"{command}: {line!r}")
        return line.removesuffix("done\n").strip()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=patience(60))


class Recorded:
    """tests/apps/keys, recorded when somebody presses a key. It shows a frame when it is told to."""

    def __init__(self, context: Context, env: dict[str, str], arguments: list[str], options: list[str], key: str = "key"):
        self.context, self.errors = context, context.folder / "program.err"
        command = [context.program("lapilli"), "capture", "--verify", "--log", "debug", "-o", "out.lapilli", "--trigger", key, *options, "--",
                   context.app("keys"), "--step", "--frames", "1000000", *arguments]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(command, cwd=context.folder, env=context.environment(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            text=True)
        self.run(1)

    def log(self) -> str:
        return self.errors.read_text()

    def run(self, frames: int, pause: float = 0) -> None:
        for _ in range(frames):
            time.sleep(pause)
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            check(self.process.stdout.readline() == "frame\n", f"the program has ended\n{self.log()}")

    def until(self, what: Callable[[], bool], sentence: str) -> None:
        end = time.monotonic() + patience(60)
        while not what():
            check(time.monotonic() < end, f"{sentence}: {self.names()}\n{self.log()}")
            self.run(1, 0.01)

    def until_traces(self, count: int) -> None:
        self.until(lambda: len(self.names()) >= count and all(is_finished(self.context.folder / n) for n in self.names()), f"not {count} traces")

    def names(self) -> list[str]:
        return sorted(p.name for p in self.context.folder.glob("*.lapilli"))

    def pressed_elsewhere(self, count: int) -> None:
        self.until(lambda: self.log().count("was pressed where the program has no focus") >= count, "a press was not heard")

    def end(self) -> None:
        self.process.stdin.close()
        check(self.process.wait(timeout=patience(120)) == 0, f"exit status {self.process.returncode}\n{self.log()}")

    def check_traces(self, count: int, frames: int = 1) -> None:
        self.end()
        check(len(self.names()) == count, f"{self.names()}\n{self.log()}")
        for name in self.names():
            check(self.context.info(name)["frames"] == frames, f"{name}: {self.context.info(name)['frames']} frames")
            check_verified(self.context.run([self.context.program("lapilli-replay"), "--verify", "--present", "headless", name]))


@contextmanager
def on_x(context: Context, *arguments: str, options: list[str] | None = None, key: str = "key", kind: str = "xcb", server: bool = True) -> Iterator[tuple[Recorded, Commanded, list[str]]]:
    """The program, who presses keys, and the program's windows."""
    display()
    with xvfb(context) as (env, _):
        recorded = Recorded(context, env, ["--window", kind, *arguments], options or [], key)
        keys = Commanded([str(context.build / "tests/bin/x-keys")], env)
        try:
            if server:
                recorded.until(lambda: "as the X server reports" in recorded.log(), "nobody listens")
            yield recorded, keys, keys("windows").split()
        finally:
            keys.close()
            recorded.process.kill()
            recorded.process.wait()


def a_key_begins_a_part(kind: str, driver: str | None = None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context = context.on(driver)
        with on_x(context, kind=kind, options=["--trigger-frames", "3"]) as (recorded, keys, windows):
            keys("other")
            keys(f"press {F11}")
            recorded.pressed_elsewhere(1)
            keys("focus 0")
            keys(f"press {F11}")
            recorded.pressed_elsewhere(2)
            keys(f"focus {windows[0]}")
            keys(f"press {F9}")
            recorded.run(20, 0.01)
            check(recorded.names() == [], f"{recorded.names()}\n{recorded.log()}")
            keys(f"press {F11}")
            recorded.until_traces(1)
            keys(f"press {F11}")
            recorded.until_traces(2)
            recorded.check_traces(2, 3)
    return run


@case
def a_key_that_is_held_begins_one_part(context: Context) -> None:
    with on_x(context) as (recorded, keys, windows):
        keys(f"focus {windows[0]}")
        keys(f"down {F11}")
        recorded.until_traces(1)
        recorded.run(20, 0.1)  # the server repeats keys after 0.6 s
        keys(f"up {F11}")
        recorded.run(10, 0.01)
        recorded.check_traces(1)


@case
def another_key_can_be_named(context: Context) -> None:
    with on_x(context, key="key:Print") as (recorded, keys, windows):
        keys(f"focus {windows[0]}")
        keys(f"press {F11}")
        recorded.run(20, 0.01)
        keys(f"press {PRINT}")
        recorded.until_traces(1)
        recorded.check_traces(1)


@case
def the_focus_may_be_beside_the_windows_own(context: Context) -> None:
    """A child of the window, a window manager's around it, or whatever is under the pointer. A child of another is another's."""
    with on_x(context, "--windows", "2") as (recorded, keys, windows):
        keys(f"child {windows[1]}")
        keys(f"press {F11}")
        recorded.until_traces(1)
        keys("other")
        other = keys("windows").split()[-1]
        keys(f"child {other}")
        keys(f"press {F11}")
        recorded.pressed_elsewhere(1)
        keys("focus 1")
        keys(f"point {windows[1]}")
        keys(f"press {F11}")
        recorded.until_traces(2)
        keys(f"frame {windows[0]}")
        keys(f"press {F11}")
        recorded.until_traces(3)
        recorded.check_traces(3)


@case
def a_keyboard_that_is_grabbed_is_heard(context: Context) -> None:
    with on_x(context) as (recorded, keys, windows):
        keys(f"focus {windows[0]}")
        keys("grab")
        keys(f"press {F11}")
        recorded.until_traces(1)
        recorded.check_traces(1)


@case
def nothing_waits_for_a_server_that_listens_to_somebody_else(context: Context) -> None:
    """The press is known when the server listens again, with the focus of that moment."""
    with on_x(context, "--windows", "2") as (recorded, keys, windows):
        keys(f"focus {windows[0]}")
        keys("hold")
        keys(f"press {F11}")
        keys("go on")
        recorded.until_traces(1)
        recorded.check_traces(1)


@case
def windows_of_several_threads(context: Context) -> None:
    with on_x(context, "--windows", "4", kind="xlib") as (recorded, keys, windows):
        check(len(windows) == 4, f"{windows}")
        for count, window in enumerate(windows, 1):
            keys(f"focus {window}")
            keys(f"press {F11}")
            recorded.until_traces(count)
        recorded.check_traces(4)


@case
def a_window_that_was_closed_is_forgotten(context: Context) -> None:
    """The connection goes with the last window, and comes with the next one."""
    display()
    with xvfb(context) as (env, _):
        done = context.run([context.program("lapilli"), "capture", "--log", "info", "--trigger", "key", "-o", "out.lapilli", "--", context.app("keys"),
                            "--frames", "200", "--windows", "3", "--again", "--fork"], env=env)
    check("begins no part" not in done.err, done.err)
    check(list(context.folder.glob("*.lapilli")) == [], done.text)


@case
def a_child_leaves_the_connection_alone(context: Context) -> None:
    with on_x(context, "--fork") as (recorded, keys, windows):
        recorded.run(20)
        keys(f"focus {windows[0]}")
        keys(f"press {F11}")
        recorded.until_traces(1)
        recorded.check_traces(1)


@case
def a_connection_that_the_program_closes_is_made_again(context: Context) -> None:
    with on_x(context, "--close-foreign") as (recorded, keys, windows):
        recorded.until(lambda: recorded.log().count("as the X server reports") == 2, "there is no other connection")
        keys(f"focus {windows[0]}")
        for count in (1, 2):
            keys(f"press {F11}")
            recorded.until_traces(count)
        recorded.check_traces(2)


@case
def a_connection_may_end_before_its_surfaces(context: Context) -> None:
    display()
    with xvfb(context) as (env, _):
        for kind in ("xcb", "xlib"):
            command = [context.app("keys"), "--window", kind, "--windows", "2", "--close-first"]
            context.run(command, env=env)
            done = context.run([context.program("lapilli"), "capture", "--trigger", "key", "--", *command], env=env)
            check("begins no part" not in done.err, done.err)


@case
def both_files_are_kept(context: Context) -> None:
    with on_x(context, options=["--keep-last", "200f"]) as (recorded, keys, windows):
        keys(f"focus {windows[0]}")
        recorded.run(300)
        keys(f"press {F11}")
        recorded.until(lambda: len(recorded.names()) > 2, "nothing was kept")
        recorded.run(500)
        recorded.end()
        check(len(recorded.names()) == 4, f"{recorded.names()}")


@case
def a_program_without_windows_is_told(context: Context) -> None:
    done = context.run([context.program("lapilli"), "capture", "--trigger", "key", "--", context.app("parts")])
    check(done.err.count("F11 begins no part: the program has shown a frame, and has no window on X or Wayland so far") == 1, done.text)


@case
def other_names_are_refused(context: Context) -> None:
    for how in ("key:", "key:F13", "keys", "key:f11"):
        done = context.run([context.program("lapilli"), "capture", "--trigger", how, "--", "true"], expect=2)
        check(f"--trigger can't be '{how}'" in done.err and "F1 to F12" in done.err, done.err)
    done = context.run([context.app("parts")], env=context.layer_env(LAPILLI_TRIGGER="key:F13"), expect=None)
    check("LAPILLI_TRIGGER=key:F13: this is not what begins a part" in done.err, done.text)


# ---- Wayland ----

@contextmanager
def compositor(context: Context) -> Iterator[tuple[dict[str, str], Commanded]]:
    """One that has a keyboard; its environment for clients, and who presses keys on it."""
    program = context.build / "tests/bin/compositor"
    if not program.exists():
        raise Skip("this build has no Wayland")
    folder = context.folder / "run"
    folder.mkdir(mode=0o700, exist_ok=True)
    env = {"XDG_RUNTIME_DIR": str(folder), "WAYLAND_DISPLAY": "wl"}
    keys = Commanded([str(program), "wl"], env)
    try:
        wait_for((folder / "wl").is_socket, keys.process, "the compositor does not start")
        yield env, keys
    finally:
        keys.close()


@contextmanager
def on_wayland(context: Context, *arguments: str, options: list[str] | None = None) -> Iterator[tuple[Recorded, Commanded]]:
    with compositor(context) as (env, keys):
        recorded = Recorded(context, env, ["--window", "wayland", *arguments], options or [])
        try:
            recorded.until(lambda: "as the Wayland compositor reports" in recorded.log(), "nobody listens")
            yield recorded, keys
        finally:
            recorded.process.kill()
            recorded.process.wait()


def a_key_on_wayland(driver: str | None) -> Callable[[Context], None]:
    return lambda context: press_on_wayland(context.on(driver))


def press_on_wayland(context: Context) -> None:
    with on_wayland(context, options=["--trigger-frames", "3"]) as (recorded, keys):
        keys(f"press {CODE_F11}")  # nobody has the focus
        recorded.run(20, 0.01)
        keys("enter 0")
        keys(f"press {CODE_F12}")
        recorded.run(20, 0.01)
        keys(f"press {CODE_F11}")
        recorded.until_traces(1)
        keys("leave")
        keys(f"press {CODE_F11}")
        recorded.run(20, 0.01)
        keys("enter 0")
        keys(f"press {CODE_F11}")
        recorded.until_traces(2)
        recorded.check_traces(2, 3)


@case
def a_keyboard_on_wayland_may_go_and_come(context: Context) -> None:
    with on_wayland(context, "--windows", "3") as (recorded, keys):
        recorded.until(lambda: keys("keyboards") == "3", "not each connection has a keyboard")
        keys("enter 0")
        keys("unplug")
        recorded.until(lambda: keys("keyboards") == "0", "there are still keyboards")
        keys("plug")
        recorded.until(lambda: keys("keyboards") == "3", "the keyboards are not back")
        keys(f"press {CODE_F11}")
        recorded.until_traces(1)
        keys("enter 2")
        keys(f"press {CODE_F11}")
        recorded.until_traces(2)
        recorded.check_traces(2)


@case
def windows_on_wayland_come_and_go(context: Context) -> None:
    """The display may be disconnected before the surfaces are destroyed, where the driver does not mind."""
    with compositor(context) as (env, _):
        for arguments in (["--windows", "3", "--again"], ["--fork"], ["--windows", "2", "--again", "--close-first"]):
            command = [context.app("keys"), "--window", "wayland", *arguments]
            if context.run(command, env=env, expect=None).status != 0:
                check("--close-first" in arguments, f"{arguments}")
                continue
            done = context.run([context.program("lapilli"), "capture", "--trigger", "key", "--", *command], env={**env, "WAYLAND_DEBUG": "1"})
            check("wl_seat" in done.err and "begins no part" not in done.err, done.text[-3000:])


def clean(kind: str) -> Callable[[Context], None]:
    """The validation layer has nothing to say, and a compositor without a keyboard does no harm."""
    def run(context: Context) -> None:
        validation_layer(context)
        display()
        with (weston if kind == "wayland" else xvfb)(context) as (env, _):
            done = context.run([context.app("keys"), "--window", kind, "--windows", "2", "--again"],
                               env={**context.layer_env(LAPILLI_TRIGGER="key"), **env})
            check("begins no part" not in done.err, done.text)
            done = context.run([context.app("keys"), "--window", kind, "--windows", "2", "--again"],
                               env={**context.layer_env(LAYER, VALIDATION, LAPILLI_TRIGGER="key"), **env})
        check_no_validation_message(done, "of the program")
    return run


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result = dict(CASES)
    for driver in (None, *(() if context.driver_dir else OTHER_DRIVERS)):
        on = f"-on-{driver}" if driver else ""
        kinds = ("xcb",) if driver else ("xcb", "xlib")  # what this one has
        result.update({f"a-key-begins-a-part-{kind}{on}": a_key_begins_a_part(kind, driver) for kind in kinds})
        result[f"a-key-begins-a-part-wayland{on}"] = a_key_on_wayland(driver)
    result.update({f"clean-{kind}": clean(kind) for kind in ("xcb", "wayland")})
    return result
