# SPDX-License-Identifier: MIT
"""Writes a Vulkan driver that does nothing but look at what it is given: one function for each command of the registry, which puts
its parameters into struct gen_args_X and calls driver_call() (tests/fuzz/driver.h).

emit_driver.py --registry vk.xml --overrides overrides.toml --out FILE.c
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "codegen"))

import model as model_module  # noqa: E402
import overrides as overrides_module  # noqa: E402
import registry as registry_module  # noqa: E402
from model import CommandPlan, Model  # noqa: E402
from text import Text, parameters  # noqa: E402


def _emit_function(c: Text, p: CommandPlan) -> None:
    returns = p.command.returns
    c(f"static VKAPI_ATTR {returns} VKAPI_CALL driver_{p.name}({parameters(p)})")
    c("{")
    plain = [f for f in p.fields if not f.member.dims]
    values = ", ".join(f".{f.name} = {f.name}" for f in plain)
    c(f"struct gen_args_{p.name} args = {{{values or '0'}}};")
    for f in p.fields:
        if f.member.dims:
            c(f"memcpy(args.{f.name}, {f.name}, sizeof args.{f.name});")
    call = f"driver_call(GEN_{p.name}, &args)"
    if returns == "void":
        c(f"(void){call};")
    else:
        c(f"return ({returns}){'(uintptr_t)' if returns.startswith('PFN_') else ''}{call};")
    c("}")


def emit(model: Model) -> str:
    plans = [p for p in model.commands if not p.packet]
    c = Text(model, "../tests/fuzz/emit_driver.py", ["tests/fuzz/driver.h", "gen_decode.h"])
    for p in c.guarded(plans):
        _emit_function(c, p)
    c("struct driver_function driver_functions[] = {")
    for p in c.guarded(plans):
        for name in [p.name, *p.command.aliases]:
            c(f'{{"{name}", (PFN_vkVoidFunction)driver_{p.name}}},')
    c("};")
    c("const size_t driver_function_count = sizeof driver_functions / sizeof driver_functions[0];")
    return c.render()


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the driver that fuzzing replays on.")
    parser.add_argument("--registry", required=True)
    parser.add_argument("--overrides", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    registry = registry_module.load(options.registry)
    model = model_module.build(registry, overrides_module.load(options.overrides, registry))
    Path(options.out).write_text(emit(model), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
