# SPDX-License-Identifier: MIT
"""The recorders that are compared, the drivers that they run on, and one run of a program under one of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

LAYER_FOLDERS = [Path("/usr/share/vulkan/explicit_layer.d"), Path("/usr/local/share/vulkan/explicit_layer.d"),
                 Path("/etc/vulkan/explicit_layer.d")]
MOCK_LIBRARY = Path("/usr/lib/chromium/libVkICD_mock_icd.so")
DRIVER_MANIFESTS = {"lavapipe": [Path("/usr/share/vulkan/icd.d"), "lvp_icd*.json"],
                    "swiftshader": [Path("/usr/lib/chromium"), "vk_swiftshader_icd.json"]}
# Programs of tests/apps end with this when the machine or the driver lacks something.
SKIPPED = 77


class Unavailable(Exception):
    """What the machine lacks, in a sentence."""


class RunFailed(Exception):
    """A run that gave no figures, and why."""


@dataclass
class Driver:
    name: str
    manifest: Path | None  # None: what the loader finds

    def environment(self) -> dict[str, str]:
        # Debian 12's loader knows both names, older ones the second only.
        return {"VK_DRIVER_FILES": str(self.manifest), "VK_ICD_FILENAMES": str(self.manifest)} if self.manifest else {}

    @property
    def computes(self) -> bool:
        return self.name != "mock"


def find_driver(name: str, folder: Path) -> Driver:
    """A driver by name (lavapipe, swiftshader, mock, system) or by the path of its manifest. `folder` takes a manifest for the
    mock driver, which comes without one."""
    if name == "system":
        return Driver("system", None)
    if name == "mock":
        if not MOCK_LIBRARY.exists():
            raise Unavailable(f"the mock driver needs {MOCK_LIBRARY} (Debian package chromium)")
        manifest = folder / "mock_icd.json"
        manifest.write_text(json.dumps({"file_format_version": "1.0.0",
                                        "ICD": {"library_path": str(MOCK_LIBRARY), "api_version": "1.3.239"}}))
        return Driver("mock", manifest)
    if name in DRIVER_MANIFESTS:
        where, pattern = DRIVER_MANIFESTS[name]
        found = sorted(where.glob(pattern))
        if not found:
            raise Unavailable(f"{name} is not installed ({where}/{pattern})")
        return Driver(name, found[0])
    if not Path(name).is_file():
        raise Unavailable(f"there is no driver {name}: lavapipe, swiftshader, mock, system, or the path of a manifest")
    return Driver(Path(name).stem, Path(name).resolve())


def clean_environment(driver: Driver) -> dict[str, str]:
    """Ours without settings of recorders and the loader, with this driver. Layers that a desktop loads into every program would count
    as part of it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LAPILLI_", "VK_", "GFXRECON_"))}
    return {**environment, "VK_LOADER_LAYERS_DISABLE": "~implicit~", "NODEVICE_SELECT": "1", **driver.environment()}


@dataclass
class Recorder:
    """Something that records a program, or nothing ("none")."""

    name: str
    version: str
    layer: str | None = None
    manifests: Path | None = None
    extension: str = ""
    settings: dict[str, str] = field(default_factory=dict)  # more environment
    traces: int = 1  # that it may leave

    def environment(self, trace: Path) -> dict[str, str]:
        if not self.layer:
            return {}
        environment = {"VK_INSTANCE_LAYERS": self.layer, "VK_LAYER_PATH": str(self.manifests)}
        if self.name == "lapilli":
            return {**environment, **self.settings, "LAPILLI_FILE": str(trace)}
        return {**environment, **self.settings, "GFXRECON_CAPTURE_FILE": str(trace), "GFXRECON_CAPTURE_FILE_TIMESTAMP": "false",
                "GFXRECON_LOG_LEVEL": "error"}


def lapilli(build: Path, settings: dict[str, str]) -> Recorder:
    version = subprocess.run([build / "bin/lapilli", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return Recorder("lapilli", version, "VK_LAYER_LAPILLI_capture", build / "share/vulkan/explicit_layer.d", "lapilli", settings)


def gfxreconstruct(settings: dict[str, str]) -> Recorder:
    name = "VK_LAYER_LUNARG_gfxreconstruct"
    for folder in LAYER_FOLDERS:
        for manifest in sorted(folder.glob("*.json")):
            try:
                layer = json.loads(manifest.read_text())["layer"]
            except (OSError, ValueError, KeyError):
                continue
            if isinstance(layer, dict) and layer.get("name") == name:
                return Recorder("gfxreconstruct", layer["description"].split("Version ")[-1], name, folder, "gfxr", settings)
    raise Unavailable("gfxreconstruct is not installed (Debian package gfxreconstruct)")


@dataclass
class Run:
    """What one run gave. `program` is the workload's own JSON line, or None for a program that is no workload."""

    recorder: str
    frames: int  # that the program was told to run
    program: dict | None
    seconds: float
    trace_bytes: int | None
    info: dict | None  # lapilli info --json


@dataclass
class Runner:
    build: Path
    folder: Path  # takes traces; each is removed after it was looked at
    timeout: float

    def run(self, recorder: Recorder, driver: Driver, command: list[str], frames: int, with_info: bool) -> Run:
        """Runs a command under a recorder. Raises RunFailed with a sentence when there is no figure to believe."""
        place = self.folder / "trace"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        environment = {**clean_environment(driver), **recorder.environment(place / f"out.{recorder.extension}")}
        start = time.monotonic()
        try:
            done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, errors="replace",
                                  timeout=self.timeout, check=False)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"no end after {self.timeout:.0f} s") from None
        seconds = time.monotonic() - start
        try:
            if done.returncode == SKIPPED:
                raise Unavailable(done.stdout.strip().splitlines()[-1])
            if done.returncode != 0:
                text = (done.stderr.strip() or done.stdout.strip()).splitlines()
                raise RunFailed(f"exit status {done.returncode}" + (f": {text[-1][:300]}" if text else ""))
            lines = [line for line in done.stdout.splitlines() if line.startswith('{"workload"')]
            program = json.loads(lines[-1]) if lines else None
            try:
                trace_bytes, info = self.look_at_trace(recorder, place, with_info)
            except RunFailed as failed:
                raise RunFailed(f"{failed} (stderr: {done.stderr.strip()[-300:] or 'nothing'})") from None
            return Run(recorder.name, frames, program, seconds, trace_bytes, info)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def look_at_trace(self, recorder: Recorder, place: Path, with_info: bool) -> tuple[int | None, dict | None]:
        """A recorder that recorded nothing is fast: its figures count only if a trace is there. Of several, the newest is looked into."""
        if not recorder.layer:
            return None, None
        traces = sorted(place.glob(f"*.{recorder.extension}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        if not 1 <= len(traces) <= recorder.traces:
            raise RunFailed(f"{len(traces)} traces were written, expected {recorder.traces}")
        size = sum(path.stat().st_size for path in traces)
        if recorder.name == "gfxreconstruct":
            with open(traces[0], "rb") as file:
                if file.read(4) != b"GFXR" or size < 4096:
                    raise RunFailed(f"its file of {size} bytes is no trace")
            return size, None
        if not with_info:
            return size, None
        done = subprocess.run([self.build / "bin/lapilli", "info", "--json", traces[0]], capture_output=True, text=True, check=False)
        info = json.loads(done.stdout) if done.returncode == 0 else {}
        if not info.get("complete"):
            raise RunFailed(f"the trace is not complete: {info.get('stopped') or done.stderr.strip()}")
        return size, info
