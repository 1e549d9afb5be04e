# SPDX-License-Identifier: MIT
"""Values from a file that a replay's driver could take for something of its own process or machine: bytes that it
interprets, addresses of the host, file descriptors and handles of other APIs, names that it may look up.

Each such member that a replayed command can contain has a reason in overrides.toml ([[handed_on]]) why it does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

from model import Field, Model, StructPlan

# C's number types. Other types that vk.xml takes from elsewhere are descriptors and handles, even if they are numbers.
NUMBERS = {"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t", "float", "double"}
SHAPES = {"bytes": "bytes", "string": "a name", "strings": "names"}


@dataclass(frozen=True)
class Foreign:
    """One member."""

    owner: str  # a struct or a command
    member: str
    kind: str


def _kind(model: Model, f: Field) -> str | None:
    if f.output or f.shape in ("stype", "pnext", "skip"):
        return None
    if f.element == "opaque":
        return "an address"
    if f.element == "scalar" and f.type in model.overrides.external and f.type not in NUMBERS or f.name.lower().endswith("fd"):
        return f"a number of type {f.type}"
    return SHAPES.get(f.shape)


def _of_struct(model: Model, s: StructPlan) -> list[Foreign]:
    if s.raw or s.only:  # the driver decides which member is valid
        return [Foreign(s.name, m.name, "an address in a union") for m in s.struct.members if m.pointer]
    return [Foreign(s.name, f.name, kind) for f in s.fields if (kind := _kind(model, f))]


def find(model: Model) -> list[Foreign]:
    """All members, by owner. Windows belong to the replay, so no driver gets the arguments of commands that create one."""
    found = [Foreign(p.name, f.name, kind) for p in model.commands if p.disposition.replay not in ("info", "never", "surface")
             for f in p.fields if (kind := _kind(model, f))]
    for name in model.replayed(surfaces=False):
        found += _of_struct(model, model.struct_of[name])
    return sorted(found, key=lambda f: (f.owner, f.member))
