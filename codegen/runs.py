# SPDX-License-Identifier: MIT
"""Runs of plain members: consecutive members of a body that nearly always have a known size, one byte for numbers.
Where all numbers of a run are that short, it is read at once. Else it is read member by member, which finds the
place of an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from model import WIRES, Field, Model
from text import Text

FEWEST = 3  # members of a run
MOST_BYTES = 64
LONG = ("u64", "size")  # sizes and offsets: seldom one byte


@dataclass
class Plain:
    """A number of a run."""

    path: str  # behind "s->"
    field: Field
    of_image: bool  # a format that may be substituted

    @property
    def bytes(self) -> int:
        return WIRES[self.field.wire][2]

    @property
    def is_number(self) -> bool:
        """A number with a variable length: its first byte shows whether more follow."""
        return self.field.wire not in ("u8", "f32", "f64")

    def value(self, at: int) -> str:
        f = self.field
        value = {"i32": f"(int32_t)lap_unzigzag(p[{at}])", "i64": f"lap_unzigzag(p[{at}])", "f32": f"lap_load_float(p + {at})",
                 "f64": f"lap_load_double(p + {at})"}.get(f.wire, f"p[{at}]")
        if f.mask_kind:
            value = f"lap_dec_{f.mask_kind}(dec, {value})"
        return f"({f.type})" + (f"lap_dec_format(dec, {value})" if self.of_image else value)


def plain_of(model: Model, owner: str, f: Field, prefix: str = "") -> list[Plain] | None:
    """The plain numbers of a member, or of a structure in the other one; None where it has other contents."""
    if f.shape != "value":
        return None
    if f.element == "scalar" and f.wire not in LONG and not f.is_address and not f.is_layout:
        return [Plain(prefix + f.name, f, f.type == "VkFormat" and owner != "" and owner not in model.overrides.other_formats)]
    plan = model.struct_of.get(f.type) if f.element == "struct" else None
    if not plan or plan.struct.union or plan.struct.stype:
        return None
    parts = [plain_of(model, plan.name, inner, f"{prefix}{f.name}.") for inner in plan.fields]
    return None if None in parts else [plain for part in parts for plain in part]


def runs(model: Model, owner: str, fields: list[Field]) -> list[tuple[list[Field], list[Plain]]]:
    """All fields in order, in groups with their runs; the run is empty where a group is none."""
    groups: list[tuple[list[Field], list[Plain]]] = []
    for f in fields:
        plain = plain_of(model, owner, f) or []
        last = groups[-1] if groups else ([], [])
        if plain and last[1] and sum(p.bytes for p in last[1] + plain) <= MOST_BYTES:
            last[0].append(f)
            last[1].extend(plain)
        else:
            groups.append(([f], plain))
    return [(group, plain if len(plain) >= FEWEST else []) for group, plain in groups]


def _is_long(plains: list[Plain]) -> str:
    """C that is not 0 where a number of the run is longer than one byte."""
    mask = b"".join(b"\x80" if p.is_number else bytes(p.bytes) for p in plains)
    size = next((size for size in (8, 4) if size <= len(mask)), 1)
    tests, seen = [], 0
    while seen < len(mask):
        at = min(seen, len(mask) - size)
        wanted = bytes(at + i >= seen and mask[at + i] for i in range(size))
        if any(wanted):
            load = f"lap_load_u{8 * size}(p + {at})" if size > 1 else f"p[{at}]"
            tests.append(f"({load} & 0x{int.from_bytes(wanted, 'little'):x})")
        seen = at + size
    return " | ".join(tests)


def begin_run(text: Text, plains: list[Plain]) -> None:
    """Opens the branch that reads members one by one; the caller writes that, and closes both blocks."""
    total = sum(p.bytes for p in plains)
    is_long = _is_long(plains)
    text("{")
    text("const uint8_t *p = dec->p;")
    text(f"if (__builtin_expect(dec->end - p >= {total}{f' && !({is_long})' if is_long else ''}, 1)) {{")
    at = 0
    for plain in plains:
        text(f"s->{plain.path} = {plain.value(at)};")
        at += plain.bytes
    text(f"dec->p = p + {total};")
    text("} else {")
