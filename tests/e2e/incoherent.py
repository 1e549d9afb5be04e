# SPDX-License-Identifier: MIT
"""Memory that is not coherent: programs are recorded and replayed on tests/layers/incoherent.c, which stands next to the driver.

There, what was not flushed never reaches the device, and what the device wrote is not seen before an invalidate.
"""

from __future__ import annotations

from typing import Callable

from e2e.cases import INCOHERENT, LAYER, Context, check, check_verified, validation_layer
from e2e.validation import check_above_and_below

# Name, arguments, and whether coherent memory is taken away so that everything goes through flushes and invalidates.
RUNS = [("incoherent", [], False), ("incoherent", [], True), ("suballoc", [], True), ("compute", [], True), ("threads", [], True),
        ("headless", [], True), ("linear", [], True), ("descriptors", [], True), ("formats", [], True), ("modern", [], True),
        ("memory", [], True), ("rebind", [], True), ("address", [], True), ("gated", [], True),
        ("gated", ["--event"], True)]


def command(context: Context, name: str, arguments: list[str]) -> list[str]:
    return [context.app(name), *arguments]


def probe(context: Context) -> None:
    """The layer is what it is said to be, and without it the program says that there is nothing to do."""
    done = context.run(command(context, "incoherent", ["--probe"]), context.layer_env(INCOHERENT))
    check(done.out.count(": no\n") == 2, f"something gets through:\n{done.text}")
    done = context.run(command(context, "suballoc", []), context.layer_env(INCOHERENT, VK_LOADER_DEBUG="layer"))
    check("ok suballoc" in done.out and INCOHERENT in done.err, done.text[-2000:])
    if context.run(command(context, "incoherent", []), expect=None).status != 0:
        check("skip incoherent: " in context.run(command(context, "incoherent", []), expect=77).out, "no reason is given")


def record(context: Context, name: str, arguments: list[str], only: dict[str, str]) -> None:
    context.run(command(context, name, arguments), context.layer_env(LAYER, INCOHERENT, LAPILLI_VERIFY="1", **only))
    check(context.info()["complete"] is True, f"{context.info()}")
    bound = [line["args"] for line in context.print_lines() if line["name"] == "lapilliBindBuffer"]
    non_coherent = {args["buffer"] for args in bound if "HOST_VISIBLE" in args["propertyFlags"]
                    and "HOST_COHERENT" not in args["propertyFlags"]}
    check(bool(non_coherent), "no buffer lies in memory that is not coherent: the layer is not below ours")
    checked = {line["args"]["buffer"] for line in context.print_lines() if line["name"] == "lapilliCheckBuffer"}
    check(bool(checked & non_coherent), "what the device wrote into non-coherent memory is not checked")


def record_and_replay(name: str, arguments: list[str], without_coherent: bool) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        only = {"LAPILLI_INCOHERENT_ONLY": "1"} if without_coherent else {}
        record(context, name, arguments, only)
        for environment in ({}, context.layer_env(INCOHERENT), context.layer_env(INCOHERENT, LAPILLI_INCOHERENT_ONLY="1")):
            check_verified(context.replay(env=environment))
    return run


def validate(name: str, arguments: list[str]) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        check_above_and_below(context, command(context, name, arguments), (INCOHERENT,), LAPILLI_INCOHERENT_ONLY="1")
    return run


def replay_without_coherent(name: str, arguments: list[str]) -> Callable[[Context], None]:
    """Recorded on the machine's own memory: all that the replayer itself writes and reads is flushed and invalidated."""
    def run(context: Context) -> None:
        context.capture(command(context, name, arguments))
        check_verified(context.replay(env=context.layer_env(INCOHERENT, LAPILLI_INCOHERENT_ONLY="1")))
    return run


def cases() -> dict[str, Callable[[Context], None]]:
    result = {"the-test-layer-hides-unflushed-writes": probe}
    for name, arguments, without_coherent in RUNS:
        label = name + ("-only" if without_coherent else "")
        result[f"replay/{label}"] = record_and_replay(name, arguments, without_coherent)
        if without_coherent:  # the other one is in tests/apps/unlisted.txt
            result[f"validate/{label}"] = validate(name, arguments)
        if name != "incoherent":
            result[f"replayer/{name}"] = replay_without_coherent(name, arguments)
    return result
