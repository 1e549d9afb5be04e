# SPDX-License-Identifier: MIT
"""The page's first view, the rows of its tree, and runs of uploads that are folded into one row."""

from __future__ import annotations

import json
import statistics

from e2e.browser import Browser
from e2e.cases import Cases, Context, check, prepare, programs
from e2e.page import READY, lines, walk
from e2e.server import Server, record, verb

CASES = Cases()
case = CASES.add

FOLDS = "[...document.querySelectorAll('#tree .fold')].map((row) => [row.dataset.fold, row.querySelector('.what').textContent, row.querySelector('.t').textContent, row.ariaExpanded])"
FACTS = "[...document.querySelectorAll('#tree .row[data-position]')].map((row) => [row.dataset.position, row.querySelector('.named')?.textContent, row.querySelector('.more')?.textContent, row.textContent])"


def tree(context: Context, *words: str) -> list[dict]:
    return walk(json.loads(verb(context, ["tree", "--json", *words, "FILE"], "out.lapilli").stdout)["nodes"])


def check_first_view(context: Context, browser: Browser, presents: bool) -> str:
    """It is the last draw of a frame that draws about as much as others. The frame."""
    browser.wait_until(f"{READY} && location.hash.includes('/commands/')")
    position = browser.evaluate("location.hash.split('/commands/')[1].split('?')[0]")
    counts = {node["position"]: node["draws"] + node["dispatches"] + node["traces"] for node in tree(context, "--depth", "1")}
    middle = statistics.median_high([count for count in counts.values() if count][:100])
    frame = next(frame for frame, count in counts.items() if count >= 0.9 * middle)
    last = [line for line in lines(context, "draws", "--json", "--at", frame, "FILE") if "Draw" in line["command"]][-1]
    check(position == last["position"], f"{position} is shown first, not {last['position']}")
    check(("target=presented" in browser.evaluate("location.hash")) == presents, "another picture than the presented one")
    browser.wait_until(f"document.querySelector('#tree [aria-selected=true]')?.dataset.position == '{position}'")
    return frame


def check_rows(context: Context, browser: Browser, frame: str) -> None:
    """Draws have the shader and triangles, passes the target, its size and formats, as the verbs have them."""
    draws = {line["position"]: line for line in lines(context, "draws", "--json", "--state", "--at", frame, "FILE")}
    shaders = json.loads(verb(context, ["shaders", "--json", "FILE"], "out.lapilli").stdout)["shaders"]
    browser.wait_until(f"{READY} && document.querySelectorAll('#tree .named').length > 1 && !document.querySelector('#tree .waiting')")
    rows = {position: rest for position, *rest in browser.evaluate(FACTS)}
    for position, draw in draws.items():
        if position not in rows or not draw["pipeline"]:
            continue
        named, _, text = rows[position]
        fragment = next(one for one in shaders if any(user["pipeline"] == draw["pipeline"] for user in one["pipelines"]) and any("FRAGMENT" in stage["stage"] for stage in one["stages"]))
        wanted = draw["names"].get(draw["pipeline"], next(iter(fragment["names"]), fragment["hash"][:8]))
        check(named == wanted, f"{position} is called {named}, not {wanted}")
        if draw["topology"] == "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST":
            count = draw["vertices"] // 3
            check(f"{count:,} triangle" in text, f"{position} has {count} triangles, but the row {text}")
        begun = draw["pass"]
        first = begun["attachments"][0]
        named, more, _ = rows[begun["begin"]]
        check(named == draw["names"].get(first["image"], first["image"]) and first["format"].removeprefix("VK_FORMAT_") in more, f"{begun['begin']}: {named} {more}")


@case
def draws_and_passes_are_told_apart(context: Context) -> None:
    """Of a program with names, which draws into an image."""
    record(context, [context.app("modern")])
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        check_rows(context, browser, check_first_view(context, browser, False))
        browser.check_quiet(server.origin)


@case
def the_first_view_is_what_a_busy_frame_presents(context: Context) -> None:
    """With pictures of the frames around it, without a click."""
    prepare(context, shown := next(program for program in programs(context) if program.name == "triangle"))
    record(context, shown.command)
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        check_rows(context, browser, check_first_view(context, browser, True))
        browser.wait_until("document.querySelectorAll('#film-strip img').length > 0")
        browser.check_quiet(server.origin)


@case
def uploads_are_folded_into_one_row(context: Context) -> None:
    """Command buffers that only copy. The fold opens by keys, and for an address in it."""
    record(context, [context.app("again")])
    run = [node for node in tree(context, "--at", "2", "--depth", "2") if node["kind"] == "command buffer"]
    copies = sum(node["transfers"] for node in run)
    check(len(run) > 3 and not any(node["draws"] for node in run), f"{run}")
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        browser.wait_until(READY)
        browser.evaluate("location.hash = location.hash.replace(/commands.*/, 'commands/2.1')")
        fold = [run[0]["position"], f"{len(run)} command buffers", f"{copies} copies"]
        browser.wait_until(f"{READY} && document.querySelector('#tree [aria-selected=true]')?.dataset.position == '2.1' && document.querySelectorAll('#tree .fold').length == 1")
        shown = browser.evaluate(FOLDS)
        check(shown == [[*fold, "false"]], f"{shown}, not {fold}")
        browser.evaluate("document.querySelector('#tree').focus()")
        for key, said in (("ArrowDown", "false"), ("ArrowRight", "true")):
            browser.key(key)
            browser.wait_until(f"document.querySelector('#tree .fold.here')?.ariaExpanded == '{said}'")
        check(browser.evaluate("location.hash").split("?")[0].endswith("/2.1"), "a fold is a place")
        browser.key("ArrowRight")
        for node in run[:2]:
            browser.wait_until(f"{READY} && document.querySelector('#tree [aria-selected=true]')?.dataset.position == '{node['position']}' && location.hash.split('?')[0].endsWith('/{node['position']}')")
            browser.key("ArrowDown")
        for key in ("ArrowLeft", "ArrowLeft"):
            browser.key(key)
        browser.wait_until(f"{READY} && document.querySelector('#tree .fold.here')?.ariaExpanded == 'false'")
        rows = [position for position, *_ in browser.evaluate(FACTS)]
        check(not {node["position"] for node in run} & set(rows), f"{rows} are shown beside their fold")
        inside = next(node for node in tree(context, "--at", run[-1]["position"]) if node["kind"] == "command")["position"]
        browser.evaluate(f"location.hash = location.hash.replace(/commands.*/, 'commands/{inside}')")
        browser.wait_until(f"{READY} && document.querySelector('#tree [aria-selected=true]')?.dataset.position == '{inside}' && document.querySelector('#tree .fold').ariaExpanded == 'true'")
        browser.check_quiet(server.origin)
