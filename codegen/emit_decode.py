# SPDX-License-Identifier: MIT
"""Decoders: decode packet bodies into the C structs for the driver, in an arena, and check every size.

The decoder's source maps handles (to live handles for a replay, to trace indices for tools). Handles that a call
creates always decode to their index. Where a source maps handles, host addresses decode to NULL: an address from a file
must never reach a driver. The source translates device addresses, and bytes that may contain some. Where it substitutes
image formats, the substitute is decoded. Structures that no driver may get, and bits of stages and accesses that a
device does not know, are left out.
"""

from __future__ import annotations

from model import WIRES, CommandPlan, Field, Model, StructPlan
from runs import begin_run, runs
from text import Text, dispatch_handle, expand, finish_header, followed_in, header, pointer_cast, struct_call

GET = {"u8": "lap_get_u8(dec)", "u32": "lap_get_u32(dec)", "u64": "lap_get_long(dec)", "size": "lap_get_long(dec)",
       "i32": "(int32_t)lap_get_i64(dec)", "i64": "lap_get_i64(dec)", "f32": "lap_get_float(dec)", "f64": "lap_get_double(dec)"}


class _Body:
    def __init__(self, model: Model, text: Text, owner: str = "", first: Field | None = None):
        self.model, self.text = model, text
        self.first = first  # of a command: the handle that it is called on
        self.owner = owner
        self.images = owner != "" and owner not in model.overrides.other_formats

    def ref(self, name: str) -> str:
        return f"s->{name}"

    def of_image(self, f: Field) -> bool:
        """The format of images, which may be substituted."""
        return f.type == "VkFormat" and self.images

    def element(self, f: Field) -> str | None:
        """An expression for one element; None: a function fills it."""
        if self.of_image(f):
            return "(VkFormat)lap_get_format(dec)"
        if f.element == "scalar":
            get = "lap_get_address(dec)" if f.is_address else "lap_get_layout(dec)" if f.is_layout else GET[f.wire]
            return f"({f.type})lap_dec_{f.mask_kind}(dec, {get})" if f.mask_kind else f"({f.type}){get}"
        if f.element == "handle":
            if f.created:
                return f"gen_{f.type}(lap_get_long(dec))"
            # The called function checks a command's own non-array parameters (emit_replay.py).
            if f.needed_elements or f.shape == "value" and f.needed == "1" and self.owner:
                return f'gen_{f.type}(lap_get_needed_handle(dec, GEN_HANDLE_{f.type}, "{self.label(f)}"))'
            get = "lap_get_owner" if f is self.first else "lap_get_handle"
            return f"gen_{f.type}({get}(dec, GEN_HANDLE_{f.type}))"
        return None

    def label(self, f: Field) -> str:
        return f"{self.owner}.{f.name}" if self.owner else f.name

    def fill(self, f: Field, address: str) -> str:
        return struct_call(self.model, "dec", f, address, self.ref)

    def minimum(self, f: Field) -> int:
        if f.element == "scalar":
            return WIRES[f.wire][2]
        if f.element in ("struct", "union"):
            return self.model.min_wire(f.type)
        return 1

    def fields(self, fields: list[Field]) -> None:
        for group, run in runs(self.model, self.owner, fields):
            if run:
                begin_run(self.text, run)
            for f in group:
                self.field(f)
            if run:
                self.text("}")
                self.text("}")

    def field(self, f: Field) -> None:
        value, text = self.ref(f.name), self.text
        if f.shape in ("stype", "skip"):
            return
        if f.shape == "pnext":
            text(f"{value} = (void *)(uintptr_t)gen_decode_chain(dec);")
        elif f.shape == "value":
            expression = self.element(f)
            if expression:
                text(f"{value} = {expression};")
            elif f.element == "opaque":
                text(f"{value} = ({f.ctype})(uintptr_t)gen_decode_address(dec);")
            elif f.element == "object":
                text(f"{value} = lap_get_handle(dec, gen_handle_type_of({expand(f.selector, self.ref)}));")
            else:
                text(self.fill(f, f"&{value}"))
        elif f.shape == "array":
            self._array(f, value)
        elif f.shape == "string":
            text(f"{value} = lap_dec_string(dec);")
            if f.needed and self.owner:
                text(f"if (!{value})")
                text(f'    lap_dec_absent(dec, "{self.label(f)}");')
        else:
            self._pointer(f, value)

    def _array(self, f: Field, value: str) -> None:
        text = self.text
        if f.element == "char":
            text(f"lap_dec_string_into(dec, {value}, {f.length});")
        elif f.element == "scalar" and f.wire == "u8":
            text(f"lap_dec_raw(dec, {value}, {f.length});")
        else:
            expression = self.element(f)
            flat = f"(({f.type} *){value})[i]"
            text(f"for (size_t i = 0; i < (size_t)({f.length}); i++)")
            text("    " + (f"{flat} = {expression};" if expression else self.fill(f, f"&{flat}")))

    def _pointer(self, f: Field, value: str) -> None:
        text = self.text
        if _is_one_new(f):
            text("if (lap_get_u8(dec)) {")
            text(f"s->new_{f.name} = {self.element(f)};")
            text(f"{value} = &s->new_{f.name};")
            text("}")
            return
        count = expand(f.count, self.ref)
        # The pointer to a count may be NULL in a damaged trace.
        followed = followed_in(f.count + f.inner_count)
        if followed:
            text("if (lap_get_u8(dec) && " + " && ".join(f"gen_decode_followed(dec, {self.ref(n)})" for n in followed) + ") {")
        else:
            text("if (lap_get_u8(dec)) {")
        if f.shape == "bytes":
            text(f"{value} = ({f.ctype})(uintptr_t)lap_dec_bytes_exact(dec, (uint64_t)({count}));")
            if f.words:
                text(f"{value} = ({f.ctype})(uintptr_t)lap_dec_words(dec, {f.words}, {value}, (uint64_t)({count}));")
        elif f.shape == "strings":
            text(f"const char **rows = lap_dec_array(dec, {count}, sizeof(char *), 1, sizeof(char *));")
            text(f"for (size_t i = 0; rows && i < (size_t)({count}) && dec->status == LAP_OK; i++)")
            text(f'    if (!(rows[i] = lap_dec_string(dec)))')
            text(f'        lap_dec_absent(dec, "{self.label(f)}");')
            text(f"{value} = rows;")
        elif f.shape == "pointers":
            text(f"{f.type} **rows = lap_dec_array(dec, {count}, sizeof(void *), 1, sizeof(void *));")
            text(f"for (size_t i = 0; rows && i < (size_t)({count}) && dec->status == LAP_OK; i++) {{")
            text(f"size_t row_count = (size_t)({expand(f.inner_count, self.ref)});")
            text(f"{f.type} *row = lap_dec_array(dec, row_count, sizeof *row, {self.minimum(f)}, 8);")
            text("for (size_t j = 0; row && j < row_count && dec->status == LAP_OK; j++)")
            expression = self.element(f)
            text("    " + (f"row[j] = {expression};" if expression else self.fill(f, "&row[j]")))
            text("rows[i] = row;")
            text("}")
            text(f"{value} = (const {f.type} *const *)rows;")
        elif f.element == "scalar" and f.wire == "u32" and f.type != "uint16_t" and count != "1" and not self.of_image(f) and not f.mask_kind:
            text(f"{value} = ({f.ctype})(uintptr_t)lap_dec_u32_array(dec, (uint64_t)({count}));")
        elif f.element == "scalar" and f.wire == "u64" and count != "1" and not f.is_address and not f.mask_kind:
            text(f"{value} = ({f.ctype})(uintptr_t)lap_dec_u64_array(dec, (uint64_t)({count}));")
        else:
            expression = self.element(f)
            text(f"{f.type} *items = lap_dec_items(dec, (uint64_t)({count}), sizeof *items, {self.minimum(f)}, 8);")
            if count == "1" and self.minimum(f) > 0:  # an element exists only where no error is latched
                text("if (items) {" if not expression else "if (items)")
                if expression:
                    text(f"    *items = {expression};")
                else:
                    text("memset(items, 0, sizeof *items);")
                    text(self.fill(f, "items"))
                    text("}")
                text(f"{value} = items;")
                self._absent(f, count, followed)
                return
            loop = f"for (size_t i = 0; items && i < (size_t)({count}) && dec->status == LAP_OK; i++)"
            if expression:
                text(loop)
                text(f"    items[i] = {expression};")
            else:
                text(loop + " {")
                text("memset(&items[i], 0, sizeof items[i]);")  # functions leave unread members unchanged
                text(self.fill(f, "&items[i]"))
                text("}")
            text(f"{value} = items;")
        self._absent(f, count, followed)

    def _absent(self, f: Field, count: str, followed: list[str]) -> None:
        """Code for a null pointer: an error where a driver follows it. For commands see emit_replay.py."""
        text = self.text
        if not f.needed or followed or not self.owner:
            text("}")
            return
        conditions = [expand(c, self.ref) for c in (f.needed if f.needed != "1" else "", f"({f.count}) != 0" if count != "1" else "") if c]
        text(f"}} else if ({' && '.join(conditions)}) {{" if conditions else "} else {")
        text(f'lap_dec_absent(dec, "{self.label(f)}");')
        text("}")


def emit(model: Model) -> dict[str, str]:
    h = header(model, "emit_decode.py", "GEN_DECODE_H", ["gen_ids.h", "trace/format/decode.h"])
    h("const void *gen_decode_pnext(struct lap_dec *dec);")
    h("/* The same, inlined for an empty chain. */")
    h("static inline const void *gen_decode_chain(struct lap_dec *dec)")
    h("{")
    h("if (__builtin_expect(dec->p < dec->end && *dec->p == 0 && dec->depth < LAP_WIRE_MAX_DEPTH, 1)) {")
    h("dec->p++;")
    h("return NULL;")
    h("}")
    h("return gen_decode_pnext(dec);")
    h("}")
    h("/* How a chained structure is treated where the decoded values go to a driver. */")
    h("enum gen_fate {")
    h("GEN_FATE_TAKEN = 0,")
    h("GEN_FATE_PASSED,  /* no replayed command takes it */")
    h("GEN_FATE_QUIET,   /* as PASSED, without a warning: a replay needs none, or it requests what is missing when a device is created */")
    h("GEN_FATE_REFUSED, /* it is hidden from programs */")
    h("};")
    h("extern const uint8_t gen_fates[GEN_STRUCT_COUNT];")
    h("uint64_t gen_decode_address(struct lap_dec *dec);")
    h("/* Whether the pointer to a count is present; latches an error when not. */")
    h("static inline bool gen_decode_followed(struct lap_dec *dec, const void *pointer)")
    h("{")
    h("if (!pointer)")
    h('    lap_dec_fail(dec, "an array has no count");')
    h("return pointer != NULL;")
    h("}")
    h("/* Decodes one structure, which the caller has zeroed. Members that were not recorded, such as ignored arrays, stay unchanged. */")
    for s in h.guarded(model.structs):
        h(_prototype(s) + ";")
    h()
    h("/* A command's parameters and result; in a block the caller sets the command buffer. */")
    for p in h.guarded(model.commands):
        h(f"struct gen_args_{p.name} {{")
        for f in p.fields:
            h(_args_member(f) + ";")
        for f in p.fields:
            if _is_one_new(f):
                h(f"{f.type} new_{f.name}; /* storage for the output */")
        if p.command.returns != "void":
            h(f"{p.command.returns} result;")
        h("};")
    h()
    h("/* Decodes the body of any command into its args struct, zeroed first. Failures are latched in dec. */")
    h("typedef void (*gen_decode_fn)(struct lap_dec *dec, void *args);")
    h("extern const gen_decode_fn gen_decode_table[GEN_COMMAND_COUNT]; /* NULL for commands of other platforms */")
    h("extern const uint16_t gen_args_bytes[GEN_COMMAND_COUNT];")
    h("#define GEN_ARGS_MAX_BYTES 256")

    structs = Text(model, "emit_decode.py", ["gen_decode.h", "vulkan/conditions.h"])
    for s in structs.guarded(s for s in model.structs if s.struct.stype):
        structs(f"static void decode_members_{s.name}(struct lap_dec *dec, {s.name} *s);")
    _emit_fates(model, structs)
    _emit_chain(model, structs)
    for s in structs.guarded(model.structs):
        _emit_struct(model, structs, s)
    commands = Text(model, "emit_decode.py", ["gen_decode.h"])
    for p in commands.guarded(model.commands):
        _emit_command(model, commands, p)
    commands("const gen_decode_fn gen_decode_table[GEN_COMMAND_COUNT] = {")
    for p in commands.guarded(model.commands):
        commands(f"[GEN_{p.name}] = decode_{p.name},")
    commands("};")
    commands("const uint16_t gen_args_bytes[GEN_COMMAND_COUNT] = {")
    for p in commands.guarded(model.commands):
        commands(f"[GEN_{p.name}] = sizeof(struct gen_args_{p.name}),")
    commands("};")
    return {"gen_decode.h": finish_header(h), "gen_decode_structs.c": structs.render(), "gen_decode_commands.c": commands.render()}


def _is_one_new(f: Field) -> bool:
    """The one object that a command creates: its index is stored beside the parameters."""
    return f.created and f.shape == "pointer" and f.count == "1"


def _args_member(f: Field) -> str:
    return f.member.declaration if not f.member.dims else f.member.declaration.replace("const ", "", 1)


def _prototype(s: StructPlan) -> str:
    selector = ", uint64_t selector" if s.selected else ""
    return f"void gen_decode_{s.name}(struct lap_dec *dec, {s.name} *s{selector})"


def _emit_fates(model: Model, c: Text) -> None:
    replayed, refused = model.replayed(), model.refused()
    c("const uint8_t gen_fates[GEN_STRUCT_COUNT] = {")
    for s in model.extending:
        if model.overrides.is_hidden(s.struct.providers):
            c(f"[GEN_STRUCT_{s.name}] = GEN_FATE_{'REFUSED' if s.name in refused else 'QUIET'},")
        elif s.name in model.overrides.dropped:
            c(f"[GEN_STRUCT_{s.name}] = GEN_FATE_QUIET,")
        elif s.name not in replayed:
            c(f"[GEN_STRUCT_{s.name}] = GEN_FATE_PASSED,")
    c("};")


def _emit_chain(model: Model, c: Text) -> None:
    c("uint64_t gen_decode_address(struct lap_dec *dec)")
    c("{")
    c("uint64_t address = lap_get_u64(dec);")
    c("return dec->source->handle ? 0 : address;")
    c("}")
    c("const void *gen_decode_pnext(struct lap_dec *dec)")
    c("{")
    c("VkBaseOutStructure *first = NULL, *last = NULL;")
    c("uint64_t number;")
    c("uint32_t length = 0;")
    c("if (!lap_dec_enter(dec))")
    c("    return NULL;")
    c("while (dec->status == LAP_OK && (number = lap_get_u64(dec)) != 0) {")
    c("uint32_t size = lap_get_fixed32(dec);")
    c("if (++length > LAP_WIRE_MAX_CHAIN)")
    c('    lap_dec_fail(dec, "a pNext chain with more structures than one can have");')
    c("VkBaseOutStructure *s = NULL;")
    c("if (dec->status != LAP_OK)")
    c("    break;")
    c("if (size > (size_t)(dec->end - dec->p)) {")
    c('lap_dec_fail(dec, "a pNext structure is larger than what is left");')
    c("break;")
    c("}")
    c("const uint8_t *after = dec->p + size;")
    c("uint32_t id = dec->source->struct_id(dec->source->user, number);")
    c("if (dec->source->handle && __builtin_expect(gen_fates[id] != GEN_FATE_TAKEN, 0)) {")
    c("if (gen_fates[id] == GEN_FATE_REFUSED)")
    c("    lap_dec_refuse(dec, gen_struct_names[id]);")
    c("dec->unknown_structs += gen_fates[id] == GEN_FATE_PASSED;")
    c("dec->p = after;")
    c("continue;")
    c("}")
    c("switch (id) {")
    for s in c.guarded(model.extending):
        c(f"case GEN_STRUCT_{s.name}:")
        c(f"    s = lap_arena_zalloc(dec->arena, 1, sizeof({s.name}), 8);")
        c("    if (!s)")
        c("        break;")
        c(f"    s->sType = {s.struct.stype};")
        c(f"    decode_members_{s.name}(dec, ({s.name} *)s);")
        c("    break;")
    c("default:")
    c("    dec->unknown_structs++;")
    c("    dec->p = after;")
    c("    continue;")
    c("}")
    c("if (!s) {")
    c('lap_dec_fail(dec, "out of memory or past the limit for one packet");')
    c("break;")
    c("}")
    c("if (dec->status == LAP_OK && dec->p != after) {")
    c('lap_dec_fail(dec, "a pNext structure has another size than its members");')
    c("break;")
    c("}")
    c("if (last)")
    c("    last->pNext = s;")
    c("else")
    c("    first = s;")
    c("last = s;")
    c("}")
    c("lap_dec_leave(dec);")
    c("return first;")
    c("}")


def _emit_struct(model: Model, c: Text, s: StructPlan) -> None:
    body = _Body(model, c, s.name)
    if s.struct.union:
        c(_prototype(s))
        c("{")
        if s.raw:
            c("lap_dec_raw(dec, s, sizeof *s);")
        elif s.only:
            body.field(next(f for f in s.fields if f.name == s.only))
        else:
            c("memset(s, 0, sizeof *s);")
            c("switch (selector) {")
            for f in s.fields:
                for value in f.member.selection:
                    c(f"case {value}:")
                c("{")
                body.field(f)
                c("break;")
                c("}")
            c("default:")
            c("    break;")
            c("}")
        c("}")
        return
    chained = bool(s.struct.stype)
    c(f"static void decode_members_{s.name}(struct lap_dec *dec, {s.name} *s)" if chained else _prototype(s))
    c("{")
    body.fields([f for f in s.fields if not (chained and f.shape == "pnext")])
    c("}")
    if chained:
        c(_prototype(s))
        c("{")
        c(f"s->sType = {s.struct.stype};")
        c("s->pNext = (void *)(uintptr_t)gen_decode_chain(dec);")
        c(f"decode_members_{s.name}(dec, s);")
        c("}")


def _emit_command(model: Model, c: Text, p: CommandPlan) -> None:
    c(f"static void decode_{p.name}(struct lap_dec *dec, void *args)")
    c("{")
    c(f"struct gen_args_{p.name} *s = args;")
    c("memset(s, 0, sizeof *s);")
    body = _Body(model, c, first=p.fields[0] if p.fields and p.fields[0].shape == "value" else None)
    made = p.body_fields[-1] if p.body_fields and _is_one_new(p.body_fields[-1]) else None
    if made and p.stores_result and p.command.returns == "VkResult":
        body.fields(p.body_fields[:-1])
        c("uint64_t made = lap_get_made(dec);")
        c("if (made) {")
        c(f"s->new_{made.name} = gen_{made.type}(made);")
        c(f"s->{made.name} = &s->new_{made.name};")
        c("return; /* with VK_SUCCESS */")
        c("}")
        body.fields(p.body_fields[-1:])
    else:
        body.fields(p.body_fields)
    if p.stores_result:
        if p.command.returns == "VkResult":
            c("s->result = (VkResult)lap_get_i64(dec);")
        else:
            c(f"s->result = ({p.command.returns}){pointer_cast(p.command.returns)}lap_get_u64(dec);")
    c("}")
