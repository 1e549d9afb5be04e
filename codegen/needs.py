# SPDX-License-Identifier: MIT
"""The uses of features and extensions in a trace: joins the registry's data and needs.toml into one list."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from model import Model
from overrides import OverrideError

OPERATORS = {"=": "EQUAL", ">": "ABOVE", "&": "BITS"}


@dataclass(frozen=True)
class Use:
    """kind: command | struct | member | value | capability | spirv | stores | does. owner: the command, structure or type."""

    kind: str
    owner: str
    member: str = ""
    operator: str = "SET"  # SET | EQUAL | ABOVE | BITS | DIFFER
    value: int = 0


@dataclass
class Feature:
    """All members of this name, in all structures: promoted features are in several."""

    name: str
    structs: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    unseen: str = ""  # why a trace does not show its use
    moot: str = ""  # why a replay does not need it
    partner: str = ""  # the feature that it requires
    ruled: bool = False  # has a rule in needs.toml
    brought: bool = False  # additions of its extension count beside the rule

    @property
    def known(self) -> bool:
        return bool(self.uses or self.unseen or self.moot)


@dataclass
class Extension:
    """A device extension. Its features' uses are its uses, too, where they are on."""

    uses: list[Use] = field(default_factory=list)
    unseen: str = ""  # as of features
    moot: str = ""
    known: bool = True


@dataclass
class Needs:
    features: list[Feature]  # by name
    extensions: dict[str, Extension]  # by name
    capabilities: dict[str, int]  # numbers


def _is_features(model: Model, name: str) -> bool:
    struct = model.registry.structs[name]
    return name == "VkPhysicalDeviceFeatures" or "VkDeviceCreateInfo" in struct.extends and any(m.type == "VkBool32" for m in struct.members)


class _Reader:
    def __init__(self, path: Path, model: Model, data: dict):
        self.path, self.model, self.registry, self.data = path, model, model.registry, data
        self.plans = {p.name: p for p in [*model.commands, *model.structs]}
        self.ignored = {self.registry.resolve(n) for n in data["ignored"]["enums"]}
        values: dict[str, int] = {}
        for enum in self.registry.enums.values():
            values.update(enum.values)
        self.values = values

    def fail(self, what: str) -> None:
        raise OverrideError(f"{self.path}: {what}")

    def value_of(self, name: str) -> int | None:
        return self.values.get(self.registry.resolve(name))

    # ---- rules of needs.toml ----

    def enum_values(self, owner: str, patterns: list[str]) -> list[Use] | None:
        enum = self.registry.enums.get(self.registry.resolve(owner))
        if enum is None:
            return None
        found: list[Use] = []
        for pattern in patterns:
            names = [n for n, _ in enum.values if fnmatchcase(n, pattern)]
            if not names and "*" not in pattern and "?" not in pattern and self.value_of(pattern) is not None:
                names = [self.registry.resolve(pattern)]
            if not names:
                return None
            found += [Use("value", enum.name, "", "BITS" if enum.bitmask else "EQUAL", self.values[n]) for n in names]
        return found

    def member(self, owner: str, name: str, operator: str, operand: str) -> list[Use] | None:
        plan = self.plans.get(self.registry.resolve(owner))
        if plan is None or not any(f.name == name for f in plan.fields):
            return None
        value = 0
        if operand:
            numbers = [int(part) if part.isdigit() else self.value_of(part) for part in operand.split("|")]
            if None in numbers:
                return None
            for number in numbers:
                value |= number
        return [Use("member", plan.name, name, operator, value)]

    def use(self, text: str) -> list[Use] | None:
        """None where the registry lacks a name of the rule."""
        if found := re.fullmatch(r"(\w+): (.+)", text):
            if found.group(1) == "stores":
                return [Use("stores", found.group(2))]
            if found.group(1) == "does":
                return [Use("does", found.group(2))]
            return self.enum_values(found.group(1), found.group(2).split())
        if found := re.fullmatch(r"OpCapability (\w+)", text):
            return [Use("capability", found.group(1))] if found.group(1) in self.data["capabilities"] else None
        if found := re.fullmatch(r"(\w+)\.(\w+)(?: (=|>|&) (\S+)| (differ))?", text):
            owner, name, operator, operand, differ = found.groups()
            return self.member(owner, name, "DIFFER" if differ else OPERATORS.get(operator, "SET"), operand or "")
        if re.fullmatch(r"\w+", text):
            plan = self.plans.get(self.registry.resolve(text))
            return [Use("command" if text.startswith("vk") else "struct", plan.name)] if plan else None
        self.fail(f"what is {text!r}?")
        return None

    def rule(self, entry: dict, features: dict[str, Feature]) -> None:
        later = entry.get("later", False)
        if {"when", "unseen", "moot"} & set(entry) not in ({"when"}, {"unseen"}, {"moot"}, {"when", "unseen"}):
            self.fail(f"{entry['names']}: one of `when`, `unseen` and `moot`, or the first two")
        if entry.get("with", "multiview") not in features and not later:
            self.fail(f"{entry['names']}: there is no feature {entry['with']}")
        for pattern in entry["names"]:
            names = [n for n in features if fnmatchcase(n, pattern) and not ("*" in pattern and features[n].ruled)]
            if not names and not later:
                self.fail(f"there is no feature {pattern}")
            for name in names:
                feature = features[name]
                if feature.ruled:
                    self.fail(f"two rules for {name}")
                feature.ruled = True
                feature.unseen, feature.moot = entry.get("unseen", ""), entry.get("moot", "")
                feature.partner, feature.brought = entry.get("with", ""), entry.get("brought", False)
                for text in entry.get("when", []):
                    uses = self.use(text.replace("{}", name.removeprefix(entry.get("prefix", ""))))
                    if uses is None and not later:
                        self.fail(f"{name}: {text!r} names something that is not in the registry")
                    feature.uses += uses or []

    def extension_rule(self, entry: dict, extensions: dict[str, Extension]) -> None:
        if {"unseen", "moot"} & set(entry) not in ({"unseen"}, {"moot"}):
            self.fail(f"{entry['names']}: one of `unseen` and `moot`")
        for name in entry["names"]:
            if name in extensions:
                extensions[name].unseen, extensions[name].moot = entry.get("unseen", ""), entry.get("moot", "")
            elif not entry.get("later", False):
                self.fail(f"there is no extension {name}")

    # ---- uses from the registry ----

    def of_extension(self, name: str, features: dict[str, Feature]) -> list[Use]:
        extension = self.registry.extensions[name]
        found: list[Use] = []
        for command in map(self.registry.resolve, extension.commands):
            plan = self.plans.get(command)
            if plan and not plan.disposition.replay == "info":
                found.append(Use("command", command))
        for struct in map(self.registry.resolve, extension.types):
            plan = self.plans.get(struct)
            if plan and plan.struct.extends and "Properties" not in struct and not _is_features(self.model, struct) and (
                    struct not in self.model.overrides.dropped):
                found.append(Use("struct", struct))
        for owner, value_name in extension.values:
            enum = self.registry.enums.get(self.registry.resolve(owner))
            value = self.value_of(value_name)
            if enum and value is not None and enum.name not in self.ignored:
                found.append(Use("value", enum.name, "", "BITS" if enum.bitmask else "EQUAL", value))
        return list(dict.fromkeys(found))


def load(path: str | Path, model: Model) -> Needs:
    path = Path(path)
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    reader, registry = _Reader(path, model, data), model.registry
    features: dict[str, Feature] = {}
    for plan in model.structs:
        if _is_features(model, plan.name):
            for m in plan.struct.members:
                if m.type == "VkBool32":
                    features.setdefault(m.name, Feature(m.name)).structs.append(plan.name)
    extensions = {e.name: Extension(reader.of_extension(e.name, features)) for e in registry.extensions.values() if e.kind == "device"}
    for entry in data["feature"]:
        reader.rule(entry, features)
    for entry in data["extension"]:
        reader.extension_rule(entry, extensions)

    def declared(kind: str, owner: str, enables: list) -> None:
        for enable in enables:
            for name in enable.features:
                if name in features and not features[name].unseen and not features[name].moot:
                    features[name].uses.append(Use(kind, owner))
            if enable.extension in extensions:
                extensions[enable.extension].uses.append(Use(kind, owner))

    by_capability: set[str] = {n for enables in registry.capabilities.values() for e in enables for n in e.features}
    for feature in features.values():
        alone = all(sum(m.type == "VkBool32" for m in registry.structs[s].members) == 1 or s.startswith("VkPhysicalDeviceVulkan")
                    for s in feature.structs)
        if feature.ruled and not feature.brought:
            continue
        for name in dict.fromkeys(p for s in feature.structs for p in registry.structs[s].providers if p in extensions):
            # A shader's declaration is more exact than other uses of the same addition.
            brought = [w for w in reader.of_extension(name, features) if feature.name not in by_capability or alone and w.kind == "command"]
            feature.uses += brought
    unknown: set[str] = set()
    for name, enables in registry.capabilities.items():
        if name in data["capabilities"]:
            declared("capability", name, enables)
        elif name not in data["unnumbered"]["names"]:
            print(f"{path}: warning: there is no number for the capability {name}; what it needs counts as used where it is on", file=sys.stderr)
            unknown |= {n for enable in enables for n in enable.features}
    for name, enables in registry.spirv_extensions.items():
        # A SPIR-V extension with capabilities is used where they are: shaders declare more extensions than they use.
        for enable in enables:
            if enable.extension in extensions and not any(w.kind == "capability" for w in extensions[enable.extension].uses):
                extensions[enable.extension].uses.append(Use("spirv", name))
    for feature in features.values():
        # If one of its uses is invisible, it counts as used.
        feature.uses = [] if feature.name in unknown and not feature.ruled else list(dict.fromkeys(feature.uses))
    # Its features have rules of their own. What is hidden is refused.
    has_features = {p for s in registry.structs.values() if _is_features(model, s.name) for p in s.providers}
    for name, extension in extensions.items():
        extension.uses = list(dict.fromkeys(extension.uses))
        extension.known = bool(extension.uses or extension.unseen or extension.moot or name in has_features
                               or name in model.overrides.hidden_extensions)
    return Needs(sorted(features.values(), key=lambda f: f.name), extensions, dict(data["capabilities"]))
