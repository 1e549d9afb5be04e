# SPDX-License-Identifier: MIT
"""Folders of results as a farm leaves them, made up: for tests of its report."""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
import zlib
from pathlib import Path

GPU = {"number": 0, "name": "llvmpipe", "kind": "cpu", "api_version": "1.3.230", "driver": "Mesa 22.3.6", "uuid": None}


def picture(red: int, side: int = 8) -> bytes:
    """A PNG file of one colour."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes([red, 80, 160]) * side) * side
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Made:
    """A results folder. Each run that is added is also planned."""

    def __init__(self, parent: Path, label: str, day: int = 1, baseline: str | None = None, devices: tuple[str, ...] = ("lavapipe",)) -> None:
        self.path, self.label = parent / label, label
        self.path.mkdir()
        self.write("farm.json", {"label": label, "version": "0.1.0", "traces": "/t", "matrix": {"device": [{"name": name} for name in devices]}, "baseline": baseline,
                                 "created": 1_790_000_000 + 86_400 * day})

    def write(self, name: str, line: object) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def trace(self, name: str) -> dict:
        return {"name": name, "path": f"/t/{name}.lapilli", "sha256": hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest(), "bytes": 1}

    def plan(self, name: str, device: str = "lavapipe", repetition: int = 0, **more: str) -> str:
        key = hashlib.sha256(json.dumps([self.label, name, device, repetition]).encode()).hexdigest()[:32]
        self.write("plan.ndjson", {"trace": self.trace(name), "device": device, **(more or {"key": key, "repetition": repetition})})
        return key

    def run(self, name: str, outcome: str, changed_at: int | None = None, device: str = "lavapipe", repetition: int = 0, shots: dict[int, bytes] = {}, checks: int = 9,
            **more: object) -> dict:
        """`changed_at`: the frame from which on the hashes are others, so it is not as recorded. `more`: members of the line."""
        outcome = "different" if outcome == "same" and changed_at is not None else outcome
        key = self.plan(name, device, repetition)
        files = {"screenshots": [{"frame": frame, "path": f"files/{key[:2]}/{key}/frame_{frame}.png"} for frame in shots], "mismatch": None, "stderr": None}
        for shot, data in zip(files["screenshots"], shots.values()):
            (self.path / shot["path"]).parent.mkdir(parents=True, exist_ok=True)
            (self.path / shot["path"]).write_bytes(data)
        hashes = self.hashes(name, changed_at, checks) if outcome in ("same", "different", "played", "incomplete") else None
        line = {"key": key, "label": self.label, "version": "0.1.0", "trace": self.trace(name), "device": device, "driver_files": "", "options": ["verify"],
                "repetition": repetition, "outcome": outcome, "exit": 0, "signal": "SIGSEGV" if outcome == "crashed" else None, "error": None, "gpu": GPU, "frames": 9,
                "verify": {"checks": 9, "within": 0, "different": 9 if outcome == "different" else 0, "left_out": 0, "first": None}, "hashes": hashes, "measure": None,
                "files": files, "recorded_on": None, "node": "n1", "start": 1, "seconds": 1.5, **more, "end": True}
        self.write(f"runs/{key[:2]}/{key}.ndjson", line)
        return line

    def hashes(self, name: str, changed_at: int | None, checks: int) -> dict:
        lines = [{"check": frame, "kind": "present", "frame": frame, "packet": 10 * frame, "object": "VkSwapchainKHR:5", "same": None,
                  "hash": f"{name}{frame}{changed_at is not None and frame >= changed_at}"} for frame in range(1, checks + 1)]
        data = "".join(json.dumps(line) + "\n" for line in lines).encode()
        sha = hashlib.sha256(data).hexdigest()
        path = self.path / "hashes" / sha[:2] / f"{sha}.ndjson.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data))
        return {"sha256": sha, "lines": checks}
