# SPDX-License-Identifier: MIT
"""Reflection tables for the generic walker: members of structs and commands, values of enums, additions of extensions."""

from __future__ import annotations

import re
from pathlib import Path

import effects
from model import CommandPlan, Field, Model, StructPlan
from text import Text, expand, finish_header, followed_in, header

SHAPES = {"value": "VALUE", "array": "ARRAY", "pointer": "POINTER", "pointers": "POINTERS", "string": "STRING",
          "strings": "STRINGS", "bytes": "BYTES", "pnext": "PNEXT", "stype": "STYPE", "skip": "SKIP"}
SCALARS = {"u8": "UNSIGNED", "u32": "UNSIGNED", "u64": "UNSIGNED", "size": "UNSIGNED", "i32": "SIGNED", "i64": "SIGNED",
           "f32": "FLOAT", "f64": "FLOAT"}


# Defaults that a table entry omits.
_DEFAULTS = (" = NULL", " = 0", " = GEN_SHAPE_VALUE", " = GEN_COUNT_CONSTANT", " = GEN_ELEMENT_UNSIGNED")


class _Names:
    """Offsets into one array of names. A pointer instead would be relocated in each process that starts."""

    def __init__(self) -> None:
        self.offsets: dict[str, int] = {}
        self.bytes = 0

    def add(self, name: str) -> int:
        if name not in self.offsets:
            self.offsets[name] = self.bytes
            self.bytes += len(name) + 1
        return self.offsets[name]

    def render(self, c: Text) -> None:
        c("const char gen_reflect_names[] =")
        for name in self.offsets:
            c(f'"{name}\\0"')
        c(";")


class _Enums:
    """Numbers the enum and flags types of members."""

    def __init__(self, model: Model):
        registry = model.registry
        self.tables: list[tuple[str, list[tuple[str, int]]]] = []
        self.number: dict[str, int] = {}
        for name in sorted(set(registry.enums) | set(registry.flags)):
            if name in registry.flags:
                bits = registry.resolve(registry.flags[name].bits_enum or "")
                values = registry.enums[bits].values if bits in registry.enums else []
            else:
                values = registry.enums[name].values
            unique: dict[int, str] = {}
            for value_name, value in values:
                # Bit 63 is the sign of the table's type.
                unique.setdefault(value - (1 << 64) if value >= 1 << 63 else value, value_name)
            self.number[name] = len(self.tables)
            self.tables.append((name, [(n, v) for v, n in sorted(unique.items())]))


class _Members:
    """Writes the member tables and the few functions that they need."""

    def __init__(self, model: Model, text: Text, enums: _Enums, names: _Names):
        self.model, self.text, self.enums, self.names = model, text, enums, names
        self.hidden = {(struct, member) for struct, member, _ in model.overrides.hidden_features}
        self.reads = effects.load(Path(__file__).with_name("effects.toml"), model).reads

    def element(self, f: Field) -> tuple[str, str]:
        """GEN_ELEMENT_* without the prefix, and the type number."""
        registry = self.model.registry
        if f.shape in ("stype",) or f.element == "scalar" and f.type in registry.enums:
            kind = "FLAGS" if registry.enums[f.type].bitmask else "ENUM"
            return kind, str(self.enums.number[f.type])
        if f.shape in ("pnext", "skip"):
            return "OPAQUE", "0"
        if f.element == "scalar":
            if f.type in registry.flags:
                return "FLAGS", str(self.enums.number[f.type])
            return ("BOOL" if f.type == "VkBool32" else SCALARS.get(f.wire, "UNSIGNED")), "0"
        if f.element == "handle":
            return "HANDLE", f"GEN_HANDLE_{f.type}"
        if f.element in ("struct", "union"):
            return "STRUCT", f"GEN_STRUCT_{f.type}"
        return {"char": "CHAR", "opaque": "OPAQUE", "object": "OBJECT"}[f.element], "0"

    def computed(self, owner: str, f: Field, ctype: str, expression: str) -> str:
        """A function for an expression that no table entry can hold; 0 where the expression would follow a NULL
        pointer."""
        name = f"compute_{owner}_{f.name}"
        tests = "".join(f"s->{followed} && " for followed in followed_in(expression))
        row = re.sub(r"\[i\]", "[row]", expand(expression, lambda m: f"s->{m}"))
        self.text(f"static uint64_t {name}(const void *owner, uint64_t row)")
        self.text("{")
        self.text(f"const {ctype} *s = owner;")
        self.text("(void)s, (void)row;")
        value = f"(uint64_t)({row})"
        self.text(f"return {tests[:-4]} ? {value} : 0;" if tests else f"return {value};")
        self.text("}")
        return name

    def count(self, owner: str, f: Field, ctype: str, index: dict[str, int]) -> tuple[str, str, str, str]:
        """count kind, count, count member, compute."""
        none = "GEN_MEMBER_NONE"
        if any(index[name] > index[f.name] for name in followed_in(f.count + f.inner_count)):
            raise ValueError(f"{owner}.{f.name}: its count stands behind it")  # vulkan/pointers.c goes in order
        if f.shape == "array":
            return "CONSTANT", f.length, none, "NULL"
        if f.member.bits is not None:
            return "CONSTANT", "1", none, self.computed(owner, f, ctype, f"{{{f.name}}}")
        inner = self.computed(owner, f, ctype, f.inner_count) if f.shape == "pointers" else "NULL"
        if not f.count:
            return "CONSTANT", "1", none, "NULL"
        if found := re.fullmatch(r"{(\w+)}", f.count):
            return "MEMBER", "0", str(index[found.group(1)]), inner
        if found := re.fullmatch(r"\(\*{(\w+)}\)", f.count):
            return "POINTEE", "0", str(index[found.group(1)]), inner
        if "{" not in f.count:
            return "CONSTANT", f.count, none, inner
        if f.shape == "pointers":
            raise ValueError(f"{owner}.{f.name}: a computed count of rows is not supported")
        return "COMPUTE", "0", none, self.computed(owner, f, ctype, f.count)

    def entry(self, owner: str, f: Field, ctype: str, index: dict[str, int]) -> list[str]:
        element, number = self.element(f)
        kind, count, count_member, compute = self.count(owner, f, ctype, index)
        shape = "BITS" if f.member.bits is not None else SHAPES[f.shape]
        if element in ("OPAQUE", "OBJECT") or f.shape in ("string", "strings"):
            size = f"sizeof((({ctype} *)0)->{f.name})" if f.member.bits is None else "0"
        elif f.shape == "bytes":
            size = "1"
        else:
            size = f"sizeof({f.type})"
        selector = "GEN_MEMBER_NONE"
        if f.selector and f.element in ("union", "object"):
            selector = str(index[re.search(r"{(\w+)}", f.selector).group(1)])
        flags = [f"GEN_MEMBER_{n}" for n, on in (("OUTPUT", f.output), ("CREATED", f.created), ("DESTROYED", f.destroyed),
                                               ("NEEDED", f.needed == "1" and not f.unless), ("ELEMENTS", f.needed_elements),
                                               ("HIDDEN", (owner, f.name) in self.hidden), ("READ", (owner, f.name) in self.reads)) if on]
        parts = [f".name = {self.names.add(f.name)}", f".compute = {compute}",
                 f".offset = {'0' if f.member.bits is not None else f'offsetof({ctype}, {f.name})'}",
                 f".count = {count}", f".element_bytes = {size}", f".type = {number}", f".element = GEN_ELEMENT_{element}",
                 f".shape = GEN_SHAPE_{shape}", f".count_kind = GEN_COUNT_{kind}", f".count_member = {count_member}",
                 f".selector = {selector}", f".flags = {' | '.join(flags) or '0'}"]
        return parts

    def table(self, owner: str, ctype: str, fields: list[Field], result: str | None = None) -> None:
        index = {f.name: i for i, f in enumerate(fields)}
        entries = [self.entry(owner, f, ctype, index) for f in fields]
        if result:
            entries.append(self.result(ctype, result))
        self.text(f"static const struct gen_member members_{owner}[] = {{")
        for parts in entries:
            self.text("{" + ", ".join(p for p in parts if not p.endswith(_DEFAULTS)) + "},")
        if not entries:
            self.text("{0},")
        self.text("};")

    def result(self, ctype: str, returns: str) -> list[str]:
        if returns in self.model.registry.enums:
            element, number = "ENUM", str(self.enums.number[returns])
        elif returns.startswith("PFN_"):
            element, number = "OPAQUE", "0"
        else:
            element, number = ("BOOL" if returns == "VkBool32" else "UNSIGNED"), "0"
        return [f".name = {self.names.add('result')}", f".offset = offsetof({ctype}, result)", ".count = 1",
                f".element_bytes = sizeof((({ctype} *)0)->result)", f".type = {number}", f".element = GEN_ELEMENT_{element}",
                ".count_member = GEN_MEMBER_NONE", ".selector = GEN_MEMBER_NONE"]


def _struct_fields(s: StructPlan) -> list[Field]:
    return [f for f in s.fields if f.name == s.only] if s.only else s.fields


def _is_features(s: StructPlan) -> bool:
    return "VkDeviceCreateInfo" in s.struct.extends and any(f.type == "VkBool32" for f in s.fields) and all(
        f.type == "VkBool32" or f.shape in ("stype", "pnext") or f.element == "struct" for f in s.fields)


def emit(model: Model) -> dict[str, str]:
    h = header(model, "emit_reflect.py", "GEN_REFLECT_H", ["gen_ids.h", "vulkan/reflect.h"])
    h("extern const struct gen_struct_info gen_struct_infos[GEN_STRUCT_COUNT];")
    h("extern const struct gen_command_info gen_command_infos[GEN_COMMAND_COUNT];")
    enums = _Enums(model)
    h(f"#define GEN_ENUM_COUNT {len(enums.tables)}")
    h("extern const struct gen_enum_info gen_enums[GEN_ENUM_COUNT];")
    h(f"#define GEN_EXTENSION_COUNT {len(model.registry.extensions)}")
    h("extern const struct gen_extension_info gen_extensions[GEN_EXTENSION_COUNT];")
    h("/* The structure of a chain's element; GEN_STRUCT_NONE for types that this build lacks. */")
    h("enum gen_struct gen_struct_of_type(VkStructureType type);")
    h("/* The structure type of a structure; 0 for structures that are in no chain. */")
    h("VkStructureType gen_type_of_struct(enum gen_struct number);")
    h("/* Numbers by the registry's alias names, for example those from before a promotion; 0: none. */")
    for what in ("command", "struct", "handle"):
        h(f"uint32_t gen_{what}_by_alias(const char *name);")

    c = Text(model, "emit_reflect.py", ["gen_reflect.h", "gen_decode.h", "<stddef.h>", "<stdlib.h>", "<string.h>"])
    names = _Names()
    members = _Members(model, c, enums, names)
    for s in c.guarded(model.structs):
        members.table(s.name, s.name, _struct_fields(s))
        if s.selected:
            c(f"static const struct gen_selection selections_{s.name}[] = {{")
            for i, f in enumerate(s.fields):
                for value in f.member.selection:
                    c(f"{{{value}, {i}}},")
            c("};")
    for p in c.guarded(model.commands):
        members.table(p.name, f"struct gen_args_{p.name}", p.fields, p.command.returns if p.stores_result else None)
    _struct_infos(model, c)
    _command_infos(model, c)
    _enum_infos(enums, names, c)
    _extension_infos(model, c)
    c.lookup("enum gen_struct gen_struct_of_type(VkStructureType type)", "(uint32_t)type",
             ((s, s.struct.stype, f"GEN_STRUCT_{s.name}") for s in model.structs if s.struct.stype), "GEN_STRUCT_NONE")
    c.lookup("VkStructureType gen_type_of_struct(enum gen_struct number)", "(uint32_t)number",
             ((s, f"GEN_STRUCT_{s.name}", s.struct.stype) for s in model.structs if s.struct.stype), "(VkStructureType)0")
    _aliases(model, c)
    names.render(c)
    return {"gen_reflect.h": finish_header(h), "gen_reflect.c": c.render()}


def _struct_infos(model: Model, c: Text) -> None:
    c("const struct gen_struct_info gen_struct_infos[GEN_STRUCT_COUNT] = {")
    for s in c.guarded(model.structs):
        parts = [f".members = members_{s.name}", f".member_count = {len(_struct_fields(s))}", f".bytes = sizeof({s.name})"]
        if s.struct.union:
            parts.append(".is_union = true")
            if s.raw or s.only:
                parts.append(".raw = true")
            else:
                parts += [f".selections = selections_{s.name}",
                          f".selection_count = sizeof selections_{s.name} / sizeof selections_{s.name}[0]"]
        if _is_features(s):
            parts.append(".features = true")
        c(f"[GEN_STRUCT_{s.name}] = {{{', '.join(parts)}}},")
    c("};")


def _command_infos(model: Model, c: Text) -> None:
    c("const struct gen_command_info gen_command_infos[GEN_COMMAND_COUNT] = {")
    for p in c.guarded(model.commands):
        result = ", .has_result = true" if p.stores_result else ""
        c(f"[GEN_{p.name}] = {{.members = members_{p.name}, .member_count = {len(p.fields)}, .present = true{result}}},")
    c("};")


def _enum_infos(enums: _Enums, names: _Names, c: Text) -> None:
    for name, values in enums.tables:
        if values:
            c(f"static const struct gen_enum_value values_{name}[] = {{")
            for value_name, value in values:
                c(f'{{{f"INT64_C({value})" if value >= 0 else f"-INT64_C({-value - 1}) - 1"}, {names.add(value_name)}}},')
            c("};")
    c("const struct gen_enum_info gen_enums[GEN_ENUM_COUNT] = {")
    for name, values in enums.tables:
        c(f'{{"{name}", {f"values_{name}" if values else "NULL"}, {len(values)}}},')
    c("};")


def _extension_infos(model: Model, c: Text) -> None:
    registry = model.registry
    numbers = {p.name for p in model.commands}
    for extension in registry.extensions.values():
        commands = [n for n in map(registry.resolve, extension.commands) if n in numbers]
        structs = [n for n in map(registry.resolve, extension.types)
                   if n in model.struct_of and model.struct_of[n].struct.extends]
        for what, prefix, names in (("commands", "GEN_", commands), ("structs", "GEN_STRUCT_", structs)):
            text = ", ".join([prefix + n for n in dict.fromkeys(names)] + ["0"])
            c(f"static const uint16_t {what}_of_{extension.name}[] = {{{text}}};")
    c("const struct gen_extension_info gen_extensions[GEN_EXTENSION_COUNT] = {")
    for e in sorted(registry.extensions.values(), key=lambda e: e.name):
        hidden = model.overrides.hidden_extensions.get(e.name)
        reason = f'"{hidden}"' if hidden else "NULL"
        c(f'{{"{e.name}", commands_of_{e.name}, structs_of_{e.name}, {"true" if e.kind == "device" else "false"}, {reason}}},')
    c("};")


def _aliases(model: Model, c: Text) -> None:
    registry = model.registry
    c("struct alias {")
    c("const char *name;")
    c("uint32_t number;")
    c("};")
    c("static int compare_alias(const void *name, const void *alias)")
    c("{")
    c("return strcmp(name, ((const struct alias *)alias)->name);")
    c("}")
    commands: dict[str, CommandPlan] = {p.name: p for p in model.commands}
    for what, prefix, known in (("command", "GEN_", set(commands)), ("struct", "GEN_STRUCT_", set(model.struct_of)),
                                ("handle", "GEN_HANDLE_", set(model.handles))):
        pairs = sorted((alias, registry.resolve(alias)) for alias in registry.aliases if registry.resolve(alias) in known)
        c(f"uint32_t gen_{what}_by_alias(const char *name)")
        c("{")
        c("static const struct alias aliases[] = {")
        c('{"", 0},')
        for alias, target in pairs:
            c(f'{{"{alias}", {prefix}{target}}},')
        c("};")
        c("const struct alias *found = bsearch(name, aliases, sizeof aliases / sizeof aliases[0], sizeof aliases[0], compare_alias);")
        c("return found ? found->number : 0;")
        c("}")
