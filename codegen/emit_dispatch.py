# SPDX-License-Identifier: MIT
"""Dispatch tables: one for instance-level and one for device-level commands, loaded by name and, failing that, by alias."""

from __future__ import annotations

from model import Model
from text import Text, finish_header, header, is_instance_level


def emit(model: Model) -> dict[str, str]:
    plans = [p for p in model.commands if not p.packet]
    levels = {"instance": [p for p in plans if is_instance_level(model, p)],
              "device": [p for p in plans if not is_instance_level(model, p)]}
    h = header(model, "emit_dispatch.py", "GEN_DISPATCH_H", ["gen_ids.h"])
    for level, members in levels.items():
        h(f"struct gen_{level}_dispatch {{")
        for p in members:
            h.guard(p.command.guard)
            h(f"PFN_{p.name} {p.command.short};")
        h.guard(None)
        h("};")
    h("void gen_load_instance_dispatch(struct gen_instance_dispatch *table, PFN_vkGetInstanceProcAddr get, VkInstance instance);")
    h("void gen_load_device_dispatch(struct gen_device_dispatch *table, PFN_vkGetDeviceProcAddr get, VkDevice device);")
    c = Text(model, "emit_dispatch.py", ["gen_dispatch.h"])
    for level, members in levels.items():
        type_name, variable = ("VkInstance", "instance") if level == "instance" else ("VkDevice", "device")
        get = "PFN_vkGetInstanceProcAddr" if level == "instance" else "PFN_vkGetDeviceProcAddr"
        c(f"void gen_load_{level}_dispatch(struct gen_{level}_dispatch *table, {get} get, {type_name} {variable})")
        c("{")
        for p in members:
            c.guard(p.command.guard)
            c(f'table->{p.command.short} = (PFN_{p.name})get({variable}, "{p.name}");')
            for alias in p.command.aliases:
                c(f"if (!table->{p.command.short})")
                c(f'    table->{p.command.short} = (PFN_{p.name})get({variable}, "{alias}");')
        c.guard(None)
        c("}")
    return {"gen_dispatch.h": finish_header(h), "gen_dispatch.c": c.render()}
