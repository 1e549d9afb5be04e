# SPDX-License-Identifier: MIT
"""The layer's entry points: call down, update records, write the packet. Commands that need more are hand-written
(capture = "hand") or have hooks, by overrides.toml."""

from __future__ import annotations

from emit_quick import is_quick, reaches_unknown
from model import CommandPlan, Field, Model
from text import Text, arguments, dispatch_handle, expand, finish_header, header, is_instance_level, parameters

# Handle types whose records have the next layer's functions. Commands on any other dispatchable handle belong to hidden
# extensions; they are not intercepted.
RECORDED = ("VkInstance", "VkPhysicalDevice", "VkDevice", "VkQueue", "VkCommandBuffer", None)


def emit(model: Model) -> dict[str, str]:
    plans = [p for p in model.commands if not p.packet and dispatch_handle(model, p) in RECORDED]
    h = header(model, "emit_layer.py", "GEN_LAYER_H", ["layer/core/layer.h"])
    h("/* Entry points, generated or hand-written. */")
    for p in h.guarded(plans):
        h(f"VKAPI_ATTR {p.command.returns} VKAPI_CALL capture_{p.command.short}({parameters(p)});")
    h("/* Hooks, hand-written. before: at entry, when the records still exist. after: after a successful call. */")
    for p in h.guarded(plans):
        for hook in sorted(p.disposition.hooks - {"quick"}):
            h(_hook_prototype(model, p, hook) + ";")
    h()
    h("/* Encodes the body of a packet for a call that has not returned (layer_encode_call in layer/core/notes.h). */")
    h("bool gen_in_flight_encode(struct lap_enc *enc, enum gen_command command, const void *args, uint64_t *out_command_buffer);")
    h()
    h("struct gen_entry {")
    h("const char *name;")
    h("PFN_vkVoidFunction function;")
    h("uint32_t dispatch_offset; /* of the next function's pointer in the instance's or device's table */")
    h("bool device_level;")
    h("};")
    h("/* All names, aliases too, sorted by strcmp. */")
    h("extern const struct gen_entry gen_entries[];")
    h("extern const uint32_t gen_entry_count;")
    h("/* Extensions that are hidden from programs, sorted, and the instance and device extensions of this registry. */")
    h("extern const char *const gen_hidden_extensions[];")
    h("extern const uint32_t gen_hidden_extension_count;")
    h("extern const char *const gen_known_extensions[];")
    h("extern const uint32_t gen_known_extension_count;")
    h("/* Clears the hidden features in VkPhysicalDeviceFeatures and in a chain of feature structures. */")
    h("void gen_hide_features(VkPhysicalDeviceFeatures *features, void *chain);")
    h("/* Bytes of a structure in the chain of VkDeviceCreateInfo, VkMemoryAllocateInfo or VkBufferCreateInfo; 0: unknown. */")
    h("size_t gen_chain_struct_bytes(VkStructureType type);")

    c = Text(model, "emit_layer.py", ["gen_layer.h", "gen_decode.h", "gen_encode_block.h", "gen_quick.h", "layer/command/touched.h", "<stddef.h>"])
    for p in c.guarded(p for p in plans if p.disposition.capture == "gen"):
        _emit_entry(model, c, p)
    for p in c.guarded(p for p in plans if p.disposition.capture != "gen" and _is_noted(model, p) and p.name != ASKED):
        _emit_noted(c, p)
    _emit_table(model, c, plans)
    t = Text(model, "emit_layer.py", ["gen_layer.h"])
    _emit_globals(model, t)
    _emit_hidden(model, t)
    _emit_chain_sizes(model, t)
    f = Text(model, "emit_layer.py", ["vulkan/conditions.h", "gen_decode.h", "gen_encode_block.h", "gen_layer.h"])
    _emit_in_flight(model, f, plans)
    return {"gen_layer.h": finish_header(h), "gen_layer.c": c.render(), "gen_layer_tables.c": t.render(),
            "gen_in_flight.c": f.render()}


def _owner(model: Model, p: CommandPlan) -> tuple[str, str]:
    if p.in_block:
        return "struct layer_cmdbuf *", "cb"
    if is_instance_level(model, p):
        return "struct layer_instance *", "instance_record"
    return "struct layer_device *", "dev"


def _hook_prototype(model: Model, p: CommandPlan, hook: str) -> str:
    kind, name = _owner(model, p)
    result = f", {p.command.returns} result" if hook == "after" and p.command.returns != "void" else ""
    return f"void hook_{hook}_{p.command.short}({kind}{name}, {parameters(p)}{result})"


def _emit_globals(model: Model, c: Text) -> None:
    def is_global(name: str) -> bool:
        seen = name
        while seen:
            handle = model.registry.handles.get(seen)
            if handle is None:
                return False
            if handle.dispatchable and seen == name:
                return True
            if seen == "VkDevice":
                return False
            if seen == "VkInstance":
                return True
            seen = handle.parent
        return False

    c("const bool gen_handle_global[GEN_HANDLE_COUNT] = {")
    for name in model.handles:
        if is_global(name):
            c(f"[GEN_HANDLE_{name}] = true,")
    c("};")


def _emit_quick_entry(c: Text, p: CommandPlan) -> None:
    """The common path, and the slow path in a function of its own, so that the common path saves few registers."""
    short = p.command.short
    c(f"VKAPI_ATTR void VKAPI_CALL capture_{short}({parameters(p)})")
    c("{")
    c(f"struct layer_cmdbuf *cb = layer_fast_cmdbuf({p.fields[0].name});")
    hook = f"quick_{short}(cb, {arguments(p)}) && " if "quick" in p.disposition.hooks else ""
    c(f"if (__builtin_expect(cb && {hook}gen_quick_{p.name}({', '.join(['cb'] + [f.name for f in p.body_fields])}), 1)) {{")
    c("layer_command_begin(cb);")
    c(f"cb->device->vk.{short}({arguments(p)});")
    c("layer_command_end(cb);")
    c("} else {")
    c(f"slow_{short}({arguments(p)});")
    c("}")
    c("}")


def _emit_entry(model: Model, c: Text, p: CommandPlan) -> None:
    short, returns = p.command.short, p.command.returns
    if is_quick(model, p):
        c(f"static __attribute__((noinline)) void VKAPI_CALL slow_{short}({parameters(p)})")
        c("{")
        _emit_block_command(model, c, p)
        c("}")
        _emit_quick_entry(c, p)
        return
    c(f"VKAPI_ATTR {returns} VKAPI_CALL capture_{short}({parameters(p)})")
    c("{")
    if p.in_block:
        _emit_block_command(model, c, p)
        c("}")
        return
    handle = dispatch_handle(model, p)
    kind, owner = _owner(model, p)
    c(f"{kind}{owner} = layer_{'instance' if owner == 'instance_record' else 'device'}_of_{handle}({p.fields[0].name});")
    tables = f"&{owner}->tables"
    device = "NULL" if owner == "instance_record" else owner
    call = f"{owner}->vk.{short}({arguments(p)})"
    entry = p.disposition.when == "entry"
    _emit_note(c, p)
    c("if (note) {")
    c(f"note->objects = {tables};")
    c(f"{_encode_unreturned(p, 'note', '')};")
    c("layer_note_end(&noted.call);")
    c("}")
    if "before" in p.disposition.hooks:
        c(f"hook_before_{short}({owner}, {arguments(p)});")
    if entry:
        c(f"struct lap_enc *enc = layer_packet_begin({tables}, GEN_{p.name}, 0);")
        if returns == "VkResult":
            c("uint64_t ticket = enc ? layer_packet_ticket() : 0;")
        _emit_packet(c, p, "")
        for f in p.fields:
            if f.destroyed:
                _emit_remove(c, f, device)
        c((f"{returns} result = " if returns != "void" else "") + call + ";")
        if returns == "VkResult":
            c("if (result != VK_SUCCESS && ticket)")
            c(f"    layer_packet_result({tables}, ticket, result);")
    else:
        c((f"{returns} result = " if returns != "void" else "") + call + ";")
        partial = p.disposition.partial
        success = "result >= 0" if returns == "VkResult" and not partial else "true"
        created = [f for f in p.fields if f.created]
        if partial:
            c("bool any = false;")
        _emit_shown_types(model, c, p, success, owner)
        if created:
            c(f"if ({success}) {{")
            for f in created:
                _emit_add(c, f, device, partial)
            c("}")
        failed = "0" if returns != "VkResult" else f"result < 0{' && !any' if partial else ''} ? LAP_PACKET_FAILED : 0"
        c(f"struct lap_enc *enc = layer_packet_begin({tables}, GEN_{p.name}, {failed});")
        _emit_packet(c, p, ", result" if p.stores_result else "")
    if "after" in p.disposition.hooks:
        guard = "if (result >= 0)" if returns == "VkResult" and not p.disposition.partial else ""
        if guard:
            c(guard)
        c(("    " if guard else "") + f"hook_after_{short}({owner}, {arguments(p)}{', result' if returns != 'void' else ''});")
    c("layer_call_end(&noted.call);")
    if returns != "void":
        c("return result;")
    c("}")


def _type_masks(model: Model, name: str) -> list[str]:
    """The masks of memory types in a struct: members, as C."""
    plan = model.struct_of.get(name)
    return [] if plan is None or plan.struct.union else [
        path for f in plan.fields if f.shape == "value"
        for path in ([f.name] if f.name == "memoryTypeBits" else [f"{f.name}.{rest}" for rest in _type_masks(model, f.type)] if f.element == "struct" else [])]


def _emit_shown_types(model: Model, c: Text, p: CommandPlan, success: str, owner: str) -> None:
    """Masks of memory types that the driver gave: programs are shown other types (memtrack/virtual_types.h)."""
    for f in p.fields if owner == "dev" else ():
        masks = _type_masks(model, f.type) if f.output and f.element == "struct" else []
        if masks:
            c(f"for (size_t i = 0; {success} && {f.name} && i < (size_t)({expand(f.count, lambda name: name)}); i++) {{")
            for mask in masks:
                c(f"{f.name}[i].{mask} = lap_virtual_types_shown_mask(&dev->physical_device->types, {f.name}[i].{mask});")
            c("}")


def _emit_packet(c: Text, p: CommandPlan, result: str) -> None:
    """Where a call has no outputs, the body that was encoded for the call's note becomes the packet's. A destroyed
    handle is looked up again: another thread may have got the same handle value since."""
    c("if (enc) {")
    again = "" if result or any(f.output or f.destroyed for f in p.fields) else "    "
    if again:
        c("if (!layer_note_copy(&noted.call, enc))")
    c(f"{again}gen_encode_{p.name}(enc, {arguments(p)}{result});")
    c("layer_packet_end();")
    c("}")


FIRST = "vkCreateInstance"  # writes its note itself, behind the header of the file
ASKED = "vkEnumerateDeviceExtensionProperties"  # the same, since it depends on its caller


def _is_noted(model: Model, p: CommandPlan) -> bool:
    """Whether a note is written while a call is in progress. Not for commands that are in the block before the driver
    gets them, and not for queries that loaders make before an instance exists (FIRST has a hand-written note)."""
    return (not p.in_block or p.disposition.capture != "gen") and dispatch_handle(model, p) is not None and p.command.returns != "PFN_vkVoidFunction"


def _emit_note(c: Text, p: CommandPlan) -> None:
    """Stores the arguments on the stack, and their address in the thread's record."""
    c(f"struct {{ struct layer_call call; struct gen_args_{p.name} args; }} noted;")
    for f in p.fields:
        c(f"noted.args.{f.name} = {f.name};")
    c(f"struct lap_enc *note = layer_call_begin(&noted.call, GEN_{p.name}, &noted.args);")


def _emit_noted(c: Text, p: CommandPlan) -> None:
    """The entry point that the loader calls instead of a hand-written one."""
    returns = p.command.returns
    c(f"static VKAPI_ATTR {returns} VKAPI_CALL noted_{p.command.short}({parameters(p)})")
    c("{")
    _emit_note(c, p)
    c("if (note)")
    c("    layer_note_encode(&noted.call);")
    c((f"{returns} result = " if returns != "void" else "") + f"capture_{p.command.short}({arguments(p)});")
    c("layer_call_end(&noted.call);")
    if returns != "void":
        c("return result;")
    c("}")


def _encode_unreturned(p: CommandPlan, enc: str, args: str) -> str:
    """The body of a call that has not returned: without outputs, and with a result that is no success."""
    values = ["NULL" if f.output else args + f.name for f in p.body_fields]
    if p.stores_result:
        values.append("VK_ERROR_UNKNOWN" if p.command.returns == "VkResult" else "0")
    return f"gen_encode_{p.name}({', '.join([enc] + values)})"


def _emit_in_flight_body(c: Text, p: CommandPlan) -> None:
    c(f"{_encode_unreturned(p, 'enc', 'a->')};")
    c("return true;")
    c("}")


def _emit_in_flight(model: Model, c: Text, plans: list[CommandPlan]) -> None:
    """Bodies of calls that have not returned, from their notes."""
    c("bool gen_in_flight_encode(struct lap_enc *enc, enum gen_command command, const void *args, uint64_t *out_command_buffer)")
    c("{")
    c("switch (command) {")
    for p in c.guarded(p for p in plans if _is_noted(model, p) or p.name == FIRST):
        kind, owner = _owner(model, p)
        handle = dispatch_handle(model, p)
        c(f"case GEN_{p.name}: {{")
        c(f"const struct gen_args_{p.name} *a = args;")
        if not handle:
            c("enc->objects = &layer.tables;")
            _emit_in_flight_body(c, p)
            continue
        find = "cmdbuf_of" if p.in_block else f"{'instance' if owner == 'instance_record' else 'device'}_of_{handle}"
        c(f"const {kind}{owner} = layer_{find}(a->{p.fields[0].name});")
        c(f"if (!{owner})")
        c("    return false;")
        c(f"enc->objects = &{owner}->{'device->' if p.in_block else ''}tables;")
        if p.in_block:
            c("*out_command_buffer = cb->object.index;")
            c("enc->scratch[COND_SCRATCH_SECONDARY] = cb->secondary;")
        _emit_in_flight_body(c, p)
    c("default:")
    c("    return false;")
    c("}")
    c("}")


def _emit_block_command(model: Model, c: Text, p: CommandPlan) -> None:
    returns = p.command.returns
    c(f"struct layer_cmdbuf *cb = layer_cmdbuf_of({p.fields[0].name});")
    c(f"struct lap_enc *enc = layer_block_command(cb, GEN_{p.name});")
    names = ", ".join(f.name for f in p.body_fields)
    c("if (enc)")
    c(f"    gen_encode_{p.name}(enc{', ' + names if names else ''});")
    call = f"cb->device->vk.{p.command.short}({arguments(p)});"
    if reaches_unknown(model, p):
        c("layer_touch_unknown(cb);")
    c("if (enc)")
    c("    layer_command_begin(cb);")
    c((f"{returns} result = " if returns != "void" else "") + call)
    c("layer_command_end(cb);")
    if "after" in p.disposition.hooks:
        c(f"hook_after_{p.command.short}(cb, {arguments(p)}{', result' if returns != 'void' else ''});")
    if returns != "void":
        c("return result;")


def _emit_add(c: Text, f: Field, device: str, partial: bool) -> None:
    count = expand(f.count, lambda name: name)
    value = f"gen_u64_{f.type}({f.name}[i])"
    add = f"layer_object_add(gen_handle_global[GEN_HANDLE_{f.type}] ? NULL : {device}, GEN_HANDLE_{f.type}, {value})"
    c(f"for (size_t i = 0; {f.name} && i < (size_t)({count}); i++)")
    c(f"    if ({value})")
    c(f"        {'any |= ' if partial else ''}{add}{' != NULL' if partial else ''};")


def _emit_remove(c: Text, f: Field, device: str) -> None:
    holder = f"gen_handle_global[GEN_HANDLE_{f.type}] ? NULL : {device}"
    if f.shape == "value":
        c(f"layer_object_remove({holder}, GEN_HANDLE_{f.type}, gen_u64_{f.type}({f.name}));")
        return
    count = expand(f.count, lambda name: name)
    c(f"for (size_t i = 0; {f.name} && i < (size_t)({count}); i++)")
    c(f"    layer_object_remove({holder}, GEN_HANDLE_{f.type}, gen_u64_{f.type}({f.name}[i]));")


def _emit_table(model: Model, c: Text, plans: list[CommandPlan]) -> None:
    rows = []
    for p in plans:
        device_level = not is_instance_level(model, p)
        table = "gen_device_dispatch" if device_level else "gen_instance_dispatch"
        for name in [p.name] + p.command.aliases:
            rows.append((name, p, table, device_level))
    rows.sort(key=lambda row: row[0])
    c("const struct gen_entry gen_entries[] = {")
    for name, p, table, device_level in rows:
        c.guard(p.command.guard)
        prefix = "noted" if p.disposition.capture != "gen" and _is_noted(model, p) and p.name != ASKED else "capture"
        c(f'{{"{name}", (PFN_vkVoidFunction){prefix}_{p.command.short}, offsetof(struct {table}, {p.command.short}), '
          f'{"true" if device_level else "false"}}},')
    c.guard(None)
    c("};")
    c("const uint32_t gen_entry_count = sizeof gen_entries / sizeof gen_entries[0];")


def _emit_hidden(model: Model, c: Text) -> None:
    for name, values in (("hidden", sorted(model.overrides.hidden_extensions)), ("known", sorted(model.registry.extensions))):
        c(f"const char *const gen_{name}_extensions[] = {{")
        for value in values:
            c(f'"{value}",')
        c("};")
        c(f"const uint32_t gen_{name}_extension_count = sizeof gen_{name}_extensions / sizeof gen_{name}_extensions[0];")
    c("void gen_hide_features(VkPhysicalDeviceFeatures *features, void *chain)")
    c("{")
    by_struct: dict[str, list[str]] = {}
    for struct, member, _ in model.overrides.hidden_features:
        by_struct.setdefault(struct, []).append(member)
    c("if (features) {")
    for member in by_struct.get("VkPhysicalDeviceFeatures", []):
        c(f"features->{member} = VK_FALSE;")
    c("}")
    c("for (VkBaseOutStructure *s = chain; s; s = s->pNext) {")
    c("switch ((uint32_t)s->sType) {")
    for struct, members in by_struct.items():
        if struct == "VkPhysicalDeviceFeatures":
            continue
        c(f"case {model.registry.structs[struct].stype}:")
        for member in members:
            c(f"    (({struct} *)s)->{member} = VK_FALSE;")
        c("    break;")
    c("default:")
    c("    break;")
    c("}")
    c("}")
    c("}")


def _emit_chain_sizes(model: Model, c: Text) -> None:
    copied = {"VkDeviceCreateInfo", "VkMemoryAllocateInfo", "VkBufferCreateInfo"}
    rows = [(s, s.struct.stype, f"sizeof({s.name})") for s in model.extending if copied & set(s.struct.extends)]
    c.lookup("size_t gen_chain_struct_bytes(VkStructureType type)", "(uint32_t)type", rows, "0")
