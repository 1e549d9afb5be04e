# SPDX-License-Identifier: MIT
"""Dispatch tables: one for instance-level and one for device-level commands, loaded by name or else by alias. A command
that is newer than the program's version of Vulkan is loaded by alias first, since the program means the extension's. Global
commands, which no instance has, are not loaded.

Device-level commands of instance extensions are also loaded through the instance. A driver need not have them; then the
loader's own functions exist below the layers although no device knows their names.
"""

from __future__ import annotations

from model import CommandPlan, Model
from text import Text, dispatch_handle, finish_header, header, is_instance_level


def of_instance_extension(model: Model, plan: CommandPlan) -> bool:
    """True when only instance extensions provide the command."""
    extensions = model.registry.extensions
    return all(p in extensions and extensions[p].kind == "instance" for p in plan.command.providers)


def core_version(model: Model, plan: CommandPlan) -> str | None:
    """The first Vulkan version with the command in core, as C."""
    versions = [model.registry.features[p] for p in plan.command.providers if p in model.registry.features]
    return f"VK_API_VERSION_{min(versions).replace('.', '_')}" if versions else None


def emit_load(model: Model, c: Text, p: CommandPlan, variable: str) -> None:
    target, version = f"table->{p.command.short}", core_version(model, p)
    names = [p.name, *p.command.aliases]
    if len(names) > 1 and version and version != "VK_API_VERSION_1_0":
        c(f"if (api_version < {version}) {{")
        for alias in p.command.aliases:
            c(f"if (!{target})")
            c(f'    {target} = (PFN_{p.name})get({variable}, "{alias}");')
        c("}")
    for name in names:
        c(f"if (!{target})")
        c(f'    {target} = (PFN_{p.name})get({variable}, "{name}");')


def emit(model: Model) -> dict[str, str]:
    plans = [p for p in model.commands if not p.packet]
    levels = {"instance": [p for p in plans if is_instance_level(model, p)],
              "device": [p for p in plans if not is_instance_level(model, p)]}
    h = header(model, "emit_dispatch.py", "GEN_DISPATCH_H", ["gen_ids.h"])
    for level, members in levels.items():
        h(f"struct gen_{level}_dispatch {{")
        for p in h.guarded(members):
            h(f"PFN_{p.name} {p.command.short};")
        h("};")
    h("/* api_version: the usable version, which is the lower of the instance's and the device's. */")
    h("void gen_load_instance_dispatch(struct gen_instance_dispatch *table, PFN_vkGetInstanceProcAddr get, VkInstance instance,")
    h("                                uint32_t api_version);")
    h("void gen_load_device_dispatch(struct gen_device_dispatch *table, PFN_vkGetDeviceProcAddr get, VkDevice device,")
    h("                              uint32_t api_version);")
    h("/* Fills in functions that the device lacks: commands of instance extensions. */")
    h("void gen_load_missing_device_dispatch(struct gen_device_dispatch *table, PFN_vkGetInstanceProcAddr get, VkInstance instance);")
    c = Text(model, "emit_dispatch.py", ["<string.h>", "gen_dispatch.h"])
    for level, members in levels.items():
        type_name, variable = ("VkInstance", "instance") if level == "instance" else ("VkDevice", "device")
        get = "PFN_vkGetInstanceProcAddr" if level == "instance" else "PFN_vkGetDeviceProcAddr"
        c(f"void gen_load_{level}_dispatch(struct gen_{level}_dispatch *table, {get} get, {type_name} {variable}, uint32_t api_version)")
        c("{")
        c("memset(table, 0, sizeof *table);")
        for p in c.guarded(p for p in members if dispatch_handle(model, p)):
            emit_load(model, c, p, variable)
        c("}")
    c("void gen_load_missing_device_dispatch(struct gen_device_dispatch *table, PFN_vkGetInstanceProcAddr get, VkInstance instance)")
    c("{")
    for p in c.guarded(p for p in levels["device"] if of_instance_extension(model, p)):
        c(f"if (!table->{p.command.short})")
        c(f'    table->{p.command.short} = (PFN_{p.name})get(instance, "{p.name}");')
    c("}")
    return {"gen_dispatch.h": finish_header(h), "gen_dispatch.c": c.render()}
