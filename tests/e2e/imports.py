# SPDX-License-Identifier: MIT
"""Memory that programs make of their own pages: recorded with each write watch, replayed and validated.

Pages with two mappings are among them: whatever the watch, these are compared.
"""

from __future__ import annotations

from typing import Callable

from e2e.cases import Context, Skip, check, check_verified

FRAMES = 4  # each imports pages with two mappings once


def hostptr(context: Context) -> list[str]:
    command = [str(context.build / "tests/apps/hostptr"), "--frames", str(FRAMES)]
    done = context.run(command, expect=None)
    if done.status == 77:
        raise Skip(done.text.strip().splitlines()[-1])
    check(done.status == 0, f"without Lapilli the program itself ends with {done.status}:\n{done.text[-2000:]}")
    if "left out: pages that are mapped twice" in done.out:
        raise Skip("there is no memfd_create")
    return command


def watched(name: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context.capture(hostptr(context), env={"LAPILLI_WRITE_WATCH": name})
        info = context.info()
        if info["write_watch"] != name:
            raise Skip(info["write_watch_reason"])
        # With "compare" nothing else could be. Elsewhere the program's one other mapping may be such that it can't be watched.
        compared = range(FRAMES, FRAMES + 2) if name != "compare" else range(1)
        check(info["mappings"] > FRAMES + 2 and info["mappings_compared"] in compared,
              f"{info['mappings_compared']} of {info['mappings']} compared: {info.get('mappings_compared_reason')}")
        names = [line["name"] for line in context.print_lines()]
        check("vkGetMemoryHostPointerPropertiesEXT" in names, "the question for memory types is not recorded")
        check_verified(context.replay())
    return run


def twice(name: str) -> Callable[[Context], None]:
    """Pages that are imported while they are imported already; those that two devices have are compared."""
    def run(context: Context) -> None:
        command = [*hostptr(context), "--twice"]
        if "left out" in context.run(command).out:
            raise Skip("the driver takes pages once at a time")
        context.capture(command, env={"LAPILLI_WRITE_WATCH": name})
        info = context.info()
        if info["write_watch"] != name:
            raise Skip(info["write_watch_reason"])
        check(name == "compare" or FRAMES <= info["mappings_compared"] <= info["mappings"] // 2,
              f"{info['mappings_compared']} of {info['mappings']} compared: {info.get('mappings_compared_reason')}")
        check_verified(context.replay())
    return run


def replayed_without_the_extension(context: Context) -> None:
    """Memory of a replay is its own: a GPU that imports nothing will do."""
    context.capture(hostptr(context))
    check_verified(context.on("swiftshader").replay())


def foreign_memory_is_not_shown(context: Context) -> None:
    """What is said of the other handle type of the extension: devices write such memory behind the host's back."""
    done = context.run([str(context.build / "tests/apps/asks")], context.layer_env())
    lines = [line for line in done.out.splitlines() if "type 0x100: " in line]
    check(bool(lines) and all(line.endswith("features 0x0") for line in lines), f"{lines}")


def cases() -> dict[str, Callable[[Context], None]]:
    return {**{f"own-pages-are-watched-by-{name}": watched(name) for name in ("compare", "pagemap", "mprotect")},
            **{f"pages-imported-twice-are-watched-by-{name}": twice(name) for name in ("compare", "pagemap", "mprotect")},
            "replayed-without-the-extension": replayed_without_the_extension,
            "foreign-memory-is-not-shown": foreign_memory_is_not_shown}
