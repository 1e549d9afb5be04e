# SPDX-License-Identifier: MIT
"""The right of the page, its keys and its links: against what the verbs say."""

from __future__ import annotations

import json

from e2e.browser import Browser
from e2e.cases import Cases, Context, check
from e2e.page import READY, lines
from e2e.server import Server, record, verb

CASES = Cases()
case = CASES.add


def state_of(context: Context, at: str, file: str = "out.lapilli") -> dict:
    return json.loads(verb(context, ["state", "--json", "--at", at, "FILE"], file).stdout)


def go_to(browser: Browser, at: str, query: str = "") -> None:
    browser.evaluate(f"location.hash = location.hash.replace(/commands.*/, 'commands/{at}{query}')")
    shown(browser, at)


def shown(browser: Browser, at: str) -> None:
    browser.wait_until(f"document.querySelector('#state').dataset.at == '{at}' && location.hash.split('?')[0].endsWith('/{at}') && {READY}")


@case
def a_key_keeps_the_draw_in_the_next_frame(context: Context) -> None:
    """By its path, else by its number in the pass, else among the dispatches of its pipeline; over a frame that lacks it, too."""
    for name in ("stencil", "raster"):
        record(context, [context.app(name)], f"{name}.lapilli")
    draws = {name: [json.loads(line) for line in verb(context, ["draws", "--json", "FILE"], f"{name}.lapilli").stdout.splitlines()] for name in ("stencil", "raster")}

    def at(name: str, frame: int, number: int) -> str:
        return [row["position"] for row in draws[name] if row["position"].startswith(f"{frame}.")][number]

    # In these the paths or the pipelines differ: the first draw of the only pass, and the dispatch.
    ways = [("stencil", [at("stencil", frame, number) for frame in (1, 2)]) for number in (0, 1)]
    ways += [("raster", [at("raster", 1, 3), next(row["pass"] for row in draws["raster"] if row["position"].startswith("2.")), at("raster", 3, 3)])]
    check(ways[0][1][0].partition(".")[2] != ways[0][1][1].partition(".")[2], f"{ways}")
    with Server(context, "stencil.lapilli", "raster.lapilli") as server, Browser(context) as browser:
        ids = dict(zip(("stencil", "raster"), (path.split("/")[-1] for path in server.captures())))
        for name, places in ways:
            browser.open(f"{server.url}#/{ids[name]}/commands/{places[0]}?show=draws&pin=1,1")
            shown(browser, places[0])
            for place in places[1:]:
                browser.key("]")
                shown(browser, place)
            for place in reversed(places[:-1]):
                browser.key("[")
                shown(browser, place)
            check(browser.evaluate("location.hash").endswith("?show=draws&pin=1%2C1".replace("%2C", ",")), browser.evaluate("location.hash"))
        check_viewports(context, browser, [row["position"] for row in draws["raster"]][:3])
        browser.complaints = [text for text in browser.complaints if "404" not in text and "501" not in text]  # a path that a frame lacks, a thumbnail
        browser.check_quiet(server.origin)


def check_viewports(context: Context, browser: Browser, draws: list[str]) -> None:
    for at in draws:
        state = state_of(context, at, "raster.lapilli")
        made = json.loads(verb(context, ["state", "--json", "--at", at, "FILE", state["bound"]["graphics"]["pipeline"]], "raster.lapilli").stdout)["creation"]["args"]["pCreateInfos"]
        fixed = [info["pViewportState"] for info in made]
        sets = {one["name"]: one["args"] for one in state["dynamicState"]}
        found = sets.get("vkCmdSetViewport", fixed[0])["pViewports"][0], sets.get("vkCmdSetScissor", fixed[0])["pScissors"][0]
        go_to(browser, at)
        rows = browser.evaluate("[...document.querySelectorAll('#state [data-part=Viewport] dd')].map((row) => [row.dataset.key, [...row.querySelectorAll('.v-number')].map((one) => Number(one.textContent))])")
        viewport, scissor = found
        check(rows == [["viewport 0", [viewport[name] for name in ("x", "y", "width", "height", "minDepth", "maxDepth")]], ["scissor 0", [*scissor["offset"].values(), *scissor["extent"].values()]]], f"{at}: {rows}, not {found}")
    marks = browser.evaluate("""import('/viewport.js').then(({viewportRows}) => [[0, 0, 8, 8], [8, 0, 8, 8], [0, 0, 0, 8], [-4, -4, 8, 8]].map(([x, y, width, height]) => viewportRows({
        bound: {}, pass: {args: {begin: {renderArea: {offset: {x: 0, y: 0}, extent: {width: 8, height: 8}}}}},
        dynamicState: [{name: 'vkCmdSetScissor', elements: [0, 1], args: {firstScissor: 0, pScissors: [{offset: {x, y}, extent: {width, height}}]}}]}, null,
        (key, label, text, make) => Boolean(make))[0]))""")
    check(marks == [False, True, True, False], f"marks of scissors: {marks}")
