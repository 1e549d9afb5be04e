# SPDX-License-Identifier: MIT
"""A registry and headers of a time to come: derive.py --registry vk.xml --include DIR --out SDK

Adds what is in addition.xml and addition.h to the registry and to the headers of today, and disables one extension of today. SDK is then
a folder for `make VULKAN_SDK=`. The number of the registry's own version stays what it is: overrides.toml takes it for what came in between, too.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).resolve().parent
DISABLED = "VK_AMD_buffer_marker"  # overrides.toml names its commands


def enlarge(registry: ET.Element, addition: ET.Element) -> None:
    """The addition's types, values, commands, versions and extensions, where those of today are."""
    for name in ("types", "commands", "extensions"):
        registry.find(name).extend(addition.find(name))
    at = [child.tag for child in registry].index("commands")
    for enums in addition.findall("enums"):
        registry.insert(at, enums)
    at = max(i for i, child in enumerate(registry) if child.tag == "feature") + 1
    for feature in addition.findall("feature"):
        registry.insert(at, feature)
    disabled = registry.find(f"extensions/extension[@name='{DISABLED}']")
    if disabled is None or disabled.get("supported") == "disabled":
        raise SystemExit(f"derive: there is no {DISABLED} that could be disabled")
    disabled.set("supported", "disabled")


def values_of(addition: ET.Element) -> dict[str, list[str]]:
    """enumeration: its new lines in C."""
    result: dict[str, list[str]] = {}
    for holder in [*addition.findall("feature"), *addition.findall("extensions/extension")]:
        for value in holder.iterfind("require/enum[@extends]"):
            if value.get("alias"):
                number = value.get("alias")
            elif value.get("bitpos"):
                number = f"0x{1 << int(value.get('bitpos')):08x}"
            else:
                of = int(value.get("extnumber") or holder.get("number"))
                number = f"{value.get('dir', '')}{1000000000 + (of - 1) * 1000 + int(value.get('offset'))}"
            result.setdefault(value.get("extends"), []).append(f"    {value.get('name')} = {number},")
    return result


def enlarge_header(text: str, addition: ET.Element) -> str:
    guard = r"^(?:// {0} is .*\n)?#define {0} 1$"
    text, count = re.subn(guard.format(DISABLED) + r".*?(?=" + guard.format(r"VK_[A-Z]+_[a-z]\w*") + ")", "", text, flags=re.MULTILINE | re.DOTALL)
    if count != 1:
        raise SystemExit(f"derive: vulkan_core.h has no {DISABLED}")
    for name, lines in values_of(addition).items():
        # In front of the last one, that none of them is an alias of something that comes later.
        last = re.search(rf"^    \w+_MAX_ENUM(_\w+)? = 0x7FFFFFFF\n}} {name};", text, re.MULTILINE)
        if not last:
            raise SystemExit(f"derive: vulkan_core.h has no {name}")
        text = text[:last.start()] + "\n".join(lines) + "\n" + text[last.start():]
    end = text.rindex("#ifdef __cplusplus")
    return text[:end] + (HERE / "addition.h").read_text(encoding="utf-8") + "\n" + text[end:]


def write(path: Path, text: str) -> None:
    """Only what changed, so that nothing is built again for no reason."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Derives a Vulkan registry and headers of a time to come.")
    for name in ("--registry", "--include", "--out"):
        parser.add_argument(name, required=True, type=Path)
    options = parser.parse_args(given)
    addition = ET.parse(HERE / "addition.xml").getroot()
    tree = ET.parse(options.registry)
    include, registry = options.out / "include", options.out / "share/vulkan/registry"
    registry.mkdir(parents=True, exist_ok=True)
    for name in ("vulkan", "vk_video"):
        if (options.include / name).is_dir():
            shutil.copytree(options.include / name, include / name, ignore=shutil.ignore_patterns("vulkan_core.h"), dirs_exist_ok=True)
    core = "vulkan/vulkan_core.h"
    write(include / core, enlarge_header((options.include / core).read_text(encoding="utf-8"), addition))
    enlarge(tree.getroot(), addition)
    shutil.copy2(options.registry.with_name("video.xml"), registry / "video.xml")
    write(registry / "vk.xml", ET.tostring(tree.getroot(), encoding="unicode"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
