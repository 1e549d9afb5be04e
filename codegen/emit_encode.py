# SPDX-License-Identifier: MIT
"""Encoders: one function for each struct and command, straight code without tables. See trace/format/encode.h for the primitives."""

from __future__ import annotations

from model import WIRES, CommandPlan, Field, Model, StructPlan
from text import Text, expand, finish_header, followed_in, header, parameters, pointer_cast, struct_call

PUT = {"u8": "*p++ = (uint8_t){}", "u32": "p = lap_at_u64(p, (uint32_t){})", "u64": "p = lap_at_u64(p, (uint64_t){})",
       "size": "p = lap_at_u64(p, (uint64_t){})", "i32": "p = lap_at_i64(p, (int64_t){})", "i64": "p = lap_at_i64(p, {})",
       "f32": "p = lap_at_float(p, {})", "f64": "p = lap_at_double(p, {})"}


class Body:
    """Emits the fields of one struct or command, from the program's memory or (packed) as decoders store them.
    Consecutive fields with a known maximum size form a run, with one reservation. A local variable holds the end of the reservation: byte stores may alias memory, so a variable in
    memory would be stored and loaded again with each of them."""

    def __init__(self, model: Model, text: Text, prefix: str, has_result: bool = False, packed: bool = False):
        self.model, self.text, self.prefix, self.packed = model, text, prefix, packed
        self.fixed = 0  # bytes of the run
        self.counted: list[str] = []  # bytes of the run's arrays
        self.run: list[str] = []
        self.has_result = has_result

    def ref(self, name: str) -> str:
        return self.prefix + name

    def put(self, most: int, *code: str) -> None:
        self.fixed += most
        self.run += code

    def flush(self) -> None:
        if not self.run:
            return
        most = ([str(self.fixed)] if self.fixed else []) + self.counted
        self.text(f"if (!lap_enc_reserve(enc, {' + '.join(most)}))")
        self.text("    return;")
        self.text("{")
        self.text("uint8_t *p = enc->p;")
        for line in self.run:
            self.text(line)
        self.text("enc->p = p;")
        self.text("}")
        self.fixed, self.counted, self.run = 0, [], []

    def handle(self, f: Field, value: str) -> str:
        how = "lap_at_newest_handle" if f.created or f.destroyed else "lap_at_handle"
        return f"p = {how}(p, enc, GEN_HANDLE_{f.type}, gen_u64_{f.type}({value}));"

    def element(self, f: Field, value: str) -> tuple[int, str] | None:
        """Maximum bytes and code for one bounded element; None when it calls a function that reserves."""
        if f.element == "scalar":
            return WIRES[f.wire][1], PUT[f.wire].format(value) + ";"
        if f.element == "handle":
            return 10, self.handle(f, value)
        return None

    def struct_call(self, f: Field, address: str) -> str:
        return struct_call(self.model, "enc", f, address, self.ref)

    def field(self, f: Field) -> None:
        value = self.ref(f.name)
        if f.shape in ("stype", "skip"):
            return
        if f.shape == "pnext":
            self.flush()
            self.text(f"gen_encode_chain(enc, {value});")
        elif f.shape == "value":
            self._value(f, value)
        elif f.shape == "array":
            self._array(f, value)
        elif f.shape == "string":
            self.flush()
            self.text(f"lap_enc_string(enc, {self._conditional(f, value)});")
        else:
            self._pointer(f, value)

    def _value(self, f: Field, value: str) -> None:
        bounded = self.element(f, f"({expand(f.filled, self.ref)} ? {value} : 0)" if f.filled else value)
        if bounded:
            self.put(*bounded)
        elif f.element == "opaque":
            self.put(10, f"p = lap_at_u64(p, (uint64_t)(uintptr_t){value});")
        elif f.element == "object":
            self.put(10, f"p = lap_at_handle(p, enc, gen_handle_type_of({expand(f.selector, self.ref)}), {value});")
        elif f.filled:
            self.flush()
            self.text("{")
            self.text(f"{f.type} filled;")
            self.text("memset(&filled, 0, sizeof filled);")
            self.text(f"memcpy(&filled, &{value}, {expand(f.filled, self.ref)});")
            self.text(self.struct_call(f, "&filled"))
            self.text("}")
        else:
            self.flush()
            self.text(self.struct_call(f, f"&{value}"))

    def _array(self, f: Field, value: str) -> None:
        flat = f"((const {f.type} *){value})[i]"
        if f.filled and f.element in ("scalar", "handle"):
            none = "VK_NULL_HANDLE" if f.element == "handle" else "0"
            flat = f"(i < (size_t)({expand(f.filled, self.ref)}) ? {flat} : {none})"
        bounded = self.element(f, flat)
        if f.element != "char" and bounded and (f.wire != "u8" or f.filled):
            self.counted.append(f"{bounded[0]} * (size_t)({f.length})")
            self.put(0, *self._bounded_loop(f.length, bounded))
            return
        self.flush()
        if f.element == "char":
            self.text(f"gen_encode_chars(enc, {value}, {f.length});")
        elif bounded:
            self.text(f"lap_enc_raw(enc, {value}, {f.length});")
        elif f.filled:
            self._filled_loop(f, f.length, flat)
        else:
            self._loop(f, f.length, flat)

    def _bounded_loop(self, count: str, bounded: tuple[int, str]) -> list[str]:
        return [f"for (size_t i = 0; i < (size_t)({count}); i++)", "    " + bounded[1]]

    def _loop(self, f: Field, count: str, value: str) -> None:
        self.text(f"for (size_t i = 0; i < (size_t)({count}); i++)")
        self.text("    " + self.struct_call(f, f"&{value}"))

    def _filled_loop(self, f: Field, count: str, value: str) -> None:
        self.text("{")
        self.text(f"static const {f.type} none; /* the value after the last one in use */")
        self.text(f"for (size_t i = 0; i < (size_t)({count}); i++)")
        self.text("    " + self.struct_call(f, f"(i < (size_t)({expand(f.filled, self.ref)}) ? &{value} : &none)"))
        self.text("}")

    def _conditional(self, f: Field, value: str) -> str:
        if f.condition:
            return f"({expand(f.condition, self.ref)}) ? {value} : NULL"
        return value

    def present(self, f: Field, value: str) -> str:
        parts = [f"{value} != NULL", *(f"{self.ref(name)} != NULL" for name in followed_in(f.count + f.inner_count))]
        if f.condition:
            parts.append(f"({expand(f.condition, self.ref)})")
        if f.output and self.has_result:
            parts.append("gen_result_ok")
        return " && ".join(parts)

    def _pointer(self, f: Field, value: str) -> None:
        """A presence byte and the elements."""
        count = expand(f.count, self.ref)
        present = self.present(f, value)
        at = f"{value}[i]"
        if f.strided and not self.packed:
            apart = f"i * (size_t){self.ref(f.member.stride)}"
            at = f"*(const {f.type} *)(const void *)((const char *){value} + {apart})"
        elements = f.shape not in ("bytes", "strings", "pointers")
        if f.filled and f.element == "scalar":
            at = f"(i < (size_t)({expand(f.filled, self.ref)}) ? {at} : 0)"
        bounded = self.element(f, f"*{value}" if count == "1" else at) if elements else None
        if bounded:
            loop = [bounded[1]] if count == "1" else self._bounded_loop(count, bounded)
            self.counted.append(f"({present} ? {bounded[0]} * (size_t)({count}) : 0)")
            self.put(1, f"if ({present}) {{", "*p++ = 1;", *loop, "} else {", "*p++ = 0;", "}")
            return
        self.put(1, f"*p++ = {present};")
        self.flush()
        text = self.text
        text(f"if ({present}) {{")
        if f.shape == "bytes":
            text(f"lap_enc_bytes(enc, {value}, (size_t)({count}));")
        elif f.shape == "strings":
            text(f"for (size_t i = 0; i < (size_t)({count}); i++)")
            text(f"    lap_enc_string(enc, {value}[i]);")
        elif f.shape == "pointers":
            text(f"for (size_t i = 0; i < (size_t)({count}); i++) {{")
            text(f"const {f.type} *row = {value}[i];")
            text(f"size_t row_count = (size_t)({expand(f.inner_count, self.ref)});")
            row = self.element(f, "row[j]")
            if row:
                text(f"if (!lap_enc_reserve(enc, {row[0]} * row_count))")
                text("    return;")
                text("{")
                text("uint8_t *p = enc->p;")
            text("for (size_t j = 0; j < row_count; j++)")
            text("    " + (row[1] if row else self.struct_call(f, "&row[j]")))
            if row:
                text("enc->p = p;")
                text("}")
            text("}")
        elif count == "1":
            text(self.struct_call(f, value))
        elif f.filled:
            self._filled_loop(f, count, at)
        else:
            self._loop(f, count, at)
        text("}")


def emit(model: Model) -> dict[str, str]:
    h = header(model, "emit_encode.py", "GEN_ENCODE_H", ["gen_ids.h", "trace/format/encode.h"])
    h("/* The chain: for each structure its number, its size in bytes (32 bits) and its members; 0 ends it. */")
    h("void gen_encode_pnext(struct lap_enc *enc, const void *chain);")
    h("/* The same, inlined for an empty chain. */")
    h("static inline void gen_encode_chain(struct lap_enc *enc, const void *chain)")
    h("{")
    h("if (chain)")
    h("    gen_encode_pnext(enc, chain);")
    h("else if (lap_enc_reserve(enc, 1))")
    h("    lap_put_u8(enc, 0);")
    h("}")
    h("void gen_encode_chars(struct lap_enc *enc, const char *text, size_t capacity);")
    for s in h.guarded(model.structs):
        h(_struct_prototype(s) + ";")
    h("/* Commands: the body of a packet. Those in a block are in gen_encode_block.h. */")
    for p in h.guarded(p for p in model.commands if not p.in_block):
        h(_command_prototype(p) + ";")

    structs = Text(model, "emit_encode.py", ["gen_encode.h", "vulkan/conditions.h"])
    _emit_chain(model, structs)
    for s in structs.guarded(model.structs):
        _emit_struct(model, structs, s)
    commands = Text(model, "emit_encode.py", ["gen_encode.h", "vulkan/conditions.h"])
    for p in commands.guarded(p for p in model.commands if not p.in_block):
        _emit_command(model, commands, p)
    block = header(model, "emit_encode.py", "GEN_ENCODE_BLOCK_H", ["gen_encode.h", "vulkan/conditions.h"])
    block("/* Commands in a block: the body behind the command's number. Programs record thousands per frame, so they are inline. */")
    for p in block.guarded(p for p in model.commands if p.in_block):
        _emit_command(model, block, p)
    return {"gen_encode.h": finish_header(h), "gen_encode_block.h": finish_header(block), "gen_encode_structs.c": structs.render(),
            "gen_encode_commands.c": commands.render()}


def _struct_prototype(s: StructPlan) -> str:
    selector = ", uint64_t selector" if s.selected else ""
    return f"void gen_encode_{s.name}(struct lap_enc *enc, const {s.name} *s{selector})"


def _command_prototype(p: CommandPlan) -> str:
    params = ", ".join(f.member.declaration for f in p.body_fields)
    result = f", {p.command.returns} result" if p.stores_result else ""
    kind = "static inline __attribute__((always_inline)) void" if p.in_block else "void"
    return f"{kind} gen_encode_{p.name}(struct lap_enc *enc{', ' + params if params else ''}{result})"


def _emit_chain(model: Model, c: Text) -> None:
    for s in c.guarded(s for s in model.structs if s.struct.stype):
        c(f"static void encode_members_{s.name}(struct lap_enc *enc, const {s.name} *s);")
    for s in c.guarded(s for s in model.structs if s.name in model.overrides.enters):
        c(f"static void enter_{s.name}(struct lap_enc *enc, const {s.name} *s)")
        c("{")
        c(model.overrides.enters[s.name] + ";")
        c("}")
    c("void gen_encode_chars(struct lap_enc *enc, const char *text, size_t capacity)")
    c("{")
    c("size_t length = strnlen(text, capacity ? capacity - 1 : 0);")
    c("if (!lap_enc_reserve(enc, LAP_WIRE_MAX_VARINT))")
    c("    return;")
    c("lap_put_u64(enc, length + 1);")
    c("lap_enc_raw(enc, text, length);")
    c("}")
    c("/* The number of a structure in the file. False, and counted: the file has none. */")
    c("static bool put_struct(struct lap_enc *enc, uint32_t number)")
    c("{")
    c("if (enc->struct_numbers)")
    c("    number = enc->struct_numbers[number];")
    c("enc->unknown_structs += !number;")
    c("if (number)")
    c("    lap_put_u64(enc, number);")
    c("return number != 0;")
    c("}")
    c("void gen_encode_pnext(struct lap_enc *enc, const void *chain)")
    c("{")
    c("for (const VkBaseInStructure *s = chain; s; s = s->pNext) {")
    c("size_t at;")
    c("if (!lap_enc_reserve(enc, LAP_WIRE_MAX_VARINT + 4))")
    c("    return;")
    c("switch ((uint32_t)s->sType) {")
    unrecorded = model.unrecorded()
    for s in c.guarded(model.extending):
        c(f"case {s.struct.stype}:")
        if s.name in unrecorded:
            c("    if (lap_enc_leaves_out(enc))")
            c("        continue;")
        c(f"    if (!put_struct(enc, GEN_STRUCT_{s.name}))")
        c("        continue;")
        c("    at = (size_t)(enc->p - enc->base);")
        c("    lap_put_fixed32(enc, 0);")
        if s.name in model.overrides.enters:
            c(f"    enter_{s.name}(enc, (const {s.name} *)s);")
        c(f"    encode_members_{s.name}(enc, (const {s.name} *)s);")
        c("    break;")
    c("case VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO:")
    c("case VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO:")
    c("    continue;")
    c("default:")
    c("    enc->unknown_structs++;")
    c("    continue;")
    c("}")
    c("if (enc->failed)")
    c("    return;")
    c("uint32_t size = (uint32_t)((size_t)(enc->p - enc->base) - at - 4);")
    c("uint8_t *size_at = enc->base + at;")
    c("size_at[0] = (uint8_t)size, size_at[1] = (uint8_t)(size >> 8), size_at[2] = (uint8_t)(size >> 16), "
      "size_at[3] = (uint8_t)(size >> 24);")
    c("}")
    c("if (lap_enc_reserve(enc, 1))")
    c("    lap_put_u64(enc, 0);")
    c("}")


def _emit_struct(model: Model, c: Text, s: StructPlan) -> None:
    if s.struct.union:
        _emit_union(model, c, s)
        return
    chained = bool(s.struct.stype)
    if chained:
        c(f"static void encode_members_{s.name}(struct lap_enc *enc, const {s.name} *s)")
        c("{")
    else:
        c(_struct_prototype(s))
        c("{")
    if s.name in model.overrides.enters and not chained:
        c(f"enter_{s.name}(enc, s);")
    body = Body(model, c, "s->")
    for f in s.fields:
        if not (chained and f.shape == "pnext"):
            body.field(f)
    body.flush()
    c("}")
    if chained:
        c(_struct_prototype(s))
        c("{")
        if s.name in model.overrides.enters:
            c(f"enter_{s.name}(enc, s);")
        if s.name in model.extended:
            c("gen_encode_chain(enc, s->pNext);")
        else:
            # Drivers ignore this pNext, and programs leave that of an output unwritten: nothing follows it.
            if not s.struct.returned_only:
                c("enc->unknown_structs += s->pNext && !enc->decoded;")
            c("gen_encode_chain(enc, enc->decoded ? s->pNext : NULL);")
        c(f"encode_members_{s.name}(enc, s);")
        c("}")


def _emit_union(model: Model, c: Text, s: StructPlan) -> None:
    c(_struct_prototype(s))
    c("{")
    if s.raw:
        c("lap_enc_raw(enc, s, sizeof *s);")
    elif s.only:
        body = Body(model, c, "s->")
        body.field(next(f for f in s.fields if f.name == s.only))
        body.flush()
    else:
        c("switch (selector) {")
        for f in s.fields:
            for value in f.member.selection:
                c(f"case {value}:")
            c("{")
            body = Body(model, c, "s->")
            body.field(f)
            body.flush()
            c("break;")
            c("}")
        c("default:")
        c("    break;")
        c("}")
    c("}")


def _emit_command(model: Model, c: Text, p: CommandPlan) -> None:
    c(_command_prototype(p))
    c("{")
    has_result = p.stores_result and p.command.returns == "VkResult"
    if has_result and any(f.output for f in p.fields):
        c(f"const bool gen_result_ok = {'true' if p.disposition.partial else 'result >= 0'};")
        c("(void)gen_result_ok;")
    body = Body(model, c, "", has_result)
    for f in p.body_fields:
        if f.output and f.shape == "bytes" and not p.disposition.outputs:
            body.put(1, "*p++ = 0;")
        else:
            body.field(f)
    if p.stores_result:
        if p.command.returns == "VkResult":
            body.put(5, "p = lap_at_i64(p, result);")
        else:
            body.put(10, f"p = lap_at_u64(p, (uint64_t){pointer_cast(p.command.returns)}result);")
    body.flush()
    c("}")
