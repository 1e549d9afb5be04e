# SPDX-License-Identifier: MIT
"""Writes a layer manifest: make_manifest.py --kind explicit|implicit --library-path PATH --bits 32|64 --ids gen_ids.h --out FILE

Both kinds name the same layer. The implicit one is off unless LAPILLI_CAPTURE=1, so installing it changes no program.
The settings are those of layer/core/options.c. The API version is that of the registry which the layer was generated from: it
shows programs nothing that came later. Programs of 32 and of 64 bits find both manifests in one folder, and a loader leaves
out the one that is not for its own bits.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def read_version_header(path: Path) -> dict[str, str]:
    """The #defines of base/version.h."""
    found = re.findall(r'^#define (LAPILLI_\w+)\s+"?([^"\n]*)"?$', path.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(found)


def read_registry_version(path: Path) -> str:
    """Of gen_ids.h."""
    return re.search(r'^#define GEN_REGISTRY_VERSION "([\d.]+)"$', path.read_text(encoding="utf-8"), re.MULTILINE).group(1)


def own_extensions(knows_boundaries: bool) -> list[dict]:
    """What the layer adds to a driver's (layer/entry/entry.c)."""
    tooling = {"name": "VK_EXT_tooling_info", "spec_version": "1", "entrypoints": ["vkGetPhysicalDeviceToolPropertiesEXT"]}
    return [tooling] + ([{"name": "VK_EXT_frame_boundary", "spec_version": "1", "entrypoints": []}] if knows_boundaries else [])


def manifest(kind: str, library_path: str, bits: str, api_version: str, knows_boundaries: bool, version: dict[str, str]) -> dict:
    """The manifest as the loader and vkconfig read it."""
    settings, presets = (json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("settings.json", "presets.json"))
    layer = {
        "name": version["LAPILLI_LAYER_NAME"],
        "type": "GLOBAL",
        "library_path": library_path,
        "api_version": api_version,
        "implementation_version": version["LAPILLI_IMPLEMENTATION_VERSION"],
        "description": version["LAPILLI_LAYER_DESCRIPTION"],
        "introduction": "Records the Vulkan calls of a program, and its writes to memory, into a trace that can be "
                        "replayed on another device.",
        "platforms": ["LINUX", "ANDROID"],
        "status": "BETA",
        "device_extensions": own_extensions(knows_boundaries),
        "features": {"presets": presets, "settings": settings},
    }
    if bits != "any":
        layer["library_arch"] = bits
    if kind == "implicit":
        layer["enable_environment"] = {"LAPILLI_CAPTURE": "1"}
        layer["disable_environment"] = {"DISABLE_LAPILLI_CAPTURE": "1"}
    return {"file_format_version": "1.2.1", "layer": layer}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Writes a layer manifest.")
    parser.add_argument("--kind", required=True, choices=("explicit", "implicit"))
    parser.add_argument("--library-path", required=True, help="absolute, relative to the manifest (with a /), or a bare name")
    parser.add_argument("--bits", required=True, choices=("32", "64", "any"), help="any: the library path is a bare name, of libraries of several architectures")
    parser.add_argument("--ids", required=True, type=Path, help="the gen_ids.h that the layer was built with, beside its gen_ids.c")
    parser.add_argument("--out", required=True)
    options = parser.parse_args(arguments)
    knows_boundaries = '"VK_EXT_frame_boundary"' in options.ids.with_suffix(".c").read_text(encoding="utf-8")
    text = manifest(options.kind, options.library_path, options.bits, read_registry_version(options.ids), knows_boundaries,
                    read_version_header(HERE.parent / "base" / "version.h"))
    Path(options.out).write_text(json.dumps(text, indent=4) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
