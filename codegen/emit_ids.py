# SPDX-License-Identifier: MIT
"""Numbers of commands, structs and handle types, their names, and the mapping between them and Vulkan's enums."""

from __future__ import annotations

import re

from model import Model
from overrides import CHECKS
from text import Text, dispatch_handle, finish_header, header


def emit(model: Model) -> dict[str, str]:
    h = header(model, "emit_ids.py", "GEN_IDS_H", ["<stdint.h>", "<vulkan/vulkan.h>"])
    h(f'#define GEN_REGISTRY_VERSION "{model.registry.header_version}"')
    h("enum gen_command {")
    h("GEN_COMMAND_NONE = 0,")
    for c in model.commands:
        h(f"GEN_{c.name} = {c.number},")
    h(f"GEN_COMMAND_COUNT = {len(model.commands) + 1},")
    h("};")
    h("enum gen_struct {")
    h("GEN_STRUCT_NONE = 0,")
    for s in model.structs:
        h(f"GEN_STRUCT_{s.name} = {s.number},")
    h(f"GEN_STRUCT_COUNT = {len(model.structs) + 1},")
    h("};")
    h("enum gen_handle_type {")
    h("GEN_HANDLE_NONE = 0,")
    for number, name in enumerate(model.handles, 1):
        h(f"GEN_HANDLE_{name} = {number},")
    h(f"GEN_HANDLE_COUNT = {len(model.handles) + 1},")
    h("};")
    h()
    h("/* Converts handles to numbers and back; dispatchable handles are pointers, the others have 64 bits on every machine. */")
    for name in h.guarded(model.handles):
        if model.registry.handles[name].dispatchable:
            h(f"static inline uint64_t gen_u64_{name}({name} handle) {{ return (uint64_t)(uintptr_t)handle; }}")
            h(f"static inline {name} gen_{name}(uint64_t value) {{ return ({name})(uintptr_t)value; }}")
        else:
            h(f"static inline uint64_t gen_u64_{name}({name} handle) {{ return (uint64_t)handle; }}")
            h(f"static inline {name} gen_{name}(uint64_t value) {{ return ({name})value; }}")
    h()
    h("/* Names as in the registry; [number]. */")
    for what in ("command", "struct", "handle"):
        h(f"extern const char *const gen_{what}_names[];")
    h("/* The handle type that a command is dispatched on; GEN_HANDLE_NONE for global commands. */")
    h("extern const uint8_t gen_command_dispatch[GEN_COMMAND_COUNT];")
    h("/* Flags of every packet of the command (enum lap_packet_flags): barrier, info, entry. */")
    h("extern const uint8_t gen_command_flags[GEN_COMMAND_COUNT];")
    h("/* Whether packets that neither create nor destroy an object are a part of its state, and stay with it: each of them, or the last one. */")
    h("enum gen_kept { GEN_KEPT_NOT, GEN_KEPT_ADDED, GEN_KEPT_REPLACED };")
    h("extern const uint8_t gen_command_kept[GEN_COMMAND_COUNT];")
    checks = [p for p in model.commands if p.disposition.check]
    h("/* What a replay compares by a packet of our own. */")
    h("enum gen_check {")
    h("GEN_CHECK_NONE,")
    for kind in CHECKS:
        h(f"GEN_CHECK_{kind.upper()},")
    h("GEN_CHECK_KINDS,")
    h("};")
    h("extern const uint8_t gen_command_checks[GEN_COMMAND_COUNT];")
    h("extern const char *const gen_check_names[GEN_CHECK_KINDS];")
    h("/* X(packet, type of the object, its parameter) for each of them. */")
    h("#define GEN_CHECKS(X)" + "".join(f" X({p.name}, {p.fields[0].type}, {p.fields[0].name})" for p in checks))
    h("/* The extension or version that provides a command; VK_VERSION_1_0 and so on for core ones, NULL for our packets. */")
    h("extern const char *const gen_command_providers[GEN_COMMAND_COUNT];")
    h("extern const char *const gen_struct_providers[GEN_STRUCT_COUNT];")
    h("/* Queues of any of these kinds accept the command; 0: it is not for queues. */")
    h("extern const VkQueueFlags gen_command_queues[GEN_COMMAND_COUNT];")
    h("enum gen_handle_type gen_handle_type_of(VkObjectType type);")
    h("enum gen_handle_type gen_handle_type_of_debug_report(VkDebugReportObjectTypeEXT type);")
    h("VkObjectType gen_object_type_of(enum gen_handle_type type);")
    h("/* Numbers by name; 0: no such name. */")
    h("uint32_t gen_command_by_name(const char *name);")
    h("uint32_t gen_struct_by_name(const char *name);")
    h("uint32_t gen_handle_by_name(const char *name);")

    c = Text(model, "emit_ids.py", ["gen_ids.h", "trace/format/format.h", "<string.h>", "<stdlib.h>"])
    for what, names, count in (("command", [p.name for p in model.commands], "COMMAND"),
                               ("struct", [p.name for p in model.structs], "STRUCT"), ("handle", model.handles, "HANDLE")):
        c(f"const char *const gen_{what}_names[GEN_{count}_COUNT] = {{")
        c('"",')
        for name in names:
            c(f'"{name}",')
        c("};")
    c("const uint8_t gen_command_dispatch[GEN_COMMAND_COUNT] = {")
    for p in model.commands:
        handle = dispatch_handle(model, p)
        if handle:
            c(f"[GEN_{p.name}] = GEN_HANDLE_{handle},")
    c("};")
    c("const uint8_t gen_command_flags[GEN_COMMAND_COUNT] = {")
    for p in model.commands:
        flags = [f"LAP_PACKET_{n}" for n, on in (("BARRIER", p.disposition.order == "barrier"), ("INFO", p.disposition.replay == "info"),
                                                ("ENTRY", p.disposition.when == "entry" and not p.packet)) if on]
        if flags:
            c(f"[GEN_{p.name}] = {' | '.join(flags)},")
    c("};")
    c("const uint8_t gen_command_kept[GEN_COMMAND_COUNT] = {")
    for p in model.commands:
        if p.disposition.kept:
            c(f"[GEN_{p.name}] = GEN_KEPT_{p.disposition.kept.upper()},")
    c("};")
    c("const uint8_t gen_command_checks[GEN_COMMAND_COUNT] = {")
    c("[GEN_COMMAND_NONE] = GEN_CHECK_NONE,")
    for p in checks:
        c(f"[GEN_{p.name}] = GEN_CHECK_{p.disposition.check.upper()},")
    c("};")
    c(f'const char *const gen_check_names[GEN_CHECK_KINDS] = {{"none", {", ".join(f"{chr(34)}{kind}{chr(34)}" for kind in CHECKS)}}};')
    c("const char *const gen_command_providers[GEN_COMMAND_COUNT] = {")
    for p in model.commands:
        if p.command.providers:
            c(f'[GEN_{p.name}] = "{p.command.providers[0]}",')
    c("};")
    c("const char *const gen_struct_providers[GEN_STRUCT_COUNT] = {")
    for p in model.structs:
        if p.struct.providers:
            c(f'[GEN_STRUCT_{p.name}] = "{p.struct.providers[0]}",')
    c("};")
    _command_queues(model, c)
    _object_types(model, c)
    for what, names in (("command", [p.name for p in model.commands]), ("struct", [p.name for p in model.structs]), ("handle", model.handles)):
        _by_name(c, what, names)
    return {"gen_ids.h": finish_header(h), "gen_ids.c": c.render(), "gen_renamed.h": _renamed(model)}


def _renamed(model: Model) -> str:
    """Maps the names of commands in older registries to the current ones, so that hand-written code is valid with all
    registries. A Vulkan version that promotes a command from an extension drops its suffix."""
    h = header(model, "emit_ids.py", "GEN_RENAMED_H", [])
    for p in model.commands:
        for alias in sorted(p.command.aliases):
            short, name = alias.removeprefix("vk"), p.command.short
            for prefix in ("GEN_", "gen_args_", "gen_encode_"):
                h(f"#define {prefix}{alias} {prefix}{p.name}")
            for prefix in ("replay_", "capture_", "hook_after_", "hook_before_", ""): # and the member of dispatch tables
                h(f"#define {prefix}{short} {prefix}{name}")
    return finish_header(h)


def _by_name(c: Text, what: str, names: list[str]) -> None:
    """A binary search: a file may have any number of names."""
    c(f"static int compare_{what}(const void *name, const void *number)")
    c("{")
    c(f"return strcmp(name, gen_{what}_names[*(const uint16_t *)number]);")
    c("}")
    c(f"uint32_t gen_{what}_by_name(const char *name)")
    c("{")
    c(f"static const uint16_t by_name[] = {{")
    ordered = sorted(range(1, len(names) + 1), key=lambda number: names[number - 1])
    for at in range(0, len(ordered), 16):
        c(", ".join(map(str, ordered[at:at + 16])) + ",")
    c("};")
    c(f"const uint16_t *found = bsearch(name, by_name, sizeof by_name / sizeof by_name[0], sizeof by_name[0], compare_{what});")
    c("return found ? *found : 0;")
    c("}")


def _command_queues(model: Model, c: Text) -> None:
    bits = model.registry.queue_bits
    c("const VkQueueFlags gen_command_queues[GEN_COMMAND_COUNT] = {")
    for p in model.commands:
        kinds = sum({bits[q] for q in p.command.queues})
        if kinds:
            c(f"[GEN_{p.name}] = {kinds:#x}, /* {', '.join(p.command.queues)} */")
    c("};")


def _object_types(model: Model, c: Text) -> None:
    known = {name for name, _ in model.registry.enums["VkObjectType"].values}
    pairs = []
    for name in model.handles:
        value = model.registry.handles[name].object_type
        value = model.registry.resolve(value) if value else None
        if value in known:
            pairs.append((name, value))
    c.lookup("enum gen_handle_type gen_handle_type_of(VkObjectType type)", "(uint32_t)type",
             ((name, value, f"GEN_HANDLE_{name}") for name, value in pairs), "GEN_HANDLE_NONE")
    c.lookup("VkObjectType gen_object_type_of(enum gen_handle_type type)", "type",
             ((name, f"GEN_HANDLE_{name}", value) for name, value in pairs), "VK_OBJECT_TYPE_UNKNOWN")
    reports = {n for n, _ in model.registry.enums.get("VkDebugReportObjectTypeEXT").values} \
        if "VkDebugReportObjectTypeEXT" in model.registry.enums else set()
    c("enum gen_handle_type gen_handle_type_of_debug_report(VkDebugReportObjectTypeEXT type)")
    c("{")
    c("switch ((uint32_t)type) {")
    for name, value in pairs:
        report = re.sub("^VK_OBJECT_TYPE_(.*?)(_KHR|_EXT|_NV|_NVX|_INTEL|_FUCHSIA)?$",
                        lambda m: f"VK_DEBUG_REPORT_OBJECT_TYPE_{m.group(1)}{m.group(2) or ''}_EXT", value).replace("_EXT_EXT", "_EXT")
        if report in reports:
            c(f"case {report}: return GEN_HANDLE_{name};")
    c("default: return GEN_HANDLE_NONE;")
    c("}")
    c("}")
