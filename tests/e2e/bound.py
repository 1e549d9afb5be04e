# SPDX-License-Identifier: MIT
"""What draws find bound, read from the printed lines of a trace, and compared with lapilli draws."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Iterator

from e2e.cases import Context, check

POINTS = {"GRAPHICS": "graphics", "COMPUTE": "compute", "RAY_TRACING_KHR": "rayTracing"}
NO_STATE = re.compile("vkCmdSet(Event|Checkpoint|PerformanceMarker|PerformanceStreamMarker|DescriptorBufferOffsets)")
STATE = re.compile("vkCmd(Set|Bind(ShadingRateImage|InvocationMask|PipelineShaderGroup|DescriptorBuffersEXT|SamplerHeap|ResourceHeap|TileMemory|VertexBuffers3|IndexBuffer3|TransformFeedbackBuffers2)|BeginConditionalRendering2)")
NO_PIPELINE_STATE = re.compile("vkCmd(B|Set(Rendering|DeviceMask|PerformanceOverride))")
SHARED = {"DEPTHBIAS2EXT": "DEPTHBIAS", "COARSESAMPLEORDERNV": "VIEWPORTCOARSESAMPLEORDERNV", "FRAGMENTSHADINGRATEENUMNV": "FRAGMENTSHADINGRATEKHR"}


def folded(command: str) -> str:
    """The VkDynamicState that a command sets, without its underscores."""
    name = command.removeprefix("vkCmdSet").upper()
    return SHARED.get(name, name)


def point_of(args: dict) -> list[str]:
    if "pipelineBindPoint" in args:
        return [POINTS.get(args["pipelineBindPoint"].removeprefix("VK_PIPELINE_BIND_POINT_"), "other")]
    stages = args["stageFlags"]
    rays = any(word in stages for word in ("RAYGEN", "_HIT", "MISS", "INTERSECTION", "CALLABLE"))
    graphics = any(word in stages for word in ("VERTEX", "TESSELLATION", "GEOMETRY", "FRAGMENT", "GRAPHICS", "TASK", "MESH", "STAGE_ALL"))
    return [p for p, on in (("graphics", graphics), ("compute", "COMPUTE" in stages or "STAGE_ALL " in stages + " "), ("rayTracing", rays)) if on]


class Objects:
    """What creations say that binding depends on."""

    def __init__(self) -> None:
        self.set_layouts: dict[str, dict] = {}
        self.layouts: dict[str, dict] = {}
        self.pipelines: dict[str, tuple[str | None, set[str]]] = {}  # layout, dynamic states
        self.passes: dict[str, dict] = {}
        self.framebuffers: dict[str, list[str]] = {}

    def see(self, name: str, args: dict) -> None:
        if name == "vkCreateDescriptorSetLayout":
            self.set_layouts[args["pSetLayout"]] = args["pCreateInfo"]
        elif name == "vkCreatePipelineLayout":
            info = args["pCreateInfo"]
            self.layouts[args["pPipelineLayout"]] = {"push": (info["flags"], info["pPushConstantRanges"]), "sets": [self.set_layouts.get(s) for s in info["pSetLayouts"] or []]}
        elif re.match("vkCreate(Graphics|Compute|RayTracing)Pipelines", name):
            for pipeline, info in zip(args["pPipelines"], args["pCreateInfos"]):
                states = {s.removeprefix("VK_DYNAMIC_STATE_").replace("_", "") for s in (info.get("pDynamicState") or {}).get("pDynamicStates") or []}
                for chained in info["pNext"] or []:
                    for library in chained.get("pLibraries") or []:
                        states |= self.pipelines[library][1]
                self.pipelines[pipeline] = (info["layout"], states)
        elif name in ("vkCreateRenderPass", "vkCreateRenderPass2"):
            self.passes[args["pRenderPass"]] = args["pCreateInfo"]
        elif name == "vkCreateFramebuffer":
            self.framebuffers[args["pFramebuffer"]] = args["pCreateInfo"]["pAttachments"] or []

    def compatible(self, a: str | None, b: str | None, number: int) -> bool:
        x, y = self.layouts.get(a or ""), self.layouts.get(b or "")
        return a == b or (x is not None and y is not None and x["push"] == y["push"] and number < min(len(x["sets"]), len(y["sets"]))
                          and x["sets"][:number + 1] == y["sets"][:number + 1])

    def dynamic_offsets(self, layout: str, number: int) -> int:
        bindings = (self.layouts[layout]["sets"][number] or {}).get("pBindings") or []
        return sum(b["descriptorCount"] for b in bindings if b["descriptorType"].endswith("_DYNAMIC"))


class QueueLabels:
    """Those that are open on each queue: its own ones, and those that its command buffers have left open."""

    def __init__(self) -> None:
        self.own: dict[str, list[str]] = defaultdict(list)
        self.left: dict[str, list[str]] = defaultdict(list)

    def see(self, line: dict) -> None:
        queue = line["args"].get("queue")
        if line["name"] == "vkQueueBeginDebugUtilsLabelEXT":
            self.own[queue].append(line["args"]["pLabelInfo"]["pLabelName"])
        elif line["name"] == "vkQueueEndDebugUtilsLabelEXT" and self.own[queue]:
            self.own[queue].pop()


class Bound:
    """The state of a command buffer."""

    def __init__(self, objects: Objects, outer: Bound | None, around: tuple[list[str], list[str]] = ([], [])) -> None:
        self.objects, self.outer = objects, outer
        self.labels: list[str] = list(outer.labels) if outer else around[0] + around[1]
        self.own_labels = len(self.labels) if outer else len(around[0])
        self.begun: dict | None = outer.begun if outer else None
        self.dynamic: dict[tuple[str, object], int] = {}
        self.forget()

    def forget(self) -> None:
        self.pipelines: dict[str, str | None] = {}
        self.sets: dict[str, dict[int, dict]] = {}
        self.vertex: dict[int, tuple] = {}
        self.index: tuple | None = None
        self.push: set[int] = set()
        self.shaders: dict[str, str | None] = {}
        self.dynamic = {k: v for k, v in self.dynamic.items() if k[0] == "vkCmdBeginConditionalRendering2EXT"}

    def put_set(self, points: list[str], layout: str, bound: dict[int, dict]) -> None:
        for point in points:
            sets = self.sets.setdefault(point, {})
            disturbed = [n for n, old in sets.items() if not self.objects.compatible(old["layout"], layout, n)] if layout in self.objects.layouts else []
            first_wrong = min((n for n in disturbed if n in bound), default=None)
            for number in list(sets):
                if (number in disturbed and number < min(bound, default=0)) or (first_wrong is not None and number > max(bound)):
                    del sets[number]
            for number, new in bound.items():
                old = sets.get(number, {})
                if "pushed" in new and "pushed" in old and number not in disturbed:
                    written = set().union(*new["pushed"].values())
                    new = {**new, "pushed": {at: what for at, what in old["pushed"].items() if not what <= written} | new["pushed"]}
                sets[number] = {"layout": layout, **new}

    def see(self, at: int, position: str, name: str, args: dict) -> None:
        info = next((v for k, v in args.items() if k.endswith("Info") and isinstance(v, dict)), args)
        if name == "vkCmdBindPipeline":
            point = point_of(args)[0]
            self.pipelines[point] = args["pipeline"]
            self.shaders = {s: o for s, o in self.shaders.items() if (s.endswith("COMPUTE_BIT")) != (point == "compute")}
            states = self.objects.pipelines[args["pipeline"]][1]
            for key in list(self.dynamic):
                if point == "graphics" and key[0].startswith("*") and key[0] != "*RAYTRACINGPIPELINESTACKSIZEKHR" and key[0][1:] not in states:
                    del self.dynamic[key]
        elif name == "vkCmdBindShadersEXT":
            for stage, shader in zip(args["pStages"], args["pShaders"] or [None] * args["stageCount"]):
                self.shaders[stage] = shader
                self.pipelines["compute" if stage.endswith("COMPUTE_BIT") else "graphics"] = None
        elif name.startswith("vkCmdBindDescriptorSets"):
            offsets, bound = list(info["pDynamicOffsets"] or []), {}
            for i, handle in enumerate(info["pDescriptorSets"] or []):
                count = self.objects.dynamic_offsets(info["layout"], info["firstSet"] + i)
                bound[info["firstSet"] + i] = {"set": handle, "dynamicOffsets": offsets[:count]}
                offsets = offsets[count:]
            self.put_set(point_of(info), info["layout"], bound)
        elif name.startswith("vkCmdPushDescriptorSet"):
            written = {(w["dstBinding"], w["dstArrayElement"] + i) for w in info["pDescriptorWrites"] for i in range(w["descriptorCount"])}
            self.put_set(point_of(info), info["layout"], {info["set"]: {"pushed": {at: written}}})
        elif name.startswith("vkCmdSetDescriptorBufferOffsets"):
            pairs = zip(info["pBufferIndices"], info["pOffsets"])
            self.put_set(point_of(info), info["layout"], {info["firstSet"] + i: {"descriptorBuffer": b, "offset": o} for i, (b, o) in enumerate(pairs)})
        elif name.startswith("vkCmdBindDescriptorBufferEmbedded"):
            self.put_set(point_of(info), info["layout"], {info["set"]: {"embeddedSamplers": True}})
        elif name.startswith("vkCmdBindVertexBuffers") and "pBuffers" in args:
            self.dynamic = {k: v for k, v in self.dynamic.items() if k[0] != "vkCmdBindVertexBuffers3KHR" or not 0 <= k[1] - args["firstBinding"] < args["bindingCount"]}
            for i, pair in enumerate(zip(args["pBuffers"] or [], args["pOffsets"] or [])):
                self.vertex[args["firstBinding"] + i] = pair
        elif name.startswith("vkCmdBindIndexBuffer") and "buffer" in args:
            self.dynamic = {k: v for k, v in self.dynamic.items() if k[0] != "vkCmdBindIndexBuffer3KHR"}
            self.index = (args["buffer"], args["offset"], args["indexType"])
        elif name == "vkCmdPushDataEXT":
            self.push |= set(range(info["offset"], info["offset"] + info["data"]["size"]))
        elif name.startswith("vkCmdEndConditionalRendering"):
            self.dynamic = {k: v for k, v in self.dynamic.items() if k[0] != "vkCmdBeginConditionalRendering2EXT"}
        elif name.startswith("vkCmdPushConstants"):
            self.push |= set(range(info["offset"], info["offset"] + info["size"]))
        elif name.startswith(("vkCmdBeginRenderPass", "vkCmdBeginRendering")):
            begin = args.get("pRenderPassBegin") or {}
            self.dynamic = {k: v for k, v in self.dynamic.items() if not k[0].startswith("vkCmdSetRendering")}
            self.begun = {"begin": position, "renderPass": begin.get("renderPass"), "framebuffer": begin.get("framebuffer"), "subpass": 0}
        elif name.startswith("vkCmdNextSubpass") and self.begun:
            self.begun = {**self.begun, "subpass": self.begun["subpass"] + 1}
        elif name.startswith("vkCmdEndRender"):
            self.begun = None
        elif name in ("vkCmdBeginDebugUtilsLabelEXT", "vkCmdDebugMarkerBeginEXT"):
            self.labels.append(info.get("pLabelName") or info.get("pMarkerName") or "")
        elif name in ("vkCmdEndDebugUtilsLabelEXT", "vkCmdDebugMarkerEndEXT") and len(self.labels) > self.own_labels:
            self.labels.pop()
        elif name == "vkCmdExecuteCommands":
            self.forget()
        elif STATE.match(name) and not NO_STATE.match(name):
            first = next((k for k in args if k.startswith("first")), None)
            faces = {"VK_STENCIL_FACE_FRONT_BIT": "f", "VK_STENCIL_FACE_BACK_BIT": "b"}.get(args.get("faceMask", ""), "fb")
            count = next((v for k, v in args.items() if k.endswith("Count")), 0) if first else 0
            elements: Iterator[object] = iter(range(args[first], args[first] + count)) if first else iter(faces) if "faceMask" in args else iter([0])
            if name.startswith("vkCmdBindVertexBuffers3"):
                self.vertex = {n: v for n, v in self.vertex.items() if not 0 <= n - args[first] < count}
            elif name.startswith("vkCmdBindIndexBuffer3"):
                self.index = None
            for element in elements:
                self.dynamic[(name if NO_PIPELINE_STATE.match(name) else "*" + folded(name), element)] = at

    def attachments(self) -> list[tuple[str, int, str]] | None:
        """Those of a render pass whose framebuffer names them."""
        if not self.begun or not self.begun["renderPass"] or not self.objects.framebuffers.get(self.begun["framebuffer"]):
            return None
        views = self.objects.framebuffers[self.begun["framebuffer"]]
        subpass = self.objects.passes[self.begun["renderPass"]]["pSubpasses"][self.begun["subpass"]]
        depth = subpass["pDepthStencilAttachment"]
        found = [(role, i, a["attachment"]) for role, key in (("color", "pColorAttachments"), ("resolve", "pResolveAttachments"), ("input", "pInputAttachments"))
                 for i, a in enumerate(subpass[key] or [])] + ([("depth-stencil", 0, depth["attachment"])] if depth else [])
        return sorted((role, i, views[a]) for role, i, a in found if a < len(views))

    def expected(self, name: str) -> dict:
        point = "graphics" if "Draw" in name else "compute" if "Dispatch" in name else "rayTracing"
        sets = self.sets.get(point, {})
        return {"pipeline": self.pipelines.get(point), "labels": list(self.labels), "pass": self.begun,
                "sets": {n: {k: list(v) if k == "pushed" else v for k, v in s.items()} for n, s in sorted(sets.items())},
                "push": sorted(self.push), "dynamic": sorted(set(self.dynamic.values())), "attachments": self.attachments(),
                "shaders": sorted(s for stage, s in self.shaders.items() if s and point != "rayTracing" and (stage.endswith("COMPUTE_BIT")) == (point == "compute")),
                **({"vertex": dict(self.vertex), "index": self.index} if point == "graphics" else {})}


def found(row: dict) -> dict:
    """The same of a line of lapilli draws --json --state."""
    bound = next(iter(row["bound"].values()), {"sets": []})
    begun = row["pass"]
    sets = {s["number"]: {k: [p["command"] for p in v] if k == "pushed" else v for k, v in s.items() if k not in ("number", "command", "compatible")} for s in bound["sets"]}
    named = begun and begun["renderPass"] and begun["attachments"] and all(a["view"] for a in begun["attachments"])
    return {"pipeline": row["pipeline"], "labels": row["labels"], "pass": begun and {k: begun[k] for k in ("begin", "renderPass", "framebuffer", "subpass")}, "sets": sets,
            "push": [b for p in row["pushConstants"] for b in range(p["offset"], p["offset"] + p["size"])],
            "dynamic": sorted(s["command"] for s in row["dynamicState"]),
            "attachments": sorted((a["role"], a["number"], a["view"]) for a in begun["attachments"]) if named else None,
            "shaders": sorted(s["shader"] for s in row["shaders"]), "args": row["args"],
            **({"vertex": {b["binding"]: (b["buffer"], b["offset"]) for b in row["vertexBuffers"]},
                "index": row["indexBuffer"] and tuple(row["indexBuffer"][k] for k in ("buffer", "offset", "type"))} if "vertexBuffers" in row else {})}


def draws_of(lines: list[dict]) -> Iterator[tuple[str, str, dict]]:
    """The position, the command and the state of each draw, in the order of the submits."""
    objects, held, counts, labels = Objects(), {}, {}, QueueLabels()

    def walk(buffer: str, position: str, outer: Bound | None, queue: str) -> Iterator[tuple[str, str, dict]]:
        bound = Bound(objects, outer, (labels.own[queue], labels.left[queue]))
        for line in held.get(buffer, []):
            name, at = line["name"], f"{position}.{line['command']}"
            for i, inner in enumerate(line["args"].get("pCommandBuffers") or [] if name == "vkCmdExecuteCommands" else []):
                yield from walk(inner, f"{at}.{i + 1}", bound, queue)
            bound.see(line["command"], at, name, line["args"])
            if name.startswith(("vkCmdDraw", "vkCmdDispatch", "vkCmdTraceRays")):
                yield at, name, {**bound.expected(name), "args": line["args"]}
        if not outer:
            labels.left[queue] = bound.labels[bound.own_labels:]

    for line in lines:
        if "inFlight" in line or "failed" in line.get("flags", []) or "args" not in line:
            continue
        if "block" in line:
            held[line["commandBuffer"]].append(line)
        elif line["name"] == "lapilliBlock":
            held[line["args"]["commandBuffer"]] = []
        elif line["name"] in ("vkQueueSubmit", "vkQueueSubmit2"):
            counts[line["frame"]] = counts.get(line["frame"], 0) + 1
            number = 0
            for batch in line["args"]["pSubmits"] or []:
                for info in batch.get("pCommandBuffers", batch.get("pCommandBufferInfos")) or []:
                    number += 1
                    yield from walk(info if isinstance(info, str) else info["commandBuffer"], f"{line['frame']}.{counts[line['frame']]}.{number}", None, line["args"]["queue"])
        else:
            labels.see(line)
            objects.see(line["name"], line["args"])


def check_bound(context: Context, file: str, lines: list[dict]) -> int:
    """How many draws there are."""
    list_draws = [context.program("lapilli"), "draws"]
    rows = [json.loads(line) for line in context.run([*list_draws, "--json", "--state", file]).out.splitlines()]
    wanted = list(draws_of(lines))
    check([(row["position"], row["command"]) for row in rows] == [(at, name) for at, name, _ in wanted], f"{file}: draws lists other commands")
    for row, (at, _, expected) in zip(rows, wanted):
        shown = found(row)
        if expected["attachments"] is None or shown["attachments"] is None:
            expected["attachments"] = shown["attachments"] = None
        differ = [key for key in expected if expected[key] != shown[key]]
        check(not differ, "\n".join(f"{file}: {key} at {at} are {shown[key]}, by the printed lines {expected[key]}" for key in differ))
    for row in rows[::max(len(rows) - 1, 1)]:  # the first and the last one
        alone = json.loads(context.run([context.program("lapilli"), "state", "--json", "--at", row["position"], file]).out)
        names = alone.pop("names")
        for bound in (b for point in alone["bound"].values() for b in point["sets"] if "bindings" in b):
            if "pushed" in bound:  # e2e/sets
                bound.pop("bindings")
                continue
            of_set = json.loads(context.run([context.program("lapilli"), "state", "--json", "--at", row["position"], file, bound["set"]]).out)
            check(bound.pop("bindings") == of_set["bindings"], f"{file}: state --at {row['position']} shows other descriptors of {bound['set']} than for the set alone")
        check(all(f'"{handle}"' in json.dumps(row) for handle in names), f"{file}: names of others: {names}")
        check(alone.pop("at") == row["position"] and all(row[key] == value for key, value in alone.items()), f"{file}: state --at {row['position']} shows something else")
    for filters in (["--pass", "*"], []):
        listed = context.run([*list_draws, *filters, file]).out.splitlines()
        middle = len(listed) // 2
        part = context.run([*list_draws, *filters, "--rows", f"{max(middle, 1)}-{middle + 1}", file]).out.splitlines()
        check(part == listed[:1] + listed[max(middle, 1):middle + 2], f"{file}: --rows {middle}-{middle + 1} {filters} shows {part}")
    table = [line.split("\t") for line in listed]
    check(table[0] == "position command vertices instances groups pipeline pass label".split(), str(table[0]))
    for columns, row in zip(table[1:], rows, strict=True):
        numbers = ["-" if row[key] is None else str(row[key]) for key in ("vertices", "instances")]
        check(columns[:4] == [row["position"], row["command"], *numbers] and columns[6] == (row["pass"] or {"begin": "-"})["begin"], f"{file}: {columns} is not {row}")
    return len(rows)
