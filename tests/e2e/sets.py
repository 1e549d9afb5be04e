# SPDX-License-Identifier: MIT
"""What descriptor sets hold, read from the printed lines of a trace, and compared with lapilli state."""

from __future__ import annotations

import json

from e2e.cases import Context, check

STEPS, MOST = 4, 4  # which updates are looked at, and how many sets of each
INLINE = "VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK"


class Sets:
    def __init__(self) -> None:
        self.layouts: dict[str, list[dict]] = {}
        self.sets: dict[str, tuple[str, list[dict]]] = {}  # pool and bindings, in the order of their numbers
        self.contents: dict[str, dict[tuple[int, int], dict]] = {}  # by binding and element
        self.inline: dict[tuple[str, int], int] = {}  # bytes up to the last one that was written
        self.images: dict[str, str] = {}  # of views

    def end(self, which: list[str | None]) -> None:
        for name in which:
            self.sets.pop(name or "", None)
            self.contents.pop(name or "", None)

    def allocate(self, args: dict) -> None:
        info = args["pAllocateInfo"]
        counts = next((c["pDescriptorCounts"] for c in info["pNext"] or [] if "pDescriptorCounts" in c), None)
        for i, name in enumerate(args["pDescriptorSets"]):
            bindings = [dict(b) for b in self.layouts[info["pSetLayouts"][i]]]
            if bindings and bindings[-1]["variable"]:
                bindings[-1]["descriptorCount"] = min(counts[i] if counts else 0, bindings[-1]["descriptorCount"])
            self.sets[name] = (info["descriptorPool"], bindings)
            self.contents[name] = {(b["binding"], k): {"type": b["descriptorType"], "sampler": s, "packet": None}
                                   for b in bindings for k, s in enumerate(b["pImmutableSamplers"] or [])}

    def place(self, name: str, binding: int, element: int) -> tuple[int, int] | None:
        """Behind a binding's end comes the next one."""
        for b in self.sets[name][1]:
            if b["binding"] >= binding and b["descriptorType"] != INLINE:
                if element < b["descriptorCount"]:
                    return b["binding"], element
                element -= b["descriptorCount"]
        return None

    def put(self, name: str, at: tuple[int, int], value: dict) -> None:
        fixed = next(b["pImmutableSamplers"] for b in self.sets[name][1] if b["binding"] == at[0])
        self.contents[name][at] = value | ({"sampler": fixed[at[1]]} if fixed else {})

    def descriptor(self, write: dict, i: int) -> dict:
        kind = write["descriptorType"]
        if "BUFFER" in kind and "TEXEL" not in kind:
            info = write["pBufferInfo"][i]
            return {"type": kind, "object": info["buffer"], "offset": info["offset"], "range": None if info["range"] in (2 ** 64 - 1, str(2 ** 64 - 1)) else info["range"]}
        if "TEXEL" in kind:
            return {"type": kind, "object": write["pTexelBufferView"][i]}
        if "IMAGE" in kind or "SAMPLER" in kind or "INPUT" in kind:
            info = write["pImageInfo"][i]
            sampler = {"sampler": info["sampler"]} if "SAMPLER" in kind and info["sampler"] else {}
            return {"type": kind} | sampler | ({"object": info["imageView"], "image": self.images.get(info["imageView"]), "layout": info["imageLayout"]}
                                               if kind != "VK_DESCRIPTOR_TYPE_SAMPLER" else {})
        structures = next(c["pAccelerationStructures"] for c in write["pNext"] if "pAccelerationStructures" in c)
        return {"type": kind, "object": structures[i]}

    def update(self, index: int, args: dict) -> list[str]:
        for write in args["pDescriptorWrites"] or []:
            name = write["dstSet"]
            if write["descriptorType"] == INLINE:
                key = name, write["dstBinding"]
                self.inline[key] = max(self.inline.get(key, 0), write["dstArrayElement"] + write["descriptorCount"])
                continue
            for i in range(write["descriptorCount"]):
                at = self.place(name, write["dstBinding"], write["dstArrayElement"] + i)
                if at:
                    self.put(name, at, self.descriptor(write, i) | {"packet": index})
        for copy in args["pDescriptorCopies"] or []:
            block, key = (copy["srcSet"], copy["srcBinding"]), (copy["dstSet"], copy["dstBinding"])
            if block in self.inline:
                count = min(copy["descriptorCount"], self.inline[block] - copy["srcArrayElement"])
                self.inline[key] = max(self.inline.get(key, 0), copy["dstArrayElement"] + count)
                continue
            for i in range(copy["descriptorCount"]):
                source = self.place(copy["srcSet"], copy["srcBinding"], copy["srcArrayElement"] + i)
                at = self.place(copy["dstSet"], copy["dstBinding"], copy["dstArrayElement"] + i)
                value = self.contents[copy["srcSet"]].get(source) if source and at else None
                if value and value["packet"] is not None:
                    self.put(copy["dstSet"], at, value | {"packet": index})
        return [w["dstSet"] for w in (args["pDescriptorWrites"] or []) + (args["pDescriptorCopies"] or [])]

    def see(self, index: int, name: str, args: dict) -> list[str]:
        """The sets that the call has written."""
        if name == "vkCreateDescriptorSetLayout":
            info = args["pCreateInfo"]
            flags = next((c["pBindingFlags"] for c in info["pNext"] or [] if "pBindingFlags" in c), None) or ["0"] * info["bindingCount"]
            self.layouts[args["pSetLayout"]] = sorted((b | {"variable": "VARIABLE" in f} for b, f in zip(info["pBindings"] or [], flags)), key=lambda b: b["binding"])
        elif name == "vkCreateImageView":
            self.images[args["pView"]] = args["pCreateInfo"]["image"]
        elif name == "vkAllocateDescriptorSets":
            self.allocate(args)
        elif name == "vkFreeDescriptorSets":
            self.end(args["pDescriptorSets"])
        elif name in ("vkResetDescriptorPool", "vkDestroyDescriptorPool"):
            self.end([n for n, (pool, _) in self.sets.items() if pool == args["descriptorPool"]])
        elif name == "vkUpdateDescriptorSets":
            return self.update(index, args)
        return []


def check_sets(context: Context, file: str, lines: list[dict]) -> None:
    sets = Sets()
    lines = [line for line in lines if "block" not in line and "failed" not in line.get("flags", ["failed"])]
    updates = [line["index"] for line in lines if line["name"] == "vkUpdateDescriptorSets"]
    wanted = set(updates[::max(len(updates) // STEPS, 1)] + updates[-1:])
    for line in lines:
        written = sets.see(line["index"], line["name"], line["args"])
        for name in sorted(set(written))[:MOST] if line["index"] in wanted else ():
            shown = json.loads(context.run([context.program("lapilli"), "state", "--json", "--at", f"#{line['index']}", file, name]).out)["bindings"]
            have = {(b["binding"], e.pop("element")): e for b in shown for e in b.get("elements", ())}
            check(have == sets.contents[name], f"{file} at #{line['index']}: {name} has\n{have}, the printed lines\n{sets.contents[name]}")
            counts = [(b["binding"], b["type"], b.get("count")) for b in shown]
            read = [(b["binding"], b["descriptorType"], None if b["descriptorType"] == INLINE else b["descriptorCount"]) for b in sets.sets[name][1]]
            check(counts == read, f"{file} at #{line['index']}: {name} has the bindings {counts}, the printed lines {read}")
            for b in shown:
                size = sum(len(run["bytes"]) // 2 for run in b.get("bytes", ()))
                check(b["type"] != INLINE or size == sets.inline.get((name, b["binding"]), 0), f"{file} at #{line['index']}: {name} has {size} bytes in {b}")
    check_pushes(context, file, sets)


def check_pushes(context: Context, file: str, sets: Sets) -> None:
    """The bindings of a pushed set are what its pushes leave."""
    lapilli = context.program("lapilli")
    draws = [json.loads(line) for line in context.run([lapilli, "draws", "--json", "--state", file]).out.splitlines()]
    pushing = [draw["position"] for draw in draws if any("pushed" in held for bound in draw["bound"].values() for held in bound["sets"])]
    for at in pushing[::max(len(pushing) // STEPS, 1)]:
        bound = json.loads(context.run([lapilli, "state", "--json", "--at", at, file]).out)["bound"]
        for held in [held for point in bound.values() for held in point["sets"] if "pushed" in held]:
            infos = [push["args"].get("pPushDescriptorSetInfo") or push["args"] for push in held["pushed"]]
            left = {(write["dstBinding"], write["dstArrayElement"] + i): sets.descriptor(write, i) | {"packet": None}
                    for info in infos for write in info["pDescriptorWrites"] if write["descriptorType"] != INLINE for i in range(write["descriptorCount"])}
            have = {(b["binding"], e.pop("element")): e for b in held["bindings"] for e in b["elements"]}
            check(have == left and list(have) == sorted(left), f"{file} at {at}: set {held['number']} has\n{have}, its pushes\n{left}")
