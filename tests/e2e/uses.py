# SPDX-License-Identifier: MIT
"""What a trace does with its objects, read from the printed lines, and compared with lapilli uses."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Iterator

from e2e.bound import POINTS, Bound, Objects
from e2e.cases import Context, check
from e2e.sets import INLINE, Sets

HANDLE = re.compile(r"(Vk\w+):\d+")
EACH = 2  # objects of each type that are compared
LARGE = 64
BINDS = re.compile("vkCmd(Bind(Pipeline|Shaders|DescriptorSets|VertexBuffers|IndexBuffer|TransformFeedbackBuffers)|PushDescriptorSet)")
NO_USE = re.compile("lapilli(Check|WaitQueue|Unchecked|Result|Missing)")
MEMORY = re.compile("lapilliBind|vkBind(Buffer|Image)Memory")
# Calls that do something with what they name, beyond making, describing and asking.
USING = re.compile("vk(Queue|Acquire|WaitFor|WaitSem|ResetFences|ResetQueryPool|SignalSem|SetEvent|ResetEvent|CopyImageToImage|Transition|ReleaseSwap|Convert|WriteSampler|WriteResource"
                   "|Get(FenceStatus|EventStatus|SemaphoreCounter|QueryPoolResults|DescriptorEXT|BufferDeviceAddress|AccelerationStructureDeviceAddress))"
                   "|lapilli(Update|WriteTexels|ExportSync|ImportSync|SeenSync)")
CONTENTS = ("VkImage", "VkBuffer", "VkQueryPool", "VkEvent", "VkImageView", "VkBufferView", "VkFramebuffer", "VkAccelerationStructureKHR", "VkAccelerationStructureNV", "VkMicromapEXT", "VkDeviceMemory", "VkVideoSessionKHR", "VkOpticalFlowSessionNV",
            "VkVideoSessionParametersKHR", "VkIndirectExecutionSetEXT", "VkIndirectCommandsLayoutEXT", "VkIndirectCommandsLayoutNV")
MADE_OF = {"VkImage": ("VkDeviceMemory",), "VkBuffer": ("VkDeviceMemory",), "VkImageView": ("VkImage",), "VkBufferView": ("VkBuffer",), "VkFramebuffer": ("VkImageView",), "VkVideoSessionParametersKHR": ("VkVideoSessionKHR",),
           **dict.fromkeys(("VkAccelerationStructureKHR", "VkMicromapEXT"), ("VkBuffer",))}
STAGES = {"Draw": lambda stage: "COMPUTE" not in stage, "Dispatch": lambda stage: "COMPUTE" in stage, "TraceRays": lambda stage: False}
NOT_LISTED = {"VkInstance", "VkPhysicalDevice", "VkDevice", "VkQueue", "VkDisplayKHR", "VkDisplayModeKHR", "VkDebugUtilsMessengerEXT", "VkDebugReportCallbackEXT",
              "VkDescriptorUpdateTemplate", "VkPrivateDataSlot", "VkValidationCacheEXT", "VkDeferredOperationKHR"}
WRITE, BOTH = "write", "read-write"
# The access to contents by commands and the members that name them; "-": none. A command without an entry may do anything.
ACCESS = [(re.compile(pattern), access) for pattern, access in (
    (r".* [\w.]*Barriers\.", None), (r"vk(Cmd)?(Copy|Blit|Resolve|Build|Decode|Encode)\w* src", "read"), (r"vk(Cmd)?(Copy|Blit|Resolve|Build|Decode|Encode|Fill|Update)\w* dst|vkCmdClear", WRITE),
    (r"vkCmdCopyQueryPoolResults", "read"), (r"vkCmd(Draw|Dispatch)\w*Indirect", "read"), (r"vkCmdBeginConditional", "read"), (r"vk(Begin|End)Command|vkCmd(Begin|End)VideoCoding|vkCmd(Bind|Set(?!Event)|EndRend|Push)", None),
    (r"lapilliUpdate|lapilliWriteTexels|vkResetQueryPool|vkSetEvent|vkResetEvent", WRITE), (r"vkGetEventStatus|vkGetQueryPoolResults", "read"),
    (r"vkTransition|vkCmd(Begin|End|Reset|Write|Wait|SetEvent)", BOTH), (r"(vk(?!Cmd)|lapilli)", None))]


def kind_of(handle: str) -> str:
    return handle.partition(":")[0]


def named(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """The objects in arguments, with the members up to them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from named(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from named(inner, path)
    elif isinstance(value, str) and HANDLE.fullmatch(value):
        yield path, value


class Found(Bound):
    """With what draws use of a render pass, and of transform feedback."""

    def __init__(self, objects: Objects, outer: Found | None) -> None:
        self.begin: dict = outer.begin if outer else {}
        super().__init__(objects, outer)

    def forget(self) -> None:
        super().forget()
        self.feedback: dict[int, str | None] = {}
        self.feeds = False
        self.shader_stages: dict[str, str] = {}
        self.pushes: dict[int, dict] = {}

    def see(self, at: int, position: str, name: str, args: dict) -> None:
        if name.startswith(("vkCmdBeginRenderPass", "vkCmdBeginRendering")):
            self.begin = args
        elif name == "vkCmdBindTransformFeedbackBuffersEXT":
            self.feedback |= {args["firstBinding"] + i: b for i, b in enumerate(args["pBuffers"] or [])}
        elif "TransformFeedback" in name:
            self.feeds = name.startswith("vkCmdBegin")
        elif name.startswith("vkCmdPushDescriptorSet"):
            self.pushes[at] = next((v for k, v in args.items() if k.endswith("Info") and isinstance(v, dict)), args)
        super().see(at, position, name, args)

    def targets(self) -> list[tuple[str, int, str | None]]:
        if not self.begun:
            return []
        info = self.begin.get("pRenderingInfo")
        if not info:
            begin = self.begin["pRenderPassBegin"]
            views = next((c["pAttachments"] for c in begin["pNext"] or [] if c.get("pAttachments")), None) or self.objects.framebuffers.get(begin["framebuffer"], [])
            subpass = self.objects.passes[begin["renderPass"]]["pSubpasses"][self.begun["subpass"]]
            of_pass = [(role, i, a["attachment"]) for role, key in (("color", "pColorAttachments"), ("resolve", "pResolveAttachments")) for i, a in enumerate(subpass[key] or [])]
            of_pass += [("depth-stencil", 0, a["attachment"]) for a in [subpass["pDepthStencilAttachment"]] if a]
            of_pass += [("input", i, a["attachment"]) for i, a in enumerate(subpass["pInputAttachments"] or [])]
            return [(role, i, views[a]) for role, i, a in of_pass if a < len(views)]
        found = []
        given = [("color", i, a) for i, a in enumerate(info["pColorAttachments"] or [])] + [(role, 0, info[f"p{role.title()}Attachment"]) for role in ("depth", "stencil")]
        for role, i, a in given:
            if a and a["imageView"]:
                found.append((role, i, a["imageView"]))
                if a["resolveMode"] != "VK_RESOLVE_MODE_NONE":
                    found.append(("resolve" if role == "color" else f"{role}-resolve", i, a["resolveImageView"]))
        for c in info["pNext"] or []:
            role = "shading-rate" if "SHADING_RATE" in c["sType"] else "density-map" if "DENSITY_MAP_ATTACHMENT" in c["sType"] else None
            found += [(role, 0, c["imageView"])] if role else []
        return found


class Uses:
    """rows: (object, position, command, access, how, set, descriptors of the binding): what is done with each object by its own name."""

    def __init__(self, lines: list[dict]) -> None:
        self.rows: list[tuple] = []
        self.objects, self.sets = Objects(), Sets()
        self.made: list[tuple[str, str]] = []  # an object, and one that its creation names
        self.creations: dict[str, int] = {}
        self.described: set[str] = set()
        self.held: dict[str, list[dict]] = {}
        self.swapchains: dict[str, list[str]] = {}
        self.counts: dict[int, int] = {}
        for line in lines:
            if "inFlight" in line or "failed" in line.get("flags", []) or "args" not in line:
                continue
            if "block" in line:
                self.held[line["commandBuffer"]].append(line)
            else:
                self.call(line)

    def add(self, handle: str | None, at: str, name: str, access: str | None, how: str, of_set: str | None = None, count: int = 1) -> None:
        if handle:
            self.rows.append((handle, at, name, access if kind_of(handle) in CONTENTS else None, how, of_set, count))

    def name(self, at: str, name: str, args: dict, call: bool) -> None:
        for i, (path, handle) in enumerate(named(args)):
            member = path.rpartition(".")[2]
            if i == 0 and "." not in path and next(iter(args)) == path and (not call or kind_of(handle) == "VkDevice") and name != "vkDestroyDevice":
                continue
            barrier = re.search(r"\bp(Buffer|Image)MemoryBarriers\.", path)
            access = next((a for p, a in ACCESS if p.match(f"{name} {path if barrier else member}")), BOTH)
            copy = re.match("vk(Cmd)?(Copy|Blit|Resolve)", name) and access and kind_of(handle) in CONTENTS
            how = ("barrier" if barrier else "copy source" if copy and member.startswith("src") else "copy destination" if copy and member.startswith("dst")
                   else "clear" if access and name.startswith("vkCmdClear") else "indirect arguments" if access == "read" and re.match(r"vkCmd(Draw|Dispatch|TraceRays)\w*Indirect", name)
                   else "bound memory" if MEMORY.match(name) else "view" if re.match("vkCreate(Image|Buffer)View", name) and member in ("image", "buffer") else member)
            self.add(handle, at, name, access, how)

    def call(self, line: dict) -> None:
        name, args, at = line["name"], line["args"], f"#{line['index']}"
        if name == "lapilliBlock":
            self.held[args["commandBuffer"]] = []
        if not NO_USE.match(name):
            self.name(at, name, args, True)
        self.objects.see(name, args)
        self.sets.see(line["index"], name, args)
        if name == "vkUpdateDescriptorSets":
            self.described |= {handle for _, handle in named(args)}
        self.make(line["index"], name, args)
        for swapchain, i in zip(args["pPresentInfo"]["pSwapchains"], args["pPresentInfo"]["pImageIndices"]) if name == "vkQueuePresentKHR" else ():
            self.add((self.swapchains.get(swapchain) or {i: None})[i], at, name, "read", "presented")
        if name in ("vkQueueSubmit", "vkQueueSubmit2"):
            number, frame = 0, line["frame"]
            self.counts[frame] = self.counts.get(frame, 0) + 1
            for batch in args["pSubmits"] or []:
                for info in batch.get("pCommandBuffers", batch.get("pCommandBufferInfos")) or []:
                    number += 1
                    self.run(info if isinstance(info, str) else info["commandBuffer"], f"{frame}.{self.counts[frame]}.{number}", None)

    def make(self, index: int, name: str, args: dict) -> None:
        if name.startswith("lapilliBind") and args["memory"]:
            self.made.append((next(iter(args.values())), args["memory"]))
        if not re.match("vk(Create|Allocate|Get(Device|Swapchain)|Enumerate)", name) or not args:
            return
        last = list(args)[-1] if name != "vkAllocateMemory" else "pMemory"
        made = [handle for _, handle in named(args[last])]
        if name == "vkGetSwapchainImagesKHR" and made:
            self.swapchains[args["swapchain"]] = made
        for i, handle in enumerate(made):
            self.creations.setdefault(handle, index)
            parts = args | ({"pCreateInfos": args["pCreateInfos"][i]} if "pCreateInfos" in args else {}) | {last: None}
            if name == "vkAllocateDescriptorSets":
                parts["pAllocateInfo"] = args["pAllocateInfo"] | {"pSetLayouts": [args["pAllocateInfo"]["pSetLayouts"][i]]}
            for _, of in named({k: v for k, v in parts.items() if k != "device"}):
                self.made.append((handle, of))

    def run(self, buffer: str, position: str, outer: Found | None) -> None:
        bound = Found(self.objects, outer)
        for line in self.held.get(buffer, []):
            name, args, at = line["name"], line["args"], f"{position}.{line['command']}"
            for i, inner in enumerate(args["pCommandBuffers"] or [] if name == "vkCmdExecuteCommands" else []):
                self.run(inner, f"{at}.{i + 1}", bound)
            bound.see(line["command"], at, name, args)
            if not BINDS.match(name):
                self.name(at, name, args, False)
            for role, i, view in bound.targets() if name == "vkCmdClearAttachments" else ():
                if any(("COLOR" in c["aspectMask"] and c["colorAttachment"] == i) if role == "color" else
                       any(aspect in c["aspectMask"] for aspect in role.upper().split("-")) and "resolve" not in role for c in args["pAttachments"]):
                    self.add(view, at, name, WRITE, f"{role} attachment {i}" if role == "color" else f"{role} attachment")
            work = re.match("vkCmd(Draw|Dispatch|TraceRays|ExecuteGenerated)", name)
            if work:
                self.find(bound, at, name, work[1])

    def find(self, bound: Found, at: str, name: str, work: str) -> None:
        points = {"Draw": ["graphics"], "Dispatch": ["compute"], "TraceRays": ["rayTracing"]}.get(work, list(POINTS.values()))
        for stage, shader in bound.shaders.items():
            if STAGES.get(work, lambda stage: True)(stage):
                self.add(shader, at, name, None, "shader")
        for point in points:
            pipeline = bound.pipelines.get(point)
            self.add(pipeline, at, name, None, "pipeline")
            layout = self.objects.layouts.get(self.objects.pipelines[pipeline][0] or "") if pipeline else None
            for number, held in sorted(bound.sets.get(point, {}).items()):
                if layout and number >= len(layout["sets"]):
                    continue
                if held.get("set") in self.sets.contents:
                    self.add(held["set"], at, name, None, f"set {number}")
                    counts = {b["binding"]: b["descriptorCount"] for b in self.sets.sets[held["set"]][1]}
                    self.descriptors(at, name, f"set {number}", held["set"], {k: (d, counts[k[0]]) for k, d in sorted(self.sets.contents[held["set"]].items())})
                elif "pushed" in held:
                    self.descriptors(at, name, f"pushed set {number}", None, self.pushed(bound, held))
        if "graphics" not in points:
            return
        for binding, (buffer, _) in bound.vertex.items() if "MeshTasks" not in name else ():
            self.add(buffer, at, name, "read", f"vertex buffer {binding}")
        if bound.index and ("Indexed" in name or work == "ExecuteGenerated"):
            self.add(bound.index[0], at, name, "read", "index buffer")
        for binding, buffer in bound.feedback.items() if bound.feeds else ():
            self.add(buffer, at, name, WRITE, f"transform feedback {binding}")
        for role, i, view in bound.targets():
            access = WRITE if role == "color" or "resolve" in role else BOTH if role.startswith(("depth", "stencil")) else "read"
            self.add(view, at, name, access, f"{role} attachment {i}" if role in ("color", "resolve", "input") else f"{role} attachment")

    def pushed(self, bound: Found, held: dict) -> dict:
        found: dict = {}
        for push in held["pushed"]:
            for write in bound.pushes[push]["pDescriptorWrites"]:
                for i in range(write["descriptorCount"] if write["descriptorType"] != INLINE else 0):
                    found[write["dstBinding"], write["dstArrayElement"] + i] = (self.sets.descriptor(write, i), write["descriptorCount"])
        return found

    def descriptors(self, at: str, name: str, where: str, of_set: str | None, found: dict) -> None:
        for (binding, element), (d, count) in found.items():
            kind = d["type"].removeprefix("VK_DESCRIPTOR_TYPE_")
            how = f"{where} binding {binding}{f' [{element}]' if count != 1 else ''} {kind}"
            self.add(d.get("object"), at, name, BOTH if "STORAGE" in kind else "read", how, of_set, count)
            self.add(d.get("sampler"), at, name, None, how, of_set, count)

    def of(self, handle: str) -> list[tuple]:
        through: dict[str, tuple] = {handle: ()}  # of what is made of it
        for made, of in self.made:
            if of in through and made not in through and kind_of(of) in MADE_OF.get(kind_of(made), ()):
                through[made] = (*through[of], made)
        result: list[tuple] = []
        large: dict[tuple, int] = {}
        for named_one, at, name, access, how, of_set, count in self.rows:
            if named_one not in through or (named_one != handle and not access and how != "barrier"):
                continue
            array = re.match(r"(set \d+ binding \d+) \[", how)
            if array and count > LARGE:
                key = (at, array[1])
                if key in large:
                    first = result[large[key]]
                    more = re.search(r" and (\d+) more$", first[3])
                    result[large[key]] = (*first[:3], re.sub(r" and \d+ more$", "", first[3]) + f" and {int(more[1]) + 1 if more else 1} more", first[4])
                    continue
                large[key] = len(result)
            result.append((at, name, access, how, through[named_one] + ((of_set,) if of_set else ())))
        return result

    def unused(self) -> dict[str, str | None]:
        """With why."""
        used = {row[0] for row in self.rows if not row[1].startswith("#") or USING.match(row[2])}
        for made, of in reversed(self.made):
            if made in used:
                used.add(of)
        images = {image for of_swapchain in self.swapchains.values() for image in of_swapchain}
        found = [handle for handle in self.creations if handle not in used and kind_of(handle) not in NOT_LISTED and handle not in images]
        why = {}
        named_by: dict[str, list[str]] = {}
        for made, of in self.made:
            named_by.setdefault(of, []).append(made)
        for handle in found:
            others = named_by.get(handle, [])
            why[handle] = (f"only for {others[0]}{f' and {len(others) - 1} more' if len(others) > 1 else ''}, which nothing uses" if others
                           else "only in descriptors that nothing finds bound" if handle in self.described and kind_of(handle) != "VkDescriptorSet" else None)
        return why


def check_uses(context: Context, file: str, lines: list[dict]) -> None:
    uses = Uses(lines)
    lapilli_uses = [context.program("lapilli"), "uses", "--json"]
    kinds: dict[str, list[tuple[int, str]]] = {}
    for handle, count in Counter(row[0] for row in uses.rows).items():
        kinds.setdefault(kind_of(handle), []).append((count, handle))
    for of_kind in kinds.values():
        for _, handle in sorted(of_kind)[-EACH:]:
            shown = [json.loads(line) for line in context.run([*lapilli_uses, file, handle]).out.splitlines()]
            have = [(r["position"], r["command"], r["access"], r["how"], tuple(r["through"])) for r in shown]
            read = uses.of(handle)
            extra, lacking = Counter(have) - Counter(read), Counter(read) - Counter(have)
            check(not extra and not lacking, f"{file}: uses of {handle}: only uses has {list(extra)[:9]}, only the printed lines {list(lacking)[:9]}")
    shown = {r["object"]: r["why"] for r in map(json.loads, context.run([*lapilli_uses, "--unused", file]).out.splitlines())}
    read = uses.unused()
    check(shown == read, f"{file}: unused: only uses has {sorted(shown.items() - read.items())[:9]}, only the printed lines {sorted(read.items() - shown.items())[:9]}")
