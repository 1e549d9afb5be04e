# SPDX-License-Identifier: MIT
"""Replay: one function for each command that calls the driver with decoded arguments, and the table of all of them.

Hand-written functions (replay = "hand", and our own packets) get their prototypes and table entries in this module.
Their arguments go through the same adaptations (queue families, layouts). Commands that our traces can't contain
(replay = "never") have no function, only the reason of the refusal. gen_keep_VkX() registers the objects that a call
creates. gen_destroy_object() destroys the objects that are left at the end.
"""

from __future__ import annotations

import re

from model import CommandPlan, Field, Model, StructPlan
from text import Text, expand, finish_header, header, is_instance_level

FAMILY = re.compile(r"queuefamilyind(ex|ices)$")


def _level(model: Model, p: CommandPlan) -> str:
    return "instance" if not p.packet and is_instance_level(model, p) else "device"


def _owner_type(p: CommandPlan) -> str | None:
    """The handle type of the first parameter, which determines the device or instance."""
    first = p.fields[0] if p.fields else None
    return first.type if first and first.element == "handle" and first.shape == "value" else None


def _has_function(p: CommandPlan) -> bool:
    return p.disposition.replay not in ("info", "never")


class _Lenient:
    """Commands that may refer to objects without a replay: names and tags of any object, windows, and where overrides.toml says so."""

    def __init__(self, model: Model):
        self.model = model

    def __call__(self, p: CommandPlan) -> bool:
        return p.disposition.replay == "surface" or p.disposition.lenient or any(self._names_any(f, ()) for f in p.fields)

    def _names_any(self, f: Field, seen: tuple[str, ...]) -> bool:
        if f.element == "object":
            return True
        if f.element != "struct" or f.shape == "pnext" or f.type in seen or f.type not in self.model.struct_of:
            return False
        return any(self._names_any(m, seen + (f.type,)) for m in self.model.struct_of[f.type].fields)


class _Adapted:
    """Arguments that must be adapted to the replay device, and the functions that adapt them in a struct."""

    prefix = when = ""  # of the functions' names; C: whether a device needs the adaptation
    chains = False  # whether chained structs are adapted, too

    def __init__(self, model: Model):
        self.model = model
        self.holds: dict[str, bool] = {}

    def direct(self, f: Field) -> bool:
        """The member itself is adapted."""
        return False

    def whole(self, plan: StructPlan) -> bool:
        """The struct as a whole is adapted."""
        return False

    def emit_direct(self, c: Text, f: Field, fields: list[Field], value: str) -> None:
        raise NotImplementedError

    def emit_whole(self, c: Text, plan: StructPlan) -> list[Field]:
        """Emits the adaptation of the struct itself; returns the members to visit afterwards."""
        return [f for f in plan.fields if self.field(f)]

    def field(self, f: Field) -> bool:
        return self.direct(f) or (f.element == "struct" and f.shape in ("value", "pointer") and self.struct(f.type))

    def struct(self, name: str) -> bool:
        if name not in self.holds:
            self.holds[name] = False
            plan = self.model.struct_of.get(name)
            self.holds[name] = plan is not None and not plan.struct.union and (
                self.whole(plan) or any(self.field(f) for f in plan.fields) or bool(self.chained(plan)))
        return self.holds[name]

    def chained(self, plan: StructPlan) -> list[StructPlan]:
        """The structs in the chain of this one that are adapted."""
        overrides = self.model.overrides
        return [s for s in self.model.extending if self.chains and plan.name in s.struct.extends and s.name != plan.name
                and not overrides.is_hidden(s.struct.providers) and s.name not in overrides.dropped and self.struct(s.name)]

    def command(self, p: CommandPlan) -> bool:
        return _level(self.model, p) == "device" and any(self.field(f) for f in p.fields)

    def emit_field(self, c: Text, f: Field, fields: list[Field], value: str) -> None:
        if self.direct(f):
            self.emit_direct(c, f, fields, value)
        elif f.shape == "value":
            c(f"{self.prefix}_{f.type}(r, dev, &{value}{f.name});")
        else:
            c(f"for (size_t i = 0; {value}{f.name} && i < (size_t)({expand(f.count, lambda n: f'{value}{n}')}); i++)")
            c(f"    {self.prefix}_{f.type}(r, dev, ({f.type} *)(uintptr_t)&{value}{f.name}[i]);")

    def emit_struct(self, c: Text, plan: StructPlan, done: set[str]) -> None:
        if plan.name in done:
            return
        done.add(plan.name)
        for f in plan.fields:
            if self.field(f) and f.element == "struct":
                self.emit_struct(c, self.model.struct_of[f.type], done)
        chained = self.chained(plan)
        for s in chained:
            self.emit_struct(c, s, done)
        c.guard(plan.struct.guard)
        c(f"static void {self.prefix}_{plan.name}(struct replay *r, const struct replay_device *dev, {plan.name} *s)")
        c("{")
        for f in self.emit_whole(c, plan):
            self.emit_field(c, f, plan.fields, "s->")
        if chained:
            c("for (VkBaseOutStructure *next = (VkBaseOutStructure *)(uintptr_t)s->pNext; next; next = next->pNext) {")
            for s in c.guarded(chained):
                c(f"if ((uint32_t)next->sType == {s.struct.stype})")
                c(f"    {self.prefix}_{s.name}(r, dev, ({s.name} *)next);")
            c.guard(plan.struct.guard)
            c("}")
        c("}")

    def emit_structs(self, c: Text, plans: list[CommandPlan]) -> None:
        done: set[str] = set()
        for p in plans:
            for f in p.fields if self.command(p) else ():
                if f.element == "struct" and self.field(f):
                    self.emit_struct(c, self.model.struct_of[f.type], done)
        c.guard(None)


class _Families(_Adapted):
    """Queue family indices, which may have other numbers on the replay device."""

    prefix, when, chains = "map", "dev->queues.families_differ || dev->queues.family_count > 1", True
    TRANSFER = ("srcQueueFamilyIndex", "dstQueueFamilyIndex", "srcAccessMask", "dstAccessMask")

    def direct(self, f: Field) -> bool:
        return f.element == "scalar" and f.type == "uint32_t" and bool(FAMILY.search(f.name.lower()))

    def emit_direct(self, c: Text, f: Field, fields: list[Field], value: str) -> None:
        if f.shape == "value":
            c(f"{value}{f.name} = replay_queue_map_family(r, dev, {value}{f.name});")
        elif f.shape == "pointer":
            count = expand(f.count, lambda n: f"{value}{n}")
            c(f"if ({value}{f.name}) {{")
            c(f"{count} = replay_queue_map_families(r, dev, (uint32_t *)(uintptr_t){value}{f.name}, {count});")
            for mode in (m for m in fields if m.type == "VkSharingMode"):
                c(f"if ({count} < 2)")
                c(f"    {value}{mode.name} = VK_SHARING_MODE_EXCLUSIVE;")
            c("}")

    def emit_whole(self, c: Text, plan: StructPlan) -> list[Field]:
        names = {f.name for f in plan.fields}
        if not names.issuperset(self.TRANSFER):
            return super().emit_whole(c, plan)
        self._emit_transfer(c, names)
        return [f for f in super().emit_whole(c, plan) if f.name not in self.TRANSFER]

    def _emit_transfer(self, c: Text, names: set[str]) -> None:
        """Barriers, with or without a transfer of ownership: replayer/sync/ownership_transfer.h."""
        image = "image" in names
        shared = "replay_shares_image(r, dev, s->image)" if image else "replay_shares_buffers(dev)"
        members = [*self.TRANSFER, *(("oldLayout",) if image else ())]
        values = [f"s->{m}" for m in members] + (["s->newLayout"] if image else ["VK_IMAGE_LAYOUT_UNDEFINED"] * 2)
        c("if (s->srcQueueFamilyIndex == s->dstQueueFamilyIndex && s->srcQueueFamilyIndex == VK_QUEUE_FAMILY_IGNORED)")
        c("    return;")
        c(f"struct replay_ownership_transfer barrier = {{{', '.join(values)}}};")
        c(f"replay_ownership_transfer_translate(r, dev, &barrier, {shared});")
        for member, value in zip(members, ("source", "destination", "source_access", "destination_access", "old_layout")):
            c(f"s->{member} = barrier.{value};")


class _Stencils(_Adapted):
    """Layouts of images, where a format with depth may substitute stencil alone (replayer/format/stencil_only.h)."""

    prefix, when = "stencil", "__builtin_expect(dev->formats.stencils_differ, 0)"
    TRANSITION = ("oldLayout", "newLayout", "image", "subresourceRange")

    def whole(self, plan: StructPlan) -> bool:
        return bool(self._views(plan)) or {f.name for f in plan.fields}.issuperset(self.TRANSITION)

    def _views(self, plan: StructPlan) -> list[str]:
        """Prefixes of members with the layout of a view's image."""
        layouts = {f.name for f in plan.fields if f.type == "VkImageLayout"}
        names = [f.name.removesuffix("View") for f in plan.fields if f.type == "VkImageView" and f.name.endswith("View")]
        return [name for name in names if f"{name}Layout" in layouts]

    def emit_whole(self, c: Text, plan: StructPlan) -> list[Field]:
        for name in self._views(plan):
            c(f"s->{name}Layout = replay_format_stencil_layout(r, s->{name}View, s->{name}Layout);")
        if {f.name for f in plan.fields}.issuperset(self.TRANSITION):
            c("replay_format_stencil_transition(r, s->image, &s->subresourceRange.aspectMask, &s->oldLayout, &s->newLayout);")
        c("(void)dev;")
        return super().emit_whole(c, plan)


def emit(model: Model) -> dict[str, str]:
    adapted, lenient = [_Families(model), _Stencils(model)], _Lenient(model)
    plans = [p for p in model.commands if _has_function(p)]
    h = _header(model, plans)
    c = Text(model, "emit_replay.py", ["<stddef.h>", "vulkan/chain.h", "gen_replay.h", "replayer/core/handles.h", "replayer/sync/deferred_destroy.h", "replayer/play/player.h", "replayer/sync/ownership_transfer.h", "replayer/device/queues.h", "replayer/memory/resource.h",
                                          "replayer/format/stencil_only.h"])
    _emit_keeps(model, c)
    for kind in adapted:
        kind.emit_structs(c, plans)
    for p in c.guarded(plans):
        if _ended(model, p):
            _emit_end(c, p)
        if p.disposition.replay == "gen":
            _emit_gen(model, c, p, adapted)
        else:
            _emit_thunk(model, c, p, adapted)
    c("const struct gen_replay_entry gen_replay_table[GEN_COMMAND_COUNT] = {")
    for p in c.guarded(plans):
        flags = ["GEN_REPLAY_INSTANCE"] if _level(model, p) == "instance" else []
        flags += ["GEN_REPLAY_LENIENT"] if lenient(p) else []
        owner = _owner_type(p)
        table = f"struct gen_{_level(model, p)}_dispatch"
        calls = p.disposition.replay in ("gen", "end") or p.disposition.driver
        function = f"1 + offsetof({table}, {p.command.short}) / sizeof(PFN_vkVoidFunction)" if calls else "0"
        ended = _ended(model, p)
        end = f"GEN_HANDLE_{ended.type}, end_{ended.type}" if ended else "GEN_HANDLE_NONE, NULL"
        c(f"[GEN_{p.name}] = {{call_{p.name}, {'GEN_HANDLE_' + owner if owner else 'GEN_HANDLE_NONE'}, {' | '.join(flags) or '0'}, {function}, {end}}},")
    c("};")
    c("const char *const gen_replay_refusals[GEN_COMMAND_COUNT] = {")
    for p in model.commands:
        if p.disposition.refusal:
            c(f'[GEN_{p.name}] = "{p.disposition.refusal}",')
    c("};")
    _emit_destroy_live(model, c, plans)
    _emit_destroy(model, c, plans)
    _emit_allowances(model, c)
    return {"gen_replay.h": finish_header(h), "gen_replay.c": c.render()}


def _header(model: Model, plans: list[CommandPlan]) -> Text:
    h = header(model, "emit_replay.py", "GEN_REPLAY_H", ["replayer/core/device.h"])
    h("enum gen_replay_flags {")
    h("GEN_REPLAY_INSTANCE = 1, /* owner is a struct replay_instance *; otherwise a struct replay_device * */")
    h("GEN_REPLAY_LENIENT = 2   /* it may refer to objects that are not replayed; they are decoded as null */")
    h("};")
    h("struct gen_replay_entry {")
    h("enum lap_status (*call)(struct replay *r, void *owner, void *args); /* NULL: a replay ignores the command */")
    h("uint16_t owner_type; /* enum gen_handle_type of the first parameter */")
    h("uint8_t flags;")
    h("uint16_t function; /* 1 + index of the function pointer in the owner's dispatch table; 0: no single function is called */")
    h("/* For commands that only destroy one object: its type, and the action of `call` for a live object of the owner. */")
    h("uint16_t ended;")
    h("enum lap_status (*end)(struct replay *r, void *owner, uint64_t index, struct replay_object *object);")
    h("};")
    h("extern const struct gen_replay_entry gen_replay_table[GEN_COMMAND_COUNT];")
    h("/* Why a replay refuses a command in any place; NULL: it does not. */")
    h("extern const char *const gen_replay_refusals[GEN_COMMAND_COUNT];")
    h("/* Features that allow null for a parameter that otherwise must not be null: bits of struct replay_device's allowances. */")
    for number, feature in enumerate(sorted(model.overrides.allowing)):
        h(f"#define GEN_ALLOWS_{feature} (1u << {number})")
    h("uint32_t gen_allowances_of(const VkDeviceCreateInfo *info);")
    h()
    h("/* Destroys, in the driver, an object of a device that ended in the trace: deferred_destroy.h. */")
    h("void gen_destroy_live(struct replay_device *dev, enum gen_handle_type type, uint64_t live);")
    h("/* Destroys a live object with its own destroy command; LAP_END for types without one. */")
    h("enum lap_status gen_destroy_object(struct replay *r, void *owner, enum gen_handle_type type, uint64_t live) LAP_MUST_CHECK;")
    h()
    h("/* After a call that created objects: registers each live handle under its index in the trace. Where the trace has no")
    h(" * object (index 0), a live one is destroyed again; a missing live one is a failure. */")
    for name in h.guarded(model.handles):
        h(f"enum lap_status gen_keep_{name}(struct replay *r, void *owner, const {name} *indices, const {name} *live, "
          "uint64_t count) LAP_MUST_CHECK;")
    h()
    h("/* Hand-written, by topic. */")
    for p in h.guarded(p for p in plans if p.disposition.replay == "hand"):
        h(_hand_prototype(model, p) + ";")
    h("/* The same for an object of a device that ends. */")
    for p in h.guarded(p for p in plans if p.disposition.replay == "end"):
        h(_end_prototype(p.fields[1]) + ";")
    h("/* For every command that creates a window's surface; index is the new VkSurfaceKHR's in the trace. */")
    h("enum lap_status replay_create_surface(struct replay *r, struct replay_instance *instance, uint64_t index) LAP_MUST_CHECK;")
    h("enum lap_status replay_destroy_surface(struct replay *r, struct replay_instance *instance, uint64_t index) LAP_MUST_CHECK;")
    return h


def _hand_prototype(model: Model, p: CommandPlan) -> str:
    level = _level(model, p)
    name = "dev" if level == "device" else "instance"
    return (f"enum lap_status replay_{p.command.short}(struct replay *r, struct replay_{level} *{name}, "
            f"struct gen_args_{p.name} *args)")


def _ended(model: Model, p: CommandPlan) -> Field | None:
    """The object of a device that a command destroys, if the command does nothing else: its only parameters are the
    device, the object and parameters that no trace has."""
    handles = [f for f in p.fields if f.element == "handle" and f.shape == "value"]
    if not p.disposition.destroys or p.packet or len(p.fields) != 3 or len(handles) != 2 or p.disposition.replay not in ("gen", "end"):
        return None
    alone = p.fields[2].shape == "skip" and p.command.returns == "void" and _owner_type(p) == "VkDevice"
    return handles[1] if alone and not model.registry.handles[handles[1].type].dispatchable else None


def _end_prototype(ended: Field) -> str:
    return (f"enum lap_status replay_end_{ended.type}(struct replay *r, struct replay_device *dev, uint64_t index, "
            "struct replay_object *object)")


def _emit_end(c: Text, p: CommandPlan) -> None:
    """Emits the case of a known object."""
    ended = p.fields[1]
    c(f"static enum lap_status end_{ended.type}(struct replay *r, void *owner, uint64_t index, struct replay_object *object)")
    c("{")
    c("struct replay_device *dev = owner;")
    c(f"if (__builtin_expect(!dev->vk.{p.command.short}, 0))")
    c(f"    return replay_missing(r, GEN_{p.name});")
    if p.disposition.replay == "end":
        c(f"return replay_end_{ended.type}(r, dev, index, object);")
    else:
        c("if (__builtin_expect(dev->busy || dev->shown, 0))")
        c(f"    replay_deferred_destroy_handle(dev, GEN_HANDLE_{ended.type}, object->live);")
        c("else")
        c(f"    dev->vk.{p.command.short}(dev->live, gen_{ended.type}(object->live), NULL);")
        c(f"replay_object_end(r, GEN_HANDLE_{ended.type}, index, object);")
        c("return LAP_OK;")
    c("}")


def _emit_keeps(model: Model, c: Text) -> None:
    for name in c.guarded(model.handles):
        c(f"enum lap_status gen_keep_{name}(struct replay *r, void *owner, const {name} *indices, const {name} *live, uint64_t count)")
        c("{")
        c("enum lap_status status = LAP_OK;")
        c("for (uint64_t i = 0; i < count && status == LAP_OK; i++)")
        c(f"    status = replay_keep(r, GEN_HANDLE_{name}, owner, gen_u64_{name}(indices[i]), gen_u64_{name}(live[i]));")
        c("return status;")
        c("}")


def _emit_thunk(model: Model, c: Text, p: CommandPlan, adapted: list[_Adapted]) -> None:
    c(f"static enum lap_status call_{p.name}(struct replay *r, void *owner, void *args)")
    c("{")
    if p.disposition.replay == "surface":
        c(f"struct gen_args_{p.name} *a = args;")
        made = next((f for f in p.fields if f.created), None)
        if made:
            c(f"if (!a->{made.name})")
            c(f'    return replay_absent(r, "{made.name}");')
            c(f"return replay_create_surface(r, owner, gen_u64_{made.type}(*a->{made.name}));")
        else:
            gone = [f for f in p.fields if f.element == "handle"][-1]
            c(f"return replay_destroy_surface(r, owner, gen_u64_{gone.type}(a->{gone.name}));")
        c("}")
        return
    if p.disposition.replay == "end":
        ended = p.fields[1]
        c("struct replay_device *dev = owner;")
        c(f"struct gen_args_{p.name} *a = args;")
        c("uint64_t index;")
        c(f"struct replay_object *object = replay_object_of(r, GEN_HANDLE_{ended.type}, gen_u64_{ended.type}(a->{ended.name}), &index);")
        c("if (object)")
        c(f"    return end_{ended.type}(r, owner, index, object);")
        c(f"if (!dev->vk.{p.command.short})")
        c(f"    return replay_missing(r, GEN_{p.name});")
        c(f"dev->vk.{p.command.short}(a->device, a->{ended.name}, NULL); /* it has no index yet */")
        c("return LAP_OK;")
        c("}")
        return
    if p.disposition.driver:
        parent = "instance" if _level(model, p) == "instance" else "device"
        c(f"if (__builtin_expect(!((struct replay_{parent} *)owner)->vk.{p.command.short}, 0))")
        c(f"    return replay_missing(r, GEN_{p.name});")
    _emit_adapting(c, p, adapted, declare=True)
    _emit_checks(c, p, f"struct gen_args_{p.name} *a = args;")
    c(f"return replay_{p.command.short}(r, owner, args);")
    c("}")


def _emit_adapting(c: Text, p: CommandPlan, adapted: list[_Adapted], declare: bool = False) -> None:
    kinds = [kind for kind in adapted if kind.command(p)]
    if kinds and declare:
        c("struct replay_device *dev = owner;")
    for kind in kinds:
        c(f"if ({kind.when}) {{")
        c(f"struct gen_args_{p.name} *m = args;")
        for f in p.fields:
            if kind.field(f):
                kind.emit_field(c, f, p.fields, "m->")
        c("}")


def _wrongly_null(p: CommandPlan) -> list[tuple[Field, str]]:
    """Parameters that a driver follows or uses without a check (Field.needed), and the condition under which they are
    wrongly null. The object that a command is called on is looked up earlier. Hand-written functions for queries
    pass the driver pointers of their own.
    """
    wrong = []
    for i, f in enumerate(p.fields):
        if not f.needed or i == 0 and f.element == "handle" or f.output and not f.created and p.disposition.replay == "hand":
            continue
        if p.disposition.lenient and f.element == "handle" and not f.created:
            continue
        conditions = [f"!a->{f.name}"]
        if f.count and f.count != "1" and "->" not in f.count:
            conditions.append(f"{expand(f.count, lambda n: f'a->{n}')} != 0")
        if f.needed != "1":
            conditions.append(f"({expand(f.needed, lambda n: f'a->{n}')})")
        if f.unless:
            conditions.append(f"!(dev->enabled.allowances & GEN_ALLOWS_{f.unless})")
        wrong.append((f, " && ".join(conditions)))
    return wrong


def _emit_checks(c: Text, p: CommandPlan, declaration: str = "") -> None:
    if p.packet:
        return
    wrong = _wrongly_null(p)
    each = [f for f in p.fields if f.each]
    if (wrong or each) and declaration:
        c(declaration)
    for f, condition in wrong:
        c(f"if ({condition})")
        c(f'    return replay_absent(r, "{f.name}");')
    for f in each:
        c(f"for (size_t i = 0; a->{f.name} && i < (size_t)({expand(f.count, lambda n: f'a->{n}')}); i++)")
        c(f"    if (!({expand(f.each, lambda n: f'a->{n}')}))")
        c(f'        return replay_absent(r, "{re.sub(r"[{}]", "", f.each)}");')


def _emit_gen(model: Model, c: Text, p: CommandPlan, adapted: list[_Adapted]) -> None:
    level = _level(model, p)
    variable = "dev" if level == "device" else "instance"
    c(f"static enum lap_status call_{p.name}(struct replay *r, void *owner, void *args)")
    c("{")
    c(f"struct replay_{level} *{variable} = owner;")
    c(f"struct gen_args_{p.name} *a = args;")
    c(f"if (__builtin_expect(!{variable}->vk.{p.command.short}, 0))")
    c(f'    return replay_missing(r, GEN_{p.name});')
    _emit_adapting(c, p, adapted)
    _emit_checks(c, p)
    outputs = [f for f in p.fields if f.output and f.shape in ("pointer", "bytes")]
    values = {}
    created = [f for f in outputs if f.created]
    only = created[0] if len(created) == 1 and created[0].count == "1" else None
    if only:
        c(f"uint64_t index = gen_u64_{only.type}(a->{only.name}[0]);")
        c(f"a->{only.name}[0] = VK_NULL_HANDLE; /* holds the driver's handle in place of the index for a moment */")
    for f in outputs:
        count = expand(f.count, lambda n: f"a->{n}")
        if f is only:
            continue
        if f.created and count == "1":
            c(f"{f.type} live_{f.name}[1] = {{0}};")
            values[f.name] = f"live_{f.name}"
            continue
        if f.created:
            c(f"{f.type} *live_{f.name} = replay_scratch(r, (uint64_t)({count}), sizeof *live_{f.name});")
            values[f.name] = f"live_{f.name}"
        elif f.shape == "bytes":
            # Recorded data may lie in a shared blob: a driver must not write to it.
            c(f"void *live_{f.name} = a->{f.name} ? replay_scratch(r, (uint64_t)({count}), 1) : NULL;")
            values[f.name] = f"live_{f.name}"
        else:
            continue
        c(f"if (!live_{f.name}{'' if f.created else f' && a->{f.name}'}{'' if count == '1' else f' && ({count}) != 0'})")
        c("    return replay_no_scratch(r);")
    for f in p.fields:
        if f.strided:
            values[f.member.stride] = f"sizeof *a->{f.name}"
    call = f"{variable}->vk.{p.command.short}({', '.join(values.get(f.name, 'a->' + f.name) for f in p.fields)})"
    returns = p.command.returns == "VkResult"
    ended = _ended(model, p)
    if ended:
        c("if (__builtin_expect(dev->busy || dev->shown, 0))")
        c(f"    replay_deferred_destroy_handle(dev, GEN_HANDLE_{ended.type}, gen_u64_{ended.type}(a->{ended.name}));")
        c("else")
        c(f"    {call};")
    else:
        c(f"VkResult result = {call};" if returns else call + ";")
    if only:
        c(f"uint64_t live = gen_u64_{only.type}(a->{only.name}[0]);")
        c(f"a->{only.name}[0] = gen_{only.type}(index);")
    if returns:
        c("if (result < 0)")
        c("    return replay_result(r, result);")
    destroyed = [f for f in p.fields if f.destroyed]
    for f in destroyed:
        if f.shape == "value":
            c(f"replay_object_forget(r, GEN_HANDLE_{f.type}, gen_u64_{f.type}(a->{f.name}));")
        else:
            c(f"for (size_t i = 0; i < (size_t)({expand(f.count, lambda n: f'a->{n}')}); i++)")
            c(f"    replay_object_forget(r, GEN_HANDLE_{f.type}, gen_u64_{f.type}(a->{f.name}[i]));")
    for f in created[:-1]:
        c(f"enum lap_status status = gen_keep_{f.type}(r, owner, a->{f.name}, live_{f.name}, {expand(f.count, lambda n: f'a->{n}')});")
        c("if (status != LAP_OK)")
        c("    return status;")
    for f in created[-1:]:
        if f is only:
            c(f"return replay_object_keep(r, GEN_HANDLE_{f.type}, owner, index, live);")
            continue
        c(f"return gen_keep_{f.type}(r, owner, a->{f.name}, live_{f.name}, (uint64_t)({expand(f.count, lambda n: f'a->{n}')}));")
    if not created:
        c("return LAP_OK;")
    c("}")


def _emit_destroy(model: Model, c: Text, plans: list[CommandPlan]) -> None:
    c("enum lap_status gen_destroy_object(struct replay *r, void *owner, enum gen_handle_type type, uint64_t live)")
    c("{")
    c("switch (type) {")
    seen = set()
    for p in plans:
        handles = [f for f in p.fields if f.element == "handle" and f.shape == "value"]
        if not p.disposition.destroys or p.packet or len(p.fields) != 3 or len(handles) != 2 or handles[1].type in seen:
            continue
        if handles[0].type not in ("VkDevice", "VkInstance"):
            continue
        seen.add(handles[1].type)
        c.guard(p.command.guard)
        c(f"case GEN_HANDLE_{handles[1].type}: {{")
        parent = "dev" if handles[0].type == "VkDevice" else "instance"
        c(f"struct replay_{'device' if parent == 'dev' else 'instance'} *{parent} = owner;")
        c(f"struct gen_args_{p.name} args = {{.{handles[0].name} = {parent}->live, .{handles[1].name} = gen_{handles[1].type}(live)}};")
        c(f"return call_{p.name}(r, owner, &args);")
        c("}")
    c.guard(None)
    c("default: return LAP_END;")
    c("}")
    c("}")


def _emit_destroy_live(model: Model, c: Text, plans: list[CommandPlan]) -> None:
    """Objects of a device with a destroy command of their own."""
    c("void gen_destroy_live(struct replay_device *dev, enum gen_handle_type type, uint64_t live)")
    c("{")
    c("switch (type) {")
    for p in plans:
        fields = p.fields
        if not p.disposition.destroys or p.packet or len(fields) != 3 or fields[0].type != "VkDevice":
            continue
        if fields[1].element != "handle" or fields[1].shape != "value":
            continue
        c.guard(p.command.guard)
        c(f"case GEN_HANDLE_{fields[1].type}:")
        c(f"    if (dev->vk.{p.command.short})")
        c(f"        dev->vk.{p.command.short}(dev->live, gen_{fields[1].type}(live), NULL);")
        c("    break;")
    c.guard(None)
    c("default: break;")
    c("}")
    c("}")


def _emit_allowances(model: Model, c: Text) -> None:
    c("uint32_t gen_allowances_of(const VkDeviceCreateInfo *info)")
    c("{")
    c("uint32_t allowances = 0;")
    c("(void)info;")
    for feature, names in sorted(model.overrides.allowing.items()):
        for struct in c.guarded(model.struct_of[name] for name in names):
            c("{")
            c(f"const {struct.name} *s = lap_chain_find(info->pNext, {struct.struct.stype});")
            c(f"allowances |= s && s->{feature} ? GEN_ALLOWS_{feature} : 0;")
            c("}")
    c("return allowances;")
    c("}")
