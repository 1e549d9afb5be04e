#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUT.c FILE...: writes the files of the page as a table in C (server/page.h)."""
import hashlib
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def main():
    out, *files = sys.argv[1:]
    lines = ["/* Made by page/embed.py. */", '#include "server/page.h"', ""]
    table = []
    for number, path in enumerate(sorted(map(pathlib.Path, files))):
        data = path.read_bytes()
        lines.append(f"static const unsigned char file_{number}[] = {{")
        lines += ["    " + ", ".join(map(str, data[at:at + 24])) + "," for at in range(0, len(data), 24)]
        lines += ["};", ""]
        etag = hashlib.sha256(data).hexdigest()[:16]
        table.append(f'    {{"{path.name}", "{TYPES[path.suffix]}", "\\"{etag}\\"", file_{number}, sizeof file_{number}}},')
    lines += ["const struct lap_page_file lap_page_files[] = {", *table, "};", ""]
    lines.append("const size_t lap_page_file_count = sizeof lap_page_files / sizeof *lap_page_files;")
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


main()
