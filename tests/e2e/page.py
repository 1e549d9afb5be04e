# SPDX-License-Identifier: MIT
"""The page of lapilli serve, in a browser: it shows what the verbs say, and asks nobody but its server."""

from __future__ import annotations

import base64
import json
import re
from typing import Callable

from e2e.browser import Browser
from e2e.cases import Context, Program, check, prepare, programs
from e2e.server import Server, record, verb

READY = "document.documentElement.dataset.state == 'ready'"
ROWS = "[...document.querySelectorAll('#tree .row[data-position]')].map((row) => [row.dataset.position, row.querySelector('.what').textContent])"
# How many texels of the canvas differ from those of a PNG file; -1: they have other sizes.
DIFFERENT = """(async () => {
    const picture = new Image(); picture.src = "data:image/png;base64,%s"; await picture.decode();
    const shown = document.querySelector("#picture canvas"), other = Object.assign(document.createElement("canvas"), {width: picture.naturalWidth, height: picture.naturalHeight});
    if (shown.hidden || shown.width != other.width || shown.height != other.height) return -1;
    other.getContext("2d").drawImage(picture, 0, 0);
    const [a, b] = [shown, other].map((one) => new Uint32Array(one.getContext("2d").getImageData(0, 0, one.width, one.height).data.buffer));
    return a.filter((texel, i) => texel !== b[i]).length; })()"""


def lines(context: Context, *words: str) -> list[dict]:
    return [json.loads(line) for line in verb(context, [*words], "out.lapilli").stdout.splitlines()]


def check_draw(context: Context, browser: Browser, position: str) -> None:
    """The row that is chosen, the state and the picture are those of a draw."""
    browser.wait_until(f"document.querySelector('#state').dataset.at == '{position}' && (document.querySelector('#picture').dataset.loaded ?? '').includes('/framebuffer/{position}/') && {READY}")
    [row] = browser.evaluate("[...document.querySelectorAll('#tree [aria-selected=true]')].map((row) => row.dataset.position)")
    check(row == position, f"the tree is at {row}, not at {position}")
    state = json.loads(verb(context, ["state", "--json", "--at", position, "FILE"], "out.lapilli").stdout)
    shown = browser.evaluate("document.querySelector('#state').textContent")
    handles = set(re.findall(r"Vk(?:Pipeline|PipelineLayout|DescriptorSet|Buffer|Image):\d+", json.dumps([state["bound"]["graphics"], state["pass"]["attachments"]])))
    check(bool(handles) and all(re.search(f"{handle}(?!\\d)", shown) for handle in handles), f"{position} has {sorted(handles)}, but the page shows {shown}")
    [line, *_] = lines(context, "image", "--json", "--quiet", "-o", "pictures", "--after", position, "FILE")
    picture = (context.folder / "pictures" / f"{position}-{line['name']}.png").read_bytes()
    different = browser.evaluate(DIFFERENT % base64.b64encode(picture).decode())
    check(different == 0, f"{position}: {different} texels are not those of lapilli image")


def page_shows(program: Program, text: str) -> Callable[[Context], None]:
    """What the verbs say of a program. `text`: what is searched for."""
    def run(context: Context) -> None:
        prepare(context, program)
        record(context, program.command)
        draws = [line["position"] for line in lines(context, "draws", "--json", "FILE")]
        with Server(context, "out.lapilli") as server, Browser(context) as browser:
            browser.open(server.url)
            browser.wait_until(READY)
            check("token" not in browser.evaluate("location.href"), "the token stays in the address")
            check_draw(context, browser, draws[0])
            browser.key("n")
            check_draw(context, browser, draws[1])
            browser.key("p")
            check_draw(context, browser, draws[0])
            frame = draws[0].partition(".")[0]
            rows = browser.evaluate(ROWS)
            tree = {node["position"]: node for node in walk(json.loads(verb(context, ["tree", "--json", "--at", frame, "--depth", "64", "FILE"], "out.lapilli").stdout)["nodes"])}
            check(len(rows) > 3 and {position for position, _ in rows} <= tree.keys(), f"{rows}")
            browser.click("#tree-modes [data-mode=draws]")
            browser.wait_until(f"{READY} && document.querySelector('#tree-modes [data-mode=draws]').ariaPressed == 'true' && !document.querySelector('#tree .waiting')")
            flat = [[line["position"], line["command"]] for line in lines(context, "draws", "--json", "--at", frame, "FILE") if "Draw" in line["command"]]
            shown = browser.evaluate(ROWS)
            check(bool(shown) and shown == flat[:len(shown)], f"{shown}, not {flat}")
            browser.key("/")
            browser.type(text)
            found = lines(context, "find", "--json", "--limit", "100", "FILE", text)
            browser.wait_until(f"document.querySelectorAll('#search-list [data-result]').length == {len(found)}")
            place = next(number for number, one in enumerate(found) if one["position"])
            for _ in range(place):
                browser.key("ArrowDown")
            browser.key("Enter")
            browser.wait_until(f"location.hash.split('?')[0].endsWith('/{found[place]['position']}') && {READY}")
            browser.click("#tabs [data-view=objects]")
            here = browser.evaluate("location.hash.match(/at=([0-9.]+)/)[1]")
            living = [one["object"] for one in json.loads(verb(context, ["state", "--json", "--list", "--at", here, "FILE"], "out.lapilli").stdout)["objects"]]
            browser.wait_until(f"{READY} && document.querySelectorAll('#object-list [data-listed]').length > 5")
            shown = browser.evaluate("[...document.querySelectorAll('#object-list [data-listed]')].map((row) => row.dataset.listed)")
            check(shown == living[:len(shown)], f"{shown}, but {living} live at {here}")
            browser.click("#tabs [data-view=shaders]")
            shaders = json.loads(verb(context, ["shaders", "--json", "FILE"], "out.lapilli").stdout)["shaders"]
            browser.wait_until(f"{READY} && document.querySelectorAll('#shader-list [role=option]').length == {len(shaders)}")
            looks = []
            for scheme in ("dark", "light"):
                browser.scheme(scheme)
                browser.screenshot(context.folder / f"{scheme}.png")
                looks.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
            check(looks[0] != looks[1], f"dark is as light: {looks}")
            browser.check_quiet(server.origin)
    return run


def code_is_found(context: Context) -> None:
    """A search opens the line of the shader that has the text."""
    record(context, [context.app("modern")])
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        browser.wait_until(READY)
        found = lines(context, "find", "--json", "--limit", "100", "FILE", "OpStore")
        check({one["kind"] for one in found} == {"code"}, f"{found}")
        browser.key("/")
        browser.type("OpStore")
        browser.wait_until(f"document.querySelectorAll('#search-list [data-result]').length == {len(found)}")
        browser.key("ArrowDown")
        browser.key("Enter")
        browser.wait_until(f"location.hash.endsWith('/shaders/{found[1]['shader']}?line={found[1]['line']}') && !!document.querySelector('#code .hit')")
        hit = browser.evaluate("[document.querySelector('#code .hit').dataset.n, document.querySelector('#code .hit').textContent.trim()]")
        check(hit == [str(found[1]["line"]), found[1]["text"]], f"{hit}, not {found[1]}")
        browser.check_quiet(server.origin)


def pushed_descriptors_are_shown_as_those_of_sets(context: Context) -> None:
    """The same dispatch looks at the same image, from a set and pushed: the rows and the thumbnail are the same."""
    shown = []
    for options in ([], ["--push"]):
        record(context, [context.app("depth"), *options], f"out{len(options)}.lapilli")
    with Server(context, "out0.lapilli", "out1.lapilli") as server, Browser(context) as browser:
        for path, file in zip(server.captures(), ("out0.lapilli", "out1.lapilli")):
            at = next(line["position"] for line in map(json.loads, verb(context, ["draws", "--json", "FILE"], file).stdout.splitlines()) if line["command"] == "vkCmdDispatch" and line["position"].startswith("4."))
            browser.open(f"{server.url}#/{path.split('/')[-1]}/commands/{at}")
            browser.wait_until(f"document.querySelector('#state').dataset.at == '{at}' && {READY}")
            shown.append(browser.evaluate("""[...document.querySelectorAll('#state [data-part^=Set] dl')].flatMap((list) => [...list.querySelectorAll('dd')])
                .filter((row) => row.dataset.key.includes(' ')).map((row) => [row.previousSibling.textContent, row.querySelector('.thumb')?.dataset.thumb ?? '', row.textContent.replace('GPU', '')])"""))
    check(shown[0] == shown[1] and any(thumb for _, thumb, _ in shown[0]), f"{shown}")


def contents_are_compared(context: Context) -> None:
    """Draws of vkcube with the same descriptors differ in the bytes of their uniform buffer."""
    prepare(context, cube := next(program for program in programs(context) if program.name == "vkcube"))
    record(context, cube.command)
    draws = [line["position"] for line in lines(context, "draws", "--json", "FILE")]

    def buffer_of(at: str) -> str:
        state = json.loads(verb(context, ["state", "--json", "--at", at, "FILE"], "out.lapilli").stdout)
        return state["bound"]["graphics"]["sets"][0]["bindings"][0]["elements"][0]["object"]
    first, buffer = draws[0], buffer_of(draws[0])
    others = [at for at in draws[1:10] if buffer_of(at) == buffer]
    bytes_at = {at: json.loads(verb(context, ["memory", "--json", "--at", at, "FILE", buffer], "out.lapilli").stdout)["hex"] for at in (first, *others)}
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        browser.wait_until(f"{READY} && document.querySelector('#state').dataset.at == '{first}'")
        browser.click("#state-hold")
        for at in others:
            browser.evaluate(f"location.hash = location.hash.replace(/commands.*/, 'commands/{at}')")
            browser.wait_until(f"Object.entries({{at: '{at}', against: '{first}', compared: 'contents'}}).every(([name, value]) => document.querySelector('#state').dataset[name] == value)")
            said, rows = browser.evaluate("[document.querySelector('#state-against').textContent, [...document.querySelectorAll('#state .inside')].map((one) => one.parentElement.dataset.key + ' ' + one.textContent)]")
            differ = bytes_at[at] != bytes_at[first]
            check((said, rows) == ((f"1 difference from {first}", ["0 0 contents differ"]) if differ else (f"no difference from {first}", [])), f"{at}: {said}, {rows}; the bytes differ: {differ}")
        check(len(set(bytes_at.values())) > 2, f"the buffer is the same at {list(bytes_at)}")
        browser.check_quiet(server.origin)


def walk(nodes: list[dict]) -> list[dict]:
    return [one for node in nodes for one in (node, *walk(node["children"]))]


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    named = {program.name: program for program in programs(context)}
    shown = {f"shows/{name}": page_shows(named[name], text) for name, text in (("vkcube", "Draw"), ("modern", "quarter"))}
    return shown | {run.__name__.replace("_", "-"): run for run in (code_is_found, contents_are_compared, pushed_descriptors_are_shown_as_those_of_sets)}
