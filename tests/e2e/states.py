# SPDX-License-Identifier: MIT
"""lapilli state of every program: layouts of images are those that the layer copied from, and that barriers and render passes
give; what synchronizes is as the program found it when it asked."""

from __future__ import annotations

from typing import Callable

from e2e.cases import Context, Program, check, programs, skip_lacking
from e2e.state import state
from e2e.trees import Reading, prepare_somewhere

FIRST = ("depth", "queues", "counts", "modern")
MOST, MOST_COPIES = 40, 200  # questions of a kind for each trace

SUBMITS = ("vkQueueSubmit", "vkQueueSubmit2", "vkTransitionImageLayoutEXT", "vkTransitionImageLayout")


def some(found: list, most: int = MOST) -> list:
    return found[::max(1, len(found) // most)]


class Asking:
    """A trace, its printed lines, and lapilli state of it."""

    def __init__(self, context: Context, file: str) -> None:
        self.context, self.file = context, file
        self.lines = context.print_lines(file)
        self.packets = [line for line in self.lines if "block" not in line]
        self.compared: dict[str, int] = {}

    def ask(self, kind: str, at: str, name: str, member: str) -> dict:
        self.compared[kind] = self.compared.get(kind, 0) + 1
        return state(self.context, "--at", at, self.file, name)[member]

    def layout(self, kind: str, at: str, image: str, aspect: str, level: int, layer: int) -> str:
        layouts = self.ask(kind, at, image, "layouts")
        found = [r["layout"] for r in layouts["ranges"] if aspect in r["aspects"] and 0 <= level - r["level"] < r["levels"] and 0 <= layer - r["layer"] < r["layers"]]
        return found[0] if len(found) == 1 else f"{layouts}"


# ---- layouts ----

def check_copied(asking: Asking) -> int:
    """The layer's own layouts: of every subresource that it copied from. Returns how many there are."""
    last, found = 0, {}
    for line in asking.packets:
        last = line["index"] if line["name"] in SUBMITS else last
        if line["name"] == "lapilliCheckTexels":
            found.setdefault((last, line["args"]["image"]), []).append(line)
    count = sum(map(len, found.values()))
    for (last, image), lines in some(sorted(found.items()), MOST_COPIES):
        ranges = asking.ask("moments", f"#{last}", image, "layouts")["ranges"]
        for line in lines:
            args = line["args"]
            asking.compared["texels"] = asking.compared.get("texels", 0) + 1
            ours = [r["layout"] for r in ranges if args["aspect"] in r["aspects"].split(" | ") and 0 <= args["mipLevel"] - r["level"] < r["levels"]
                    and 0 <= args["arrayLayer"] - r["layer"] < r["layers"]]
            check(ours == [args["layout"]], f"{asking.file}: #{line['index']}: {image} is in {args['layout']}, state has {ranges}")
    return count


def check_presented(asking: Asking) -> None:
    """What is presented is in the layout for that, as Vulkan demands."""
    images = {line["args"]["swapchain"]: line["args"]["pSwapchainImages"] for line in asking.packets if line["name"] == "vkGetSwapchainImagesKHR" and line["args"]["pSwapchainImages"]}
    for line in some([line for line in asking.packets if line["name"] == "vkQueuePresentKHR"]):
        info = line["args"]["pPresentInfo"]
        for swapchain, number in zip(info["pSwapchains"], info["pImageIndices"]):
            layout = asking.layout("presents", f"#{line['index'] - 1}", images[swapchain][number], "COLOR", 0, 0)
            check(layout in ("VK_IMAGE_LAYOUT_PRESENT_SRC_KHR", "VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR"), f"{asking.file}: #{line['index']} presents an image in {layout}")


QUERIES = {"vkCmdResetQueryPool": ("firstQuery", "reset"), "vkCmdBeginQuery": ("query", "begun"), "vkCmdEndQuery": ("query", "ended"), "vkCmdWriteTimestamp": ("query", "ended"),
           "vkCmdWriteTimestamp2": ("query", "ended")}
EVENTS = {"vkCmdSetEvent": "set", "vkCmdSetEvent2": "set", "vkCmdResetEvent": "reset", "vkCmdResetEvent2": "reset"}


def check_commands(asking: Asking) -> None:
    """Right behind a barrier, a beginning, the next subpass and an end of a render pass, and what changes queries and events."""
    made = {name: line["args"]["pCreateInfo"] for line in asking.packets for name in line["args"].values()
            if line["name"].startswith(("vkCreateRenderPass", "vkCreateImageView", "vkCreateFramebuffer")) and isinstance(name, str)}
    found, inside = [], None
    for at, line in Reading(asking.lines, asking.context.info(asking.file)["frames"]).at.items():
        name, args = line["name"], line["args"]
        for barrier in args.get("pImageMemoryBarriers") or (args.get("pDependencyInfo") or {}).get("pImageMemoryBarriers") or []:
            where = barrier["subresourceRange"]
            if name.startswith("vkCmdPipelineBarrier") and barrier["newLayout"] != "VK_IMAGE_LAYOUT_UNDEFINED" and barrier["image"]:
                found.append(("barriers", at, barrier["image"], where["aspectMask"].split(" | ")[0], where, barrier["newLayout"]))
        if name in QUERIES:
            found.append(("commands", at, args["queryPool"], args[QUERIES[name][0]], QUERIES[name][1]))
        if name in EVENTS:
            found.append(("commands", at, args["event"], None, EVENTS[name]))
        if name.startswith("vkCmdBeginRenderPass"):
            inside = [args["pRenderPassBegin"], 0]
        elif name.startswith("vkCmdNextSubpass"):
            inside[1] += 1
        elif not name.startswith("vkCmdEndRenderPass"):
            continue
        info, views = made[inside[0]["renderPass"]], (made[inside[0]["framebuffer"]] or {}).get("pAttachments") or []
        subpass = info["pSubpasses"][inside[1]]
        layouts = [(i, a["finalLayout"]) for i, a in enumerate(info["pAttachments"] or [])] if name.startswith("vkCmdEnd") else \
                  [(r["attachment"], r["layout"]) for r in (subpass["pColorAttachments"] or []) + [subpass["pDepthStencilAttachment"]] if r]
        for number, layout in layouts:
            view = made[views[number]] if number < len(views) else None
            if view and "COLOR" in view["subresourceRange"]["aspectMask"]:
                found.append(("passes", at, view["image"], "VK_IMAGE_ASPECT_COLOR_BIT", view["subresourceRange"], layout))
    for kind in ("barriers", "passes"):
        for _, at, image, aspect, where, layout in some([one for one in found if one[0] == kind]):
            ours = asking.layout(kind, at, image, aspect, where["baseMipLevel"], where["baseArrayLayer"])
            check(ours == layout, f"{asking.file}: {at} leaves {image} in {layout}, state has {ours}")
    for _, at, name, query, expected in some([one for one in found if one[0] == "commands"]):
        ours = asking.ask("commands", at, name, "sync")
        ours = ours if query is None else next(run for run in ours["queries"] if 0 <= query - run["first"] < run["count"])
        check((ours["state"], ours["by"]["position"]) == (expected, at), f"{asking.file}: {at} leaves {name} {expected}, state has {ours}")


# ---- synchronization ----

def is_settled(by: dict | None) -> bool:
    return by is None or by["over"]


def check_fence(asking: Asking, at: str, args: dict) -> None:
    for fence in args.get("pFences") or [args["fence"]]:
        found = asking.ask("fences", at, fence, "sync")
        check(found["state"] != "unsignaled", f"{asking.file}: behind {at} {fence} is signaled, state has {found}")
        found, packet = asking.ask("fences", f"#{int(at[1:]) + 1}", fence, "sync"), int(at[1:]) + 1
        check(found["state"] == "not known" or (found["state"], found["seen"]) == ("signaled", packet), f"{asking.file}: #{packet} sees {fence}, state has {found}")


def check_event(asking: Asking, at: str, args: dict) -> None:
    found = asking.ask("events", at, args["event"], "sync")
    check(found["state"] == "set" or not is_settled(found["by"]), f"{asking.file}: behind {at} {args['event']} is set, state has {found}")


def check_value(asking: Asking, at: str, args: dict) -> None:
    info = args.get("pWaitInfo") or {"pSemaphores": [args.get("semaphore")], "pValues": [args.get("pValue")]}
    for semaphore, value in zip(info["pSemaphores"], info["pValues"]):
        found = asking.ask("values", at, semaphore, "sync")
        most = max([found["value"] or 0] + [signal["value"] for signal in found["signals"]])
        exact = "pValue" in args  # a wait is for a value that may be passed
        check(found["state"] == "not known" or ((found["value"] <= value or not exact) and value <= most), f"{asking.file}: behind {at} {semaphore} has {value}, state has {found}")


def check_queries(asking: Asking, at: str, args: dict) -> None:
    if "VK_QUERY_RESULT_PARTIAL_BIT" in str(args["flags"]) and "VK_QUERY_RESULT_WAIT_BIT" not in str(args["flags"]):
        return
    found = asking.ask("queries", at, args["queryPool"], "sync")
    for run in found["queries"]:
        if run["first"] < args["firstQuery"] + args["queryCount"] and args["firstQuery"] < run["first"] + run["count"]:
            check(run["state"] == "ended" or not is_settled(run["by"]), f"{asking.file}: behind {at} queries of {args['queryPool']} are available, state has {run}")


def check_idle(asking: Asking, at: str, args: dict) -> None:
    check(not asking.ask("queues", f"#{int(at[1:]) + 1}", args["queue"], "sync")["pending"], f"{asking.file}: {args['queue']} has work behind {at}")


QUESTIONS = {"vkWaitForFences": check_fence, "vkGetFenceStatus": check_fence, "vkGetEventStatus": check_event, "vkWaitSemaphores": check_value,
             "vkGetSemaphoreCounterValue": check_value, "vkGetQueryPoolResults": check_queries, "vkQueueWaitIdle": check_idle, "lapilliWaitQueue": check_idle}


def check_asked(asking: Asking) -> int:
    count = 0
    for name, check_one in QUESTIONS.items():
        lines = [line for line in asking.packets if line["name"] == name and "failed" not in line["flags"]]
        count += len(lines)
        for line in some(lines):
            check_one(asking, f"#{line['index'] - 1}", line["args"])
    return count


def states(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_somewhere(context, program)
        done = context.run(command, context.layer_env(LAPILLI_VERIFY="all"), expect=None)
        skip_lacking(done)
        for file in sorted(path.name for path in context.folder.glob("*.lapilli")):
            asking = Asking(context, file)
            copied, asked = check_copied(asking), check_asked(asking)
            check_presented(asking)
            check_commands(asking)
            check(not copied or asking.compared["texels"] >= 1, f"{file}: of {copied} layouts none was compared")
            check(not asked or len(asking.compared) >= 1, f"{file}: of {asked} answers none was compared")
    return run


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    return {program.name if program.name in FIRST else f"each/{program.name}": states(program) for program in programs(context)}
