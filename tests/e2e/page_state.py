# SPDX-License-Identifier: MIT
"""The right of the page, its keys and its links: against what the verbs say."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.browser import Browser
from e2e.cases import Cases, Context, check
from e2e.page import READY, lines
from e2e.server import Server, record, until, verb

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


@case
def a_link_outlives_the_server(context: Context) -> None:
    """It has no token. Where the key is another one, the address that the server prints leads to the place of the link."""
    for name in ("stencil", "compute"):
        record(context, [context.app(name)], f"{name}.lapilli")
    files = ("compute.lapilli", "stencil.lapilli")
    at, other = (json.loads(verb(context, ["draws", "--json", "FILE"], "stencil.lapilli").stdout.splitlines()[number])["position"] for number in (0, 2))
    with Browser(context) as browser:
        with Server(context, *files) as server:
            capture = server.captures()[1].split("/")[-1]
            browser.open(f"{server.url}#/{capture}/commands/{at}?show=draws")
            shown(browser, at)
            browser.click("#copy-link")
            browser.wait_until("!!document.querySelector('#copy-link').dataset.link")
            link = browser.evaluate("document.querySelector('#copy-link').dataset.link")
            check(link == f"{server.origin}/#/{capture}/commands/{at}?show=draws&file=stencil.lapilli", link)
        browser.evaluate(f"location.hash = location.hash.replace('{at}', '{other}')")
        browser.wait_until("document.querySelector('#begin')?.textContent == 'try again'")
        with Server(context, *files, port=server.port) as again:
            browser.click("#begin")
            browser.wait_until("document.querySelector('#gate code')?.textContent.includes('token=')")
            browser.open(again.url)
            shown(browser, other)
            for address in (link, link.replace(capture, "0123456789abcdef")):
                browser.open("about:blank")
                browser.open(address)
                shown(browser, at)
                check(browser.evaluate("location.href") == link.replace("&file=stencil.lapilli", ""), browser.evaluate("location.href"))


@case
def what_is_shown_is_saved(context: Context) -> None:
    """A picture, its bytes, rows of a buffer, a shader: what the verbs have, under names that say what it is."""
    record(context, [context.app("modern")])
    draw = lines(context, "draws", "--json", "FILE")[0]["position"]
    saved = context.folder / "saved"
    saved.mkdir()

    def save(browser: Browser, selector: str, name: str) -> bytes:
        browser.click(selector)
        until(lambda: (saved / name).exists(), f"{name}, but {[path.name for path in saved.iterdir()]}")
        return (saved / name).read_bytes()

    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(saved))
        [capture] = server.captures()
        browser.open(f"{server.url}#/{capture.split('/')[-1]}/commands/{draw}")
        shown(browser, draw)
        [line, *_] = lines(context, "image", "--json", "--quiet", "-o", "pictures", "--after", draw, "FILE")
        picture = Path(context.folder / "pictures" / f"{draw}-{line['name']}.png").read_bytes()
        check(save(browser, "#picture-probe [data-save=png]", f"out-{draw}-{line['name']}.png") == picture, "another picture")
        check(save(browser, "#picture-probe [data-save=raw]", f"out-{draw}-{line['name']}.raw") == server.ask(f"{capture}/framebuffer/{draw}/{line['name']}.raw").body, "other texels")
        buffer = json.loads(verb(context, ["state", "--json", "--list", "--type", "VkBuffer", "--at", draw, "FILE"], "out.lapilli").stdout)["objects"][0]["object"]
        browser.evaluate(f"location.hash = location.hash.replace(/commands.*/, 'objects/{buffer}?at={draw}&as=u32x2')")
        browser.wait_until(f"{READY} && !!document.querySelector('#object-view [data-save=csv]')")
        whole = json.loads(verb(context, ["state", "--json", "--at", draw, "FILE", buffer], "out.lapilli").stdout)["creation"]["args"]["pCreateInfo"]["size"]
        rows = json.loads(verb(context, ["memory", "--json", "--at", draw, "--as", "u32x2", "FILE", buffer, "0", str(whole)], "out.lapilli").stdout)["elements"]
        head, *shown_rows = save(browser, "#object-view [data-save=csv]", f"out-{draw}-{buffer.replace(':', '-')}.csv").decode().splitlines()
        check(head == "offset,u32.0,u32.1" and [[int(value) for value in row.split(",")] for row in shown_rows] == [[8 * i, *row] for i, row in enumerate(rows)], f"{head} {shown_rows[:3]}, {len(shown_rows)} rows, not {rows[:3]}, {len(rows)}")
        shader = json.loads(verb(context, ["shaders", "--json", "FILE"], "out.lapilli").stdout)["shaders"][0]["hash"]
        browser.evaluate(f"location.hash = location.hash.replace(/objects.*/, 'shaders/{shader}')")
        browser.wait_until(f"{READY} && document.querySelector('#shader-view').dataset.shader == '{shader}'")
        check(save(browser, "#shader-view [data-save=code]", f"out-{shader}.spv") == server.ask(f"{capture}/shaders/{shader}.spv").body, "other code")
        text = json.loads(verb(context, ["shaders", "--json", "FILE", shader], "out.lapilli").stdout)["spirv"]
        check(save(browser, "#shader-view [data-save=text]", f"out-{shader}.spvasm").decode() == text, "another text")
        browser.check_quiet(server.origin)


@case
def commands_are_compared_with_their_pictures(context: Context) -> None:
    """Of one trace, and of two: the rows that differ are those of the states, and so are texels of the pictures. Handles of
    two traces say nothing."""
    for name in ("one", "two"):
        record(context, [context.app("raster")], f"{name}.lapilli")
    draws = [json.loads(line)["position"] for line in verb(context, ["draws", "--json", "FILE"], "one.lapilli").stdout.splitlines()]
    first, second = draws[:2]

    def texels(at: str, file: str) -> list[bytes]:
        with_file = ["image", "--json", "--quiet", "--raw", "-o", file + "-raw", "--after", at, "FILE"]
        [line, *_] = [json.loads(one) for one in verb(context, with_file, file).stdout.splitlines()]
        data = (context.folder / (file + "-raw") / f"{at}-{line['name']}.raw").read_bytes()
        size = len(data) // (line["width"] * line["height"])
        return [data[i:i + size] for i in range(0, len(data), size)]

    def told(browser: Browser, against: str) -> str:
        browser.wait_until(f"document.querySelector('#compare')?.dataset.different !== undefined && document.querySelector('#state').dataset.against == '{against}' && document.querySelector('#state').dataset.compared == 'contents'")
        return browser.evaluate("document.querySelector('#compare').dataset.different")

    with Server(context, "one.lapilli", "two.lapilli") as server, Browser(context) as browser:
        one, two = (path.split("/")[-1] for path in server.captures())
        browser.open(f"{server.url}#/{one}/commands/{first}")
        shown(browser, first)
        browser.click("#state-hold")
        go_to(browser, second)
        different = told(browser, first)
        before, now = texels(first, "one.lapilli"), texels(second, "one.lapilli")
        check(int(different) == sum(a != b for a, b in zip(before, now)) > 0, f"{different} texels")
        marked = set(browser.evaluate("[...document.querySelectorAll('#state [data-part=Parameters] dd.ch')].map((row) => row.dataset.key)"))
        a, b = (state_of(context, at, "one.lapilli")["args"] for at in (first, second))
        check(marked == {name for name in b if a[name] != b[name]}, f"{marked}: {a}, {b}")
        browser.evaluate(f"(() => {{ const menu = document.querySelector('#state-trace'); menu.value = '{two}'; menu.dispatchEvent(new Event('change')); }})()")
        check(told(browser, second) == "0" and "no difference" in browser.evaluate("document.querySelector('#state-against').textContent"), browser.evaluate("document.querySelector('#state').textContent"))


@case
def calls_outside_of_command_buffers_are_listed(context: Context) -> None:
    """All of a frame, in the order of the trace; a chosen one has its parameters."""
    record(context, [context.app("modern")])
    calls = [json.loads(line) for line in verb(context, ["print", "--json", "--no-blocks", "--at", "2", "FILE"], "out.lapilli").stdout.splitlines()]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(f"{server.url}#/{server.captures()[0].split('/')[-1]}/commands/2?show=calls")
        browser.wait_until(f"{READY} && document.querySelectorAll('#tree .call').length > 9")
        rows = browser.evaluate("[...document.querySelectorAll('#tree .call')].map((row) => ['.n', '.what', '.t'].map((one) => row.querySelector(one).textContent))")
        check(rows == [[f"#{call['index']}", call["name"], str(call["thread"])] for call in calls][:len(rows)], f"{rows}")
        chosen = next(call for call in calls if call["name"] == "vkFreeCommandBuffers")
        browser.click(f"#tree [data-position='#{chosen['index']}']")
        browser.wait_until(f"{READY} && document.querySelector('#state').dataset.at == '#{chosen['index']}' && location.hash.includes('call={chosen['index']}')")
        said = browser.evaluate("document.querySelector('#state [data-part=Parameters]').textContent")
        check(all(handle in said for handle in [chosen["args"]["commandPool"], *chosen["args"]["pCommandBuffers"]]), said)
        browser.check_quiet(server.origin)


@case
def a_buffer_opens_at_the_element_of_the_first_instance(context: Context) -> None:
    """The program numbers its elements, so the first row has the number of the instance; from instance 0 on the whole block is shown."""
    record(context, [context.app("instances")])
    draws = lines(context, "draws", "--json", "FILE")
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        for draw in draws:
            at = draw["position"]
            first = lines(context, "print", "--json", "--at", at, "FILE")[-1]["args"]["firstInstance"]
            browser.open(f"{server.url}#/{server.captures()[0].split('/')[-1]}/commands/{at}")
            shown(browser, at)
            link = "#state [data-part='Set 0'] a.handle[data-object^=VkBuffer]"
            title, extra = browser.evaluate(f"((link) => [link.title, JSON.parse(link.dataset.extra)])(document.querySelector(\"{link}\"))")
            check((title, extra["as"]) == ((f"element {first}", "f32x2,f32,u32,f32x4") if first else ("", "block")), f"{at}: {title}, {extra}")
            if first:
                browser.click(link)
                browser.wait_until(f"document.querySelectorAll('#drawer-view .memory .line .cell-value').length > 7 && {READY}")
                rows = browser.evaluate("[...document.querySelectorAll('#drawer-view .memory .line:not(.head)')].map((row) => Number(row.querySelectorAll('.cell-value')[3].textContent))")
                check(rows == list(range(first, 6)), f"elements {rows}, not from {first} on")
        browser.check_quiet(server.origin)
    check({draw["instances"] for draw in draws} == {1, 2}, f"{draws}")
