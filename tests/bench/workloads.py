# SPDX-License-Identifier: MIT
"""The workloads and what is reported of each. A figure is a function of one run, the run without a layer of the same round, and
a short run of the same program; it gives None where it has no meaning."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Callable

from recorders import Run

PAGE = 4096
WARM_UP = 3  # frames that a workload runs and does not measure


@dataclass
class Sample:
    """What a figure is computed from."""

    run: Run
    base: Run | None  # without a layer, same round; None when `run` is that
    short: Run | None  # same recorder, fewest frames: what is left after subtracting it belongs to the frames


@dataclass
class Figure:
    name: str
    unit: str
    value: Callable[[Sample], float | None]
    added: bool = False  # what a recorder adds; in the column without a layer: the whole


@dataclass
class Workload:
    name: str
    what: str
    command: list[str]  # the first word is a program of build/tests/bench or a script here, or is found in PATH; {folder}: to be used
    quick: list[str]  # more arguments of --quick; they win
    figures: list[Figure]
    kind: str = "memory"  # which driver: "memory" computes, "api" may do nothing
    frames: int = 60
    quick_frames: int = 5
    frames_option: str = "--frames"
    display: bool = False
    once: bool = False  # one round is enough: nothing in it depends on time
    settings: dict[str, str] = field(default_factory=dict)  # of Lapilli's, with {frames} for those that are asked for; no other recorder has them
    traces: int = 1  # that a recorder may leave
    must_be_zero: list[str] = field(default_factory=list)  # figures that are wrong when they are not 0


def series(sample: Run, name: str, statistic: str) -> float | None:
    found = (sample.program or {}).get("series", {}).get(name)
    return found[statistic] if found else None


def counted(run: Run, name: str) -> int:
    return (run.program or {}).get("counts", {}).get(name, 0)


def time_of(label: str, name: str, statistic: str = "median_ns", divide: Callable[[Run], float] = lambda run: 1.0,
            unit: str = "µs") -> Figure:
    """Time, of a recorder what it adds. The median of a run's frames shows what a frame usually costs; CPU time is a mean, so
    that work which is put off to some later frame, or to another thread, is in it."""
    scale = {"ns": 1.0, "µs": 1e3, "ms": 1e6}[unit]

    def value(sample: Sample) -> float | None:
        own = series(sample.run, name, statistic)
        if own is None:
            return None
        if not sample.base:
            return own / scale / divide(sample.run)
        base = series(sample.base, name, statistic)
        return None if base is None else (own - base) / scale / divide(sample.run)

    return Figure(label, unit, value, added=True)


def of_frames(sample: Sample, amount: Callable[[Run], float | None]) -> float | None:
    """An amount of the long run less that of the short one: what belongs to the frames, not to setting up."""
    if not sample.short:
        return None
    own, short = amount(sample.run), amount(sample.short)
    return None if own is None or short is None else own - short


def frames_between(sample: Sample) -> int:
    return sample.run.frames - sample.short.frames


def update_bytes(run: Run) -> float | None:
    return run.info["updates"]["bytes"] if run.info else None


def updates_per_written(sample: Sample) -> float | None:
    updates = of_frames(sample, update_bytes)
    written = of_frames(sample, lambda run: counted(run, "written_bytes"))
    return updates / written if updates is not None and written else None


def trace_per_frame(sample: Sample) -> float | None:
    total = of_frames(sample, lambda run: run.trace_bytes)
    return total / frames_between(sample) / 1024 if total is not None else None


def updates_per_frame(sample: Sample) -> float | None:
    packets = of_frames(sample, lambda run: run.info["updates"]["count"] if run.info else None)
    return packets / frames_between(sample) if packets is not None else None


PACKETS = Figure("updates a frame", "", updates_per_frame)
UPDATES = Figure("update bytes / bytes written", "", updates_per_written)
TRACE = Figure("trace a frame", "KiB", trace_per_frame)
FRAME = time_of("frame", "frame")
SUBMIT = time_of("vkQueueSubmit", "submit")
WRITE = time_of("the program's stores", "write")
THREAD_CPU = time_of("CPU time of the program's thread, a frame", "frame_thread_cpu", "mean_ns")
PROCESS_CPU = time_of("CPU time of the process, a frame", "frame_process_cpu", "mean_ns")


# ---- what the kernel takes

def floor_ns(run: Run) -> float | None:
    """For finding a frame's stores with its best write watch: what they take longer, and one scan."""
    if series(run, "floor_scan", "median_ns") is None:
        return None
    return (series(run, "floor_watched", "median_ns") - series(run, "floor_plain", "median_ns")
            + series(run, "floor_scan", "median_ns"))


def over_floor(sample: Sample) -> float | None:
    floor = floor_ns(sample.run)
    if not sample.base or floor is None:
        return None
    return (series(sample.run, "frame", "median_ns") - series(sample.base, "frame", "median_ns")) / floor


FLOOR = [Figure("the kernel's write watch alone", "µs", lambda s: floor_ns(s.run) / 1e3 if not s.base and floor_ns(s.run) else None),
         Figure("added to a frame / the kernel's write watch alone", "", over_floor)]


# ---- stream

def reference_ns(run: Run) -> float:
    return series(run, "memcpy", "median_ns") + series(run, "lz4", "median_ns")


def reference_cpu_ns(run: Run) -> float:
    return series(run, "reference_cpu", "mean_ns")


def over_reference(name: str, statistic: str, reference: Callable[[Run], float]) -> Callable[[Sample], float | None]:
    def value(sample: Sample) -> float | None:
        if not sample.base:
            return None
        return (series(sample.run, name, statistic) - series(sample.base, name, statistic)) / reference(sample.base)
    return value


# ---- memory of the process

def memory_added(*fields: str) -> Callable[[Sample], float | None]:
    def value(sample: Sample) -> float | None:
        own = sum(sample.run.program["memory"].get(name, 0) for name in fields)
        if not sample.base:
            return own / 2**20
        base = sum(sample.base.program["memory"].get(name, 0) for name in fields)
        return (own - base) / 2**20
    return value


def memory_beyond_written(*fields: str) -> Callable[[Sample], float | None]:
    added = memory_added(*fields)
    return lambda sample: added(sample) - counted(sample.run, "written_bytes") / 2**20 if sample.base else None


MEMORY = [
    Figure("memory beyond pages written, RssAnon + RssShmem", "MiB", memory_beyond_written("RssAnon", "RssShmem")),
    Figure("memory beyond pages written, VmHWM", "MiB", memory_beyond_written("VmHWM")),
    Figure("RssAnon + RssShmem", "MiB", memory_added("RssAnon", "RssShmem"), added=True),
    Figure("Pss", "MiB", memory_added("Pss"), added=True),
    Figure("page tables", "MiB", memory_added("VmPTE"), added=True),
]


def submits_a_frame(run: Run) -> float:
    return counted(run, "submits") / run.program["frames_with_warm_up"]


SUBMITS = [time_of("frame", "frame", unit="ms"), time_of("vkQueueSubmit", "submits", divide=submits_a_frame),
           time_of("CPU time of the program's thread, a submit", "frame_thread_cpu", "mean_ns", divide=submits_a_frame), TRACE]


def map_random(mib: int, frames: int) -> Workload:
    return Workload(f"map-random-{mib}", f"a persistent coherent map of {mib} MiB, 64 writes of 64 to 1024 bytes a frame, one submit",
                    ["map_random", "--size-mib", str(mib)], ["--size-mib", str(max(16, mib // 32))],
                    [FRAME, SUBMIT, WRITE, *FLOOR, THREAD_CPU, PROCESS_CPU, UPDATES, TRACE], frames=frames)


MAP_SAME = Workload("map-same-2048", "the same writes as map-random-64 in a map of 2 GiB of which the program uses 64 MiB",
                    ["map_random", "--size-mib", "2048", "--used-mib", "64"], ["--size-mib", "64", "--used-mib", "16"],
                    [FRAME, SUBMIT, WRITE, *FLOOR, THREAD_CPU, PROCESS_CPU, UPDATES, TRACE], frames=200)

MAP_SPARSE = replace(map_random(256, 100), name="map-random-256-sparse", what="map-random-256 on a device with sparse binding",
                     command=["map_random", "--size-mib", "256", "--sparse"])

MEMORY_WORKLOADS = [
    map_random(64, 200), map_random(256, 100), map_random(1024, 60), map_random(2048, 40), MAP_SAME, MAP_SPARSE,
    Workload("stream", "64 MiB rewritten and copied each frame", ["stream"], ["--size-mib", "8"],
             [time_of("frame", "frame", unit="ms"), time_of("vkQueueSubmit", "submit", unit="ms"),
              time_of("the program's stores", "write", unit="ms"),
              Figure("added to a frame / (memcpy + LZ4)", "", over_reference("frame", "median_ns", reference_ns)),
              Figure("the same in CPU time, the program's thread", "", over_reference("frame_thread_cpu", "mean_ns", reference_cpu_ns)),
              Figure("the same in CPU time, the process", "", over_reference("frame_process_cpu", "mean_ns", reference_cpu_ns)),
              Figure("memcpy + LZ4 alone", "ms", lambda s: reference_ns(s.run) / 1e6 if not s.base else None), UPDATES, TRACE],
             frames=12, quick_frames=3),
    Workload("map-sparse-write", "2 GiB mapped, 1 % of the pages written", ["map_sparse_write"], ["--size-mib", "256"],
             [*MEMORY, FRAME, WRITE, UPDATES], frames=10 - WARM_UP),
    Workload("map-scattered", "4,096 stores of 4 bytes a frame, 64 bytes apart, into a buffer that the device writes each frame, too",
             ["map_scattered"], ["--writes", "512"], [FRAME, SUBMIT, WRITE, THREAD_CPU, PROCESS_CPU, UPDATES, PACKETS, TRACE], frames=60),
    Workload("read-back", "the device copies 16 MiB into mapped memory each frame, the host reads them", ["read_back"],
             ["--size-mib", "4"],
             [time_of("frame", "frame", unit="ms"), SUBMIT, time_of("the program's loads", "read"), THREAD_CPU, PROCESS_CPU,
              Figure("update bytes", "", lambda s: update_bytes(s.run)), TRACE],
             frames=40, must_be_zero=["update bytes"]),
    Workload("read-back-shader", "the same, a compute shader writes them", ["read_back", "--shader"], ["--size-mib", "4"],
             [time_of("frame", "frame", unit="ms"), SUBMIT, time_of("the program's loads", "read"), THREAD_CPU, PROCESS_CPU,
              Figure("update bytes", "", lambda s: update_bytes(s.run)), TRACE],
             frames=30, must_be_zero=["update bytes"]),
    Workload("read-back-scattered", "the device copies 4,096 words into mapped memory each frame, 64 bytes apart, the host reads them",
             ["read_back", "--words", "4096"], ["--words", "512"],
             [FRAME, SUBMIT, time_of("the program's wait", "wait"), THREAD_CPU, PROCESS_CPU, Figure("update bytes", "", lambda s: update_bytes(s.run)),
              TRACE], frames=60, must_be_zero=["update bytes"]),
    Workload("texture-stream", "4 textures of 256 x 256 with their levels uploaded each frame, on a walk there and back", ["texture_stream"],
             ["--edge", "64"], [time_of("frame", "frame", unit="ms"), SUBMIT, WRITE, THREAD_CPU, PROCESS_CPU, UPDATES, TRACE], frames=120,
             quick_frames=12),
    Workload("tiny-submits", "2,000 submits a frame that read 64 KiB of a map of 256 MiB to which nobody writes", ["tiny_submits"],
             ["--size-mib", "16", "--submits", "200"], SUBMITS, frames=10, quick_frames=3),
    Workload("tiny-submits-present", "the same, with a present into a window at each frame's end", ["tiny_submits", "--present"],
             ["--size-mib", "16", "--submits", "200"], SUBMITS, frames=10, quick_frames=3, display=True),
    Workload("many-objects", "50,000 buffers in one persistent map, 64 of them written and copied each frame", ["many_objects"],
             ["--count", "5000"],
             [FRAME, SUBMIT, WRITE, THREAD_CPU, PROCESS_CPU, UPDATES, TRACE, time_of("create and bind a buffer", "create", unit="ns")]),
    Workload("many-objects-all", "the same, and a second submit each frame reads every buffer", ["many_objects", "--all"],
             ["--count", "5000"], [time_of("frame", "frame", unit="ms"), THREAD_CPU, PROCESS_CPU, UPDATES, TRACE], frames=20),
]


# ---- the cost of calls

def calls_a_frame(run: Run) -> float:
    return counted(run, "calls") / run.program["frames_with_warm_up"]


def trace_per_call(sample: Sample) -> float | None:
    total, calls = of_frames(sample, lambda run: run.trace_bytes), of_frames(sample, lambda run: counted(run, "calls"))
    return total / calls if total is not None and calls else None


def cost_of_calls(call: str) -> list[Figure]:
    return [time_of(f"{call}, wall clock", "record", divide=calls_a_frame, unit="ns"),
            time_of(f"{call}, CPU time", "record_cpu", "mean_ns", divide=calls_a_frame, unit="ns"),
            time_of("frame", "frame"), PROCESS_CPU, Figure(f"trace, {call}", "bytes", trace_per_call)]


def added_cpu(sample: Sample, name: str) -> float | None:
    own, base = series(sample.run, name, "median_ns"), series(sample.base, name, "median_ns") if sample.base else None
    return None if own is None or base is None else own - base


def growth(sample: Sample) -> float | None:
    """Less what the program alone grows by."""
    several, alone = added_cpu(sample, "record_cpu"), added_cpu(sample, "alone_cpu")
    return several / alone if several and alone and alone > 0 else None


# A part of the run is to be recorded, which begins behind most of the frames that are measured; at least its last frames are kept.
WAITING = {"LAPILLI_FRAMES": "{frames}-1000000000"}
KEPT = {"LAPILLI_KEEP_LAST": "20f"}

CALL_WORKLOADS = [
    Workload("draws", "5,000 draws a frame, each with descriptor set, dynamic offset, push constants and vertex buffer", ["draws"],
             ["--draws", "500"], cost_of_calls("a vkCmd call"), kind="api", frames=100),
    Workload("draws-sets", "5,000 draws a frame, each with one of 2,048 descriptor sets and 16 random bytes of push constants",
             ["draws", "--sets", "2048"], ["--draws", "500"], cost_of_calls("a vkCmd call"), kind="api", frames=100),
    Workload("draws-scattered", "draws whose uniforms are each elsewhere in a mapped buffer, and written in each frame", ["draws", "--scattered"],
             ["--draws", "500"], [FRAME, SUBMIT, *cost_of_calls("a vkCmd call")[:2], THREAD_CPU, PROCESS_CPU, UPDATES, TRACE], kind="api", frames=100),
    Workload("draws-thread", "the same, recorded by one thread into a secondary command buffer", ["draws", "--threads", "1"],
             ["--draws", "500"], cost_of_calls("a vkCmd call"), kind="api", frames=100),
    Workload("draws-threads", "the same, recorded by 4 threads into secondary command buffers", ["draws", "--threads", "4"],
             ["--draws", "500"], cost_of_calls("a vkCmd call"), kind="api", frames=100),
    Workload("draws-in-turn", "the same, recorded by 4 threads and by one of them alone, frame by frame", ["draws", "--threads", "4", "--in-turn"],
             ["--draws", "500"],
             [time_of("a vkCmd call, CPU time, 4 threads", "record_cpu", divide=calls_a_frame, unit="ns"),
              time_of("a vkCmd call, CPU time, one thread", "alone_cpu", divide=calls_a_frame, unit="ns"),
              Figure("CPU time added to a call, 4 threads / one thread", "", growth)], kind="api", frames=200, quick_frames=6),
    Workload("descriptor-updates", "10,000 calls of vkUpdateDescriptorSets a frame, one uniform buffer each", ["descriptor_updates"],
             ["--updates", "1000"], cost_of_calls("an update"), kind="api"),
    Workload("barriers-copies", "1,000 copies a frame to a buffer and on to an image, with three barriers each", ["barriers_copies"],
             ["--copies", "100"], cost_of_calls("a vkCmd call"), kind="api", frames=100),
    Workload("parallel-frames", "8,000 commands a frame by 4 threads, each with 4 secondary command buffers that read small maps of their own",
             ["parallel_frames"], ["--commands", "800"], cost_of_calls("a vkCmd call"), kind="api", frames=300),
    Workload("parallel-frames-thread", "the same by one thread with 16 of them",
             ["parallel_frames", "--threads", "1", "--batches", "16", "--transient", "4"], ["--commands", "800"],
             cost_of_calls("a vkCmd call"), kind="api", frames=300),
    Workload("parallel-frames-large", "parallel-frames with maps of 256 KiB, which are watched",
             ["parallel_frames", "--map-kib", "256"], ["--commands", "800"], cost_of_calls("a vkCmd call"), kind="api", frames=300),
    Workload("allocation-churn", "16 buffers a frame with memory of 4 KiB that is mapped, filled and freed",
             ["object_churn", "--objects", "0", "--allocations", "16"], [],
             [time_of("16 allocations", "allocations"), time_of("frame", "frame"), PROCESS_CPU, TRACE], kind="api", frames=300),
    Workload("draws-waiting", "draws where a part of the run is to be recorded, which has not begun yet but for the last frames", ["draws"],
             ["--draws", "500"], cost_of_calls("a vkCmd call")[:-1], kind="api", frames=100, settings=WAITING),
    Workload("object-churn-waiting", "object-churn where a part of the run is to be recorded", ["object_churn"], ["--objects", "200"],
             cost_of_calls("a create or destroy")[:-1], kind="api", settings=WAITING),
    Workload("draws-keep-last", "draws of which at least the last 20 frames are kept", ["draws"], ["--draws", "500"],
             [*cost_of_calls("a vkCmd call")[:-1], time_of("frame, mean, with the turns", "frame", "mean_ns")], kind="api", frames=200, quick_frames=50,
             settings=KEPT, traces=2),
    Workload("map-random-keep-last", "map-random-64 of which at least the last 20 frames are kept", ["map_random", "--size-mib", "64"],
             ["--size-mib", "16"], [FRAME, time_of("frame, mean, with the turns", "frame", "mean_ns", unit="ms"), SUBMIT, THREAD_CPU, PROCESS_CPU],
             frames=200, quick_frames=50, settings=KEPT, traces=2),
    Workload("object-churn", "2,000 buffers, image views, samplers and semaphores created and destroyed each frame", ["object_churn"],
             ["--objects", "200"], cost_of_calls("a create or destroy"), kind="api"),
]

def of_run(label: str, unit: str, amount: Callable[[Run], float | None], added: bool = False) -> Figure:
    """Of programs that say themselves how many frames they got done."""
    def value(sample: Sample) -> float | None:
        own = amount(sample.run)
        base = amount(sample.base) if added and sample.base else 0.0
        return None if own is None or base is None else own - base
    return Figure(label, unit, value, added)


def frames_a_second(run: Run) -> float | None:
    return counted(run, "frames") * 1e6 / counted(run, "microseconds") if counted(run, "microseconds") else None


PROGRAM_WORKLOADS = [
    Workload("ddnet", "the menu of DDNet for 6 seconds, as many frames as it gets done", ["ddnet.py", "--shaders", "{folder}/ddnet-shaders"], [],
             [of_run("frames a second", "", frames_a_second),
              of_run("frame", "µs", lambda run: counted(run, "median_microseconds"), added=True),
              of_run("trace a frame", "bytes", lambda run: run.trace_bytes / counted(run, "frames") if run.trace_bytes else None)],
             kind="api", frames=6, quick_frames=2, frames_option="--seconds", display=True),
    Workload("vkcube", "vkcube in a window, 2,000 frames", ["vkcube"], [],
             [Figure("trace", "KiB", lambda s: s.run.trace_bytes / 1024 if s.run.trace_bytes else None), TRACE],
             frames=2000, quick_frames=20, frames_option="--c", display=True, once=True),
]

WORKLOADS = MEMORY_WORKLOADS + CALL_WORKLOADS + PROGRAM_WORKLOADS
