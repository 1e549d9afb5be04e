# SPDX-License-Identifier: MIT
"""Needs: the uses of features and extensions that a trace shows, and the conditions for capabilities of shaders
(needs.toml)."""

from __future__ import annotations

import re
from pathlib import Path

import needs as needs_module
from emit_reflect import _Enums, _struct_fields
from model import Model
from needs import Use
from registry import Enable
from text import Text, finish_header, header

KINDS = ["command", "struct", "member", "parameter", "value", "capability", "spirv", "stores", "does"]
DEEDS = ["nest", "nest_in_pass", "reuse", "cross_aspects"]
OPERATORS = ["SET", "EQUAL", "ABOVE", "BITS", "DIFFER"]


def _version(name: str) -> str:
    major, minor = re.fullmatch(r"VK_VERSION_(\d+)_(\d+)", name).groups()
    return f"VK_MAKE_API_VERSION(0, {major}, {minor}, 0)"


def _number(value: int) -> str:
    value -= 1 << 64 if value >= 1 << 63 else 0
    return f"INT64_C({value})" if value >= 0 else f"-INT64_C({-value - 1}) - 1"


def _text(text: str) -> str:
    return f'"{text}"' if text else "NULL"


class _Rows:
    def __init__(self, model: Model, numbers: dict[str, int], strings: list[str]):
        self.enums = _Enums(model).number
        self.registry, self.capabilities, self.strings = model.registry, numbers, strings
        self.structs = {s.name: _struct_fields(s) for s in model.structs}
        self.commands = {p.name: p.fields for p in model.commands}
        self.order = {n: i for i, n in enumerate([*self.commands, *self.structs])}

    def rows(self, w: Use) -> list[tuple[str, int, str, int, str, int]]:
        """kind, a sort key, the owner, member, operator, value."""
        if w.kind == "command":
            return [("command", self.order[w.owner], f"GEN_{w.owner}", 0, w.operator, 0)]
        if w.kind == "struct":
            return [("struct", self.order[w.owner], f"GEN_STRUCT_{w.owner}", 0, w.operator, 0)]
        if w.kind == "member":
            command = w.owner in self.commands
            fields = self.commands[w.owner] if command else self.structs[w.owner]
            index = next((i for i, f in enumerate(fields) if f.name == w.member), None)
            if index is None:
                return []
            return [("parameter" if command else "member", self.order[w.owner], ("GEN_" if command else "GEN_STRUCT_") + w.owner, index,
                     w.operator, w.value)]
        if w.kind == "value":
            owners = [w.owner] + [f.name for f in self.registry.flags.values() if self.registry.resolve(f.bits_enum or "") == w.owner]
            return [("value", self.enums[o], str(self.enums[o]), 0, w.operator, w.value) for o in owners if o in self.enums]
        if w.kind == "capability":
            number = self.capabilities[w.owner]
            return [("capability", number, str(number), 0, w.operator, 0)]
        if w.kind == "spirv":
            number = self.strings.index(w.owner)
            return [("spirv", number, str(number), 0, w.operator, 0)]
        if w.kind == "does":
            deed = DEEDS.index(w.owner)
            return [("does", deed, f"GEN_DOES_{w.owner.upper()}", 0, w.operator, 0)]
        stores = {"vertex": 0, "fragment": 1}[w.owner]
        return [("stores", stores, f"GEN_STORES_{w.owner.upper()}", 0, w.operator, 0)]


def _enables(model: Model, needs: needs_module.Needs, enables: list[Enable], extensions: dict[str, int]) -> list[str]:
    features = {f.name: i for i, f in enumerate(needs.features)}
    rows = []
    for e in enables:
        if e.version:
            rows.append(f".version = {_version(e.version)}" if e.version.startswith("VK_VERSION_") else "")
        elif e.extension:
            rows.append(f".extension = {extensions[e.extension] + 1}" if e.extension in extensions else "")
        elif e.property:
            plan = next((s for s in model.structs if s.name == e.struct), None)
            if plan and any(f.name == e.property for f in plan.fields):
                value = "1" if e.value == "VK_TRUE" else f"(uint32_t){e.value}"
                rows.append(f".property = GEN_STRUCT_{e.struct}, .offset = offsetof({e.struct}, {e.property}), .bits = {value}")
        else:
            rows += [f".feature = {features[n] + 1}" for n in e.features if n in features]
    return [r for r in dict.fromkeys(rows) if r]


def emit(model: Model) -> dict[str, str]:
    needs = needs_module.load(Path(__file__).with_name("needs.toml"), model)
    return emit_needs(model, needs)


def emit_needs(model: Model, needs: needs_module.Needs) -> dict[str, str]:
    registry = model.registry
    extensions = {name: i for i, name in enumerate(sorted(registry.extensions))}
    strings = sorted(registry.spirv_extensions)
    by_number: dict[int, list[Enable]] = {}
    names: dict[int, str] = {}
    for name, enables in registry.capabilities.items():
        if name in needs.capabilities:
            by_number.setdefault(needs.capabilities[name], []).extend(enables)
            names.setdefault(needs.capabilities[name], name)

    h = header(model, "emit_needs.py", "GEN_NEEDS_H", ["gen_ids.h", "vulkan/feature_needs.h"])
    h(f"#define GEN_FEATURE_COUNT {len(needs.features)}")
    h("extern const struct gen_feature gen_features[GEN_FEATURE_COUNT]; /* by name */")
    h("/* Subjects from this number on are extensions, by their index in gen_extensions. */")
    h("#define GEN_SUBJECT_EXTENSION GEN_FEATURE_COUNT")
    h(f"#define GEN_SUBJECT_COUNT (GEN_FEATURE_COUNT + {len(extensions)})")
    h("/* The core version that each extension was promoted to; 0: none. By index in gen_extensions. */")
    h("extern const uint32_t gen_promotions[];")
    h("/* The dependencies of each extension as in the registry: names with + , and brackets between them; \"\" for none. By the same index. */")
    h("extern const char *const gen_dependencies[];")
    h("extern const struct gen_extension_need gen_extension_needs[]; /* by the same index */")
    h(f"#define GEN_SPIRV_EXTENSION_COUNT {len(strings)}")
    h("extern const char *const gen_spirv_extensions[GEN_SPIRV_EXTENSION_COUNT];")

    c = Text(model, "emit_needs.py", ["gen_needs.h", "<stddef.h>"])
    c("const struct gen_feature gen_features[GEN_FEATURE_COUNT] = {")
    for f in needs.features:
        partner = next((i + 1 for i, other in enumerate(needs.features) if other.name == f.partner), 0)
        c(f'{{"{f.name}", {_text(f.unseen)}, {_text(f.moot)}, {partner}, {"true" if f.known else "false"}}},')
    c("};")
    maker = _Rows(model, needs.capabilities, strings)
    rows = {(KINDS.index(k), number, member, operator, value, subject): owner
            for subject, uses in [(i, f.uses) for i, f in enumerate(needs.features)] +
            [(len(needs.features) + extensions[n], e.uses) for n, e in needs.extensions.items()]
            for w in uses for k, number, owner, member, operator, value in maker.rows(w)}
    h(f"#define GEN_USE_COUNT {len(rows)}")
    h("extern const struct gen_use gen_uses[GEN_USE_COUNT]; /* by kind, owner and member */")
    c("const struct gen_use gen_uses[GEN_USE_COUNT] = {")
    for (kind, _, member, operator, value, subject), owner in sorted(rows.items()):
        c(f"{{{_number(value)}, {owner}, {subject}, GEN_USE_{KINDS[kind].upper()}, GEN_OPERATOR_{operator}, {member}}},")
    c("};")
    c("const uint32_t gen_promotions[] = {")
    for name in extensions:
        target = registry.extensions[name].promoted_to or ""
        while target in registry.extensions:
            target = registry.extensions[target].promoted_to or ""
        c(f"{_version(target) if target.startswith('VK_VERSION_') else '0'},")
    c("};")
    c("const char *const gen_dependencies[] = {")
    for name in extensions:
        c(f'"{registry.extensions[name].depends}",')
    c("};")
    c("const struct gen_extension_need gen_extension_needs[] = {")
    for name in extensions:
        e = needs.extensions.get(name, needs_module.Extension())
        c(f"{{{_text(e.unseen if e.known else 'nothing is known that shows it')}, {_text(e.moot)}}},")
    c("};")
    c("const char *const gen_spirv_extensions[GEN_SPIRV_EXTENSION_COUNT] = {")
    for name in strings:
        c(f'"{name}",')
    c("};")
    starts = []
    c("const struct gen_enable gen_enables[] = {")
    count = 0
    for number in sorted(by_number):
        lines = _enables(model, needs, by_number[number], extensions)
        starts.append((number, count, len(lines)))
        for line in lines:
            c(f"{{{line}}},")
        count += len(lines)
    c("{0},")
    c("};")
    h("extern const struct gen_enable gen_enables[];")
    h(f"#define GEN_CAPABILITY_COUNT {len(starts)}")
    h("extern const struct gen_capability gen_capabilities[GEN_CAPABILITY_COUNT]; /* by number */")
    c("const struct gen_capability gen_capabilities[GEN_CAPABILITY_COUNT] = {")
    for number, first, length in starts:
        c(f'{{{number}, "{names[number]}", {first}, {length}}},')
    c("};")
    h("/* 0 for formats of blocks and planes, and for unknown ones. */")
    h("uint32_t gen_texel_bytes(VkFormat format);")
    values = dict(registry.enums["VkFormat"].values)
    c("uint32_t gen_texel_bytes(VkFormat format)")
    c("{")
    c("switch ((int64_t)format) {")
    for name, size in sorted(registry.texel_bytes.items()):
        value = values.get(registry.resolve(name))
        if value is not None:
            c(f"case {value}: return {size};")
    c("default: return 0;")
    c("}")
    c("}")
    return {"gen_needs.h": finish_header(h), "gen_needs.c": c.render()}
