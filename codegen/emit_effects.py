# SPDX-License-Identifier: MIT
"""What commands do with objects and contents, as tables."""

from __future__ import annotations

from pathlib import Path

import effects as effects_module
from effects import DOES, OBJECTS, Effects
from model import Model
from text import Text, finish_header, header


def emit(model: Model) -> dict[str, str]:
    return emit_effects(model, effects_module.load(Path(__file__).with_name("effects.toml"), model))


def emit_effects(model: Model, effects: Effects) -> dict[str, str]:
    h = header(model, "emit_effects.py", "GEN_EFFECTS_H", ["<stdbool.h>", "gen_ids.h"])
    h("/* What a call is (codegen/effects.toml). */")
    h("enum gen_does {")
    for name in DOES:
        h(f"GEN_EFFECT_{name.upper()},")
    h("};")
    h("/* What a command in a command buffer does with the contents of the objects that it names; those of members with GEN_MEMBER_READ are")
    h(" * only read. */")
    h("enum gen_objects {")
    for name in OBJECTS:
        h(f"GEN_OBJECTS_{name.upper()},")
    h("};")
    h("struct gen_effect {")
    h("uint8_t does;    /* enum gen_does; of calls */")
    h("uint8_t objects; /* enum gen_objects; of commands in command buffers, like the rest */")
    h("bool addresses;  /* also with what device addresses reach */")
    h("bool everything; /* it may reach what nothing names */")
    h("};")
    h("extern const struct gen_effect gen_effects[GEN_COMMAND_COUNT];")
    h("enum gen_contents {")
    h("GEN_CONTENTS_LED_TO, /* of the objects that its creation names */")
    h("GEN_CONTENTS_HELD,   /* of its own */")
    h("GEN_CONTENTS_NONE,   /* to use it is no use of contents */")
    h("};")
    h("extern const uint8_t gen_handle_contents[GEN_HANDLE_COUNT];")
    h("/* What is done with these goes on through device addresses. */")
    h("extern const bool gen_handle_addresses[GEN_HANDLE_COUNT];")

    c = Text(model, "emit_effects.py", ["gen_effects.h"])
    c("const struct gen_effect gen_effects[GEN_COMMAND_COUNT] = {")
    c("{GEN_EFFECT_UNKNOWN, GEN_OBJECTS_CHANGES, true, true},")
    for p in model.commands:
        e = effects.commands[p.name]
        c(f"[GEN_{p.name}] = {{GEN_EFFECT_{e.does.upper()}, GEN_OBJECTS_{e.objects.upper()}, {str(e.addresses).lower()}, "
          f"{str(e.everything).lower()}}},")
    c("};")
    c("const uint8_t gen_handle_contents[GEN_HANDLE_COUNT] = {")
    for name in model.handles:
        if name in effects.holding | effects.apart:
            c(f"[GEN_HANDLE_{name}] = GEN_CONTENTS_{'HELD' if name in effects.holding else 'NONE'},")
    c("};")
    c("const bool gen_handle_addresses[GEN_HANDLE_COUNT] = {")
    c("[GEN_HANDLE_NONE] = false,")
    for name in model.handles:
        if name in effects.addressing:
            c(f"[GEN_HANDLE_{name}] = true,")
    c("};")
    return {"gen_effects.h": finish_header(h), "gen_effects.c": c.render()}
