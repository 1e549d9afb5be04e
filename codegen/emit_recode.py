# SPDX-License-Identifier: MIT
"""Encodes decoded parameters again, whatever the command is: what a tool has changed becomes bytes."""

from __future__ import annotations

from emit_encode import Body
from model import CommandPlan, Model
from text import Text, finish_header, header


def emit(model: Model) -> dict[str, str]:
    h = header(model, "emit_recode.py", "GEN_RECODE_H", ["<stdbool.h>", "<stdint.h>", "trace/format/encode.h"])
    h("/* Encodes a struct gen_args_X: the body of a packet, or of a command in a block, behind its number. False: this build has no such")
    h(" * command, and nothing was written. */")
    h("bool gen_recode(struct lap_enc *enc, uint32_t command, const void *args);")
    c = Text(model, "emit_recode.py", ["gen_recode.h", "gen_decode.h", "gen_encode_block.h"])
    for p in c.guarded(p for p in model.commands if _is_packed(p)):
        c(f"static void encode_{p.name}(struct lap_enc *enc, const struct gen_args_{p.name} *a)")
        c("{")
        body = Body(model, c, "a->", packed=True)
        for f in p.body_fields:
            body.field(f)
        body.flush()
        c("}")
    c("bool gen_recode(struct lap_enc *enc, uint32_t command, const void *args)")
    c("{")
    c("switch (command) {")
    for p in c.guarded(model.commands):
        _emit_case(c, p)
    c("default:")
    c("    return false;")
    c("}")
    c("}")
    return {"gen_recode.h": finish_header(h), "gen_recode.c": c.render()}


def _is_packed(p: CommandPlan) -> bool:
    """Decoders put elements one behind the other that were further apart, and keep the distance."""
    return any(f.strided for f in p.body_fields)


def _emit_case(c: Text, p: CommandPlan) -> None:
    values = [f"a->{f.name}" for f in p.body_fields] + (["a->result"] if p.stores_result else [])
    c(f"case GEN_{p.name}: {{")
    if values:
        c(f"const struct gen_args_{p.name} *a = args;")
    c(f"encode_{p.name}(enc, a);" if _is_packed(p) else f"gen_encode_{p.name}({', '.join(['enc'] + values)});")
    c("return true;")
    c("}")
