# SPDX-License-Identifier: MIT
"""Reads overrides.toml, checks it against the registry, and returns the treatment of each command and member."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from registry import Command, Member, Registry

CLASSES = ("free", "barrier")
WHENS = ("return", "entry")
REPLAYS = ("gen", "hand", "end", "info", "surface", "never")
CAPTURES = ("gen", "hand")
HOOKS = ("after", "before", "quick")
KEPT = ("added", "replaced")
CHECKS = ("presents", "buffers", "images")

# Optional keys of entries, besides names, reason and range of registries.
KEYS = {
    "packet": {"name", "class", "info", "params", "check"},
    "rule": {"match", "class", "when", "replay", "destroys"},
    "command": {"names", "class", "capture", "replay", "hooks", "record", "outputs", "partial", "block", "touches", "driver", "lenient"},
    "member": {"of", "name", "when", "bytes", "inner_count", "as", "needed", "unless", "needed_elements", "each", "words", "filled", "count"},
    "enter": {"of", "call"},
    "union": {"name", "as"},
    "harmless": {"handles"},
    "other_format": {"of"},
    "handed_on": {"members"},
    "dropped": {"structs"},
    "kept": {"names", "how"},
    "hidden": {"extensions", "last"},
    "hidden_feature": {"struct", "members"},
}
ALWAYS = {"reason", "since", "until"}


class OverrideError(Exception):
    """An entry without a reason, or with an unknown name; the text has file and line."""


@dataclass
class Disposition:
    """The treatment of one command."""

    order: str = "free"
    when: str = "return"
    replay: str = "gen"
    capture: str = "gen"
    hooks: set[str] = field(default_factory=set)
    record: bool = True
    outputs: bool = True
    partial: bool = False  # also when it fails its created handles are null or good ("Multiple Pipeline Creation")
    destroys: bool = False  # destroys its last handle parameter
    block: bool = False  # part of a block although its name does not begin with vkCmd
    touches: bool = True  # False: it refers to memory, but neither reads nor writes it
    lenient: bool = False  # its handles may be of objects that no replay makes
    kept: str = ""  # with the objects that it names, for a recording that begins later (layer/core/keeper.h)
    check: str = ""  # one of our packets: what a replay compares by it, of CHECKS
    driver: bool = False  # its hand-written replay calls the driver's function of the same name, which must be there
    reason: str = ""
    refusal: str = ""  # replay is "never": the reason


@dataclass
class Overrides:
    path: str
    dispositions: dict[str, Disposition]
    packets: list[tuple[Command, Disposition]]
    members: dict[tuple[str, str], dict]
    allowing: dict[str, list[str]]  # feature with which a parameter may be null -> structs that enable it
    enters: dict[str, str]
    unions: dict[str, str]
    external: dict[str, str]
    hidden_extensions: dict[str, str]  # name -> reason
    hidden_features: list[tuple[str, str, str]]  # struct, member, reason
    harmless_handles: set[str] = field(default_factory=set)  # types of objects that never lead to memory
    other_formats: set[str] = field(default_factory=set)  # structs whose VkFormat stays as recorded
    handed_on: dict[tuple[str, str], str] = field(default_factory=dict)  # owner, member: why a driver may get it from a file
    dropped: dict[str, str] = field(default_factory=dict)  # struct that a replay leaves out of its chain: why

    def is_hidden(self, providers: list[str]) -> bool:
        """Whether only hidden extensions provide it."""
        return bool(providers) and all(p in self.hidden_extensions for p in providers)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


class _Checker:
    def __init__(self, path: Path, registry: Registry):
        self.path, self.registry = path, registry
        self.lines = path.read_text(encoding="utf-8").splitlines()

    def fail(self, needle: str, what: str) -> None:
        line = next((n for n, text in enumerate(self.lines, 1) if f'"{needle}"' in text), 1)
        raise OverrideError(f"{self.path}:{line}: {what}")

    def reason(self, entry: dict, needle: str) -> str:
        if not entry.get("reason"):
            self.fail(needle, f"the entry for {needle} has no reason")
        return entry["reason"]

    def absent(self, entry: dict, needle: str, what: str) -> bool:
        """True when the registry is too old or too new for the entry, or has withdrawn its subject; raises for an
        unknown name."""
        if "since" in entry and _version(self.registry.header_version) < _version(entry["since"]):
            return True
        if "until" in entry and _version(self.registry.header_version) > _version(entry["until"]):
            return True
        if any(fnmatchcase(name, needle) for name in self.registry.withdrawn):
            return True
        self.fail(needle, what)
        return True


def parse_packet_param(text: str) -> Member:
    """`const void* pData [dataSize]` -> Member."""
    found = re.fullmatch(r"(const )?(\w+)(\*?) (\w+)(?: \[(\w+)\])?", text)
    if not found:
        raise OverrideError(f"a packet parameter reads {text!r}")
    const, kind, star, name, length = found.groups()
    return Member(name, kind, bool(const), len(star), lengths=[length] if length else [],
                  declaration=f"{const or ''}{kind}{star} {name}")


def _check_of(entry: dict, params: list[Member], check: _Checker) -> str:
    """What a packet checks. One with hashes must say so: it can't be forgotten where checks are counted and compared."""
    kind = entry.get("check", "none")
    if kind not in (*CHECKS, "none"):
        check.fail(entry["name"], f"{entry['name']}: {kind!r} is none of {', '.join(CHECKS)}, none")
    if any(p.name == "hashLow" for p in params) and "check" not in entry:
        check.fail(entry["name"], f"{entry['name']} has a hash and does not say what it checks")
    return kind if kind != "none" else ""


def is_met(depends: str, hidden: set[str]) -> bool:
    """Whether an extension's dependencies can be met without the hidden extensions."""

    def term(tokens: list[str]) -> bool:
        token = tokens.pop(0)
        if token != "(":
            return token not in hidden
        value = chain(tokens)
        tokens.pop(0)
        return value

    def chain(tokens: list[str]) -> bool:
        value = term(tokens)
        while tokens and tokens[0] != ")":
            both, right = tokens.pop(0) == "+", term(tokens)
            value = value and right if both else value or right
        return value

    tokens = re.findall(r"[()+,]|[^()+,\s]+", depends)
    return not tokens or chain(tokens)


def _hide_dependents(registry: Registry, hidden: dict[str, str]) -> None:
    """Hides the extensions that depend on a hidden extension: programs can't use them."""
    more = True
    while more:
        more = {e.name: e for e in registry.extensions.values() if e.name not in hidden and not is_met(e.depends, set(hidden))}
        for name, extension in more.items():
            missing = [n for n in re.findall(r"\w+", extension.depends) if n in hidden]
            hidden[name] = f"it needs {' and '.join(dict.fromkeys(missing))}"


def _refuse_hidden(registry: Registry, result: Overrides) -> None:
    """Refuses the commands that only hidden extensions provide: the layer never writes them to a trace."""
    for name, disposition in result.dispositions.items():
        if disposition.replay == "never":
            disposition.refusal = disposition.reason
        elif disposition.replay != "info" and result.is_hidden(registry.commands[name].providers):
            provider = registry.commands[name].providers[0]
            disposition.replay = "never"
            disposition.refusal = f"{provider} is hidden from programs ({result.hidden_extensions[provider]})"


def load(path: str | Path, registry: Registry) -> Overrides:
    path = Path(path)
    check = _Checker(path, registry)
    try:
        data = tomllib.loads("\n".join(check.lines))
    except tomllib.TOMLDecodeError as error:
        raise OverrideError(f"{path}: {error}") from error

    _check_keys(data, check)
    for name in data.get("external", {}):
        if name not in registry.externals:
            check.fail(name, f"there is no external type {name}")
    result = Overrides(str(path), {}, [], {}, {}, {}, {}, dict(data.get("external", {})), {}, [])
    for entry in data.get("packet", []):
        disposition = Disposition(order=entry.get("class", "free"), capture="hand", reason=check.reason(entry, entry["name"]),
                                  replay="info" if entry.get("info") else "hand")
        params = [parse_packet_param(p) for p in entry["params"]]
        disposition.check = _check_of(entry, params, check)
        result.packets.append((Command(entry["name"], "void", params), disposition))

    _load_dispositions(data, check, registry, result)
    for entry in data.get("member", []):
        owner, name = registry.resolve(entry["of"]), entry["name"]
        check.reason(entry, name)
        members = registry.structs[owner].members if owner in registry.structs else (
            registry.commands[owner].params if owner in registry.commands else [])
        if not any(m.name == name for m in members):
            check.absent(entry, owner, f"{owner}.{name} is not in the registry")
            continue
        names = {m.name for m in members}
        for text in (str(value) for key, value in entry.items() if key in ("when", "bytes", "inner_count", "needed", "each", "filled", "count")):
            for mentioned in re.findall(r"{(\w+)}", text):
                if mentioned not in names:
                    check.fail(name, f"{owner}.{name}: {owner} has no {mentioned}")
        if "unless" in entry:
            entry = _with_feature(entry, owner, check, registry, result)
        result.members[owner, name] = entry
    for entry in data.get("enter", []):
        check.reason(entry, entry["of"])
        if entry["of"] not in registry.structs:
            check.absent(entry, entry["of"], f"there is no struct {entry['of']}")
            continue
        result.enters[entry["of"]] = entry["call"]
    for entry in data.get("union", []):
        check.reason(entry, entry["name"])
        if entry["name"] not in registry.structs or not registry.structs[entry["name"]].union:
            check.absent(entry, entry["name"], f"there is no union {entry['name']}")
            continue
        result.unions[entry["name"]] = entry["as"]
    for entry in data.get("harmless", []):
        for name in entry["handles"]:
            check.reason(entry, name)
            if name not in registry.handles:
                check.absent(entry, name, f"there is no handle type {name}")
                continue
            result.harmless_handles.add(name)
    for entry in data.get("other_format", []):
        for name in entry["of"]:
            check.reason(entry, name)
            if name not in registry.structs or not any(m.type == "VkFormat" for m in registry.structs[name].members):
                check.absent(entry, name, f"there is no struct {name} with a VkFormat")
                continue
            result.other_formats.add(name)
    for entry in data.get("handed_on", []):
        for text in entry["members"]:
            reason = check.reason(entry, text)
            if (owner_and_member := _find_member(text, registry, result)) is None:
                check.absent(entry, text, f"{text} is not in the registry")
                continue
            result.handed_on[owner_and_member] = reason
    for entry in data.get("dropped", []):
        for name in entry["structs"]:
            reason = check.reason(entry, name)
            if name not in registry.structs or not registry.structs[name].extends:
                check.absent(entry, name, f"there is no struct {name} for a chain")
                continue
            result.dropped[name] = reason
    _load_kept(data, check, registry, result)
    for entry in data.get("hidden", []):
        if "last" in entry and _version(registry.header_version) > _version(entry["last"]):
            continue
        for pattern in entry["extensions"]:
            reason = check.reason(entry, pattern)
            found = [name for name in registry.extensions if fnmatchcase(name, pattern)]
            if not found:
                check.absent(entry, pattern, f"there is no extension {pattern}")
            result.hidden_extensions |= {name: reason for name in found}
    _hide_dependents(registry, result.hidden_extensions)
    _refuse_hidden(registry, result)
    for entry in data.get("hidden_feature", []):
        struct = registry.structs.get(entry["struct"])
        reason = check.reason(entry, entry["struct"])
        for member in entry["members"]:
            if struct is None or not any(m.name == member for m in struct.members):
                check.absent(entry, entry["struct"], f"{entry['struct']}.{member} is not in the registry")
                continue
            result.hidden_features.append((entry["struct"], member, reason))
    return result


def _load_kept(data: dict, check: _Checker, registry: Registry, result: Overrides) -> None:
    packets = {command.name: disposition for command, disposition in result.packets}
    for entry in data.get("kept", []):
        if entry["how"] not in KEPT:
            check.fail(entry["names"][0], f"{entry['how']!r} is none of {', '.join(KEPT)}")
        for name in entry["names"]:
            check.reason(entry, name)
            found = packets.get(name) or result.dispositions.get(registry.resolve(name))
            if found is None:
                check.absent(entry, name, f"there is no command {name}")
                continue
            found.kept = entry["how"]


def _check_keys(data: dict, check: _Checker) -> None:
    """Rejects misspelt keys: such an entry would have no effect."""
    for kind in data:
        if kind not in KEYS and kind != "external":
            raise OverrideError(f"{check.path}: there are no entries of the kind {kind}")
    for kind, allowed in KEYS.items():
        for entry in data.get(kind, []):
            for key in entry.keys() - allowed - ALWAYS:
                named = next(v for k, v in entry.items() if k in ("name", "match", "names", "of", "handles", "extensions", "struct", "structs", "members"))
                needle = named if isinstance(named, str) else named[0]
                check.fail(needle, f"{kind} {needle}: {key!r} says nothing")


def _find_member(text: str, registry: Registry, result: Overrides) -> tuple[str, str] | None:
    """`Owner.member`, of a struct, a command or one of our packets."""
    owner, _, name = text.partition(".")
    owner = registry.resolve(owner)
    members = {c.name: c.params for c, _ in result.packets} | {c.name: c.params for c in registry.commands.values()}
    members |= {s.name: s.members for s in registry.structs.values()}
    return (owner, name) if any(m.name == name for m in members.get(owner, [])) else None


def _with_feature(entry: dict, owner: str, check: _Checker, registry: Registry, result: Overrides) -> dict:
    """The entry, with the structs that enable its feature; or without the feature, where the registry is too old."""
    feature = entry["unless"]
    if owner not in registry.commands:
        check.fail(entry["name"], f"{owner}.{entry['name']}: only parameters of commands may be null by a feature")
    structs = [s.name for s in registry.structs.values() if "VkDeviceCreateInfo" in s.extends and
               any(m.name == feature and m.type == "VkBool32" for m in s.members)]
    if not structs:
        check.absent(entry, feature, f"there is no feature {feature}")
        return {key: value for key, value in entry.items() if key != "unless"}
    result.allowing[feature] = structs
    return entry


def _load_dispositions(data: dict, check: _Checker, registry: Registry, result: Overrides) -> None:
    rules = data.get("rule", [])
    used: set[int] = set()
    for name in registry.commands:
        disposition = Disposition()
        matched = False
        for number, rule in enumerate(rules):
            if not fnmatchcase(name, rule["match"]):
                continue
            matched = True
            used.add(number)
            disposition.order = rule.get("class", disposition.order)
            disposition.when = rule.get("when", disposition.when)
            disposition.replay = rule.get("replay", disposition.replay)
            disposition.destroys = rule.get("destroys", disposition.destroys)
            disposition.reason = check.reason(rule, rule["match"])
        if not matched:
            raise OverrideError(f"{check.path}: no rule says what is done with {name}")
        result.dispositions[name] = disposition
    for number, rule in enumerate(rules):
        if number not in used:
            check.absent(rule, rule["match"], f"the rule for {rule['match']} matches no command")
    told: set[tuple[str, str]] = set()
    for entry in data.get("command", []):
        for name in entry["names"]:
            reason = check.reason(entry, name)
            for key in entry.keys() - {"names"} - ALWAYS:
                if (name, key) in told:
                    check.fail(name, f"two entries say {key} of {name}")
                told.add((name, key))
            if name not in registry.commands:
                # Later registries have promoted commands under a new name; the old name is an alias.
                if registry.resolve(name) in registry.commands:
                    name = registry.resolve(name)
                else:
                    check.absent(entry, name, f"there is no command {name}")
                    continue
            disposition = result.dispositions[name]
            disposition.reason = reason
            disposition.capture = entry.get("capture", disposition.capture)
            disposition.replay = entry.get("replay", disposition.replay)
            disposition.order = entry.get("class", disposition.order)
            disposition.record = entry.get("record", disposition.record)
            disposition.outputs = entry.get("outputs", disposition.outputs)
            disposition.block = entry.get("block", disposition.block)
            disposition.touches = entry.get("touches", disposition.touches)
            disposition.driver = entry.get("driver", disposition.driver)
            disposition.lenient = entry.get("lenient", disposition.lenient)
            disposition.partial = entry.get("partial", disposition.partial)
            disposition.hooks |= set(entry.get("hooks", []))
    for name, disposition in result.dispositions.items():
        said = [(disposition.order, CLASSES), (disposition.when, WHENS), (disposition.replay, REPLAYS), (disposition.capture, CAPTURES)]
        for value, allowed in said + [(hook, HOOKS) for hook in sorted(disposition.hooks)]:
            if value not in allowed:
                check.fail(name, f"{name}: {value!r} is none of {', '.join(allowed)}")
