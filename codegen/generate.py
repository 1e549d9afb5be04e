# SPDX-License-Identifier: MIT
"""Generates all C sources: generate.py --registry vk.xml --overrides overrides.toml --out DIR [--list]"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

import model as model_module
import overrides as overrides_module
import registry as registry_module

# Each module has emit(model) -> {file name: text}.
EMITTERS = ["emit_ids", "emit_dispatch", "emit_encode", "emit_decode", "emit_quick", "emit_layer", "emit_reflect", "emit_needs", "emit_effects", "emit_formats", "emit_recode", "emit_replay"]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Generates Lapilli's C sources from a Vulkan registry.")
    parser.add_argument("--registry", required=True, help="the vk.xml to read")
    parser.add_argument("--overrides", default=str(Path(__file__).with_name("overrides.toml")))
    parser.add_argument("--out", required=True, help="folder for the generated files")
    options = parser.parse_args(arguments)
    try:
        registry = registry_module.load(options.registry)
        overrides = overrides_module.load(options.overrides, registry)
        model = model_module.build(registry, overrides)
    except (registry_module.RegistryError, overrides_module.OverrideError) as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for name in EMITTERS:
        for file_name, text in importlib.import_module(name).emit(model).items():
            path = out / file_name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
