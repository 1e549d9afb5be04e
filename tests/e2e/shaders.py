# SPDX-License-Identifier: MIT
"""lapilli shaders: the codes and what uses them are those of the printed lines; the text is that of spirv-dis; the files are what the hashes say."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
from typing import Callable

from e2e.cases import Cases, Context, Done, Program, Skip, check, prepare_on, programs, skip_lacking
from e2e.state import NULL

CASES = Cases()
case = CASES.add

OWN = "VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO"

# In few cases: what some programs have beside modules that pipelines use.
FIRST = ("triangle", "modern", "dynamic-libraries", "null/shader_objects")
HAVE = {"shader_objects": {"objects"}, "dynamic-libraries": {"via", "inline", "constants"}, "modern": {"names"}}


def shaders(context: Context, *arguments: str, expect: int | None = 0) -> Done:
    done = context.run([context.program("lapilli"), "shaders", *arguments], expect=None)
    if "was built without" in done.err:
        raise Skip(done.err.strip())
    check(expect in (None, done.status), f"{arguments}: exit status {done.status}\n{done.text}")
    return done


def xxh3(data: bytes) -> str:
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.restype = ctypes.c_uint64
    return f"{library.XXH3_64bits(data, ctypes.c_size_t(len(data))):016x}"


class Truth:
    """What the printed lines say of the code."""

    def __init__(self, lines: list[dict]) -> None:
        self.codes: dict[str, dict] = {}
        self.modules: dict[str, str] = {}  # their hashes
        self.direct: dict[str, set[str]] = {}  # of pipelines: hashes
        self.libraries: dict[str, list[str]] = {}
        self.names: dict[str, str] = {}
        for line in lines:
            if "inFlight" not in line and "failed" not in line["flags"] and line["args"] is not None:
                self.see(line["name"], line["args"])

    def code(self, data: dict) -> dict:
        return self.codes.setdefault(data["hash"], {"bytes": data["bytes"], "stages": set(), "modules": [], "objects": [], "inline": [], "constants": []})

    def use(self, data: dict, info: dict, stage: str, key: str | None, name: str) -> None:
        code = self.code(data)
        code["stages"].add((info[stage], info["pName"]))
        if key and name not in code[key]:
            code[key].append(name)
        special = info["pSpecializationInfo"]
        code["constants"] += [(name, entry["constantID"]) for entry in (special or {}).get("pMapEntries") or []]

    def see(self, name: str, args: dict) -> None:
        if name == "vkSetDebugUtilsObjectNameEXT":
            self.names[args["pNameInfo"]["objectHandle"]] = args["pNameInfo"]["pObjectName"]
        elif name == "vkCreateShaderModule":
            self.code(args["pCreateInfo"]["pCode"])["modules"].append(args["pShaderModule"])
            self.modules[args["pShaderModule"]] = args["pCreateInfo"]["pCode"]["hash"]
        elif name == "vkCreateShadersEXT":
            for shader, info in zip(args["pShaders"], args["pCreateInfos"]):
                if shader:
                    self.use(info["pCode"], info, "stage", "objects", shader)
        elif re.match("vkCreate(Graphics|Compute|RayTracing)Pipelines", name):
            for pipeline, info in zip(args["pPipelines"], args["pCreateInfos"]):
                if pipeline:
                    self.see_pipeline(pipeline, info)

    def see_pipeline(self, pipeline: str, info: dict) -> None:
        chain = info["pNext"] or []
        stages = (info.get("pStages") or []) + [info[k] for k in ("stage",) if k in info]
        stages += [stage for chained in chain for group in chained.get("pGroups") or [] for stage in group["pStages"] or []]
        for stage in stages:
            own = [chained["pCode"] for chained in stage["pNext"] or [] if chained["sType"] == OWN]
            data = {"hash": self.modules[stage["module"]], "bytes": None} if stage["module"] else own[0] if own else None
            if data:
                self.use(data, stage, "stage", None if stage["module"] else "inline", pipeline)
                self.direct.setdefault(pipeline, set()).add(data["hash"])
        libraries = [chained for chained in chain if "pLibraries" in chained] + [info[k] for k in ("pLibraryInfo",) if info.get(k)]
        self.libraries[pipeline] = [library for one in libraries for library in one["pLibraries"] or []]

    def has(self, pipeline: str, code: str) -> bool:
        return code in self.direct.get(pipeline, ()) or any(self.has(library, code) for library in self.libraries[pipeline])


def check_list(context: Context, file: str, truth: Truth) -> list[dict]:
    rows = json.loads(shaders(context, "--json", file).out)["shaders"]
    check([row["hash"] for row in rows] == list(truth.codes), f"{file}: {[row['hash'] for row in rows]}, not {list(truth.codes)}")
    for row in rows:
        code = truth.codes[row["hash"]]
        found = {"bytes": row["bytes"], "stages": {(s["stage"], s["entry"]) for s in row["stages"]}, **{k: row[k] for k in ("modules", "objects", "inline")}}
        check(found == {key: code[key] for key in found}, f"{file}: {found}, not {code}")
        check(set(row["names"]) == {truth.names[o] for o in code["modules"] + code["objects"] if o in truth.names}, f"{file}: {row['names']}")
        check({p["pipeline"] for p in row["pipelines"]} == {p for p in truth.libraries if truth.has(p, row["hash"])}, f"{file}: {row['pipelines']}")
        for p in row["pipelines"]:
            direct = row["hash"] in truth.direct.get(p["pipeline"], ())
            check(p["via"] is None if direct else p["via"] in truth.libraries[p["pipeline"]] and truth.has(p["via"], row["hash"]), f"{file}: {p}")
    table = [line.split("\t") for line in shaders(context, file).out.splitlines()]
    check(table[0] == ["hash", "code", "bytes", "stages", "names", "modules", "objects", "inline", "pipelines"], f"{table[0]}")
    check([(row[0], row[1], row[2], row[5]) for row in table[1:]] == [(r["hash"], "spirv", str(r["bytes"]), ",".join(r["modules"]) or "-") for r in rows], f"{table}")
    return rows


def check_one(context: Context, file: str, truth: Truth, row: dict) -> list[str]:
    """Its file, its text, and a search for a line of it. Returns the words that let a replay take the file."""
    name = row["hash"]
    path = context.folder / f"{file}.{name}.spv"
    shaders(context, "-o", path.name, file, name)
    check(xxh3(path.read_bytes()) == name and path.stat().st_size == row["bytes"], f"{path} has other bytes")
    context.run(["spirv-val", "--scalar-block-layout", str(path)])
    dis = context.run(["spirv-dis", "--no-color", str(path)]).out
    one = json.loads(shaders(context, "--json", file, name).out)
    check(one["spirv"] == dis and {k: one[k] for k in row} == row, f"{file} {name}: the text is not that of spirv-dis")
    check(sorted((use["object"], constant["id"]) for use in one["uses"] for constant in use.get("constants", ())) == sorted(truth.codes[name]["constants"]), f"{one['uses']}")
    check({use["object"] for use in one["uses"]} == {*row["modules"], *row["objects"], *(p["pipeline"] for p in row["pipelines"])}, f"{one['uses']}")
    check(shaders(context, file, name).out.endswith("\n" + dis), f"{file} {name}: the text")
    lines = dis.splitlines()
    number = len(lines) // 2
    found = shaders(context, "--search", lines[number].strip(), file).out.splitlines()
    check(f"{name}:{number + 1}: {lines[number].strip()}" in found, f"{found}")
    return ["--replace-shader", f"{name}={path.name}"]


def listed_as_printed(program: Program, driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        if not shutil.which("spirv-dis"):
            raise Skip("spirv-dis is not installed")
        context, command = prepare_on(context, program, driver)
        skip_lacking(context.run(command, context.layer_env(), expect=None))
        has = set()
        for file in sorted(path.name for path in context.folder.glob("*.lapilli")):
            truth = Truth(context.print_lines(file, "--no-blocks"))
            rows = check_list(context, file, truth)
            same = [word for row in rows for word in check_one(context, file, truth, row)]
            play = [context.program("lapilli-replay"), "--quiet", "--present", "headless", file]
            if same and context.run(play, expect=None).status == 0:
                context.run([*play, *same])
            has |= {key for row in rows for key in ("inline", "objects", "names") if row[key]}
            has |= {"via" for row in rows if any(p["via"] for p in row["pipelines"])} | {"constants" for code in truth.codes.values() if code["constants"]}
        check(HAVE.get(program.name, set()) <= has, f"{program.name} has {has}")
    return run


@case
def glsl_compiles(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    rows = json.loads(shaders(context, "--json", "out.lapilli").out)["shaders"]
    for row in rows:
        done = shaders(context, "--glsl", "out.lapilli", row["hash"][:4])
        stage = row["stages"][0]["stage"].split("_")[3][:4].lower()
        (context.folder / f"it.{stage}").write_text(done.out)
        context.run(["glslangValidator", "-V", f"it.{stage}"])
        check(done.out.startswith(f"// {row['hash']}: "), done.out)
    done = shaders(context, "--glsl", "--search", "VOID MAIN()", "--ignore-case", "out.lapilli")
    check({line.partition(":")[0] for line in done.out.splitlines()} == {row["hash"] for row in rows}, done.out)
    matches = json.loads(shaders(context, "--json", "--search", "void main()", "--glsl", "out.lapilli").out)["matches"]
    check([f"{m['shader']}:{m['line']}: {m['text']}" for m in matches] == done.out.splitlines(), f"{matches}")


@case
def code_that_is_newer_than_the_library_is_shown(context: Context) -> None:
    """What the library does not know as words, each instruction in a line."""
    context, command = prepare_on(context, Program("opcodes", [context.app("opcodes"), "--replicated", "--unknown"], False), "null")
    context.capture(command)
    row = json.loads(shaders(context, "--json", "out.lapilli").out)["shaders"][0]
    shaders(context, "-o", "it.spv", "out.lapilli", row["hash"])
    code = memoryview((context.folder / "it.spv").read_bytes()).cast("I").tolist()
    instructions, at = [], 5
    while at < len(code):
        instructions.append(code[at:at + (code[at] >> 16)])
        at += code[at] >> 16
    text = shaders(context, "out.lapilli", row["hash"]).out
    lines = [line.strip() for line in text.splitlines() if line and not line.startswith(";")]
    check(len(lines) == len(instructions), text)
    words = [(line.split(), one) for line, one in zip(lines, instructions) if line.endswith("; words")]
    check(all(line[1:-2] == [str(word) for word in one[1:]] for line, one in words), f"{words}")
    check({(line[0], *line[1:-2]) for line, _ in words} >= {("OpCapability", "65001"), ("Op65000", *map(str, next(one[1:] for one in instructions if one[0] & 0xffff == 65000)))}, text)
    check("OpMemoryModel Logical GLSL450" in lines and any(re.fullmatch(r"OpStore %\d+ %\d+", line) for line in lines), text)
    head = re.search(r"^; SPIRV-Tools v\S+ in this build of Lapilli does not know (.*)\.\n; (\d+) instructions stand as words", text, re.M)
    check(head is not None and {"capability 65001", "opcode 65000"} <= set(head[1].split(", ")) and int(head[2]) == len(words), text)
    said = shaders(context, "--glsl", "out.lapilli", row["hash"], expect=5).err
    check(f"does not know {head[1]}, so it can't check the code for SPIRV-Cross. Without --glsl its SPIR-V is shown" in said, said)


@case
def a_position_and_a_pipeline_choose(context: Context) -> None:
    """Objects that live there, by lapilli state; what a pipeline uses."""
    context.run([context.app("modern")], context.layer_env())
    for at in ("1", "20", "#3"):
        living = {entry["object"] for entry in json.loads(context.run([context.program("lapilli"), "state", "--json", "--at", at, "out.lapilli"]).out)["objects"]}
        rows, every = (json.loads(shaders(context, "--json", *more, "out.lapilli").out)["shaders"] for more in (["--at", at], []))
        expected = [{o for o in [*row["modules"], *(p["pipeline"] for p in row["pipelines"])] if o in living} for row in every]
        check([{*row["modules"], *(p["pipeline"] for p in row["pipelines"])} for row in rows] == [one for one in expected if one], f"{at}: {rows}")
        check(at != "20" or rows, "nothing lives there")
    for number in ("1", "2"):
        rows = json.loads(shaders(context, "--json", "--pipeline", f"VkPipeline:{number}", "out.lapilli").out)["shaders"]
        check(rows == [row for row in every if any(p["pipeline"] == f"VkPipeline:{number}" for p in row["pipelines"])] != [], f"{rows}")


@case
def what_is_not_there_is_said(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    (context.folder / "taken").write_text("mine")
    real = json.loads(shaders(context, "--json", "out.lapilli").out)["shaders"][0]["hash"]
    unknown = "0000" if not real.startswith("0000") else "ffff"
    for arguments, says in (([unknown], f"none of the 2 shaders has a hash that begins with {unknown}"), (["-o", "new", unknown], "none of the 2 shaders"),
                            (["--pipeline", "VkPipeline:99"], "there is no VkPipeline:99 among the 1 of the trace"),
                            (["--at", "#0", "--pipeline", "VkPipeline:1"], "VkPipeline:1 does not live there"), (["--at", "9999"], "the trace has ")):
        done = shaders(context, *(["out.lapilli", *arguments] if unknown in arguments else [*arguments, "out.lapilli"]), expect=2)
        check(says in done.err and not done.out and not (context.folder / "new").exists(), f"{arguments}: {done.text}")
    check("can't create taken" in shaders(context, "-o", "taken", "out.lapilli", real, expect=1).err and (context.folder / "taken").read_text() == "mine", "taken")
    done = shaders(context, "--search", "no such text", "out.lapilli")
    check("no shader has 'no such text'" in done.err and not done.out, done.text)


@case
def what_is_in_front_of_damage_is_shown(context: Context) -> None:
    context.run([context.app("compute")], context.layer_env())
    rows = json.loads(shaders(context, "--json", "out.lapilli").out)["shaders"]
    shown = shaders(context, "out.lapilli", rows[0]["hash"]).out
    whole = (context.folder / "out.lapilli").read_bytes()
    at = len(whole) * 2 // 3
    for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]):
        (context.folder / "damaged.lapilli").write_bytes(damaged)
        done = shaders(context, "damaged.lapilli", rows[0]["hash"], expect=4)
        check(done.out == shown and done.err.strip(), done.text)
        check(json.loads(shaders(context, "--json", "damaged.lapilli", expect=4).out)["shaders"] == rows, "the list")
        shaders(context, "-o", "it.spv", "damaged.lapilli", rows[0]["hash"], expect=4)
        check(xxh3((context.folder / "it.spv").read_bytes()) == rows[0]["hash"], "the file")
        (context.folder / "it.spv").unlink()


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    for program in programs(context):
        for driver in (None, "null") if program.name in NULL else (None,):
            name = f"{driver}/{program.name}" if driver else program.name
            result[name if name in FIRST else f"each/{name}"] = listed_as_printed(program, driver)
    return result
