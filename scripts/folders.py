#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""folders.py [--quiet]: the house by its includes. Arrows between folders run one way; each that does not is an error (exit status 1).

Top folders may include what TOP names. Where a folder has subfolders that are modules, MODULES lists them from the bottom up: a module includes
from those before it. Files that lie in the folder itself stand where "." does, else at the top. No folder has more than MOST_FILES files. Packages
of Python that are installed import nothing but themselves and the standard library.
"""
import ast
import collections
import pathlib
import re
import sys

TOP = {
    "base": "",
    "trace": "base",
    "memtrack": "base",
    "vulkan": "base trace",
    "vm": "base trace",
    "inspector": "base trace vulkan vm",
    "layer": "base trace memtrack vulkan",
    "replayer": "base trace vulkan vm inspector",
    "server": "base trace",
    "tools": "base trace vulkan vm inspector server",
}
PACKAGES = ["android", "farm"]
MOST_FILES = 40
MODULES = {
    "base": ". file process",
    "vulkan": "foreign texel shader",
    "trace": "format crash send read write recover receive",
    "tools": "common show record program assert profile report",
    "inspector": "analysis position state memory fragments mesh report spirv twin question edit slice program",
    "layer": "core image memory shader command submit part entry",
    "replayer": "core analysis device sync memory sparse address format descriptor ray_tracing resource acceleration video command submit verify present vm play app",
}
INCLUDE = re.compile(r'^#include "([a-z_]+(?:/[a-z_]+)*)/[^/"]+"', re.M)


def module(path):
    """The folder that a path (of a file's folder, as parts) counts as: top folder, or module of one."""
    top = path.split("/")[0]
    rest = path.split("/")[1:]
    return f"{top}/{rest[0]}" if rest and top in MODULES else top


def rank(folder):
    top, _, name = folder.partition("/")
    names = MODULES[top].split()
    name = name or "."
    return names.index(name) if name in names else len(names)


def allowed(source, target):
    if source == target:
        return True
    top, other = source.split("/")[0], target.split("/")[0]
    if top != other:
        return other in TOP[top].split()
    return rank(target) < rank(source)


def imports(path):
    """The top names of what a Python source imports from elsewhere."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
        yield from (name.split(".")[0] for name in names if name)


def packages(lines, files):
    """What is wrong in PACKAGES; counts them."""
    for package in PACKAGES:
        for path in sorted(pathlib.Path(package).glob("*.py")):
            lines[package] += path.read_text().count("\n")
            files[package] += 1
            for name in sorted(set(imports(path)) - {package} - sys.stdlib_module_names):
                yield f"{path} imports {name}; {package} imports nothing from elsewhere"


def main():
    lines = collections.Counter()
    files = collections.Counter()
    arrows = collections.defaultdict(collections.Counter)
    wrong = []
    for top in TOP:
        for path in sorted(pathlib.Path(top).rglob("*.[ch]")):
            folder = module(path.parent.as_posix())
            if "/" in folder and folder.split("/")[1] not in MODULES[top].split():
                wrong.append(f"{path}: {folder} is not in the list of modules in scripts/folders.py")
                continue
            text = path.read_text()
            lines[folder] += text.count("\n")
            files[folder] += 1
            for name in sorted(set(INCLUDE.findall(text))):
                other = module(name)
                if other == folder or other.split("/")[0] not in TOP:
                    continue
                arrows[folder][other] += 1
                if not allowed(folder, other):
                    wrong.append(f"{path} includes from {other}; arrows run from {other} to {folder}" if allowed(other, folder) else
                                 f"{path} includes from {other}, which {folder} may not")
    wrong += packages(lines, files)
    wrong += [f"{folder} has {count} files, more than {MOST_FILES}: make rooms in it" for folder, count in files.items() if count > MOST_FILES]
    if "--quiet" not in sys.argv:
        print(f"{'folder':22} {'files':>5} {'lines':>6}  includes from")
        for folder in sorted(lines, key=lambda name: ([*TOP, *PACKAGES].index(name.split('/')[0]), rank(name) if name.split('/')[0] in MODULES else 0)):
            print(f"{folder:22} {files[folder]:5} {lines[folder]:6}  {' '.join(other.split('/')[-1] for other in sorted(arrows[folder]))}")
        print(f"{'together':22} {sum(files.values()):5} {sum(lines.values()):6}")
    for line in wrong:
        print(f"folders: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
