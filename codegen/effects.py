# SPDX-License-Identifier: MIT
"""What commands do with objects and contents: effects.toml, joined with what the registry says of handles."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from model import CommandPlan, Model
from overrides import OverrideError

DOES = ["unknown", "makes", "state", "writes", "describes", "records", "submits", "presents", "acquires", "waits", "signals", "binds", "checks",
        "accesses", "acts"]
OBJECTS = ["names", "reads", "changes"]
KEYS = {"effect": {"commands", "does", "objects", "addresses", "everything", "reason"}, "read": {"members", "reason"}}


@dataclass(frozen=True)
class Effect:
    """Of a command in a command buffer `does` says nothing, and of a call the rest."""

    does: str = "unknown"
    objects: str = "changes"
    addresses: bool = True
    everything: bool = True
    known: bool = False


@dataclass
class Effects:
    commands: dict[str, Effect]
    reads: set[tuple[str, str]]  # owner, member
    holding: set[str] = field(default_factory=set)  # types of handles
    apart: set[str] = field(default_factory=set)
    addressing: set[str] = field(default_factory=set)

    def unknown(self, model: Model) -> list[str]:
        """Commands that a replay makes and no entry has."""
        return [p.name for p in model.commands if not self.commands[p.name].known and p.disposition.replay not in ("info", "never")]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


class _Reader:
    def __init__(self, path: Path, model: Model, data: dict):
        self.path, self.model, self.data = path, model, data
        self.complete = _version(model.registry.header_version) >= _version(data["newest"])
        self.apart = self.handles("apart")
        for kind, keys in KEYS.items():
            for entry in data.get(kind, []):
                for key in entry.keys() - keys:
                    self.fail(f"{key!r} says nothing")
                if not entry.get("reason"):
                    self.fail(f"the entry for {entry.get('commands') or entry.get('members')} has no reason")

    def fail(self, what: str) -> None:
        raise OverrideError(f"{self.path}: {what}")

    def absent(self, name: str) -> None:
        if self.complete and not any(fnmatchcase(w, name) for w in self.model.registry.withdrawn):
            self.fail(f"{name} is not in the registry")

    def handles(self, key: str) -> set[str]:
        found = set()
        for name in self.data["handles"][key]:
            if name in self.model.registry.handles:
                found.add(name)
            else:
                self.absent(name)
        return found

    def named(self, plan: CommandPlan) -> set[str]:
        """The types of its parameters, and of all in them."""
        found = {f.type for f in plan.fields}
        for name in list(found):
            for inner in self.model.holding(name):
                found |= {inner} | {f.type for f in self.model.struct_of[inner].fields}
        return found

    def check_pattern(self, plan: CommandPlan, pattern: str, effect: Effect) -> None:
        """A later registry may have commands that a pattern was not made for."""
        types = self.named(plan)
        if effect.everything or effect.addresses and effect.objects == "changes":
            return
        if any("DeviceAddress" in t or "DeviceOrHostAddress" in t for t in types):
            self.fail(f"{pattern} would have {plan.name} reach nothing by addresses, which it has")
        contents = {t for t in types if t in self.model.registry.handles} - self.apart
        if effect.objects != "changes" and contents:
            self.fail(f"{pattern} would have {plan.name} leave alone {', '.join(sorted(contents))}")

    def effect_of(self, entry: dict, plan: CommandPlan) -> Effect:
        if plan.in_block != ("objects" in entry) or plan.in_block == ("does" in entry):
            self.fail(f"{plan.name} {'is in' if plan.in_block else 'is in no'} command buffer{'s' if plan.in_block else ''}")
        does, objects = entry.get("does", "unknown"), entry.get("objects", "changes")
        if does not in DOES or objects not in OBJECTS:
            self.fail(f"what is {does if does not in DOES else objects}?")
        return Effect(does, objects, entry.get("addresses", not plan.in_block), entry.get("everything", False), True)

    def read_commands(self) -> dict[str, Effect]:
        plans = {p.name: p for p in self.model.commands}
        found: dict[str, Effect] = {}
        by_pattern: dict[str, Effect] = {}
        for entry in self.data["effect"]:
            for text in entry["commands"]:
                if "*" in text:
                    names = [n for n in plans if fnmatchcase(n, text)]
                    if not names:
                        self.absent(text)
                    for name in names:
                        if name in by_pattern:
                            self.fail(f"two entries for {name}")
                        by_pattern[name] = self.effect_of(entry, plans[name])
                    continue
                name = self.model.registry.resolve(text)
                if name not in plans:
                    self.absent(text)
                    continue
                if name in found:
                    self.fail(f"two entries for {name}")
                found[name] = self.effect_of(entry, plans[name])
        for entry in self.data["effect"]:
            for text in (t for t in entry["commands"] if "*" in t):
                for name in (n for n in by_pattern if n not in found and fnmatchcase(n, text)):
                    self.check_pattern(plans[name], text, by_pattern[name])
        made = {p.name: Effect("makes", known=True) for p in self.model.commands if any(f.created or f.destroyed for f in p.fields)}
        for name in made.keys() & found.keys():
            self.fail(f"{name} makes or destroys an object")
        return {n: found.get(n) or by_pattern.get(n) or made.get(n) or Effect() for n in plans}

    def read_reads(self) -> set[tuple[str, str]]:
        members = {(p.name, f.name): f for p in [*self.model.commands, *self.model.structs] for f in p.fields if f.element == "handle"}
        result: set[tuple[str, str]] = set()
        for entry in self.data["read"]:
            for text in entry["members"]:
                owner, _, name = text.partition(".")
                owner = owner if "*" in owner else self.model.registry.resolve(owner)
                hits = {key for key in members if fnmatchcase(key[0], owner) and key[1] == name}
                if not hits:
                    self.absent(text)
                result |= hits
        return result


def load(path: Path, model: Model) -> Effects:
    """Raises OverrideError for entries that name nothing, contradict another one, or would hide what a command does."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise OverrideError(f"{path}: {error}") from error
    reader = _Reader(path, model, data)
    return Effects(reader.read_commands(), reader.read_reads(), reader.handles("holding"), reader.apart, reader.handles("addressing"))
