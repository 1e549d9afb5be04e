# SPDX-License-Identifier: MIT
"""Reads a Vulkan registry (vk.xml, and video.xml beside it) into a model.

The model contains the registry's data for the `vulkan` API: handles, enums, flags, structs, unions and commands that
some core version or some extension with supported="vulkan" requires. Aliases are resolved to the defined name. The
types of video codecs (StdVideo*) are in video.xml. This module does not know how Lapilli uses them. Works from registry
1.3.239 on.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

API = "vulkan"


class RegistryError(Exception):
    """The model can't represent the registry's content."""


@dataclass
class Member:
    """A struct member or a command parameter."""

    name: str
    type: str  # base type name, aliases resolved
    const: bool = False  # the target of the (first) pointer is const
    pointer: int = 0  # number of stars
    dims: list[str] = field(default_factory=list)  # fixed array sizes, as C text
    bits: int | None = None  # bit-field width
    lengths: list[str] = field(default_factory=list)  # len="..." split at commas, altlen preferred
    optional: bool = False
    optional_elements: bool = False  # handles in an array may be null
    unchecked: bool = False  # the registry defines only in prose when it must be valid
    values: str | None = None  # sType value
    selector: str | None = None  # member that selects the valid member of a union
    selection: list[str] = field(default_factory=list)  # in a union: selector values
    object_type: str | None = None  # member that holds the VkObjectType of this uint64_t
    stride: str = ""  # member with the distance in bytes of two elements
    declaration: str = ""  # C declaration as in the header

    @property
    def is_string(self) -> bool:
        return self.type == "char" and self.pointer > 0 and bool(self.lengths) and self.lengths[-1] == "null-terminated"


@dataclass
class Struct:
    """A struct or a union."""

    name: str
    members: list[Member]
    union: bool = False
    returned_only: bool = False
    extends: list[str] = field(default_factory=list)
    stype: str | None = None
    guard: str | None = None
    providers: list[str] = field(default_factory=list)


@dataclass
class Command:
    """A command; except for the global commands, params[0] is its dispatchable handle."""

    name: str
    returns: str
    params: list[Member]
    aliases: list[str] = field(default_factory=list)
    guard: str | None = None
    providers: list[str] = field(default_factory=list)
    success: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)  # bits of VkQueueFlagBits: queues with one of them take the command

    @property
    def short(self) -> str:
        return self.name[2:] if self.name.startswith("vk") else self.name


@dataclass
class Handle:
    name: str
    dispatchable: bool
    parent: str | None
    object_type: str | None
    guard: str | None = None


@dataclass
class Enum:
    """Named values; for flag bits the names are single bits or unions of bits."""

    name: str
    values: list[tuple[str, int]] = field(default_factory=list)
    bitmask: bool = False
    bits64: bool = False


@dataclass
class Flags:
    """A VkFlags or VkFlags64 type and the enum of its bits."""

    name: str
    bits_enum: str | None
    bits64: bool


@dataclass
class Extension:
    name: str
    number: int
    kind: str  # "instance" or "device"
    guard: str | None
    platform: str | None
    promoted_to: str | None
    depends: str = ""  # other extensions and versions: + is and, a comma is or, both with the same precedence; "" for none
    commands: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    values: list[tuple[str, str]] = field(default_factory=list)  # enum, name of an added value


@dataclass
class Enable:
    """One of the conditions that let shaders declare a capability or an extension of SPIR-V."""

    version: str = ""  # VK_VERSION_1_1
    extension: str = ""
    struct: str = ""  # with feature, or with property
    features: list[str] = field(default_factory=list)
    property: str = ""  # a member of struct
    value: str = ""  # the required value or bit


@dataclass
class Registry:
    header_version: str
    path: str
    structs: dict[str, Struct]
    commands: dict[str, Command]
    handles: dict[str, Handle]
    enums: dict[str, Enum]
    flags: dict[str, Flags]
    funcpointers: set[str]
    basetypes: dict[str, str]  # name -> C type, "" for opaque ones
    externals: set[str]  # types of other headers
    extensions: dict[str, Extension]
    features: dict[str, str]  # VK_VERSION_1_1 -> "1.1"
    aliases: dict[str, str]
    constants: dict[str, int]
    capabilities: dict[str, list[Enable]] = field(default_factory=dict)  # of SPIR-V: any of these is enough
    spirv_extensions: dict[str, list[Enable]] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)  # extensions that are no longer supported, and names that only they have
    texel_bytes: dict[str, int] = field(default_factory=dict)  # of formats whose blocks are single texels

    @property
    def queue_bits(self) -> dict[str, int]:
        return dict(self.enums["VkQueueFlagBits"].values) if "VkQueueFlagBits" in self.enums else {}

    def resolve(self, name: str) -> str:
        """The defined name behind an alias."""
        while name in self.aliases:
            name = self.aliases[name]
        return name


def _for_api(element: ET.Element) -> bool:
    return API in element.get("api", API).split(",")


def _supported(element: ET.Element) -> bool:
    return API in element.get("supported", "").split(",")


def _split_lengths(element: ET.Element) -> list[str]:
    length = element.get("len")
    if length is None:
        return []
    return [part.strip() for part in (element.get("altlen") or length).split(",")]


def _parse_member(element: ET.Element) -> Member:
    for comment in element.findall("comment"):
        tail = comment.tail or ""
        index = list(element).index(comment)
        if index > 0:
            element[index - 1].tail = (element[index - 1].tail or "") + tail
        element.remove(comment)
    declaration = " ".join("".join(element.itertext()).split())
    type_element, name_element = element.find("type"), element.find("name")
    if type_element is None or name_element is None or not type_element.text or not name_element.text:
        raise RegistryError(f"a member without type or name: {declaration}")
    before, _, after = declaration.partition(type_element.text)
    name = name_element.text
    # The text after the type: stars, the name, array sizes or a bit-field width.
    stars, _, suffix = after.partition(name) if not after.lstrip().startswith(name) else ("", name, after.lstrip()[len(name):])
    bits = re.search(r":\s*(\d+)", suffix)
    return Member(
        name=name,
        type=type_element.text,
        const="const" in before,
        pointer=stars.count("*"),
        dims=re.findall(r"\[\s*(\w+)\s*\]", suffix),
        bits=int(bits.group(1)) if bits else None,
        lengths=_split_lengths(element),
        optional=element.get("optional", "false").startswith("true"),
        optional_elements="true" in element.get("optional", "false").split(","),
        unchecked=element.get("noautovalidity") == "true",
        values=element.get("values"),
        selector=element.get("selector"),
        selection=[s for s in (element.get("selection") or "").split(",") if s],
        object_type=element.get("objecttype"),
        stride=element.get("stride") or "",
        declaration=declaration,
    )


def _parse_enum_value(element: ET.Element, extension_number: int | None) -> int | None:
    if element.get("bitpos") is not None:
        return 1 << int(element.get("bitpos"))
    if element.get("value") is not None:
        try:
            return int(element.get("value"), 0)
        except ValueError:
            return None
    if element.get("offset") is not None:
        number = int(element.get("extnumber") or extension_number or 0)
        value = 1000000000 + (number - 1) * 1000 + int(element.get("offset"))
        return -value if element.get("dir") == "-" else value
    return None


def load(path: str | Path) -> Registry:
    """Parses the registry file; raises RegistryError with a message on failure."""
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError) as error:
        raise RegistryError(f"{path}: {error}") from error
    if root.tag != "registry":
        raise RegistryError(f"{path}: the root element is <{root.tag}>, not <registry>")

    platforms = {p.get("name"): p.get("protect") for p in root.iterfind("platforms/platform")}
    registry = Registry("", str(path), {}, {}, {}, {}, {}, set(), {}, set(), {}, {}, {}, {})
    for part in (root, *_video_root(root, Path(path))):
        _read_types(part, registry)
        _read_enums(part, registry)
    major, minor = registry.constants.get("api_major", 1), registry.constants.get("api_minor", 0)
    registry.header_version = f"{major}.{minor}.{registry.header_version or 0}"
    registry.externals -= registry.structs.keys() | registry.enums.keys()
    _read_commands(root, registry)
    _apply_requirements(root, registry, platforms)
    _resolve_members(registry)
    _read_shader_needs(root, registry)
    _check_queues(registry)
    return registry


def _video_root(root: ET.Element, path: Path) -> list[ET.Element]:
    """The registry of video codecs, where vk.xml takes types from its headers."""
    if not any((t.get("requires") or "").startswith("vk_video/") for t in root.iterfind("types/type")):
        return []
    path = path.with_name("video.xml")
    try:
        return [ET.parse(path).getroot()]
    except (OSError, ET.ParseError) as error:
        raise RegistryError(f"{path}: {error}") from error


def _check_queues(registry: Registry) -> None:
    for command in registry.commands.values():
        for name in command.queues:
            if name not in registry.queue_bits:
                raise RegistryError(f"{command.name}: there is no {name}")


def _read_types(root: ET.Element, registry: Registry) -> None:
    for element in root.iterfind("types/type"):
        if not _for_api(element):
            continue
        category = element.get("category")
        name = element.get("name") or (element.findtext("name") or "")
        if element.get("alias"):
            registry.aliases[name] = element.get("alias")
        elif category in ("struct", "union"):
            members = [_parse_member(m) for m in element.findall("member") if _for_api(m)]
            stype = next((m.values for m in members if m.name == "sType" and m.values), None)
            registry.structs[name] = Struct(
                name, members, category == "union", element.get("returnedonly") == "true",
                [s for s in (element.get("structextends") or "").split(",") if s], stype)
        elif category == "handle":
            registry.handles[name] = Handle(name, "NON_DISPATCHABLE" not in (element.findtext("type") or ""),
                                            element.get("parent"), element.get("objtypeenum"))
        elif category == "bitmask":
            base = element.findtext("type") or "VkFlags"
            registry.flags[name] = Flags(name, element.get("requires") or element.get("bitvalues"), base == "VkFlags64")
        elif category == "enum":
            registry.enums.setdefault(name, Enum(name))
        elif category == "funcpointer":
            registry.funcpointers.add(name or (element.findtext("proto/name") or ""))
        elif category == "basetype":
            registry.basetypes[name] = element.findtext("type") or ""
        elif category == "define":
            if name == "VK_HEADER_VERSION":
                registry.header_version = "".join(element.itertext()).split()[-1]
            elif name == "VK_HEADER_VERSION_COMPLETE":
                found = re.search(r"\(0,\s*(\d+),\s*(\d+),", "".join(element.itertext()))
                if found:
                    registry.constants["api_major"], registry.constants["api_minor"] = map(int, found.groups())
        elif category is None:
            registry.externals.add(name)


def _read_enums(root: ET.Element, registry: Registry) -> None:
    for block in root.iterfind("enums"):
        name = block.get("name")
        if block.get("type") not in ("enum", "bitmask"):
            for element in block.findall("enum"):
                value = _parse_enum_value(element, None)
                if value is not None:
                    registry.constants[element.get("name")] = value
            continue
        enum = registry.enums.setdefault(name, Enum(name))
        enum.bitmask = block.get("type") == "bitmask"
        enum.bits64 = block.get("bitwidth") == "64"
        for element in block.findall("enum"):
            value = _parse_enum_value(element, None)
            if value is not None and _for_api(element):
                enum.values.append((element.get("name"), value))
            elif element.get("alias"):
                registry.aliases[element.get("name")] = element.get("alias")


# Older registries have short names for the kinds of queues.
QUEUE_BITS = {"decode": "VK_QUEUE_VIDEO_DECODE_BIT_KHR", "encode": "VK_QUEUE_VIDEO_ENCODE_BIT_KHR",
              "opticalflow": "VK_QUEUE_OPTICAL_FLOW_BIT_NV"}


def _queue_bit(name: str) -> str:
    return name if name.startswith("VK_") else QUEUE_BITS.get(name, f"VK_QUEUE_{name.upper()}_BIT")


def _read_commands(root: ET.Element, registry: Registry) -> None:
    alias_of: dict[str, str] = {}
    for element in root.iterfind("commands/command"):
        if not _for_api(element):
            continue
        if element.get("alias"):
            alias_of[element.get("name")] = element.get("alias")
            continue
        proto = element.find("proto")
        if proto is None:
            raise RegistryError("a command without a prototype")
        name = proto.findtext("name") or ""
        params = [_parse_member(p) for p in element.findall("param") if _for_api(p)]
        success, errors = ([s for s in (element.get(kind) or "").split(",") if s] for kind in ("successcodes", "errorcodes"))
        queues = [_queue_bit(q) for q in (element.get("queues") or "").split(",") if q]
        registry.commands[name] = Command(name, proto.findtext("type") or "void", params, success=success, errors=errors, queues=queues)
    for alias, target in alias_of.items():
        while target in alias_of:
            target = alias_of[target]
        if target not in registry.commands:
            raise RegistryError(f"command {alias} is an alias of {target}, which is not defined")
        registry.commands[target].aliases.append(alias)
        registry.aliases[alias] = target


def _protection_of_types(extension: ET.Element) -> str | None:
    """The guard that all structure types of an extension have, or None. Registry 1.4.309 guards VK_NV_present_metering so alone."""
    guards = {item.get("protect") for item in extension.iterfind("require/enum[@extends='VkStructureType']")}
    return guards.pop() if len(guards) == 1 else None


def _apply_requirements(root: ET.Element, registry: Registry, platforms: dict[str, str | None]) -> None:
    """Selects the names that versions and supported extensions require; computes guards and providers; adds extension
    enums."""
    required_types: dict[str, list[tuple[str, str | None]]] = {}
    required_commands: dict[str, list[tuple[str, str | None]]] = {}
    seen_values: dict[str, set[str]] = {e.name: {n for n, _ in e.values} for e in registry.enums.values()}

    def take(provider: str, guard: str | None, number: int | None, holder: ET.Element, extension: Extension | None) -> None:
        for require in holder.findall("require"):
            if not _for_api(require):
                continue
            for item in require:
                name = item.get("name")
                if not _for_api(item):
                    continue
                if item.tag == "type":
                    required_types.setdefault(registry.resolve(name), []).append((provider, guard))
                    if extension:
                        extension.types.append(name)
                elif item.tag == "command":
                    required_commands.setdefault(registry.resolve(name), []).append((provider, guard))
                    if extension:
                        extension.commands.append(name)
                elif item.tag == "enum" and item.get("extends"):
                    if extension:
                        extension.values.append((item.get("extends"), name))
                    if item.get("alias"):
                        registry.aliases[name] = item.get("alias")
                        continue
                    enum = registry.enums.setdefault(item.get("extends"), Enum(item.get("extends")))
                    value = _parse_enum_value(item, number)
                    if value is not None and name not in seen_values.setdefault(enum.name, set()):
                        seen_values[enum.name].add(name)
                        enum.values.append((name, value))

    for feature in root.iterfind("feature"):
        if API in feature.get("api", "").split(",") or "vulkanbase" in feature.get("api", "").split(","):
            # Newer registries split a version into parts (VK_BASE_VERSION_1_2, VK_COMPUTE_VERSION_1_2, ...), which are merged.
            name = f"VK_VERSION_{feature.get('number').replace('.', '_')}"
            registry.features[name] = feature.get("number")
            take(name, None, None, feature, None)
    for element in root.iterfind("extensions/extension"):
        if not _supported(element):
            registry.withdrawn |= {element.get("name")} | {item.get("name") for item in element.iterfind("require/*") if item.tag in ("type", "command")}
            continue
        platform = element.get("platform")
        guard = platforms.get(platform) if platform else element.get("protect") or _protection_of_types(element)
        extension = Extension(element.get("name"), int(element.get("number") or 0), element.get("type") or "device", guard,
                              platform, element.get("promotedto"),
                              element.get("depends") or (element.get("requires") or "").replace(",", "+"))
        registry.extensions[extension.name] = extension
        take(extension.name, guard, extension.number, element, extension)

    def settle(needs: list[tuple[str, str | None]]) -> tuple[str | None, list[str]]:
        guards = {g for _, g in needs}
        return (None if None in guards else sorted(g for g in guards if g)[0]), sorted({p for p, _ in needs}, key=_provider_order)

    for name in list(registry.commands):
        if name not in required_commands:
            del registry.commands[name]
            continue
        command = registry.commands[name]
        command.guard, command.providers = settle(required_commands[name])

    # Types in commands and required structs are needed too, under the guard of their user.
    work = [(m.type, p, c.guard) for c in registry.commands.values() for m in c.params for p in c.providers[:1]]
    work += [(name, provider, guard) for name, needs in required_types.items() for provider, guard in needs]
    needed: dict[str, list[tuple[str, str | None]]] = {}
    while work:
        name, provider, guard = work.pop()
        name = registry.resolve(name)
        known = needed.setdefault(name, [])
        if (provider, guard) in known or any(g is None for _, g in known) and guard is not None:
            continue
        known.append((provider, guard))
        if name in registry.structs:
            work += [(m.type, provider, guard) for m in registry.structs[name].members]
    for table in (registry.structs, registry.handles):
        for name in list(table):
            if name not in needed:
                del table[name]
                continue
            table[name].guard, providers = settle(needed[name])
            if isinstance(table[name], Struct):
                table[name].providers = sorted({p for p, _ in required_types.get(name, [])}, key=_provider_order) or providers


def _provider_order(name: str) -> tuple[int, str]:
    return (0 if name.startswith("VK_VERSION_") else 1, name)


def _resolve_members(registry: Registry) -> None:
    for struct in registry.structs.values():
        struct.extends = [registry.resolve(name) for name in struct.extends]
        for member in struct.members:
            member.type = registry.resolve(member.type)
    for command in registry.commands.values():
        for member in command.params:
            member.type = registry.resolve(member.type)
        command.returns = registry.resolve(command.returns)
    for handle in registry.handles.values():
        if handle.parent:
            handle.parent = registry.resolve(handle.parent.split(",")[0])


def _read_shader_needs(root: ET.Element, registry: Registry) -> None:
    def read(element: ET.Element) -> Enable:
        get = element.get
        return Enable(get("version") or "", get("extension") or "", registry.resolve(get("struct") or get("property") or ""),
                      [f for f in (get("feature") or "").split(",") if f], get("member") or "", get("value") or "")

    for path, table in (("spirvcapabilities/spirvcapability", registry.capabilities),
                        ("spirvextensions/spirvextension", registry.spirv_extensions)):
        for element in root.iterfind(path):
            table[element.get("name")] = [read(e) for e in element.findall("enable")]
    for element in root.iterfind("formats/format"):
        if element.get("texelsPerBlock") == "1":
            registry.texel_bytes[element.get("name")] = int(element.get("blockSize"))
