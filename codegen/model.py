# SPDX-License-Identifier: MIT
"""Joins registry and overrides: sorts every member and parameter into the few shapes that the emitters know."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from overrides import Disposition, OverrideError, Overrides
from registry import Command, Member, Registry, Struct

# Wire classes of scalars: (C type, most bytes, least bytes).
WIRES = {
    "u8": ("uint8_t", 1, 1),
    "u32": ("uint32_t", 5, 1),
    "u64": ("uint64_t", 10, 1),
    "size": ("uint64_t", 10, 1),
    "i32": ("int32_t", 5, 1),
    "i64": ("int64_t", 10, 1),
    "f32": ("float", 4, 4),
    "f64": ("double", 8, 8),
}


@dataclass
class Field:
    """A member or parameter with its form on the wire.

    element: scalar | handle | struct | union | char | opaque | object

    shape: value | array (fixed dims) | pointer | pointers (pointer to pointers) | string | strings | bytes | pnext |
    stype | skip
    """

    member: Member
    element: str
    shape: str
    wire: str = ""  # of scalars
    count: str = ""  # of pointers: C with {member} in braces; "1" for a single one
    inner_count: str = ""
    condition: str = ""
    output: bool = False
    created: bool = False  # a handle that the call returns
    destroyed: bool = False
    selector: str = ""  # of unions by value: C with {member}
    words: str = ""  # of bytes that may hold device addresses: enum lap_words
    needed: str = ""  # C with {member}: when a driver follows the pointer, or uses the handle, without a check; "1": always
    unless: str = ""  # a feature of the device that allows null
    needed_elements: bool = False  # none of the handles that it points to may be null
    filled: str = ""  # C with {member}: elements in use of a fixed array or behind a pointer; bytes of a raw union; whether a number was set
    each: str = ""  # C with {member} and i: the condition for each element of an array

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def type(self) -> str:
        return self.member.type

    @property
    def ctype(self) -> str:
        """The declared C type without name and array sizes."""
        text = re.sub(r"\[.*$", "", self.member.declaration).strip()
        text = re.sub(r":\s*\d+$", "", text).strip()
        return re.sub(rf"\b{self.member.name}$", "", text).strip()

    @property
    def strided(self) -> bool:
        """Another member is the distance of the elements. Decoded elements are contiguous."""
        return bool(self.member.stride)

    @property
    def is_address(self) -> bool:
        """An address in the memory of the recorded device."""
        return self.type == "VkDeviceAddress"

    @property
    def is_layout(self) -> bool:
        """An image layout: a device may not know the layout of presents."""
        return self.type == "VkImageLayout"

    @property
    def mask_kind(self) -> str:
        """The kind of bits that a device without some features does not know: "stages", "accesses", or ""."""
        if self.type.startswith("VkPipelineStageFlag"):
            return "stages"
        return "accesses" if self.type.startswith("VkAccessFlag") else ""

    @property
    def length(self) -> str:
        """Number of elements of a fixed array, as C."""
        return " * ".join(self.member.dims)


@dataclass
class StructPlan:
    struct: Struct
    fields: list[Field]
    number: int = 0
    raw: bool = False  # a union stored as its bytes
    only: str = ""  # a union that is always read as this one member

    @property
    def name(self) -> str:
        return self.struct.name

    @property
    def selected(self) -> bool:
        """A union whose valid member the caller must pass."""
        return self.struct.union and not self.raw and not self.only


@dataclass
class CommandPlan:
    command: Command
    disposition: Disposition
    fields: list[Field]
    number: int = 0
    packet: bool = False  # one of our own packets

    @property
    def name(self) -> str:
        return self.command.name

    @property
    def in_block(self) -> bool:
        return not self.packet and (self.disposition.block or self.name.startswith("vkCmd"))

    @property
    def stores_result(self) -> bool:
        return self.command.returns != "void" and self.disposition.when == "return" and not self.in_block

    @property
    def body_fields(self) -> list[Field]:
        """The fields of the body: a block leaves out the command buffer."""
        return self.fields[1:] if self.in_block else self.fields


# Parameters of instances and devices: features and the like.
CREATION = {"VkInstanceCreateInfo", "VkDeviceCreateInfo", "VkPhysicalDeviceFeatures2"}


@dataclass
class Model:
    registry: Registry
    overrides: Overrides
    structs: list[StructPlan]  # structs and unions, in number order
    commands: list[CommandPlan]  # our packets first, then vkCmd*, then the others
    handles: list[str]
    struct_of: dict[str, StructPlan] = field(default_factory=dict)

    @property
    def extending(self) -> list[StructPlan]:
        """The structs that may extend this one in a pNext chain."""
        return [s for s in self.structs if s.struct.stype and s.struct.extends]

    @cached_property
    def extended(self) -> set[str]:
        """The structs that may have a pNext chain: others extend them."""
        return {name for s in self.extending for name in s.struct.extends}

    def replayed(self, surfaces: bool = True) -> set[str]:
        """The structs in the commands of a replay (without surfaces, except their creation), and the structs in their
        chains."""
        left_out = ("info", "never") if surfaces else ("info", "never", "surface")
        commands = [p for p in self.commands if p.disposition.replay not in left_out]
        work, found = [f.type for p in commands for f in p.fields], set()
        while work:
            for name in (name for name in work if name in self.struct_of):
                found |= self.holding(name)
            work = [s.name for s in self.extending if s.name not in found and s.name not in self.overrides.dropped
                    and not self.overrides.is_hidden(s.struct.providers)
                    and found & set(s.struct.extends)]
        return found

    def refused(self) -> set[str]:
        """Structs of hidden extensions that no replay accepts in a chain. A program that creates a device or an
        instance may request missing features without a query: a replay leaves its structs out."""
        return {s.name for s in self.extending if self.overrides.is_hidden(s.struct.providers) and not set(s.struct.extends) <= CREATION}

    def unrecorded(self) -> set[str]:
        """Structs among them that would end a replay, in the chains of calls that a replay makes. The driver may have
        accepted them, but the layer never reported them to the program."""
        replayed = self.replayed()
        return {name for name in self.refused() if replayed & set(self.struct_of[name].struct.extends)}

    def holding(self, name: str) -> set[str]:
        """The struct, and all structs inside it and behind its pointers."""
        found, work = set(), [name]
        while work:
            name = work.pop()
            if name in self.struct_of and name not in found:
                found.add(name)
                work += [f.type for f in self.struct_of[name].fields]
        return found

    def min_wire(self, name: str, seen: tuple[str, ...] = ()) -> int:
        """The fewest bytes of a struct on the wire; at least 1."""
        plan = self.struct_of[name]
        if plan.raw or plan.only or plan.struct.union or name in seen:
            return 1
        total = 0
        for f in plan.fields:
            if f.shape == "value" and f.element == "scalar":
                total += WIRES[f.wire][2]
            elif f.shape == "value" and f.element in ("struct", "union"):
                total += self.min_wire(f.type, seen + (name,))
            elif f.shape not in ("stype", "skip"):
                total += 1
        return max(total, 1)


def scalar_wire(model_registry: Registry, overrides: Overrides, name: str) -> str | None:
    """The wire class of a number type; None for any other type."""
    if name in overrides.external:
        return overrides.external[name]
    if name in model_registry.flags:
        return "u64" if model_registry.flags[name].bits64 else "u32"
    if name in model_registry.enums:
        return "u64" if model_registry.enums[name].bits64 else "u32"
    base = model_registry.basetypes.get(name)
    if base:
        return scalar_wire(model_registry, overrides, base)
    return None


class _Classifier:
    def __init__(self, registry: Registry, overrides: Overrides):
        self.registry, self.overrides = registry, overrides

    def field(self, owner: str, member: Member, siblings: list[Member], is_param: bool) -> Field:
        override = self.overrides.members.get((owner, member.name), {})
        f = self._shape(owner, member, siblings, override, is_param)
        f.condition = override.get("when", "")
        f.words = override.get("words", "")
        if f.words and f.shape != "bytes":
            raise OverrideError(f"{owner}.{member.name} is no run of bytes, so no addresses are looked for in it")
        f.output = is_param and member.pointer > 0 and not member.const and f.element != "opaque" and f.shape != "skip"
        f.created = f.output and f.element == "handle"
        f.each = override.get("each", "")
        f.filled = self._filled(owner, f, siblings, override)
        self._needs(owner, f, override)
        return f

    def _filled(self, owner: str, f: Field, siblings: list[Member], override: dict) -> str:
        """The number of elements in use of a fixed array, from a count beside it or from an override. The rest is
        uninitialized memory."""
        m = f.member
        counts = f.shape == "array" and f.element != "char"
        if "filled" in override:
            raw = f.element == "union" and self.overrides.unions.get(m.type) == "raw"
            if not counts and not (f.shape == "value" and (f.element == "scalar" or raw)) and not (f.shape == "pointer" and "count" in override):
                raise OverrideError(f"{owner}.{m.name} is neither a fixed array, a number nor a union of bytes, so all of it is written")
            return override["filled"]
        return self._count(owner, m.lengths[0], siblings) if counts and m.lengths else ""

    def _needs(self, owner: str, f: Field, override: dict) -> None:
        """Whether the field must not be null, from the registry's attributes for "Valid Usage": optional,
        noautovalidity. Decoders, replay and reflection all use this function."""
        m = f.member
        if owner.startswith("lapilli") or f.shape not in ("value", "pointer", "pointers", "bytes", "string", "strings") or f.element in ("opaque", "object"):
            return
        if f.shape == "value" and f.element != "handle":
            return
        f.unless = override.get("unless", "")
        if "needed" in override:
            f.needed = override["needed"]
        elif f.condition:
            # Decoders have no access to the encoder's state.
            f.needed = "" if "enc" in f.condition or m.optional else f.condition
        elif not m.optional and not m.unchecked:
            f.needed = "1"
        f.needed_elements = f.shape == "pointer" and f.element == "handle" and not f.output and (
            override.get("needed_elements", not (m.optional_elements or m.unchecked or f.condition)))

    def _shape(self, owner: str, m: Member, siblings: list[Member], override: dict, is_param: bool) -> Field:
        registry = self.registry
        if override.get("as") == "skip" or m.type == "VkAllocationCallbacks" or m.type in registry.funcpointers:
            return Field(m, "opaque", "skip")
        if override.get("as") == "opaque":
            return Field(m, "opaque", "value")
        if override.get("as") == "object":
            return Field(m, "object", "value", selector="{objectType}")
        if "bytes" in override:
            return Field(m, "scalar", "bytes", count=override["bytes"])
        if not is_param and m.name == "sType" and m.type == "VkStructureType":
            return Field(m, "scalar", "stype")
        if (not is_param and m.name == "pNext") or m.type in ("VkBaseInStructure", "VkBaseOutStructure"):
            return Field(m, "struct", "pnext")
        if m.is_string:
            if m.pointer == 1:
                return Field(m, "char", "string")
            return Field(m, "char", "strings", count=self._count(owner, m.lengths[0], siblings))
        if m.type in registry.structs:
            element = "union" if registry.structs[m.type].union else "struct"
        elif m.type in registry.handles:
            element = "handle"
        elif m.type == "char":
            element = "char"
        elif scalar_wire(registry, self.overrides, m.type):
            element = "scalar"
        else:
            element = "opaque"
        wire = scalar_wire(registry, self.overrides, m.type) or ""
        if m.pointer == 0:
            if m.dims:
                return Field(m, element, "array", wire)
            return Field(m, element, "value", wire, selector=f"{{{m.selector}}}" if m.selector else "")
        if m.type == "void" and m.pointer == 1 and m.lengths:
            return Field(m, "scalar", "bytes", count=self._count(owner, m.lengths[0], siblings))
        if element == "opaque" or m.type == "char":
            return Field(m, "opaque", "value")
        if m.pointer == 2:
            if not m.lengths or element not in ("struct", "scalar"):
                return Field(m, "opaque", "value")
            inner = override.get("inner_count") or (self._count(owner, m.lengths[1], siblings) if len(m.lengths) > 1 else "")
            if not inner:
                raise OverrideError(f"{owner}.{m.name} points to pointers; overrides.toml must give inner_count")
            return Field(m, element, "pointers", wire, self._count(owner, m.lengths[0], siblings), inner)
        count = override.get("count") or (self._count(owner, m.lengths[0], siblings) if m.lengths else "1")
        if wire == "u8":
            return Field(m, element, "bytes", wire, count)
        return Field(m, element, "pointer", wire, count)

    def _count(self, owner: str, text: str, siblings: list[Member]) -> str:
        by_name = {s.name: s for s in siblings}

        def replace(match: re.Match) -> str:
            name = match.group(0)
            if name not in by_name:
                return name
            return f"(*{{{name}}})" if by_name[name].pointer and not text[match.end():].startswith("->") else f"{{{name}}}"

        result = re.sub(r"(?<![>\w])[A-Za-z_]\w*", replace, text)
        if "{" not in result and not re.fullmatch(r"[\d\s*+/A-Z_()]+", result):
            raise OverrideError(f"{owner}: the length {text!r} names no member")
        return result


def _check_order(owner: str, fields: list[Field]) -> None:
    """Checks that a count comes before the counted member: decoders read members in one pass."""
    seen: set[str] = set()
    names = {f.name for f in fields}
    for f in fields:
        if f.member.stride and (f.member.stride not in names or f.shape != "pointer" or f.element != "struct"):
            raise OverrideError(f"{owner}.{f.name}: only arrays of structures can have a stride, and a member that says it")
        for name in re.findall(r"{(\w+)}", f.count + f.inner_count + f.selector):
            if name not in seen and name != "objectType":
                raise OverrideError(f"{owner}.{f.name} is counted or selected by {name}, which comes later")
        seen.add(f.name)


def _counts_first(fields: list[Field]) -> list[Field]:
    """The fields in the order of the wire: bytes whose count comes later in the structure follow their count."""
    late = {f.name: m.group(1) for i, f in enumerate(fields) if f.shape == "bytes" and (m := re.fullmatch(r"{(\w+)}", f.count))
            and m.group(1) in {later.name for later in fields[i + 1:]}}
    result = []
    for f in fields:
        if f.name not in late:
            result += [f] + [other for other in fields if late.get(other.name) == f.name]
    return result


def _check_nesting(model: Model) -> None:
    """Checks that no structure nests in its own kind: decoders limit only the depth of nested pNext chains."""
    known: set[str] = set()

    def visit(s: StructPlan, within: tuple[str, ...]) -> None:
        if s.name in within:
            raise OverrideError(f"{s.name} may hold itself: decoders would not end")
        if s.name in known:
            return
        for f in s.fields:
            if f.element in ("struct", "union") and f.shape != "pnext":
                visit(model.struct_of[f.type], (*within, s.name))
        known.add(s.name)

    for s in model.structs:
        visit(s, ())


def build(registry: Registry, overrides: Overrides) -> Model:
    """The model for all emitters. Raises OverrideError for a member without a shape."""
    classify = _Classifier(registry, overrides)
    structs = []
    for struct in registry.structs.values():
        if struct.name in ("VkAllocationCallbacks", "VkBaseInStructure", "VkBaseOutStructure"):
            continue
        fields = [classify.field(struct.name, m, struct.members, False) for m in struct.members]
        if not struct.union:
            fields = _counts_first(fields)
        plan = StructPlan(struct, fields)
        treatment = overrides.unions.get(struct.name, "")
        plan.raw, plan.only = treatment == "raw", treatment if treatment != "raw" else ""
        if struct.union and not treatment and not all(m.selection for m in struct.members):
            raise OverrideError(f"union {struct.name} has no selector; overrides.toml must say how it is stored")
        if not struct.union:
            _check_order(struct.name, fields)
        structs.append(plan)
    structs.sort(key=lambda p: p.name)
    for number, plan in enumerate(structs, 1):
        plan.number = number

    commands = [CommandPlan(c, d, [classify.field(c.name, m, c.params, True) for m in c.params], packet=True)
                for c, d in overrides.packets]
    plain = [CommandPlan(c, overrides.dispositions[c.name], [classify.field(c.name, m, c.params, True) for m in c.params])
             for c in registry.commands.values()]
    plain.sort(key=lambda p: not p.in_block)
    commands += plain
    for number, plan in enumerate(commands, 1):
        plan.number = number
        _check_order(plan.name, plan.fields)
        if plan.disposition.destroys:
            ended = [f for f in plan.fields if f.element == "handle"][-1]
            ended.destroyed = True
        if any(f.unless for f in plan.fields) and plan.disposition.replay != "gen":
            raise OverrideError(f"{plan.name} has a parameter that may be null by a feature, which only generated functions know")
        if plan.disposition.when == "entry" and any(f.output for f in plan.fields):
            raise OverrideError(f"{plan.name} is written at entry but has outputs")
    model = Model(registry, overrides, structs, commands, sorted(registry.handles))
    model.struct_of = {p.name: p for p in structs}
    _check_nesting(model)
    return model
