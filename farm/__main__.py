# SPDX-License-Identifier: MIT
"""lapilli farm: the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from farm.work import Tools

HELP = """\
usage: lapilli farm COMMAND --results DIR [options]

Plays traces on devices and drivers, of this machine or of others, and says what changed.

  run       play what has no result yet (with --traces and --matrix), play failures again, and report
  status    how far it is
  report    judge the results, and write results.ndjson, junit.xml and index.html
  cancel    end the farms that work in this folder, and their jobs

  --results DIR      where results go; a run that has one there is not played again
  --traces FROM      a folder (all .lapilli below it), a trace, or a file with a path a line
  --matrix FILE.toml
                     devices, drivers and options (docs/farm.md)
  --engine HOW       local (default) or slurm
  --jobs N           replays at a time; default: as many as processors and GPU memory allow; slurm: elements of a
                     device at a time
  --attempts N       how often a run is tried that is lost with its machine (default: 3); a result is never tried again
{report}\
  --help             this text
  --version          the version

With --json, run prints a line for each run that ends. A run that was interrupted goes on when the same command is
started again.

Exit status: 0; 1 by the policy: a new failure; 2 wrong usage, another plan in the folder, or Slurm refuses a device;
3 no readable trace; 4 runs are missing; 127 lapilli-replay can't be started; 128 + n signal n ended it.
"""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"lapilli-farm: {message}. Try 'lapilli farm --help'.", file=sys.stderr)
        sys.exit(2)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def parsers() -> dict[str, Parser]:
    from farm import report
    found = {}
    for command in ("run", "status", "report", "cancel"):
        parser = found[command] = Parser(prog="lapilli-farm", add_help=False, allow_abbrev=False)
        parser.add_argument("--results", required=True)
        if command == "status":
            parser.add_argument("--json", action="store_true")
        if command == "run":
            parser.add_argument("--traces", required=True)
            parser.add_argument("--matrix", required=True)
            parser.add_argument("--engine", choices=["local", "slurm"], default="local")
            parser.add_argument("--jobs", type=positive, default=0)
            parser.add_argument("--attempts", type=positive, default=3)
        if command in ("run", "report"):
            report.add_options(parser)
    return found


def main(arguments: list[str], folder: Path) -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # names of traces come from strangers
    tools = Tools.beside(folder)
    command = arguments[0] if arguments else ""
    if command == "work" and len(arguments) == 3:  # a job of Slurm
        from farm import work
        return work.main(Path(arguments[1]), Path(arguments[2]), tools)
    if "--help" in arguments or "-h" in arguments or command == "help":
        from farm import report
        print(HELP.format(report=report.HELP_OPTIONS), end="")
        return 0
    if "--version" in arguments:
        try:
            print(f"lapilli-farm {tools.version()}")
        except (OSError, IndexError) as error:
            print(f"lapilli-farm: lapilli-replay can't be started: {error}", file=sys.stderr)
            return 127
        return 0
    found = parsers()
    if command not in found:
        found["run"].error(f"there is no command '{command}': {', '.join(found)}" if command else "a command is wanted: " + ", ".join(found))
    args = found[command].parse_args(arguments[1:])
    try:
        if command == "run":
            from farm import run
            return run.run(args, tools)
        if command == "report":
            from farm import report
            return report.make(Path(args.results).absolute(), args)
        from farm import status
        return status.show(args) if command == "status" else status.cancel(args)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1
