# SPDX-License-Identifier: MIT
"""What the host writes, under each write watch, and on hosts that lay images out differently (docs/memory.md, "Tests")."""

from __future__ import annotations

import re
from typing import Callable

from e2e.cases import LAYER, OTHER_DRIVERS, SHAPE, VALIDATION, Context, Done, Program, Skip, check, check_no_validation_message, \
    check_verified, prepare, validation_layer

WATCHES = ("compare", "pagemap", "mprotect")
# What works under every watch.
PROGRAMS = [("memory", []), ("memory", ["--many"]), ("rebind", []), ("rebind", ["--image"]), ("stores", []),
            ("stores", ["--handlers"]), ("suballoc", []), ("texels", []), ("alias", []), ("attached", []), ("address", []),
            ("gated", []), ("gated", ["--event"]), ("gated", ["--random"])]
# Linear images in all shapes, and those that are bound over old contents.
LINEAR = [("linear", []), ("texels", []), ("headless", []), ("memory", []), ("rebind", ["--image"])]


def command(context: Context, name: str, arguments: list[str]) -> list[str]:
    return [context.app(name), *arguments]


def capture(context: Context, watch: str, name: str, arguments: list[str]) -> Done:
    done = context.capture(command(context, name, arguments), env={"LAPILLI_WRITE_WATCH": watch}, expect=None)
    if done.status == 77:
        raise Skip(done.out.strip().splitlines()[-1])
    check(done.status == 0 and f"ok {name}" in done.out, f"under {watch}:\n{done.text[-2000:]}")
    return done


def watched(context: Context, watch: str) -> dict:
    """What `info` says of the trace, which must have been recorded with this watch and no other."""
    info = context.info()
    check(info["complete"] is True and info["stopped"] is None, f"{info}")
    if info["write_watch"] != watch:
        raise Skip(f"this machine has no {watch}: {info['write_watch_reason']}")
    check(info.get("mappings_compared") in (None, 0), f"not all mappings are watched: {info}")
    return info


def record_and_replay(watch: str, name: str, arguments: list[str]) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        capture(context, watch, name, arguments)
        watched(context, watch)
        check_verified(context.replay())
    return run


def update_bytes(watch: str, arguments: list[str]) -> Callable[[Context], None]:
    """What the GPU writes into mapped memory is no host write: the updates are the host's bytes, and no byte more."""
    def run(context: Context) -> None:
        done = capture(context, watch, "stores", arguments)
        info = watched(context, watch)
        stored = int(re.search(r"^bytes of the host: (\d+)$", done.out, re.MULTILINE).group(1))
        if arguments == ["--read-back"]:
            check(stored == 0, "the program stores")
        elif stored == 0:
            raise Skip("memory is not coherent")
        check(info["updates"]["bytes"] == stored, f"updates of {info['updates']} for {stored} bytes of the host's")
        check_verified(context.replay())
    return run


def checked_bytes(arguments: list[str]) -> Callable[[Context], None]:
    """What the GPU draws and stores into linear images is checked, but for texels of which nobody knows what they hold."""
    def run(context: Context) -> None:
        done = capture(context, "auto", "attached", arguments)
        definite = int(re.search(r"^definite bytes of the device: (\d+)$", done.out, re.MULTILINE).group(1))
        parts = [line["args"] for line in context.print_lines() if line["name"] == "lapilliCheckImage"]
        checked = sum(int(part["rowCount"]) * int(part["bytesInRow"]) for part in parts)
        check(checked == definite, f"{checked} bytes of texels are checked, {definite} are definite")
        check_verified(context.replay())
    return run


def kernel_writes(watch: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        done = context.capture(command(context, "stores", ["--kernel"]), env={"LAPILLI_WRITE_WATCH": watch}, expect=None)
        info = watched(context, watch)
        if watch == "mprotect":  # can't, and says so; the program gets the kernel's error and nothing worse
            check(done.status == 77 and "EFAULT" in done.out, done.text)
            check("EFAULT" in info["write_watch_reason"], f"{info['write_watch_reason']}")
            check("system calls that write into mapped memory fail" in (context.root / "docs/cli.md").read_text(), "docs/cli.md is silent")
        else:
            check(done.status == 0, done.text)
        check_verified(context.replay())
    return run


def same_address(context: Context) -> None:
    """Allocations did get the address of an earlier one, so that what that one left could be taken for news or for old."""
    done = capture(context, "auto", "memory", [])
    counts = [int(n) for n in re.findall(r"at the address of the last one: (\d+)$", done.out, re.MULTILINE)]
    check(len(counts) == 2, done.out)
    if not any(counts):
        raise Skip("the driver gives no address twice")
    check_verified(context.replay())


def cost_is_said(context: Context) -> None:
    """256 MiB that nothing watches take longer to compare at each submit than any processor reads them in 2 ms."""
    for watch, said in (("compare", 1), ("auto", 0)):
        done = context.capture([str(context.build / "tests/bench/map_random"), "--size-mib", "256", "--frames", "16"], f"{watch}.lapilli",
                               env={"LAPILLI_WRITE_WATCH": watch})
        if watch == "auto" and context.info("auto.lapilli")["write_watch"] == "compare":
            raise Skip("this machine has no write watch")
        check(done.err.count("each submit compares 256 MiB of mapped memory") == said, f"under {watch}:\n{done.text[-2000:]}")


def created_sizes(context: Context) -> None:
    """Updates of a buffer end where the buffer does; the host has written its padding too."""
    capture(context, "auto", "memory", [])
    lines = context.print_lines()
    sizes = {line["args"]["pBuffer"][0] if isinstance(line["args"]["pBuffer"], list) else line["args"]["pBuffer"]:
             int(line["args"]["pCreateInfo"]["size"]) for line in lines if line["name"] == "vkCreateBuffer"}
    bound = {line["args"]["buffer"]: int(line["args"]["size"]) for line in lines if line["name"] == "lapilliBindBuffer"}
    check(30001 in bound.values(), f"the buffer with padding is not there: {sorted(set(bound.values()))}")
    for buffer, size in bound.items():
        check(sizes[buffer] == size, f"{buffer} was created with {sizes[buffer]} bytes and is bound with {size}")
    ends: dict[str, int] = {}
    for line in lines:
        if line["name"] == "lapilliUpdateBuffer":
            args = line["args"]
            ends[args["buffer"]] = max(ends.get(args["buffer"], 0), int(args["offset"]) + int(args["dataSize"]))
        elif line["name"] == "lapilliUpdateBufferSpans":
            args = line["args"]
            end = sum(map(int, args["pGaps"])) + sum(map(int, args["pSizes"]))
            ends[args["buffer"]] = max(ends.get(args["buffer"], 0), end)
    check(all(end <= sizes[buffer] for buffer, end in ends.items()), f"{ends}")
    check(any(end == 30001 for end in ends.values()), f"the last byte is missing: {sorted(set(ends.values()))}")


def other_layout(name: str, arguments: list[str], driver_name: str, to_other: bool) -> Callable[[Context], None]:
    """Recorded with one driver and replayed with another one, whose rows are further apart or closer together."""
    def run(context: Context) -> None:
        driver = OTHER_DRIVERS[driver_name]
        if context.driver_dir or not driver.exists():
            raise Skip(f"{driver} is not there" if not driver.exists() else "it does not run with the libraries of --driver-dir")
        other = {"VK_DRIVER_FILES": str(driver), "VK_ICD_FILENAMES": str(driver)}
        layouts = []
        for recorder, player in ((None, other), (other, None)) if to_other else ((other, None), (None, other)):
            done = context.capture(command(context, name, arguments), env=recorder)
            check(f"ok {name}" in done.out, done.text[-2000:])
            layouts.append({line["args"]["layoutHash"] for line in context.print_lines() if line["name"] == "lapilliBindImage"})
            if len(layouts) == 1:
                check_verified(context.replay(env=player))
            (context.folder / "out.lapilli").unlink()
        if layouts[0] == layouts[1]:
            raise Skip("both drivers lay these images out alike")
    return run


def map_2(context: Context) -> None:
    """The functions of VK_KHR_map_memory2, where driver and layer have them; otherwise the program says why it does nothing."""
    done = context.run(command(context, "memory", ["--map2"]), expect=None)
    if done.status == 77:
        raise Skip(f"the driver: {done.out.strip().splitlines()[-1]}")
    capture(context, "auto", "memory", ["--map2"])
    names = {line["name"] for line in context.print_lines()}
    check(names & {"vkMapMemory2", "vkMapMemory2KHR"} and names & {"vkUnmapMemory2", "vkUnmapMemory2KHR"}, f"{sorted(names)}")
    check_verified(context.replay())
    validation_layer(context)
    done = context.run(command(context, "memory", ["--map2"]), context.layer_env(VALIDATION, LAYER))
    check_no_validation_message(done, "on top of the layer")


def new_memory(driver: str | None, shape: str) -> Callable[[Context], None]:
    """Objects that the program had in new memory lie where others were: few allocations make the replay share blocks."""
    def run(context: Context) -> None:
        context = context.on(driver)
        validation_layer(context)
        prepare(context, Program("fresh", command(context, "fresh", []), False))
        context.capture(command(context, "fresh", []))
        environment = context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE=shape)
        done = context.replay(env=environment)
        check_verified(done)
        check_no_validation_message(done, "of the replay")
        done = context.replay("out.lapilli", "--new-memory", "leave", env=environment, expect=1)
        check(re.search(r"verify: \d+ checks, [1-9]\d* different", done.out) is not None, done.text[-2000:])
        check_verified(context.replay())
    return run


def zeroed_memory(context: Context) -> None:
    """What was asked to be zero is, where new memory is not, and whatever is wanted of the rest."""
    program = Program("fresh-zeroed", command(context, "fresh", ["--zeroed"]), False)
    prepare(context, program)
    context.capture(program.command)
    for shape in ("garbage", "garbage,allocations=64", "split,garbage,allocations=64"):
        for how in ("zero", "leave"):
            environment = context.layer_env(SHAPE, LAPILLI_SHAPE=shape)
            check_verified(context.replay("out.lapilli", "--new-memory", how, env=environment))


def hidden_types(context: Context) -> None:
    """Memory of a type that is not host-visible, which the program maps all the same: the layer's own half of a type, and a driver's."""
    program = [context.app("places"), "--unasked"]
    for file, layers, shape in (("halves.lapilli", (LAYER,), ""), ("driver.lapilli", (LAYER, SHAPE), "split,open,garbage")):
        environment = context.layer_env(*layers, LAPILLI_SHAPE=shape, LAPILLI_FILE=file, LAPILLI_VERIFY="1")
        done = context.run(program, env=environment)
        check("type 0, which is not host-visible" in done.out, f"no such type is mapped here: {done.out}")
        check(done.err.count("maps memory of type 0") == 1 and "VUID-vkMapMemory-memory-00682" in done.err, done.err)
        for shape in ("", "split,garbage"):
            check_verified(context.replay(file, env=context.layer_env(SHAPE, LAPILLI_SHAPE=shape) if shape else None))


def cases() -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = {"memory-at-an-address-used-before-is-new": same_address, "updates-end-where-the-buffer-ends": created_sizes, "mappings-of-vkMapMemory2-are-recorded": map_2}
    result["memory-asked-to-be-zero-is-zero"] = zeroed_memory
    result["memory-of-hidden-types-that-is-mapped-is-recorded"] = hidden_types
    result["what-comparing-costs-is-said"] = cost_is_said
    for driver in (None, *OTHER_DRIVERS):
        for shape in ("allocations=64", "split,allocations=64"):
            result["/".join(["new", driver or "default", shape.split(",")[0]])] = new_memory(driver, shape)
    for watch in WATCHES:
        for name, arguments in PROGRAMS:
            result["/".join([watch, name + "".join(arguments)])] = record_and_replay(watch, name, arguments)
        result[f"{watch}/kernel"] = kernel_writes(watch)
        for arguments in (["--read-back"], ["--beside"]):
            result[f"{watch}/update-bytes{arguments[0]}"] = update_bytes(watch, arguments)
    for arguments in ([], ["--undefined"]):
        result["/".join(["checked-bytes", "attached" + "".join(arguments)])] = checked_bytes(arguments)
    for driver in OTHER_DRIVERS:
        for name, arguments in LINEAR:
            for to_other in (True, False):
                result[f"layout/{name}/{'to' if to_other else 'from'}-{driver}"] = other_layout(name, arguments, driver, to_other)
    return result
