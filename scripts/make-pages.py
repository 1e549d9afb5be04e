#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make-pages.py PROGRAMS OUT: manual pages and completion for shells, from what the programs in the folder PROGRAMS print with --help.
make-pages.py --lint SOURCES: only whether help texts in C sources can be read so.

OUT/man/man1 gets a page for each program, OUT/man/man7 one with the settings of the layer (manifests/settings.json); OUT/bash-completion,
OUT/zsh and OUT/fish get the completions, in the folders where a system has them below share. A help text is paragraphs, and rows of two
columns with two spaces or more between them: an option, or another word, and its text, which goes on in deeper lines. An option that runs
into its text ends this program with its line and exit status 1. Programs that can't run here, those for another machine, get neither, with
a sentence. Exit status: 0, 1, 2 for wrong usage."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r" {2,6}(\S(?:.*?\S)?)(?: {2,}(\S.*))?$")
OPTION = re.compile(r"(?:(-\w), )?(--[a-z][a-z-]*|-\w)(?:(\[=| \[|=| )(.+?)\]?)?$")
# Words behind an option, or in a usage, that are files or folders; the pattern of those that are meant.
FILES = {"FILE": "*.lapilli", "FILE…": "*.lapilli", "A": "*.lapilli", "B": "*.lapilli", "OTHER": "*.lapilli", "PROG": "*.lapvm", "NEW": "", "TEXT": "", "PATH": "",
         "FILE.json": "", "FILE.xml": "", "FILE.gfxr": "*.gfxr", "PICTURE": ""}
FOLDERS = {"DIR"}
TWO_SPACES = "two spaces are wanted between an option and its text"
WORD = r"(?!or\b)[a-z][a-z0-9-]*(?: \([^)]*\))?"
LISTED = re.compile(rf"(?:[a-z ]+: )?({WORD}(?:(?:, | or ){WORD})+)(?=[:;.]|$)")
EXPLAINED = re.compile(r"(?:^|; )([a-z]+)(?: \([^)]*\))?:")


class Unclear(Exception):
    """A line of a help text."""


@dataclass
class Option:
    long: str
    short: str = ""
    value: str = ""          # the name of its value; "": it has none
    may_lack: bool = False   # --name[=VALUE]
    text: str = ""

    def choices(self) -> list[str]:
        """Its values, where the text lists them, or the name is one."""
        if self.may_lack and self.value.islower():
            return self.value.split(",")
        listed = LISTED.match(self.text)
        if self.value and listed:
            return re.findall(r"[^ ,]+", re.sub(r" \([^)]*\)|\bor\b", "", listed.group(1)))
        return EXPLAINED.findall(self.text) if self.value == "HOW" and len(EXPLAINED.findall(self.text)) > 2 else []

    def names(self) -> list[str]:
        return [name for name in (self.short, self.long) if name]


@dataclass
class Page:
    name: str
    usage: list[str] = field(default_factory=list)
    blocks: list[tuple[str, str, str]] = field(default_factory=list)  # ("text" or "row" or "verbatim", head, text)
    options: list[Option] = field(default_factory=list)

    def commands(self) -> list[str]:
        """What COMMAND in a usage stands for: the rows without options."""
        return [head.split()[0] for kind, head, _ in self.blocks if kind == "row" and head[0].islower()] if "COMMAND" in self.words() else []

    def words(self) -> list[str]:
        """The words behind the options, of all usages."""
        found = re.findall(r"(?<![=\w|:.-])\[?([A-Z][A-Z.a-z]*…?)(?![\w:])", " ".join(self.usage))
        return list(dict.fromkeys(found))


def option_of(head: str) -> re.Match[str] | None:
    """The parts of an option in a help text; None: it has more words behind it than two, P1 P2, or one."""
    option = OPTION.match(head)
    words = (option.group(4) or "") if option else ""
    return option if len(words.split()) < 2 or words == "P1 P2" else None


def read(name: str, text: str) -> Page:
    page, deeper = Page(name), None
    for line in text.splitlines():
        row = ROW.match(line)
        if re.match(r"[Uu]sage: ", line) or (page.usage and not page.blocks and deeper is None and line.startswith("       lapilli")):
            page.usage.append(re.sub(r"^[Uu]sage: ", "", line).strip())
            continue
        if not line:
            deeper = None
            page.blocks.append(("gap", "", ""))
        elif row:
            head, rest = row.group(1), row.group(2) or ""
            if head.startswith("-"):
                option = option_of(head)
                if not option:
                    raise Unclear(f"{name} --help: {TWO_SPACES}: {line!r}")
                words, joint = option.group(4) or "", option.group(3) or ""
                if joint == "=" and page.options and page.options[-1].long == option.group(2):  # --name, and then --name=VALUE
                    rest = page.options.pop().text
                page.options.append(Option(option.group(2), option.group(1) or "", words, joint not in ("", " "), rest))
            page.blocks.append(("row", head, rest))
            deeper = "row"
        elif line.startswith("   ") and deeper == "row":
            kind, head, rest = page.blocks[-1]
            page.blocks[-1] = (kind, head, f"{rest} {line.strip()}".strip())
            if head.startswith("-"):
                page.options[-1].text = page.blocks[-1][2]
        elif line.startswith("{"):
            page.blocks.append(("verbatim", "", line))
        elif deeper == "text":
            kind, head, rest = page.blocks[-1]
            page.blocks[-1] = (kind, head, f"{rest} {line.strip()}")
        else:
            page.blocks.append(("text", "", line.strip()))
            deeper = "text"
    if not page.usage or not page.blocks:
        raise Unclear(f"{name} --help has no usage or no text")
    return page


# ---- manual pages ----

def roff(text: str) -> str:
    return re.sub(r"^(?=[.'])", r"\\&", text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq"))


def heading(name: str, section: int, version: str, short: str) -> list[str]:
    return [f'.TH {roff(name).upper()} {section} "" "Lapilli {version}" "Lapilli"', ".SH NAME", f"{roff(name)} \\- {roff(short)}"]


def see_also(names: list[str]) -> list[str]:
    return [".SH SEE ALSO"] + [f".BR {roff(name)} ({section})," for name, section in (n.split(".") for n in names[:-1])] + \
        [".BR {} ({})".format(*(roff(part) for part in names[-1].split("."))), ".PP",
         "Documents that are named here, like docs/cli.md, are in the sources, and in /usr/share/doc/lapilli where Debian's package lapilli\\-doc is installed."]


def manual(page: Page, short: str, version: str, also: list[str]) -> str:
    lines = heading(page.name, 1, version, short) + [".SH SYNOPSIS", ".nf"] + [roff(line) for line in page.usage] + [".fi", ".SH DESCRIPTION"]
    section = "DESCRIPTION"
    for kind, head, text in page.blocks:
        wanted = "EXIT STATUS" if text.lower().startswith(("exit status:", "the exit status is")) else "OPTIONS" if head.startswith("-") else None
        if wanted and wanted != section:
            section = wanted
            lines.append(f".SH {section}")
        elif kind == "gap" and lines[-1] != ".PP":
            lines.append(".PP")
        if kind == "row":
            lines += [".TP", f".B {roff(head)}", roff(text) or "\\&"]
        elif kind == "verbatim":
            lines += [".nf", roff(text), ".fi"]
        elif kind == "text":
            lines.append(roff(re.sub(r"^Exit status: +", "", text)))
    lines = [line for line, following in zip(lines, lines[1:] + [".SH"]) if line != ".PP" or not following.startswith((".SH", ".TP", ".PP"))]
    return "\n".join(lines + see_also(also)) + "\n"


def settings_manual(version: str) -> str:
    """lapilli-layer(7), of manifests/settings.json."""
    lines = heading("lapilli-layer", 7, version, "the Vulkan layer that records, and its settings") + [
        ".SH DESCRIPTION", roff("The layer VK_LAYER_LAPILLI_capture records what a program does with Vulkan. lapilli capture starts a program with it. "
                                "By itself it is on where VK_INSTANCE_LAYERS names it, or where LAPILLI_CAPTURE is 1; DISABLE_LAPILLI_CAPTURE keeps it off."),
        ".PP", roff("A setting is the environment variable below, or a line of vk_layer_settings.txt: lapilli_capture.KEY = VALUE. The variable comes first."),
        ".SH ENVIRONMENT"]
    for row in json.loads((ROOT / "manifests" / "settings.json").read_text(encoding="utf-8")):
        choices = "".join(f" {c['key']}: {c['description'][0].lower()}{c['description'][1:].rstrip('.')};" for c in row.get("flags", []))
        default = str(row["default"]).lower() if isinstance(row["default"], bool) else row["default"]
        lines += [".TP", f".B {roff(row['env'])}", roff(row["description"] + (choices[:-1] + "." if choices else "") +
                                                       (f" Key: {row['key']}." + (f" Default: {default}." if default != "" else "")))]
    return "\n".join(lines + see_also(["lapilli.1", "lapilli-capture.1"])) + "\n"


# ---- completion ----

def value_kind(option: Option) -> str:
    """A list of words, or "file", "folder", "any"."""
    if option.choices():
        return " ".join(option.choices())
    return "file" if option.value.split("=")[-1] in FILES else "folder" if option.value in FOLDERS else "any"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def patterns(page: Page) -> list[str]:
    return [FILES[word] for word in page.words() if FILES.get(word)]


BASH = """# bash completion for lapilli. Generated from the programs' --help.
_lapilli()
{
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[0]##*/} first=1 i options pattern commands

    COMPREPLY=()
    if [[ $verb == lapilli ]]; then
        if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ $before == help ]]; }; then
            mapfile -t COMPREPLY < <(compgen -W '@VERBS@ help --help --version' -- "$current")
            return
        fi
        verb=${COMP_WORDS[1]} first=2
    fi
    verb=${verb#lapilli-}
    if [[ $verb == capture ]]; then
        # Behind the options is a program with its own.
        for ((i = first; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            --) i=$((i + 1)); break ;;
            @WITH_VALUE@) i=$((i + 1)); [[ ${COMP_WORDS[i]} == = ]] && i=$((i + 1)) ;;
            -*) ;;
            *) break ;;
            esac
        done
        if ((i < COMP_CWORD)) || [[ ${COMP_WORDS[i - 1]} == -- ]]; then
            ((i >= COMP_CWORD)) && mapfile -t COMPREPLY < <(compgen -c -- "$current")
            return
        fi
    fi
    [[ $current == = ]] && current=
    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    case $verb:$before in
@VALUES@
    esac
    case $verb in
@OPTIONS@
    *) return ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    elif [[ $commands ]]; then
        compopt +o default +o bashdefault
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
    elif [[ $pattern ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X "!$pattern" -- "$current"; compgen -d -- "$current")
    fi
}
complete -o bashdefault -o default -F _lapilli lapilli @PROGRAMS@
"""


def bash(pages: dict[str, Page]) -> str:
    values, options = [], []
    for verb, page in pages.items():
        groups: dict[str, list[str]] = {}
        for option in page.options:
            if option.value and not option.may_lack:
                groups.setdefault(value_kind(option), []).extend(f"{verb}:{name}" for name in option.names())
        for kind, names in groups.items():
            reply = {"file": "return", "folder": "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$current\"); return",
                     "any": "compopt +o default +o bashdefault; return"}.get(kind, f"mapfile -t COMPREPLY < <(compgen -W '{kind}' -- \"$current\"); return")
            values.append(f"    {' | '.join(names).replace(' | ', '|')}) {reply} ;;")
        found = patterns(page)
        pattern = f"pattern={quoted(found[0] if len(set(found)) == 1 else '@(' + '|'.join(dict.fromkeys(found)) + ')')}" if found else "pattern="
        if page.commands():
            pattern = f"commands={quoted(' '.join(page.commands()))}"
        options.append(f"    {verb}) options={quoted(' '.join(name for o in page.options for name in o.names()))} {pattern} ;;")
    with_value = "|".join(name for o in pages["capture"].options if o.value and not o.may_lack for name in o.names())
    text = BASH.replace("@VERBS@", " ".join(pages)).replace("@WITH_VALUE@", with_value).replace("@VALUES@", "\n".join(values))
    return text.replace("@OPTIONS@", "\n".join(options)).replace("@PROGRAMS@", " ".join(f"lapilli-{verb}" for verb in pages if verb != "check"))


def short_text(option: Option) -> str:
    """Its text up to the first end of a sentence, for a menu."""
    text = option.text if option.choices() else re.split(r"[.;](?: |$)| \(", option.text)[0]
    return text if len(text) <= 72 else text[:text.rindex(" ", 0, 72)] + " …"


def zsh(pages: dict[str, Page], short: dict[str, str]) -> str:
    def escaped(text: str) -> str:
        return re.sub(r"([\[\]:\\])", r"\\\1", text)

    lines = ["#compdef lapilli " + " ".join(f"lapilli-{verb}" for verb in pages if verb != "check"), "# Generated from the programs' --help.", "",
             "_lapilli_verb()", "{", "    case $1 in"]
    for verb, page in pages.items():
        specs = []
        for option in page.options:
            action = {"file": "_files", "folder": "_files -/", "any": " "}.get(value_kind(option), f"({value_kind(option)})")
            value = "" if not option.value else f":{escaped(option.value)}:{action}" if not option.may_lack else f"::{escaped(option.value)}:{action}"
            pair = option.value and len(option.value.split()) == 2
            value = ":from: :to: " if pair else value
            for name in option.names():
                others = f"({' '.join(option.names())})" if option.short else ""
                ending = "=-" if option.may_lack else "=" if option.value and name == option.long and not pair else ""
                specs.append(quoted(f"{others}{name}{ending}[{escaped(short_text(option))}]{value}"))
        found = dict.fromkeys(patterns(page))
        if verb == "capture":
            specs += [quoted("(-)1:program:_command_names -e"), quoted("*::arguments:_normal")]
        elif page.commands():
            words = [f"command:({' '.join(page.commands())})" if word == "COMMAND" else f"{word.lower()}: " for word in page.words() if word not in FOLDERS]
            specs += [quoted(f"{place}:{word}") for place, word in enumerate(words, 1)]
        else:
            specs.append(quoted("*:file:_files" + (f' -g "({"|".join(found)})(-.)"' if found else "")))
        lines.append(f"    {verb}) _arguments -s -S {' '.join(specs)} ;;")
    lines += ["    esac", "}", "", "local verbs=("] + [f"    {quoted(f'{verb}:{text}')}" for verb, text in short.items()] + [
        "    'help:the options of a verb'", ")", "local program=${service:-lapilli}", "if [[ $program == lapilli-* ]]; then", "    _lapilli_verb ${program#lapilli-}",
        "elif ((CURRENT == 2)) || { ((CURRENT == 3)) && [[ $words[2] == help ]]; }; then", "    _describe verb verbs", "else", "    local verb=$words[2]",
        "    shift words", "    ((CURRENT--))", "    _lapilli_verb $verb", "fi"]
    return "\n".join(lines) + "\n"


def fish(pages: dict[str, Page], short: dict[str, str]) -> str:
    def text(words: str) -> str:
        return "'" + words.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = ["# fish completion for lapilli. Generated from the programs' --help.", "complete -c lapilli -n '__fish_use_subcommand' -f",
             "complete -c lapilli -n '__fish_seen_subcommand_from help' -f -a " + text(" ".join(pages))]
    lines += [f"complete -c lapilli -n '__fish_use_subcommand' -a {verb} -d {text(words)}" for verb, words in {**short, "help": "the options of a verb"}.items()]
    for verb, page in pages.items():
        for where in [f"lapilli -n '__fish_seen_subcommand_from {verb}'"] + ([f"lapilli-{verb}"] if verb != "check" else []):
            for option in page.options:
                kind = value_kind(option)
                value = "" if not option.value or option.may_lack else {"file": " -r -F", "any": " -x", "folder": " -x -a '(__fish_complete_directories)'"}.get(
                    kind, f" -x -a {text(kind)}")
                names = "".join(f" -s {n[1]}" if len(n) == 2 else f" -l {n[2:]}" for n in option.names())
                lines.append(f"complete -c {where}{names}{value} -d {text(short_text(option))}")
            if verb == "capture":
                lines.append(f"complete -c {where} -f -a '(__fish_complete_subcommand --fcs-skip={2 if where.startswith('lapilli ') else 1})'")
            if page.commands():
                lines.append(f"complete -c {where} -f -a {text(' '.join(page.commands()))}")
    return "\n".join(lines) + "\n"


def help_of(program: Path, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise Unclear(f"{program.name} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def lint(sources: list[str]) -> None:
    for source in sources:
        for line in re.findall(r'^ *"( {2,6}-.*)\\n"', Path(source).read_text(encoding="utf-8"), re.M):
            if not option_of(ROW.match(line).group(1)):
                raise Unclear(f"{source}: {TWO_SPACES}: {line!r}")


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--lint"]:
        lint(arguments[1:])
        return 0
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder, out = Path(arguments[0]), Path(arguments[1])
    for old in ("man", "bash-completion", "zsh", "fish"):
        shutil.rmtree(out / old, ignore_errors=True)
    try:
        main_help = help_of(folder / "lapilli", "--help")
    except OSError as error:
        print(f"make-pages: no manual pages and no completion: {folder / 'lapilli'} does not run here ({error.strerror})", file=sys.stderr)
        return 0
    version = help_of(folder / "lapilli", "--version").split()[1]
    top = read("lapilli", main_help)
    short = {row[1].split()[1]: row[2] for row in top.blocks if row[0] == "row" and row[1].startswith("lapilli ") and row[1].split()[1] not in ("help", "--version")}
    pages = {verb: read(f"lapilli-{verb}", help_of(folder / "lapilli", "help", verb)) for verb in short}
    built = {program.name.removeprefix("lapilli-") for program in folder.glob("lapilli-*")} | {"check"}
    if built != set(pages):
        raise Unclear(f"lapilli --help names {sorted(set(pages) - built)} that are not there, or lacks {sorted(built - set(pages))}")
    for option in pages["check"].options:  # most are "as in a replay"
        [as_there] = [o for o in pages["replay"].options if o.long == option.long]
        option.text = as_there.text if option.text.startswith("as in") else option.text
    for verb, page in pages.items():
        write(out / f"man/man1/lapilli-{verb}.1", manual(page, short[verb], version, ["lapilli.1"] + ["lapilli-layer.7"] * (verb == "capture")))
    write(out / "man/man1/lapilli.1", manual(top, "record the Vulkan calls of a program, replay them, and look into them", version,
                                             [f"lapilli-{verb}.1" for verb in pages] + ["lapilli-layer.7"]))
    write(out / "man/man7/lapilli-layer.7", settings_manual(version))
    write(out / "bash-completion/completions/lapilli", bash(pages))
    write(out / "zsh/site-functions/_lapilli", zsh(pages, short))
    write(out / "fish/vendor_completions.d/lapilli.fish", fish(pages, short))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Unclear, UnicodeDecodeError) as error:
        print(f"make-pages: {error}", file=sys.stderr)
        sys.exit(1)
