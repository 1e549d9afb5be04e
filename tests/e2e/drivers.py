# SPDX-License-Identifier: MIT
"""Traces across drivers: each program is recorded on each machine and replayed on every other one.

A machine is a driver, or one in another shape (tests/layers/shape, e2e/matrix.SHAPES) or with many queues (tests/layers/queues.c). Where a replay does not give the very bytes that
were recorded, what it checked is compared with what a replay on the recording machine checks (e2e/compare). EXPECTED says what is
refused or differs, and why; that it then does is tested, too.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from e2e.cases import LAYER, QUEUES, SHAPE, Context, Done, Program
from e2e.compare import Dump, compare, copied_formats, missing_in
from e2e.loader import windows_env
from e2e.matrix import ALIGNMENT, SHAPES
from e2e.matrix import EXPECTED as MATRIX_EXPECTED

PRETENDER = "mock"  # accepts everything, and computes nothing


# Programs count on formats that every driver has, so nothing records where one is gone.
WORDS = SHAPES | {"recorder": re.sub(",formats=[^,]*", "", SHAPES["unlike"])}


@dataclass(frozen=True)
class Machine:
    name: str
    manifest: Path
    libraries: Path | None = None  # where the driver finds its own
    layer: str | None = None  # next to the driver: SHAPE or QUEUES
    shape: str | None = None  # a key of SHAPES
    by_hand: bool = False  # a driver that nothing is known of
    no_windows: bool = False  # what it is asked to show is recorded above tests/layers/windows.c

    @property
    def missing(self) -> str | None:
        return None if self.manifest.exists() else f"{self.manifest} is not there"

    def context(self, context: Context) -> Context:
        return replace(context, driver=self.manifest)

    def env(self, context: Context, *layers: str, **more: str) -> dict[str, str]:
        """With our layers on top: `layers` and, next to the driver, its own."""
        names = (*layers, *((self.layer,) if self.layer else ()))
        result = dict(context.layer_env(*names, **more)) if names else dict(more)
        if self.libraries:
            result["LD_LIBRARY_PATH"] = str(self.libraries)
        if self.shape:
            result["LAPILLI_SHAPE"] = WORDS[self.shape]
        if self.name == PRETENDER:
            result["MALLOC_PERTURB_"] = "255"  # its device memory is of malloc(): zeros, as that of the others (mallopt(3), M_PERTURB)
        return result


def lavapipe() -> Path:
    found = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
    return found[0] if found else Path("/usr/share/vulkan/icd.d/lvp_icd.json")


def machines(backport: Path, folder: Path, by_hand: list[str], no_windows: list[str]) -> dict[str, Machine]:
    """By name. `backport`: the folder of scripts/fetch-backport-driver.sh; `folder`: where a manifest may be written; `by_hand`:
    NAME=MANIFEST; `no_windows`: names of these."""
    chromium = Path("/usr/lib/chromium")
    pretender = chromium / "libVkICD_mock_icd.so"
    manifest = folder / "mock_icd.json"
    if pretender.exists():
        manifest.write_text(f'{{"file_format_version": "1.0.0", "ICD": {{"library_path": "{pretender}", "api_version": "1.3.0"}}}}\n')
    result = [Machine("lavapipe", lavapipe()), Machine("backports", backport / "icd.json", backport / "lib"),
              Machine("swiftshader", chromium / "vk_swiftshader_icd.json"), Machine(PRETENDER, manifest)]
    for name, _, path in (text.partition("=") for text in by_hand):
        result.append(Machine(name, Path(path), by_hand=True, no_windows=name in no_windows))
    result += [Machine(f"lavapipe/{shape}", lavapipe(), layer=SHAPE, shape=shape) for shape in WORDS]
    result += [Machine("lavapipe/queues", lavapipe(), layer=QUEUES)]
    return {machine.name: machine for machine in result}


# What records, and on what its traces are replayed besides the drivers. Shapes of one driver must show the same bytes.
RECORDERS = {"lavapipe": [*(f"lavapipe/{shape}" for shape in SHAPES), "lavapipe/queues"], "backports": ["lavapipe/discrete"],
             "swiftshader": ["lavapipe/discrete", "lavapipe/unlike"], "lavapipe/discrete": [], "lavapipe/recorder": [],
             "lavapipe/queues": ["lavapipe/unlike"], PRETENDER: []}


@dataclass(frozen=True)
class Expected:
    programs: str  # regular expressions of full names
    recorded: str
    replayed: str
    outcome: str  # refused, differs or within
    sentence: str  # which the replay says
    why: str


ANY = ".*"
LAVAPIPE = "lavapipe(/.*)?"
MESA = "(lavapipe|backports)(/.*)?"
ROUNDINGS = "SwiftShader rounds edges, filtered texels and sRGB values otherwise"
BLOCKS = "drivers round the colors between the ends of a block otherwise"
# What the shapes refuse or show otherwise is said beside them (e2e/matrix).
SHAPED = [Expected(re.escape(program), ANY, f"lavapipe/{shape}", "refused" if status == 5 else "differs", sentence,
                   "the shape has other alignments, or lacks a format") for (program, shape), (status, sentence) in MATRIX_EXPECTED.items()]
EXPECTED = SHAPED + [
    Expected("vkcube|triangle-srgb", MESA, "swiftshader", "within", "", ROUNDINGS),
    Expected("vkcube|triangle-srgb", "swiftshader", MESA, "within", "", ROUNDINGS),
    Expected("compressed(-read)?", MESA, "swiftshader", "within", "", BLOCKS),
    Expected("compressed", "swiftshader", MESA, "within", "", BLOCKS),
    Expected("compressed-read", "swiftshader", MESA, "refused", "only its texels are there", "ETC2 is decoded"),
    Expected("modern.*", MESA, "swiftshader", "refused", "VK_EXT_multi_draw", "it is used"),
    Expected("attached", MESA, "swiftshader", "differs", "promises no linear images",
             "attachments of linear tiling, which SwiftShader makes and does not promise"),
    Expected("address-constants", MESA, "swiftshader", "refused", "shaderInt64", "it is used"),
    Expected("enables-geometry", MESA, "swiftshader", "refused", "geometryShader", "it is used"),
    Expected("counts", MESA, "swiftshader", "refused", "pipelineStatisticsQuery", "it is used"),
    Expected("feedback", MESA, "swiftshader", "refused", "VK_EXT_transform_feedback", "it is used"),
    Expected("push-two", "backports", f"{LAVAPIPE}|swiftshader", "refused", "maintenance6", "it is used"),
    Expected("(descriptors|bindless).*", "backports|swiftshader", LAVAPIPE, "refused", "descriptorBindingStorageBufferUpdateAfterBind",
             "it is used"),
    Expected("hostcopy-planes|planes", "backports|swiftshader", LAVAPIPE, "differs", "promises no optimal images",
             "a format with planes, which the driver does not promise"),
    Expected("planes", "backports", "swiftshader", "differs", "promises no optimal images", "planes with memory of their own, which it does not have"),
    Expected("nested", "backports", f"{LAVAPIPE}|swiftshader", "refused", "VK_EXT_nested_command_buffer", "it is used"),
    Expected("aspects", "backports", f"{LAVAPIPE}|swiftshader", "refused", "maintenance8", "it is used"),
    Expected("conditional", MESA, "swiftshader", "refused", "VK_EXT_conditional_rendering", "it is used"),
    Expected("looks", MESA, "swiftshader", "refused", "VK_EXT_border_color_swizzle", "it is used"),
    Expected("looks", "swiftshader", MESA, "differs", "", "SwiftShader's border colors differ in the last bit of a float"),
    Expected("raster", MESA, "swiftshader", "refused", "VK_EXT_multi_draw", "it is used"),
    Expected("loops", "backports", LAVAPIPE, "refused", "VK_EXT_attachment_feedback_loop_dynamic_state", "it is used"),
    Expected("loops", MESA, "swiftshader", "refused", "VK_EXT_attachment_feedback_loop_layout", "it is used"),
    Expected("loops-samples", MESA, "swiftshader", "refused", "VK_EXT_multisampled_render_to_single_sampled", "it is used"),
    Expected("mesh", "backports", f"{LAVAPIPE}|swiftshader", "refused", "VK_EXT_mesh_shader", "it is used"),
    Expected("upkeep-.*", "backports", f"{LAVAPIPE}|swiftshader", "refused", "VK_KHR_maintenance", "it is used"),
    Expected("opcodes-.*", "backports", f"{LAVAPIPE}|swiftshader", "refused", "lacks requirements of the trace", "it is used"),
    Expected("rays.*", "backports", f"{LAVAPIPE}|swiftshader", "refused", "VK_KHR_ray_query", "it is used"),
    Expected("raypipe.*|raytrace", "backports", f"{LAVAPIPE}|swiftshader", "refused", "VK_KHR_ray_tracing_pipeline", "it is used"),
    Expected("descbuf.*", "backports", f"{LAVAPIPE}|swiftshader", "refused", "VK_EXT_descriptor_buffer", "it is used"),
    Expected("shader_objects", "backports", f"{LAVAPIPE}|swiftshader", "refused", "VK_EXT_shader_object", "it is used"),
    Expected("generated.*", "backports", f"{LAVAPIPE}|swiftshader", "refused", "VK_EXT_device_generated_commands", "it is used"),
    Expected("dynamic.*", "backports", LAVAPIPE, "refused", "VK_EXT_attachment_feedback_loop_dynamic_state", "it is used"),
    Expected("dynamic.*", MESA, "swiftshader", "refused", "VK_EXT_extended_dynamic_state3", "it is used"),
    Expected("counters", MESA, "swiftshader", "refused", "pipelineStatisticsQuery", "it is used"),
    Expected("sparse", "backports", f"{LAVAPIPE}|swiftshader", "refused", "sparse", "neither binds pages"),
    Expected("alias", "lavapipe(/queues)?|swiftshader", "backports", "differs", ALIGNMENT, "an image begins in the middle of a buffer"),
    Expected("alias", "backports", f"{LAVAPIPE}|swiftshader", "differs", "",
             "the driver makes disjoint images, which it does not promise, but gives their planes no memory of their own"),
]

# Not recorded on the driver that pretends, or not to be compared with what a real one recorded: why.
HANDED_ON = "what the device wrote is read by the program or becomes what a later object begins with"
LEAVES_OUT = "it leaves out there what all of its checks show"
STORED_BEFORE = "the host stores over what the device wrote, and where that wrote nothing some bytes are as they were"
NOT_PRETENDED = {
    "gated": STORED_BEFORE, "gated-two": STORED_BEFORE, "gated-random": STORED_BEFORE, "gated-event": STORED_BEFORE,
    "gated-event-two": STORED_BEFORE, "gated-event-secondary": STORED_BEFORE,
    "alias": HANDED_ON, "memory": HANDED_ON, "payload": HANDED_ON, "payload-process": HANDED_ON, "rebind": HANDED_ON,
    "rebind-image": HANDED_ON, "suballoc": HANDED_ON, "address": HANDED_ON, "address-khr": HANDED_ON, "address-two": HANDED_ON, "address-alias": HANDED_ON,
    "address-constants": HANDED_ON, "address-halves": HANDED_ON, "address-apart": HANDED_ON,
    "descriptors": LEAVES_OUT, "descriptors-garbage": LEAVES_OUT, "texels": LEAVES_OUT, "depth": LEAVES_OUT,
    "depth-push": LEAVES_OUT, "compressed": LEAVES_OUT, "dynamic": LEAVES_OUT, "dynamic-libraries": LEAVES_OUT, "dynamic-libraries-garbage": LEAVES_OUT,
    "counters": "it has other counters", "looks": "it lacks a part of what the program looks at",
    "codeless": "identifiers of shader modules have no size there", "codeless-identifiers": "identifiers of shader modules have no size there",
    "churn": "a fence that nobody signals is signalled there, and a replay waits for it",
    "churn-present": "a fence that nobody signals is signalled there, and a replay waits for it",
    "attached": "the program itself ends in that driver", "attached-undefined": "the program itself ends in that driver",
    "wsi": "the driver aborts", "wsi-window-xlib": "the driver aborts",
    "wsi-replace-late": "that driver gives out an image that the program has already, so a replay waits for a present", "sparse": "sizes of sparse blocks there are no use to it",
    "places": "that driver does not align what it maps", "stores": "buffers want more alignment there than it has room for",
}

# Programs that can't be recorded on a machine: why.
LOCAL = "SwiftShader offers it and ends at draws with locations of attachments, and lavapipe of Debian 12 lacks it"
CRASHES = "this build of lavapipe itself ends at embedded samplers of descriptor buffers"
SMALLER = "the program itself counts on smaller objects"
UNFIT = {
    ("alias", "lavapipe/discrete"): SMALLER, ("attached-undefined", "lavapipe/discrete"): SMALLER, ("hostptr", "lavapipe/discrete"): SMALLER,
    ("hostptr-twice", "lavapipe/discrete"): SMALLER, ("memory", "lavapipe/discrete"): SMALLER, ("stores", "lavapipe/discrete"): SMALLER,
    **{(f"descbuf{kind}", "backports"): CRASHES for kind in ("", "-stage", "-early", "-update", "-twice", "-variable")},
    ("localread", "backports"): LOCAL, ("localread-core", "backports"): LOCAL, ("localread-general", "backports"): LOCAL,
    ("fresh", "lavapipe/discrete"): "buffers are padded there, so that none can be put over the memory of an object to zero it",
}


@dataclass
class Cell:
    program: str
    recorded: str
    replayed: str
    outcome: str  # identical, within, differs, refused, skipped or FAILS
    why: str = ""
    largest: float = 0.0
    mean: float = 0.0
    share: float = 0.0
    checks: int = 0
    different: int = 0
    pictures: list[str] = field(default_factory=list)


ORDER = ["identical", "skipped", "within", "differs", "refused", "FAILS"]


@dataclass
class Replayed:
    done: Done
    checks: int
    different: int

    @property
    def nothing(self) -> bool:
        return self.checks == 0 and "there was nothing to compare" in self.done.err

    @property
    def refusal(self) -> str:
        """The last thing that was said."""
        lines = [line for line in self.done.err.splitlines() if ": error: " in line]
        return lines[-1].partition(": error: ")[2] if lines else f"exit status {self.done.status}"


def keep_trace(folder: Path, row: "Row", trace: str) -> None:
    """For a machine that can't record what is recorded here: the trace and what a replay on the recording machine checks."""
    dump = row.dump(row.recorder, trace)
    place = folder / row.recorder.name.replace("/", "_") / row.program.name / Path(trace).stem
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    shutil.copy(row.context.folder / trace, place / "out.lapilli")
    shutil.copy(dump.folder / "checks.ndjson", place)
    (place / "checks.bin.xz").write_bytes(lzma.compress((dump.folder / "checks.bin").read_bytes(), preset=1))
    (place / "row.json").write_text(json.dumps({"program": row.program.name, "recorded": row.recorder.name, "trace": trace,
                                                "checks": len(dump.checks)}))


class Row:
    """One program recorded on one machine, in a folder."""

    def __init__(self, context: Context, program: Program, recorder: Machine, every: dict[str, Machine], kept: Path):
        self.context, self.program, self.recorder, self.every, self.kept = context, program, recorder, every, kept
        self.dumps: dict[str, Dump] = {}

    def cell(self, replayed: str, outcome: str, why: str = "", **more) -> Cell:
        return Cell(self.program.name, self.recorder.name, replayed, outcome, why, **more)

    def record(self, machine: Machine, file: str, *arguments: str) -> Done:
        command = [*self.program.command, *arguments]
        if machine.layer:
            env = machine.env(self.context, LAYER, LAPILLI_VERIFY="1", LAPILLI_FILE=file)
            return machine.context(self.context).run(command, env, expect=None)
        if machine.no_windows and self.program.needs_display:
            return machine.context(self.context).run(command, windows_env(self.context, LAPILLI_FILE=file), expect=None)
        return machine.context(self.context).capture(command, file, env=machine.env(self.context), expect=None)

    def replay(self, machine: Machine, trace: str, *arguments: str) -> Replayed:
        done = machine.context(self.context).replay(trace, *arguments, env=machine.env(self.context), expect=None)
        found = re.search(r"^verify: (\d+) checks, (\d+) different$", done.out, re.MULTILINE)
        return Replayed(done, *((int(found[1]), int(found[2])) if found else (0, 0)))

    def dump(self, machine: Machine, trace: str) -> Dump:
        """What a replay there checks; the folder stays for other comparisons."""
        name = f"{trace}.{machine.name.replace('/', '-')}"
        if name not in self.dumps:
            self.replay(machine, trace, "--dump-checks", name)
            self.dumps[name] = Dump(self.context.folder / name)
        return self.dumps[name]

    def same_driver(self, machine: Machine) -> bool:
        return machine.manifest == self.recorder.manifest

    def compare(self, machine: Machine, trace: str, found: Replayed) -> Cell:
        formats = copied_formats(self.context.print_lines(trace))
        folder = self.kept / self.program.name / f"{self.recorder.name}-{machine.name}".replace("/", "_")
        result = compare(self.dump(self.recorder, trace), self.dump(machine, trace), formats, not self.same_driver(machine), folder)
        return self.cell(machine.name, "within" if result.within else "differs", result.says, largest=result.largest, mean=result.mean,
                         share=result.share, checks=found.checks, different=found.different,
                         pictures=[str(path) for path in result.pictures])

    def replay_one(self, machine: Machine, trace: str, wanted: int) -> tuple[Cell, str]:
        found = self.replay(machine, trace)
        if found.done.status == 5:
            return self.cell(machine.name, "refused", found.refusal), found.done.err
        # Linear images of a format that another one stands for are not compared, which is said.
        left_out = re.search(r"(\d+) checks could not be made", found.done.err) if "formats=" in WORDS.get(machine.shape, "") else None
        if left_out and found.checks + int(left_out[1]) == wanted:
            wanted = found.checks
        if found.done.status not in (0, 1) or found.checks != wanted or (found.done.status == 1 and not found.different):
            return self.cell(machine.name, "FAILS", f"{found.refusal}; {found.checks} of {wanted} checks"), found.done.err
        if found.different:
            return self.compare(machine, trace, found), found.done.err
        return self.cell(machine.name, "identical", checks=found.checks), found.done.err

    def expected(self, machine: Machine) -> Expected | None:
        for rule in EXPECTED:
            if all(re.fullmatch(pattern, name) for pattern, name in ((rule.programs, self.program.name),
                                                                     (rule.recorded, self.recorder.name),
                                                                     (rule.replayed, machine.name))):
                return rule
        return None

    def judge(self, machine: Machine, cell: Cell, err: str) -> Cell:
        """What is not as it was expected fails, be it better."""
        rule = self.expected(machine)
        wanted = rule.outcome if rule else "identical"
        if machine.by_hand or self.recorder.by_hand:
            foreseen = re.search(r"warning: (.*(?:can't lie in one memory|is made all the same|gets memory for all of its bytes).*)", err)
            fails = cell.outcome == "differs" and not foreseen
            cell.why = foreseen[1] if cell.outcome == "differs" and foreseen else cell.why
        else:
            fails = cell.outcome != wanted or bool(rule and rule.sentence not in err)
        if fails and cell.outcome != "FAILS":
            cell.why = f"{cell.outcome}, but expected was {wanted}" + (f" with {rule.sentence!r}" if rule and rule.sentence else "") + (
                f": {cell.why}" if cell.why else "")
            cell.outcome = "FAILS"
        elif rule and cell.outcome in ("differs", "within"):
            cell.why = rule.why
        return cell

    def replay_all(self, machine: Machine, traces: dict[str, int]) -> Cell:
        cells = [self.replay_one(machine, trace, checks) for trace, checks in traces.items()]
        worst, err = max(cells, key=lambda pair: ORDER.index(pair[0].outcome))
        worst.checks = sum(traces.values())
        return self.judge(machine, worst, err)

    def traces(self) -> dict[str, int] | Cell:
        """What was recorded, and how many checks each has; a cell: that went wrong."""
        result = {}
        for trace in sorted(path.name for path in self.context.folder.glob("*.lapilli")):
            found = self.replay(self.recorder, trace)
            if found.nothing and not self.context.info(trace)["commands"]:
                continue
            if found.done.status != 0:
                return self.cell(self.recorder.name, "FAILS", f"where it was recorded: {found.refusal}, {found.different} checks differ")
            result[trace] = found.checks
        return result if sum(result.values()) else self.cell(self.recorder.name, "FAILS", "nothing is checked")

    def run(self, replayers: list[Machine], keep: Path | None = None) -> list[Cell]:
        unfit = UNFIT.get((self.program.name, self.recorder.name))
        if unfit:
            return [self.cell(ANY, "skipped", unfit)]
        if self.program.needs_display and self.recorder.layer == QUEUES:
            return [self.cell(ANY, "skipped", "the layer is for programs without windows")]
        done = self.record(self.recorder, "out.lapilli")
        if done.status == 77:
            said = [line for line in done.out.splitlines() if line.startswith("skip ")]
            return [self.cell(ANY, "skipped", said[-1].partition(": ")[2] if said else "the driver lacks something")]
        if done.status != 0:
            return [self.cell(self.recorder.name, "FAILS", f"recording ends with {done.status}: {done.text[-300:]}")]
        traces = self.traces()
        if isinstance(traces, Cell):
            return [traces]
        for trace in traces if keep else ():
            keep_trace(keep, self, trace)
        home = self.cell(self.recorder.name, "identical", checks=sum(traces.values()))
        cells = [home]
        for machine in replayers:
            if machine.name != self.recorder.name:
                cells.append(self.replay_all(machine, traces))
        return cells

    def run_pretended(self) -> list[Cell]:
        """Recorded where nothing is computed, and replayed where a program that is recorded there can be compared with."""
        why = NOT_PRETENDED.get(self.program.name)
        native = self.every["lavapipe"]
        if why:
            return [self.cell(native.name, "skipped", why)]
        # vkcube asks how a linear texture lies, for which that driver has no answer.
        mine, others = (["--use_staging"],) * 2 if self.program.name == "vkcube" else (["--no-check"], [])
        pretended, real = self.record(self.recorder, "pretended.lapilli", *mine), self.record(native, "real.lapilli", *others)
        if 77 in (pretended.status, real.status):
            return [self.cell(native.name, "skipped", "it needs what one of the two drivers lacks")]
        if pretended.status or real.status:
            return [self.cell(native.name, "FAILS", f"recording ends with {pretended.status} and {real.status}: {pretended.text[-300:]}")]
        cells = []
        for trace in sorted(path.name for path in self.context.folder.glob("pretended*.lapilli")):
            other = trace.replace("pretended", "real")
            candidate, reference = self.dump(native, trace), self.dump(native, other)
            missing = missing_in(reference, candidate)
            count = f"{len(candidate.checks)} of {len(reference.checks)} checks, those of what both do"
            if missing or not candidate.checks:
                cells.append(self.cell(native.name, "FAILS", f"check {missing['check']} is not found" if missing else "nothing is checked"))
            else:
                cells.append(self.cell(native.name, "identical", "" if len(candidate.checks) == len(reference.checks) else count,
                                       checks=len(candidate.checks)))
        return [max(cells, key=lambda cell: ORDER.index(cell.outcome))] if cells else [self.cell(native.name, "FAILS", "no trace")]


class KeptRow(Row):
    """What keep_trace left, on a machine that may not be the one that recorded it."""

    def __init__(self, context: Context, place: Path, every: dict[str, Machine], kept: Path):
        self.about = json.loads((place / "row.json").read_text())
        name = self.about["recorded"]
        recorder = Machine(name, Path(f"(the driver of {name})"), by_hand=name not in RECORDERS)
        super().__init__(context, Program(self.about["program"], [], False), recorder, every, kept)
        for name in ("out.lapilli", "checks.ndjson"):
            shutil.copy(place / name, context.folder)
        (context.folder / "checks.bin").write_bytes(lzma.decompress((place / "checks.bin.xz").read_bytes()))

    def dump(self, machine: Machine, trace: str) -> Dump:
        return Dump(self.context.folder) if machine is self.recorder else super().dump(machine, trace)

    def run(self, replayers: list[Machine], keep: Path | None = None) -> list[Cell]:
        return [self.replay_all(machine, {"out.lapilli": self.about["checks"]}) for machine in replayers]
