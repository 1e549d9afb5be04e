# SPDX-License-Identifier: MIT
"""The common case of commands that programs record by the thousand. These encoders reserve room for a whole command
once, look handles up without a search and call no function. Other cases go through the encoders of emit_encode.py,
which write the same bytes."""

from __future__ import annotations

from emit_encode import PUT
from model import WIRES, CommandPlan, Field, Model
from text import Text, expand, finish_header, header

ITEMS, BYTES = "LAYER_FAST_ITEMS", "LAYER_FAST_BYTES"


def _is_simple(f: Field) -> bool:
    """A number, a known kind of handle, a list of either, or bytes."""
    if f.output or f.condition or f.created or f.destroyed or f.member.stride:
        return False
    if f.shape == "bytes":
        return f.element == "scalar" and not f.wire
    return f.shape in ("value", "pointer") and f.element in ("scalar", "handle")


def reaches_unknown(model: Model, p: CommandPlan) -> bool:
    """Whether a recorded command may access memory that no hook reports: it has an address, or an object that is not
    known to be harmless. Ignores pNext chains."""

    def leads_on(kind: str, seen: tuple[str, ...]) -> bool:
        if kind == "VkDeviceAddress" or (kind in model.registry.handles and kind not in model.overrides.harmless_handles):
            return True
        struct = model.registry.structs.get(kind)
        return struct is not None and kind not in seen and any(leads_on(m.type, seen + (kind,)) for m in struct.members)

    if not p.in_block or p.disposition.hooks or p.disposition.capture != "gen" or not p.disposition.touches:
        return False
    return any(leads_on(f.type, ()) for f in p.fields)


def is_quick(model: Model, p: CommandPlan) -> bool:
    d = p.disposition
    return (p.in_block and d.capture == "gen" and p.command.returns == "void" and (not d.hooks or "quick" in d.hooks)
            and all(_is_simple(f) for f in p.body_fields) and not reaches_unknown(model, p))


def remembered(model: Model) -> list[str]:
    """The types of handles in quick commands."""
    used = {f.type for p in model.commands if is_quick(model, p) for f in p.body_fields if f.element == "handle"}
    return [name for name in model.handles if name in used]


def emit(model: Model) -> dict[str, str]:
    m = header(model, "emit_quick.py", "GEN_MEMO_H", [])
    m("/* Types of handles for which a command buffer remembers the last handle of a command. */")
    m("enum gen_memo {")
    for name in remembered(model):
        m(f"GEN_MEMO_{name},")
    m("GEN_MEMO_COUNT")
    m("};")
    h = header(model, "emit_quick.py", "GEN_QUICK_H", ["gen_ids.h", "gen_memo.h", "layer/command/fast_path.h"])
    h("/* Write a command with its number. False: nothing was written, as the command needs the full encoder. */")
    for p in h.guarded(p for p in model.commands if is_quick(model, p)):
        _emit_command(h, p)
    return {"gen_memo.h": finish_header(m), "gen_quick.h": finish_header(h)}


def _handle(f: Field, value: str) -> list[str]:
    return [f"if (!layer_fast_index(cb, GEN_MEMO_{f.type}, GEN_HANDLE_{f.type}, gen_u64_{f.type}({value}), &known))",
            "    return false;", "p = lap_at_u64(p, known);"]


def _element(f: Field, value: str) -> list[str]:
    return _handle(f, value) if f.element == "handle" else [PUT[f.wire].format(value) + ";"]


def _emit_command(h: Text, p: CommandPlan) -> None:
    params = ", ".join(f.member.declaration for f in p.body_fields)
    h(f"static inline __attribute__((always_inline)) bool gen_quick_{p.name}(struct layer_cmdbuf *cb{', ' + params if params else ''})")
    h("{")
    most, body = ["LAP_WIRE_MAX_VARINT"], []
    for f in p.body_fields:
        width = WIRES[f.wire][1] if f.wire else 10
        count = expand(f.count, lambda name: name)
        if f.shape == "value":
            most.append(str(width))
            body += _element(f, f.name)
        elif f.shape == "bytes":
            h(f"if (({count}) > {BYTES} || ({count}) % 4)")
            h("    return false;")
            most.append(f"3 + {BYTES}")
            body += [f"if ({f.name}) {{", "*p++ = 1;", f"p = layer_fast_bytes(p, {f.name}, (size_t)({count}));", "} else {", "*p++ = 0;", "}"]
        else:
            many = count != "1"
            if many:
                h(f"if (({count}) > {ITEMS})")
                h("    return false;")
            most.append(f"1 + {width} * {ITEMS}" if many else str(1 + width))
            loop = _element(f, f"*{f.name}")
            if many: # mostly there is one, and a loop costs more
                loop = [f"if (({count}) == 1) {{", *loop, "} else {", f"for (size_t i = 0; i < (size_t)({count}); i++) {{",
                        *_element(f, f"{f.name}[i]"), "}", "}"]
            body += [f"if ({f.name}) {{", "*p++ = 1;"] + loop + ["} else {", "*p++ = 0;", "}"]
    h(f"uint8_t *p = layer_fast_begin(cb, {' + '.join(most)});")
    if any(f.element == "handle" for f in p.body_fields):
        h("uint64_t known;")
    h("if (!p)")
    h("    return false;")
    h(f"p = lap_at_u64(p, GEN_{p.name});")
    for line in body:
        h(line)
    h("layer_fast_end(cb, p);")
    h("return true;")
    h("}")
