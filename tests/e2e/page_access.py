# SPDX-License-Identifier: MIT
"""The page for people who see little, use no mouse, or another browser: names, roles, contrast, the order of the focus, targets of a finger."""

from __future__ import annotations

import base64
from itertools import groupby
from pathlib import Path

from e2e.browser import Browser
from e2e.cases import Cases, Context, check
from e2e.firefox import Firefox
from e2e.page import DIFFERENT, READY, ROWS, lines
from e2e.server import Server, record

CASES = Cases()
case = CASES.add

SCRIPT = Path(__file__).with_suffix(".js").read_text()
ORDER = ["header", "film", "tree-pane", "splitter", "picture-tools", "picture", "picture-probe", "splitter", "state-pane", "footer"]


def unnamed(browser: Browser) -> list[str]:
    """What can have the focus and has no name, as the browser tells it to a screen reader."""
    found = []
    for node in browser.send("Accessibility.getFullAXTree")["nodes"]:
        focusable = any(one["name"] == "focusable" and one["value"].get("value") for one in node.get("properties", []))
        if focusable and not node["ignored"] and not node.get("name", {}).get("value", "").strip():
            about = browser.send("DOM.describeNode", backendNodeId=node["backendDOMNodeId"])["node"]
            found.append(f"no name: {node['role']['value']} {about['nodeName']} {about.get('attributes')}")
    return found


def views(browser: Browser, capture: str, draw: str):
    """Each view of a draw, once it is there."""
    def go(address: str, shown: str) -> None:
        browser.evaluate(f"location.hash = '#/{capture}/{address}'")
        browser.wait_until(f"{READY} && !!document.querySelector('{shown}') && !document.querySelector('.skeleton')")

    go(f"commands/{draw}", "#picture[data-loaded*=framebuffer]")
    yield "commands"
    browser.click("#picture-menu")
    yield "menu"
    browser.key("Escape")
    browser.key("?")
    yield "keys"
    browser.key("Escape")
    browser.click("#picture-canvas")
    browser.wait_until(f"{READY} && !!document.querySelector('#history-list [data-texel]')")
    yield "history"
    go(f"commands/{draw}?target=mesh", "#mesh[data-loaded]")
    yield "mesh"
    [buffer, *_] = browser.evaluate("[...document.querySelectorAll('#state [data-object^=VkBuffer]')].map((one) => one.dataset.object)")
    go(f"commands/{draw}?object={buffer}", "#drawer-view .memory .line[data-offset]")
    yield "drawer"
    for query in ("", "&type=VkImage", "&type=VkImage&table=1", "&type=VkBuffer"):
        go(f"objects?at={draw}{query}", "#object-list [data-listed]")
        browser.click("#object-list [data-listed]")
        browser.wait_until(f"{READY} && !!document.querySelector('#object-list [aria-selected=true]')")
        yield f"objects {query}"
    go("shaders", "#shader-list [data-listed]")
    browser.click("#shader-list [data-listed]")
    browser.wait_until(f"{READY} && !!document.querySelector('#shader-view[data-shader] .line')")
    yield "shaders"
    go("report", "#report-view > *")
    yield "report"


@case
def it_can_be_read_and_heard(context: Context) -> None:
    """In each view, dark and light: what has the focus has a name, roles are whole, and texts and fields stand out (WCAG 2.2, AA)."""
    record(context, [context.app("modern")])
    draw = lines(context, "draws", "--json", "FILE")[0]["position"]
    wrong = []
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.send("Accessibility.enable")
        browser.open(server.url)
        browser.wait_until(READY)
        browser.evaluate(SCRIPT)
        for view in views(browser, server.captures()[0].split("/")[-1], draw):
            found = unnamed(browser) + browser.evaluate("access.roles()")
            for scheme in ("light", "dark"):
                browser.scheme(scheme)
                found += [f"{scheme}: {one}" for one in browser.evaluate("access.texts().concat(access.fields())")]
            wrong += [f"{view}: {one}" for one in found]
        check(not wrong, "\n".join(wrong))
        browser.complaints = [text for text in browser.complaints if "501" not in text]  # a picture that only a replay has
        browser.check_quiet(server.origin)


@case
def the_focus_goes_as_one_reads(context: Context) -> None:
    """Tab visits the parts from the top to the bottom, and what has the focus can be seen. A finger finds what it aims at."""
    record(context, [context.app("modern")])
    draw = lines(context, "draws", "--json", "FILE")[0]["position"]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(f"{server.url}#/{server.captures()[0].split('/')[-1]}/commands/{draw}")
        browser.wait_until(f"{READY} && (document.querySelector('#picture').dataset.loaded ?? '').includes('framebuffer')")
        browser.evaluate(SCRIPT)
        steps = []
        while not steps or steps[-1]["area"] not in ("BODY", "footer"):
            browser.key("Tab")
            steps.append(browser.evaluate("access.focus()"))
            check(len(steps) < 300, f"it does not end: {steps[-9:]}")
        hidden = [step["told"] for step in steps if not step["ring"]]
        check(not hidden, f"the focus can't be seen: {hidden}")
        order = [area for area, _ in groupby(step["area"] for step in steps)]
        check(order == ORDER, f"{order}")
        browser.size(900, 700)
        for where in (None, "#picture-menu", "mesh"):
            if where == "mesh":
                browser.evaluate("location.hash += '?target=mesh'")
                browser.wait_until(f"{READY} && !!document.querySelector('#mesh[data-loaded] .mesh-row')")
            elif where:
                browser.click(where)
            small = browser.evaluate("access.targets()")
            check(not small, "\n".join(small))
        browser.key("Escape")


@case
def two_fingers_zoom(context: Context) -> None:
    """What is between them grows as they go apart, and stays under them. They pin nothing."""
    record(context, [context.app("modern")])
    draw = lines(context, "draws", "--json", "FILE")[0]["position"]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(f"{server.url}#/{server.captures()[0].split('/')[-1]}/commands/{draw}")
        browser.wait_until(f"{READY} && (document.querySelector('#picture').dataset.loaded ?? '').includes('framebuffer')")
        box = "(({x, width}) => [x, width])(document.querySelector('#picture-canvas').getBoundingClientRect())"
        middle, (left, wide) = browser.place("#picture-canvas"), browser.evaluate(box)

        def touch(kind: str, *away: int) -> None:
            browser.send("Input.dispatchTouchEvent", type=kind, touchPoints=[{"id": i, "x": middle["x"] + x, "y": middle["y"]} for i, x in enumerate(away)])

        touch("touchStart", -20)
        touch("touchStart", -20, 20)
        for away in (25, 32, 40):
            touch("touchMove", -away, away)
        touch("touchEnd")
        browser.wait_until(f"Math.abs({box}[1] - {2 * wide}) < 1")
        check(abs(browser.evaluate(box)[0] - (left - wide / 2)) < 1, f"{browser.evaluate(box)}, not around {left + wide / 2}")
        check("pin" not in browser.evaluate("location.hash"), browser.evaluate("location.hash"))
        browser.check_quiet(server.origin)


@case
def firefox_shows_it_too(context: Context) -> None:
    """The rows are the draws of the frame, the canvas has the picture of the verb, a finger pins a texel, and all views come without an error."""
    record(context, [context.app("triangle"), "--offscreen"])
    draws = [draw["position"] for draw in lines(context, "draws", "--json", "--at", "3", "FILE")]
    [line, *_] = lines(context, "image", "--json", "--quiet", "-o", "pictures", "--after", draws[0], "FILE")
    picture = base64.b64encode((context.folder / "pictures" / f"{draws[0]}-{line['name']}.png").read_bytes()).decode()
    with Server(context, "out.lapilli") as server, Firefox(context) as browser:
        browser.open(f"{server.url}#/{server.captures()[0].split('/')[-1]}/commands/{draws[0]}")
        browser.wait_until(f"{READY} && (document.querySelector('#picture')?.dataset.loaded ?? '').includes('framebuffer')")
        check(browser.evaluate(DIFFERENT % picture) == 0, "the canvas has another picture")
        shown = [position for position, _ in browser.evaluate(ROWS)]
        check([position for position in shown if position in draws] == draws, f"{shown} instead of {draws}")
        browser.tap("#picture-canvas")
        browser.wait_until(f"{READY} && !!document.querySelector('#history-list [data-texel]')")
        pin = browser.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('pin')")
        check([abs(int(at) - size / 2) <= 1 for at, size in zip(pin.split(","), (line["width"], line["height"]))] == [True, True], f"{pin} is not the middle")
        for query, there in (("target=mesh", "#mesh[data-loaded] .mesh-row"), ("values=fragment&pin=160,120", "#debug-pane[data-loaded]"), ("show=time", "#times-measure")):
            browser.evaluate(f"location.hash = location.hash.split('?')[0] + '?{query}'")
            browser.wait_until(f"{READY} && !!document.querySelector('{there}')")
        for tab, there in (("objects", "#object-list [data-listed]"), ("shaders", "#shader-list [data-listed]"), ("report", "#report-view > *")):
            browser.tap(f"#tabs [data-view={tab}]", "mouse")
            browser.wait_until(f"{READY} && !!document.querySelector('{there}')")
        browser.check_quiet(server.origin)
