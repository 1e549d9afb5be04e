# SPDX-License-Identifier: MIT
"""The picture's toolbar, and textures and buffers on the page of lapilli serve."""

from __future__ import annotations

import base64
import json

from e2e.browser import Browser
from e2e.cases import Cases, Context, check
from e2e.page import DIFFERENT, READY, check_draw, lines, open_at
from e2e.server import Server, record, until, verb

CASES = Cases()
case = CASES.add

# Whether all of the toolbar is in one line, and all of it can be seen.
ONE_LINE = """(() => { const bar = document.querySelector('#picture-tools'), box = bar.getBoundingClientRect();
    const parts = [...bar.querySelectorAll('button')].filter((one) => one.offsetParent && !one.closest('[role=menu]')).map((one) => one.getBoundingClientRect());
    return box.height < 40 && parts.length > 6 && parts.every(({left, right, top, bottom}) => left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom); })()"""


@case
def tools_of_the_picture_are_one_line(context: Context) -> None:
    """Tabs, the switch and the menu: with keys, too; what is on is told beside the menu, and the mesh takes the picture's place."""
    record(context, [context.app("modern")])
    draws = [line["position"] for line in lines(context, "draws", "--json", "FILE") if line["pass"]]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.size(1280, 800)
        open_at(browser, server, draws[0])
        check_draw(context, browser, draws[0])
        active, chips = "document.activeElement.id", "[...document.querySelectorAll('.menu-chips .chip')].map((one) => one.textContent)"
        browser.click("#picture-menu")
        check(browser.evaluate(active) == "wireframe", "the first item has no focus")
        for key, item in (("ArrowDown", "overdraw"), ("End", "picture-real"), ("ArrowUp", "picture-fit"), ("ArrowUp", "picture-flip")):
            browser.key(key)
            check(browser.evaluate(active) == item, f"{key} leads to {browser.evaluate(active)}, not to {item}")
        browser.key("Enter")
        for channel in "GB":
            browser.click(f"#picture-tools [data-channel={channel}]")
        browser.click("#wireframe")
        browser.wait_until(f"{READY} && !document.querySelector('#picture-edges').hidden")
        check(browser.evaluate(chips) == ["wire", "R only", "flip"] and browser.evaluate(ONE_LINE), f"{browser.evaluate(chips)}")
        browser.key("Escape")
        check(browser.evaluate("document.querySelector('#picture-tools [role=menu]').hidden") and browser.evaluate(active) == "picture-menu", "Esc does not close it")
        browser.open("about:blank")
        open_at(browser, server, draws[0])
        browser.wait_until(f"{READY} && (document.querySelector('#picture').dataset.loaded ?? '').includes('/{draws[0]}/') && {chips}.join() == 'R only,flip'")
        [line, *_] = lines(context, "image", "--json", "--quiet", "-o", "red", "--channels", "r", "--after", draws[0], "FILE")
        red = base64.b64encode((context.folder / "red" / f"{draws[0]}-{line['name']}.png").read_bytes()).decode()
        browser.wait_until(f"({DIFFERENT % red}).then((many) => many === 0)")
        browser.click("#picture-menu")
        browser.click("#tree-title")
        check(browser.evaluate("document.querySelector('#picture-tools [role=menu]').hidden"), "a click elsewhere does not close it")
        for key, side in (("b", "before"), ("d", "changes"), ("d", "after")):
            browser.key(key)
            browser.wait_until(f"{READY} && document.querySelector('#picture-tools [role=radio][aria-checked=true]').id == '{side}'")
        browser.key("n")
        browser.wait_until(f"!!document.querySelector('#targets [data-target=mesh]') && location.hash.includes('/{draws[1]}') && {READY}")
        browser.click("#targets [data-target=mesh]")
        browser.wait_until(f"document.querySelector('#mesh')?.dataset.loaded == '{draws[1]}' && !document.querySelector('#picture').offsetParent")
        browser.key("p")
        browser.wait_until(f"document.querySelector('#mesh').dataset.loaded == '{draws[0]}' && {READY}")
        browser.click("#targets [role=tab]")
        browser.wait_until(f"!document.querySelector('#mesh').offsetParent && {READY}")
        check(browser.evaluate(ONE_LINE) and browser.evaluate("!!document.querySelector('#picture').offsetParent"), "the picture is not there again")
        browser.check_quiet(server.origin)


# The rows of the mesh that are there: [number, [texts of cells]].
MESH_ROWS = "[...document.querySelectorAll('#mesh-rows .mesh-row')].map((row) => [Number(row.dataset.row), [...row.children].map((cell) => cell.children.length ? [...cell.children].map((one) => one.textContent) : cell.textContent)])"
# Whether something is drawn, and the place of the selected vertex is its color.
DRAWN = """(() => { const canvas = document.querySelector('#mesh-canvas'), copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
    const context = copy.getContext('2d'); context.drawImage(canvas, 0, 0);
    const words = new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer);
    return [canvas.dataset.drawn, words.filter((word) => word >>> 24).length, new Set(words).size]; })()"""


@case
def a_mesh_has_the_rows_of_the_verb(context: Context) -> None:
    """Rows, bounds and primitives; a row and a vertex are selected by keys and clicks; files are those of the verb."""
    record(context, [context.app("vertices")])
    draw = next(line["position"] for line in lines(context, "draws", "--json", "FILE") if line["pass"])
    head, *rows = lines(context, "mesh", "--json", "--quiet", "--at", draw, "FILE")
    head, saved = head["mesh"], context.folder / "saved"
    saved.mkdir()
    position = [output["name"] for output in head["outputs"]].index("gl_Position")
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(saved))
        [capture] = server.captures()
        browser.open(f"{server.url}#/{capture.split('/')[-1]}/commands/{draw}?target=mesh&row=1")
        browser.wait_until(f"document.querySelector('#mesh')?.dataset.loaded == '{draw}' && {READY} && !!document.querySelector('#mesh-canvas').dataset.drawn")
        found = browser.evaluate(MESH_ROWS)
        for number, (row, index, vertex, *cells) in found:
            line = rows[number]
            check([row, index, vertex] == [str(number), str(line["index"]), "restart" if line.get("restart") else str(line["vertex"])], f"{row} {index} {vertex}, not {line}")
            for cell, values in zip(cells, [*line.get("in", []), *line.get("out", [])]):
                check([round(float(one), 3) for one in cell] == [round(value, 3) for value in values], f"{row}: {cell}, not {values}")
        check(len(found) == len(rows) == 8, f"{found}")
        for side, places in (("out", [[x / w, -y / w, -z / w] for x, y, z, w in (row["out"][position] for row in rows if "out" in row)]), ("in", [row["in"][0] for row in rows if "in" in row])):
            browser.click(f"#mesh-{side}")
            browser.wait_until(f"document.querySelector('#mesh-{side}').ariaChecked == 'true' && {READY}")
            bounds = [float(word) for word in browser.evaluate("document.querySelector('#mesh').dataset.bounds").split()]
            check(all(abs(a - b) < 1e-4 for a, b in zip(bounds, [edge(axis) for edge in (min, max) for axis in zip(*places)], strict=True)), f"{side}: {bounds}")
            check(browser.evaluate("document.querySelector('#mesh-says').textContent") == "3 triangles", "other primitives")
            context.run([context.program("lapilli"), "mesh", "--quiet", "out.lapilli", "--at", draw, *(["--in"] if side == "in" else []), "-o", f"{side}.obj"])
            browser.click("#mesh [data-save=obj]")
            until(lambda: (saved / f"out-{draw}-{side}.obj").exists(), f"{[path.name for path in saved.iterdir()]}")
            ours, theirs = ([[word if word.isalpha() else round(float(word), 4) for word in line.split()] for line in path.read_text().splitlines() if line[0] != "#"] for path in (saved / f"out-{draw}-{side}.obj", context.folder / f"{side}.obj"))
            check(ours == theirs, f"{ours}, not {theirs}")
        drawn = browser.evaluate(DRAWN)
        check(drawn[0] in ("webgl", "2d") and drawn[1] > 100 and drawn[2] > 2, f"{drawn}")
        browser.click("#mesh-rows [data-row='0'] > span")
        browser.wait_until("location.hash.includes('row=0')")
        browser.key("ArrowDown")
        browser.wait_until("location.hash.includes('row=1') && document.querySelector('#mesh-rows [aria-selected=true]').dataset.row == '1'")
        browser.evaluate("location.hash = location.hash.replace('mesh=in', 'instance=7')")
        browser.wait_until(f"document.querySelector('#mesh .says').textContent.includes('there is no instance 7') && {READY}")
        browser.check_quiet(server.origin)


def shown_of(browser: Browser, attribute: str = "listed") -> list[str]:
    return browser.evaluate(f"[...document.querySelectorAll('#object-list [data-listed]')].map((one) => one.dataset.{attribute})")


@case
def textures_and_buffers_have_figures_and_sums(context: Context) -> None:
    """Figures are those of the calls that made them, in each order; sums those of the objects' memory; barriers those that lapilli print has."""
    record(context, [context.app("depth")])
    calls = [json.loads(line) for line in verb(context, ["print", "--json", "FILE"], "out.lapilli").stdout.splitlines()]
    made = {call["args"]["pImage"]: call["args"]["pCreateInfo"] for call in calls if call["name"] == "vkCreateImage"}
    bound = {call["args"]["image"]: call["args"]["size"] for call in calls if call["name"] == "lapilliBindImage"}
    sizes = {call["args"]["pBuffer"]: call["args"]["pCreateInfo"]["size"] for call in calls if call["name"] == "vkCreateBuffer"}
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.size(1600, 1000)
        browser.open(server.url)
        browser.wait_until(READY)
        browser.click("#tabs [data-type=VkImage]")
        browser.wait_until(f"{READY} && document.querySelectorAll('#object-list .resource').length > 1")
        living = shown_of(browser)
        check(set(living) <= set(made) and len(living) > 1, f"{living}, {list(made)}")
        said = browser.evaluate("[...document.querySelectorAll('#object-list .resource')].map((one) => [one.dataset.listed, one.textContent])")
        for image, text in said:
            extent, form = made[image]["extent"], made[image]["format"].replace("VK_FORMAT_", "")
            check(f"{extent['width']} × {extent['height']}" in text and form in text, f"{image}: {text}, not {made[image]}")
        sums = browser.evaluate("[...document.querySelectorAll('#resource-sums [data-heap]')].map((one) => [Number(one.dataset.bytes), Number(one.dataset.many)])")
        check(sum(bytes for bytes, _ in sums) == sum(bound[image] for image in living) and sum(many for _, many in sums) == len(living), f"{sums}, {bound}")
        browser.click("#resource-kind [role=radio]:last-child")
        browser.wait_until(f"{READY} && !!document.querySelector('#object-list .table')")
        for by, key in (("bytes", lambda image: -bound[image]), ("size", lambda image: -made[image]["extent"]["width"] * made[image]["extent"]["height"]), ("format", lambda image: made[image]["format"])):
            browser.click(f"#resource-head [data-sort={by}]")
            browser.wait_until(f"{READY} && document.querySelector('#resource-head [data-sort={by}]').ariaPressed == 'true'")
            keys = [key(image) for image in shown_of(browser)]
            check(keys == sorted(keys) and len(keys) == len(living), f"{by}: {keys}")
        image = next(one for one in living if "DEPTH" in made[one]["usage"])
        browser.click(f"#object-list [data-listed='{image}']")
        browser.wait_until(f"{READY} && document.querySelector('#object-view').dataset.object == '{image}'")
        browser.click("#object-view [data-part=barriers] summary")
        browser.wait_until("!!document.querySelector('#object-view [data-barrier]')")
        told = browser.evaluate("[...document.querySelectorAll('#object-view [data-barrier]')].map((one) => one.textContent)")
        expected = {tuple(one[name].replace("VK_IMAGE_LAYOUT_", "") for name in ("oldLayout", "newLayout")) for one in barriers_of(calls) if one.get("image") == image}
        check({tuple(text.split(" → ")) for text in told if " → " in text} == {pair for pair in expected if pair[0] != pair[1]} and bool(told), f"{told}, not {expected}")
        browser.click("#tabs [data-type=VkBuffer]")
        browser.wait_until(f"{READY} && !!document.querySelector('#object-list .VkBuffer')")
        rows = dict(browser.evaluate("[...document.querySelectorAll('#object-list .VkBuffer')].map((one) => [one.dataset.listed, one.querySelector('[data-column=size]').textContent])"))
        check(rows == {buffer: f"{sizes[buffer]:,}" for buffer in rows} and bool(rows), f"{rows}, not {sizes}")


def barriers_of(value: object) -> list[dict]:
    """All barriers of images in what lapilli print has."""
    if isinstance(value, list):
        return [one for part in value for one in barriers_of(part)]
    if not isinstance(value, dict):
        return []
    return ([value] if "oldLayout" in value else []) + [one for part in value.values() for one in barriers_of(part)]


@case
def bytes_that_the_device_computed_are_shown(context: Context) -> None:
    """As a replay has them, in columns, in hexadecimal, and saved."""
    record(context, [context.app("compute")])
    at = lines(context, "draws", "--json", "FILE")[3]["position"]
    told = {words: json.loads(verb(context, ["memory", "--json", "--after", at, *words, "FILE", "VkBuffer:3", "768", "640"], "out.lapilli").stdout) for words in ((), ("--as", "u32"))}
    check(any(part["known"] == "device" for part in told[()]["parts"]), f"{told[()]['parts']}")
    saved = context.folder / "saved"
    saved.mkdir()
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(saved))
        for form, row in (("as=uint&", lambda i: str(told[("--as", "u32")]["elements"][i][0])), ("", lambda i: " ".join(told[()]["hex"][32 * i:32 * i + 32][2 * k:2 * k + 2] for k in range(16)))):
            browser.open("about:blank")
            browser.open(f"{server.url}#/{server.captures()[0].split('/')[-1]}/objects/VkBuffer:3?{form}at={at}&offset=768&bytes=640")
            browser.wait_until(f"{READY} && document.querySelector('#object-view').textContent.includes('as a replay has them') && document.querySelectorAll('#object-view .line[data-offset]').length > 9")
            shown = browser.evaluate("[...document.querySelectorAll('#object-view .line[data-offset]')].slice(0, 10).map((line) => line.children[1].textContent.trim().replace(/ +/g, ' '))")
            check(shown == [row(i) for i in range(10)], f"{shown}, not {[row(i) for i in range(10)]}")
        browser.click("#object-view [data-save=csv]")
        until((saved / f"out-{at}-VkBuffer-3.csv").exists, "the file")
        text = (saved / f"out-{at}-VkBuffer-3.csv").read_text().split()
        check("".join(line.partition(",")[2] for line in text[1:]) == told[()]["hex"], f"{text[:3]}")
        browser.check_quiet(server.origin)
