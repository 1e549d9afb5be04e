# SPDX-License-Identifier: MIT
"""Host-visible memory in pages of the layer: all programs are recorded with LAPILLI_BACKING=host, replayed, and validated.

A driver's own mappings are ordinary memory here, so nothing but this option makes the layer do it.
"""

from __future__ import annotations

from typing import Callable

from e2e.cases import (LAYER, VALIDATION, Context, Program, Skip, check, check_no_validation_message, check_verified,
                       prepare, programs, validation_layer)
from e2e.validation import skip_mistaken

HOST = {"LAPILLI_BACKING": "host"}


def record(context: Context, program: Program) -> list[str]:
    prepare(context, program)
    context.capture(program.command, env=HOST)
    traces = sorted(p.name for p in context.folder.glob("*.lapilli"))
    checks = sum(check_verified(context.replay(trace)) for trace in traces if context.info(trace)["commands"] > 0)
    check(checks > 0, "nothing was checked")
    return traces


def record_and_replay(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        for trace in record(context, program):
            info = context.info(trace)
            if "lacks VK_EXT_external_memory_host" in (info["backing_reason"] or ""):
                raise Skip(info["backing_reason"])
            check(info["commands"] == 0 or info["backing"].startswith("memory types "),
                  f"nothing is backed: {info['backing_reason']}")
    return run


def without_imports(context: Context) -> None:
    """A driver with the extension that has no buffers for it: its own memory is used, and the trace says why."""
    context = context.on("swiftshader")
    compute = next(p for p in programs(context) if p.name == "compute")
    for trace in record(context, compute):
        info = context.info(trace)
        check(info["backing"] == "none" and info["backing_reason"] == "the driver binds no buffers to imported pages", f"{info}")


def validate(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        prepare(context, program)
        validation_layer(context)
        for where, order in (("on top of the layer", (VALIDATION, LAYER)), ("below the layer", (LAYER, VALIDATION))):
            done = context.run(program.command, context.layer_env(*order, LAPILLI_VERIFY="1", **HOST))
            skip_mistaken(done)
            check_no_validation_message(done, where)
    return run


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result = {"a-driver-that-imports-no-buffers-keeps-its-own-memory": without_imports}
    for program in programs(context):
        result[f"replay/{program.name}"] = record_and_replay(program)
        # These bind preinitialized images to memory that is mapped and backed already: docs/memory.md, "What remains".
        if program.name not in ("memory", "rebind-image"):
            result[f"validate/{program.name}"] = validate(program)
    return result
