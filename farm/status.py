# SPDX-License-Identifier: MIT
"""lapilli farm status and cancel: what the files of a results folder say, and the end of a farm that somebody else may have started."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from farm import plan as plans
from farm import publish
from farm import engine_slurm
from farm.engine import CANCEL


def counted(results: Path) -> dict:
    """FileNotFoundError: there is no farm."""
    farm = json.loads((results / "farm.json").read_bytes())
    lines = [*plans.read_lines(results / "plan.ndjson"), *plans.read_lines(results / "repeats.ndjson")]
    runs = {line["key"]: line for line in lines if "key" in line}
    found = publish.present(results, set(runs))
    devices: dict[str, dict] = {}
    for key, run in runs.items():
        of = devices.setdefault(run["device"], {"device": run["device"], "runs": 0, "done": 0, "outcomes": Counter()})
        of["runs"] += 1
        if key in found:
            of["done"] += 1
            of["outcomes"][found[key]["outcome"]] += 1
    waiting = engine_slurm.elements(engine_slurm.job_name(results)) if (results / "chunks").is_dir() else None
    attempts = [path.name for path in (results / "attempts").glob("[!.]*")]
    last = max((line["start"] + line["seconds"] for line in found.values()), default=None)
    return {"label": farm["label"], "version": farm["version"], "created": farm["created"], "runs": len(runs), "done": len(found), "devices": list(devices.values()),
            "skipped": sum("skip" in line for line in lines), "unreadable": sum("unreadable" in line for line in lines), "infrastructure_failures": len(attempts),
            "jobs": None if waiting is None else len(waiting),
            "twice": sum(1 for _ in (results / "twice").glob("[!.]*")), "last_result": last}


def show(args: argparse.Namespace) -> int:
    results = Path(args.results).absolute()
    try:
        found = counted(results)
    except (OSError, ValueError, KeyError, plans.PlanError) as error:
        print(f"lapilli-farm: {results} has no farm: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(publish.dumps(found))
        return 0
    print(f"{found['done']} of {found['runs']} runs have a result"
          + (f", the last one of {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(found['last_result']))}" if found["last_result"] else ""))
    width = max((len(device["device"]) for device in found["devices"]), default=0)
    for device in found["devices"]:
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in device["outcomes"].most_common())
        print(f"  {device['device']:{width}}  {device['done']} of {device['runs']}" + (f": {outcomes}" if outcomes else ""))
    if found["jobs"]:
        print(f"{found['jobs']} elements of Slurm wait or run")
    for key, text in (("skipped", "pairs are left out"), ("unreadable", "pairs have no readable trace"), ("infrastructure_failures", "attempts ended without a result (attempts/)"),
                      ("twice", "results came second (twice/)")):
        if found[key]:
            print(f"{found[key]} {text}")
    return 0


def cancel(args: argparse.Namespace) -> int:
    """Farms that work in this folder see the file and end. Their jobs are ended behind that, so that none is submitted again."""
    results = Path(args.results).absolute()
    if not (results / "farm.json").exists():
        print(f"lapilli-farm: {results} has no farm", file=sys.stderr)
        return 2
    try:
        publish.replace(results / CANCEL, str(time.time_ns()).encode())
    except publish.NoRoom as error:
        print(f"lapilli-farm: {error}", file=sys.stderr)
        return 1
    if (results / "chunks").is_dir():
        done = engine_slurm.ask("scancel", f"--name={engine_slurm.job_name(results)}")
        if done.returncode:
            print(f"lapilli-farm: {engine_slurm.sentence(done)}", file=sys.stderr)
            return 1
    return 0
