# SPDX-License-Identifier: MIT
"""The page of lapilli serve, in a browser: it shows what the verbs say, and asks nobody but its server."""

from __future__ import annotations

import base64
import json
import re
import sys
from typing import Callable

from e2e.browser import Browser
from e2e.cases import Cases, Context, Program, check, prepare, programs
from e2e.server import Gate, Server, record, until, verb
from made_farm import Made, picture

CASES = Cases()
case = CASES.add

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


def open_at(browser: Browser, server: Server, position: str) -> None:
    """The page at a place of the server's one trace."""
    browser.open(f"{server.url}#/{server.captures()[0].rpartition('/')[2]}/commands/{position}")


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


def choose_in_menu(browser: Browser, item: str) -> None:
    """Opens the menu of the picture, clicks on something in it, and closes it."""
    browser.click("#picture-menu")
    browser.click(item)
    browser.key("Escape")


def check_times(browser: Browser, frame: str, passes: set[str], draws: list[str]) -> None:
    """Nothing is measured before one asks for it; then the passes are in the list, and draws have times, too; then all frames."""
    browser.click("#tree-modes [data-mode=time]")
    browser.wait_until(f"{READY} && !!document.querySelector('#times-measure')")
    browser.click("#times-measure")
    times = "[...document.querySelectorAll('#tree .row')].map((row) => [row.dataset.position, Number(row.querySelector('.ms')?.textContent || NaN)])"
    browser.wait_until(f"document.querySelectorAll('#tree .timed').length > 0 && !document.querySelector('#times-draws') && {READY}")
    rows = browser.evaluate(times)
    check(passes <= {position for position, _ in rows} and [ms for _, ms in rows] == sorted((ms for _, ms in rows), reverse=True), f"{rows} with {passes}")
    browser.click("#tree-modes [data-mode=draws]")
    browser.wait_until(f"{READY} && document.querySelector('#tree-modes [data-mode=draws]').ariaPressed == 'true' && !!document.querySelector('#tree .ms')")
    rows = browser.evaluate(times)
    check(rows and all(ms is not None for _, ms in rows) and {position for position, _ in rows} <= set(draws), f"{rows}")
    browser.click("#film-times")
    browser.wait_until(f"{READY} && document.querySelector('#film-times').ariaPressed == 'true' && / · [0-9.]+$/.test(document.querySelector('#film-strip [data-frame=\"{frame}\"]').textContent)")


def page_shows(program: Program, text: str) -> Callable[[Context], None]:
    """What the verbs say of a program. `text`: what is searched for."""
    def run(context: Context) -> None:
        prepare(context, program)
        record(context, program.command)
        draws = [line["position"] for line in lines(context, "draws", "--json", "FILE")]
        with Server(context, "out.lapilli") as server, Browser(context) as browser:
            open_at(browser, server, draws[0])
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
            check_times(browser, frame, {position for position, node in tree.items() if node["kind"] == "render pass"}, draws)
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


def walk(nodes: list[dict]) -> list[dict]:
    return [one for node in nodes for one in (node, *walk(node["children"]))]


@case
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


@case
def the_report_leads_to_its_commands(context: Context) -> None:
    """It has all rules with findings; a finding and a column of a chart lead to their places, and it is asked for once."""
    record(context, [context.app("wasteful"), "--what", "1"])
    said = json.loads(context.run([context.program("lapilli"), "report", "--json", "out.lapilli"]).out)
    [layout] = [rule for rule in said["rules"] if rule["rule"] == "layout"]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        browser.wait_until(READY)
        for place in (layout["findings"][4]["position"], "2"):
            browser.click("#tabs [data-view=report]")
            browser.wait_until(f"{READY} && document.querySelector('#report-view').dataset.loaded == '1'")
            shown = browser.evaluate("[...document.querySelectorAll('#report-view .rule')].map((one) => [one.dataset.rule, one.querySelectorAll('tr').length])")
            check(shown == [[rule["rule"], len(rule["findings"])] for rule in said["rules"] if rule["count"]], f"{shown}")
            browser.click(f"#report-view {'.bars' if place == '2' else '.findings'} a[data-at='{place}']")
            browser.wait_until(f"location.hash.split('?')[0].endsWith('/commands/{place}') && {READY}")
        check(len([url for url in browser.requests if url.endswith("/report")]) == 1, "it is asked for again")
        browser.check_quiet(server.origin)


@case
def pushed_descriptors_are_shown_as_those_of_sets(context: Context) -> None:
    """The same dispatch looks at the same image, from a set and pushed: the rows and the thumbnail are the same."""
    shown = []
    for options in ([], ["--push"]):
        record(context, [context.app("depth"), *options], f"out{len(options)}.lapilli")
    record(context, [context.app("push")])
    first = lines(context, "draws", "--json", "FILE")[0]["position"]
    with Server(context, "out0.lapilli", "out1.lapilli", "out.lapilli") as server, Browser(context) as browser:
        for path, file in zip(server.captures(), ("out0.lapilli", "out1.lapilli")):
            at = next(line["position"] for line in map(json.loads, verb(context, ["draws", "--json", "FILE"], file).stdout.splitlines()) if line["command"] == "vkCmdDispatch" and line["position"].startswith("4."))
            browser.open(f"{server.url}#/{path.split('/')[-1]}/commands/{at}")
            browser.wait_until(f"document.querySelector('#state').dataset.at == '{at}' && {READY}")
            shown.append(browser.evaluate("""[...document.querySelectorAll('#state [data-part^=Set] dl')].flatMap((list) => [...list.querySelectorAll('dd')])
                .filter((row) => row.dataset.key.includes(' ')).map((row) => [row.previousSibling.textContent, row.querySelector('.thumb')?.dataset.thumb ?? '', row.textContent.replace('GPU', '')])"""))
        check(shown[0] == shown[1] and any(thumb for _, thumb, _ in shown[0]), f"{shown}")
        browser.open(f"{server.url}#/{server.captures()[2].split('/')[-1]}/commands/{first}")
        browser.wait_until(f"document.querySelector('#state').dataset.at == '{first}' && {READY}")
        pushed = browser.evaluate("document.querySelector('#state [data-part=\"Set 1\"]').textContent")
        check("VkSampler:1" in pushed and "VK_NULL_HANDLE" not in pushed, f"a sampler is pushed without an image: {pushed}")


@case
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
        open_at(browser, server, first)
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


@case
def a_texel_has_all_of_its_values_at_every_width(context: Context) -> None:
    record(context, [context.app("modern")])
    at = lines(context, "draws", "--json", "FILE")[0]["position"]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        open_at(browser, server, at)
        check_draw(context, browser, at)
        for width in (1600, 1200, 1000, 700, 420):
            browser.size(width, 800)
            for _ in range(2):  # pinned, and under the pointer
                # The picture moves where the window changes, and where the history opens below it.
                browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
                browser.click("#picture-canvas")
                browser.wait_until(f"{READY} && document.querySelectorAll('#picture-probe [data-channel]').length == 4")
                seen = browser.evaluate("""(() => { const line = document.querySelector('#picture-probe').getBoundingClientRect();
                    return [...document.querySelectorAll('#picture-probe [data-channel]')].map((one) => { const box = one.getBoundingClientRect();
                        return [one.textContent, one.scrollWidth <= one.clientWidth && box.left >= line.left && box.right <= line.right && box.top >= line.top && box.bottom <= line.bottom]; }); })()""")
                check(all(fits for _, fits in seen) and [text[0] for text, _ in seen] == list("RGBA"), f"{width}: {seen}")
        browser.check_quiet(server.origin)


@case
def draws_have_pictures_and_a_texel_its_history(context: Context) -> None:
    """Of a pass each draw has a small picture. A link has the pin. A step leads to what painted the texel, and a label is text."""
    record(context, [context.app("modern")])
    draws = [line for line in lines(context, "draws", "--json", "--at", "1", "FILE") if line["pass"]]
    each = {line["position"]: line for line in lines(context, "image", "--json", "--quiet", "--each", draws[0]["pass"], "--thumbs", "160", "-o", "each", "FILE")}
    image = each[draws[0]["position"]]["image"]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        open_at(browser, server, draws[0]["position"])
        browser.wait_until(f"{READY} && document.querySelectorAll('#tree .draw-thumb[title] img').length == {len(draws)}")
        for draw in draws:
            row = f"document.getElementById('row-{draw['position']}')"
            texels = (each[draw["position"]]["changed"] or {}).get("texels")
            said = browser.evaluate(f"[{row}.querySelector('.amount')?.textContent, {row}.querySelector('img').alt, {row}.classList.contains('nothing-changed')]")
            check(said[0] == (None if texels is None else f"{texels:,}" if texels else "changes nothing") and bool(said[1]) and said[2] == (texels == 0), f"{draw['position']}: {said}, {texels} texels")
        check(browser.evaluate("new Set([...document.querySelectorAll('#tree .draw-thumb')].map((box) => box.getBoundingClientRect().height)).size") == 1, "boxes are of other sizes")
        for pin in ("", "3,4"):  # a click, and a link
            if pin:
                browser.evaluate(f"location.hash = '#/{server.captures()[0].split('/')[-1]}/commands/{draws[-1]['position']}?pin={pin}&of={image}'")
            else:
                browser.click("#picture-canvas")
                pin = browser.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('pin')")
            texel, *written, end = lines(context, "pixel", "--json", "--at", "1", "--target", image, "--all", "FILE", pin)
            changing = [line["position"] for line in written if line["changed"]]
            browser.wait_until(f"{READY} && (document.querySelector('#history').dataset.loaded ?? '').endsWith('{pin}')")
            shown = "[...document.querySelectorAll('#history [data-texel]')].map((row) => row.dataset.texel)"
            check(browser.evaluate(shown) == changing and end["end"]["changed"] == len(changing) > 0, f"{browser.evaluate(shown)}, not {changing}")
            browser.click("#history-all")
            browser.wait_until(f"{shown}.length == {len(written)}")
            said = browser.evaluate("document.querySelector('#history').textContent")
            check("<img src=x" in said and not browser.evaluate("document.querySelector('#history img')"), f"a label is markup: {said}")
            browser.click("#history-all")
        while browser.evaluate("document.querySelector('#history [aria-selected=true]')?.dataset.texel") != changing[0]:
            browser.key(",")
            browser.wait_until(READY)
        for at in changing[1:]:
            browser.key(".")
            browser.wait_until(f"location.hash.includes('/{at}?') && document.querySelector('#history [aria-selected=true]').dataset.texel == '{at}' && {READY}")
        browser.key("Escape")
        browser.wait_until("document.querySelector('#history').hidden && !location.hash.includes('pin=')")
        browser.evaluate(f"location.hash = location.hash.split('?')[0] + '?pin=9999,1&of={image}'")
        browser.wait_until("document.querySelector('#history').dataset.failed == '404' && document.querySelector('#history-says').textContent.includes('9999')")
        browser.check_quiet(server.origin)


@case
def a_shader_is_changed_beside_its_picture(context: Context) -> None:
    """The picture is that of lapilli image with the same code, the difference is counted, and the address shows it again."""
    record(context, [context.app("modern")])
    shaders = json.loads(verb(context, ["shaders", "--json", "FILE"], "out.lapilli").stdout)["shaders"]
    shader = next(one["hash"] for one in shaders if "FRAGMENT" in one["stages"][0]["stage"])
    own = json.loads(verb(context, ["shaders", "--json", "--glsl", "FILE", shader], "out.lapilli").stdout)["glsl"]
    write = "(() => { const text = document.querySelector('#edit-text'); text.value = %s; text.dispatchEvent(new Event('input')); })()"
    loaded = "(document.querySelector('#picture').dataset.loaded ?? '')"

    def pictures(at: str, *words: str) -> str:
        [line, *_] = lines(context, "image", "--json", "--quiet", "-o", "pictures", "--after", at, *words, "FILE")
        return DIFFERENT % base64.b64encode((context.folder / "pictures" / f"{at}-{line['name']}.png").read_bytes()).decode()

    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        browser.wait_until(READY)
        browser.click("#tabs [data-view=shaders]")
        browser.wait_until(f"{READY} && document.querySelectorAll('#shader-list [role=option]').length == {len(shaders)}")
        browser.click(f"#shader-list [data-listed='{shader}']")
        browser.wait_until(f"{READY} && document.querySelector('#shader-view').dataset.shader == '{shader}'")
        browser.click("#shader-edit")
        browser.wait_until(f"{READY} && location.hash.includes('edit={shader}') && !document.querySelector('#edit-text').disabled && {loaded}.includes('/framebuffer/')")
        at = browser.evaluate("location.hash.split('?')[0].split('/').pop()")
        check(browser.evaluate("document.querySelector('#edit-text').value") == own and browser.evaluate("document.querySelector('#edit-apply').disabled"), "the editor has other code")
        plain = pictures(at)
        check(browser.evaluate(plain) == 0, "not the picture of the trace")
        green = re.sub(r"void main\(\)\s*\{", "\\g<0> if (gl_FragCoord.x > 3.0) { %s = vec4(0.0, 1.0, 0.0, 1.0); return; }" % re.search(r"out vec4 (\w+)", own)[1], own)
        (context.folder / "green.frag").write_text(green)
        browser.evaluate(write % json.dumps(green))
        browser.click("#edit-apply")
        browser.wait_until(f"{READY} && {loaded}.includes('replace=')")
        changed, link = browser.evaluate(plain), browser.evaluate("location.href")
        check(browser.evaluate(pictures(at, "--replace-shader", f"{shader}=green.frag")) == 0 and changed > 0, f"not the picture with this code: {changed} texels have changed")
        browser.key("d")
        browser.wait_until(f"{READY} && document.querySelector('#picture-probe').textContent.includes('{changed:,} texel')")
        browser.key("d")
        browser.key("b")
        browser.wait_until(f"{READY} && !{loaded}.includes('replace=')")
        check(browser.evaluate(plain) == 0, "before is not the shader's own code")
        browser.evaluate(write % json.dumps(green.replace("vec4(0.0", "vec5(0.0")))
        browser.click("#edit-apply")
        browser.wait_until(f"{READY} && document.querySelector('#picture').dataset.failed == '404'")
        line = green[:green.index("vec4(0.0")].count("\n") + 1
        said = browser.evaluate("[document.querySelector('#edit-says').textContent, document.querySelector('#edit-lines .bad').textContent]")
        check("does not compile the code" in said[0] and f"line {line} 'vec5'" in said[0] and said[1] == str(line), f"{said}")
        # Noise does not become shorter.
        browser.evaluate(write % "'// ' + Array.from({length: 60000}, () => String.fromCharCode(0x100 + Math.random() * 0x2000)).join('')")
        browser.click("#edit-apply")
        browser.wait_until("document.querySelector('#edit-says').textContent.includes('too long')")
        browser.open("about:blank")
        browser.open(link)
        browser.wait_until(f"{READY} && {loaded}.includes('replace=') && document.querySelector('#edit-text').value == {json.dumps(green)}")
        check(browser.evaluate(plain) == changed, "the link shows another picture")
        browser.click("#edit-close")
        browser.wait_until(f"{READY} && {loaded}.includes('/framebuffer/{at}/') && !{loaded}.includes('replace=') && document.querySelector('#edit-pane').hidden")
        check(browser.evaluate(plain) == 0 and "code=" not in browser.evaluate("location.href"), "the picture stays changed")
        browser.click(f"#state [data-edit='{shader}']")
        browser.wait_until(f"{READY} && document.querySelector('#edit-text').value == {json.dumps(own)} && location.hash.includes('/{at}?')")
        browser.complaints = [text for text in browser.complaints if "404" not in text]
        browser.check_quiet(server.origin)


def check_values(context: Context, browser: Browser, server: Server, at: str, wish: tuple[str, ...], query: str) -> None:
    """All values that the page has beside the code are those of lapilli debug, of the last round."""
    browser.wait_until(f"{READY} && document.querySelector('#debug-pane').dataset.loaded == '{server.captures()[0]}/debug/{at}?{query}'")
    head, *runs = lines(context, "debug", "--json", "--quiet", "--at", at, *wish, "FILE")
    code = json.loads(verb(context, ["shaders", "--json", "FILE", head["debug"]["shader"]], "out.lapilli").stdout)["spirv"].splitlines()
    begins = [number for number, line in enumerate(code, 1) if re.match(r"\s*(%\w+ = )?Op[A-Z]", line)]
    rounds: dict[int, list[list]] = {}
    for index, values in runs[0]["invocation"]["steps"]:
        rounds.setdefault(begins[head["debug"]["results"][index]["instruction"]], []).append(values)
    check(bool(rounds), f"{head}")
    shown = {}
    for top in range(0, 18 * len(code), 180):
        browser.evaluate(f"document.querySelector('#debug-code').scrollTop = {top}")
        shown |= dict(browser.evaluate("""new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))).then(() => [...document.querySelectorAll('#debug-code .line')].map((line) =>
            [line.dataset.n, [line.querySelector('.text').title, line.querySelector('.value')?.textContent ?? '', line.querySelector('.computed').title]]))"""))
    for number, line in enumerate(code, 1):
        said, value, title = shown[str(number)]
        all_ = rounds.get(number, [])
        check(said == line.strip() and bool(value) == bool(all_), f"{number} {line}: {said}, {value}")
        told = [part.rpartition("] ")[2].split() for part in title.splitlines()[1:]]
        check(told == [[exact(one) for one in values] for values in all_], f"{number} {line}: {title}, not {all_}")
        if all_:
            check(all(a == exact(b) or abs(float(a) - float(b)) <= 1e-5 * abs(float(b)) for a, b in zip(value.split(), all_[-1], strict=True)), f"{number} {line}: {value}, not {all_[-1]}")
    outputs = browser.evaluate("[...document.querySelectorAll('#debug-outputs dd')].map((row) => row.title)")
    check(outputs == [" ".join(map(exact, values)) for values in runs[0]["invocation"]["outputs"]], f"{outputs}")


def exact(value: object) -> str:
    """As JavaScript writes what JSON has."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else re.sub(r"e([-+])0", r"e\1", repr(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


@case
def values_stand_beside_the_code_of_a_shader(context: Context) -> None:
    """Of the pinned texel, and of the next draw's; of a vertex. Nothing is asked before one asks, and a link shows the same."""
    record(context, [context.app("modern")])
    draws = [line["position"] for line in lines(context, "draws", "--json", "--at", "1", "FILE") if line["pass"]]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        open_at(browser, server, draws[0])
        check_draw(context, browser, draws[0])
        browser.click("#picture-canvas")
        browser.wait_until(f"{READY} && location.hash.includes('pin=')")
        pin = browser.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('pin')")
        check(not [url for url in browser.requests if "/debug/" in url], "values are asked for before one wants them")
        browser.click("#state [data-values=fragment]")
        draw = next(at for at in draws if lines(context, "debug", "--json", "--quiet", "--at", at, "--texel", pin, "FILE")[1:])
        while draw not in browser.evaluate("location.hash"):
            browser.key("n")
            browser.wait_until(READY)
        check_values(context, browser, server, draw, ("--texel", pin), f"texel={pin}")
        swatch = browser.evaluate("getComputedStyle(document.querySelector('#debug-outputs [data-output=\"0\"] .swatch')).backgroundColor")
        texel = next(line["after"]["values"] for line in lines(context, "pixel", "--json", "--at", "1", "--target", browser.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('of')"), "--all", "FILE", pin)
                     if line.get("position") == draw)
        check([int(part) for part in re.findall(r"\d+", swatch)[:3]] == [round(255 * part) for part in texel[:3]], f"{swatch}, not {texel}")
        link = browser.evaluate("location.href")
        browser.open("about:blank")
        browser.open(link)
        check_values(context, browser, server, draw, ("--texel", pin), f"texel={pin}")
        browser.click("#debug-pane [data-text=glsl]")
        browser.wait_until(f"{READY} && document.querySelector('#debug-code').textContent.includes('void main()') && document.querySelector('#debug-says').textContent.includes('SPIR-V')")
        browser.click("#debug-says .chip")
        browser.click("#debug-pane [data-stage=vertex]")
        browser.evaluate("(() => { const input = document.querySelector('#debug-vertex'); input.value = 1; input.dispatchEvent(new Event('change')); })()")
        check_values(context, browser, server, draw, ("--vertex", "1"), "vertex=1")
        browser.evaluate("(() => { const input = document.querySelector('#debug-vertex'); input.value = 999; input.dispatchEvent(new Event('change')); })()")
        browser.wait_until(f"{READY} && document.querySelector('#debug-says').textContent.includes('no vertex 999')")
        browser.click("#debug-close")
        browser.wait_until(f"{READY} && document.querySelector('#debug-pane').hidden && !document.querySelector('#state-pane').hidden && !location.hash.includes('values')")
        browser.check_quiet(server.origin)


@case
def rounds_of_a_loop_are_shown_one_by_one(context: Context) -> None:
    record(context, [context.app("descriptors")])
    at = lines(context, "draws", "--json", "FILE")[0]["position"]
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(f"{server.url}#/{server.captures()[0].split('/')[-1]}/commands/{at}?values=compute&invocation=0,0,0")
        check_values(context, browser, server, at, ("--invocation", "0,0,0"), "invocation=0,0,0")
        browser.evaluate("document.querySelector('#debug-code').scrollTop = 18 * 260")
        browser.wait_until("document.querySelectorAll('#debug-code .step').length > 0")
        browser.evaluate("(() => { const input = document.querySelector('#debug-code .step'); input.value = 2; input.dispatchEvent(new Event('change')); })()")
        loop = browser.evaluate("[...document.querySelectorAll('#debug-code .line')].filter((line) => line.querySelector('.step')?.max >= 7).map((line) => [line.querySelector('.step').value, line.querySelector('.value').textContent])")
        check(len(loop) > 3 and {number for number, _ in loop} == {"2"} and {value for _, value in loop} == {"14", "15", "true"}, f"{loop}")
        browser.check_quiet(server.origin)


@case
def edges_are_drawn_over_the_picture(context: Context) -> None:
    """They are where a draw changes a picture of lines, and the picture below stays."""
    record(context, [context.app("triangle"), "--offscreen"])
    draws = [line["position"] for line in lines(context, "draws", "--json", "FILE")]
    edges = """(() => { const over = document.querySelector('#picture-edges'); const pixels = over.getContext('2d').getImageData(0, 0, over.width, over.height).data;
        return [over.hidden, Array.from({length: over.width * over.height}, (_, i) => i).filter((i) => pixels[i * 4 + 3] === 255)]; })()"""
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        browser.wait_until(READY)
        browser.evaluate("location.hash += location.hash.includes('?') ? '&wire=1' : '?wire=1'")
        seen = 0
        for at in draws[:2]:
            made = []
            for words in ([], ["--skip", at]):
                [line, *_] = lines(context, "image", "--json", "--quiet", "--raw", "-o", "lines", "--wireframe", "--null-fragment", "--after", at, *words, "FILE")
                made.append((context.folder / "lines" / f"{at}-{line['name']}.raw").read_bytes())
            step = len(made[0]) // (line["width"] * line["height"])
            expected = [i for i in range(line["width"] * line["height"]) if made[0][i * step:(i + 1) * step] != made[1][i * step:(i + 1) * step]]
            browser.evaluate(f"location.hash = location.hash.replace(/commands\\/[0-9.]+/, 'commands/{at}')")
            said = f"{len(expected):,} texel" if expected else "no edges"
            browser.wait_until(f"{READY} && document.querySelector('#picture-probe').textContent.includes('{said}') && (document.querySelector('#picture').dataset.loaded ?? '').includes('/{at}/')")
            found = browser.evaluate(edges)
            check(found == [False, expected], f"{at}: {found}, not {expected}")
            check_draw(context, browser, at)
            seen += len(expected)
        check(seen > 3, "no draw has edges")
        choose_in_menu(browser, "#wireframe")
        browser.wait_until(f"{READY} && document.querySelector('#picture-edges').hidden")
        browser.check_quiet(server.origin)


@case
def counts_of_fragments_take_the_place_of_the_picture(context: Context) -> None:
    """They are those of the render pass by lapilli image, in the colors of the legend; the picture and the pin stay where they are."""
    record(context, [context.app("triangle"), "--offscreen"])
    draw = lines(context, "draws", "--json", "FILE")[0]
    where = "[JSON.stringify(document.querySelector('#picture').getBoundingClientRect()), document.querySelector('#picture-canvas').style.transform]"
    color = "(() => { const canvas = document.querySelector('#picture-canvas'); return [...canvas.getContext('2d').getImageData(%d, %d, 1, 1).data].slice(0, 3).join(', '); })()"
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        open_at(browser, server, draw["position"])
        check_draw(context, browser, draw["position"])
        before = browser.evaluate(where)
        check(not any("overdraw/" in one for one in browser.requests), "counts were asked for though nobody wanted them")
        choose_in_menu(browser, "#overdraw")
        for kind in ("shaded", "rasterized"):
            [line] = lines(context, "image", "--json", "--quiet", "--raw", "-o", "counts", "--overdraw", draw["pass"], *(["--rasterized"] if kind == "rasterized" else []), "FILE")
            data = (context.folder / line["file"]).read_bytes()
            most = line["most"]
            browser.wait_until(f"{READY} && document.querySelector('#picture').dataset.loaded?.includes('/overdraw/{draw['pass']}/{kind}.png')")
            if kind == "shaded":
                check(browser.evaluate(where) == before, "the picture has moved")
            said = browser.evaluate("document.querySelector('#picture-probe').textContent")
            check(f"{kind} {float(format(line['fragments'] / line['covered'], '.3g')):g} a texel, most {most['fragments']} at {most['x']},{most['y']}" in said, said)
            browser.click("#overdraw-most")
            browser.wait_until(f"{READY} && location.hash.includes('pin={most['x']},{most['y']}')")
            at = next(i for i in range(line["width"] * line["height"]) if data[4 * i] != most["fragments"])
            for x, y in ((most["x"], most["y"]), (at % line["width"], at // line["width"])):
                count = int.from_bytes(data[4 * (y * line["width"] + x):][:4], "little")
                browser.evaluate(f"location.hash = location.hash.replace(/pin=[0-9,]+/, 'pin={x},{y}')")
                browser.wait_until(f"{READY} && /x {x} y {y} *{count} fragments?/.test(document.querySelector('#picture-probe').textContent)")
                step = f"[...document.querySelectorAll('#overdraw-legend i')].findLast((one) => one.dataset.from <= {count}).style.background"
                check(browser.evaluate(step) == f"rgb({browser.evaluate(color % (x, y))})", f"the legend has not the color of {count}")
            if kind == "shaded":
                choose_in_menu(browser, "[data-overdraw=rasterized]")
        browser.check_quiet(server.origin)


@case
def a_trace_without_frames_says_so(context: Context) -> None:
    """What is behind the last frame is no frame: by info, the tree and the page."""
    record(context, [context.app("asks")])
    tree = verb(context, ["tree", "FILE"], "out.lapilli")
    whole = json.loads(verb(context, ["tree", "--json", "FILE"], "out.lapilli").stdout)
    check(context.info()["frames"] == whole["frames"] == 0 and tree.stdout == b"1  no frame\n" and tree.stderr == b"no frames\n", f"{tree}, {whole}")
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        browser.wait_until(f"{READY} && document.querySelector('#facts').textContent.includes('no frames')")
        shown = browser.evaluate("['#tree-title', '#state-title'].map((one) => document.querySelector(one).textContent)")
        check(shown == ["No frames", "no frames"] and browser.evaluate("document.querySelector('#film').hidden"), f"{shown}")
        browser.wait_until("document.querySelector('#picture').dataset.failed")
        check(not browser.evaluate("document.querySelector('#targets [data-target=presented], #show-presented')"), "an image that the frame presents is offered")


@case
def the_gate_names_the_port(context: Context) -> None:
    record(context, [context.app("asks")])
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.origin + "/")
        browser.wait_until("!!document.querySelector('#gate code')")
        shown = browser.evaluate("document.querySelector('#gate code').textContent")
        check(shown.startswith(f"{server.origin}/?token="), shown)


# ---- several traces, and views that are left

DRAWS, COMPUTES = ("1.1.1.17", "43.1.1.22"), "2.1.1.5"  # positions in traces of tests/apps/depth and compute
# All that is seen of a trace.
SEEN = """[...["state", "state-title", "tree", "tree-title", "film-strip", "film-tools", "picture-probe", "targets", "object-view", "object-list", "search-list", "work", "facts"]
        .map((id) => document.getElementById(id)?.textContent), document.getElementById("state-hold").textContent.replace("compare", ""),
    ...[...document.querySelectorAll("#picture canvas, #drawer")].map((one) => one.hidden ? "" : one.outerHTML)].filter((seen) => seen)"""
# Whether the frame that is chosen is in view.
IN_VIEW = """(() => { const [cell, strip] = ["#film-strip [aria-selected=true]", "#film-strip"].map((one) => document.querySelector(one)?.getBoundingClientRect());
    return Boolean(cell) && cell.left >= strip.left && cell.right <= strip.right; })()"""


def choose(capture: str) -> str:
    """As a user does in the menu of the traces."""
    return f"(() => {{ const menu = document.querySelector('#captures'); menu.value = '{capture}'; menu.dispatchEvent(new Event('change')); }})();"


def is_at(capture: str, position: str, target: str = "") -> str:
    """All views are at a position of a trace; target: its picture is there."""
    picture = f"document.querySelector('#picture').dataset.loaded?.endsWith('/{capture}/framebuffer/{position}/{target}.png')" if target else "document.querySelector('#picture').dataset.failed"
    return (f"location.hash.startsWith('#/{capture}/commands/{position}') && document.querySelector('#captures').value == '{capture}' && document.querySelector('#state').dataset.at == '{position}'"
            f" && document.querySelector('#tree [aria-selected=true]')?.dataset.position == '{position}' && {picture} && {READY} && {IN_VIEW}")


def check_nothing_stays(browser: Browser, first: str, second: str) -> None:
    seen = browser.evaluate(f"{choose(second)} {SEEN}")
    check(seen == [], f"of the trace before one sees {seen}")
    browser.wait_until(is_at(second, COMPUTES))
    stale = [url for url in browser.requests if f"/{second}/" in url and (DRAWS[1] in url or "/images/" in url)]
    check(not stale, f"the other trace is asked for {stale}")


@case
def a_switch_of_the_trace_leaves_nothing_of_the_one_before(context: Context) -> None:
    """Nor does Back, nor a switch back at once. Nobody waits any more for replays and thumbnails of a view that was left."""
    for name in ("depth", "compute"):
        record(context, [context.app(name)], f"{name}.lapilli")
    trees, replays, thumbnails = Gate(context, "tree"), Gate(context, "replay"), Gate(context, "image", "--at")
    with Server(context, "depth.lapilli", "compute.lapilli", folder=replays.folder) as server, Browser(context) as browser:
        first, second = (path.rpartition("/")[2] for path in server.captures())

        def work() -> set[tuple[str, str]]:
            return {found.groups() for one in server.work() if (found := re.match(r"/v1/captures/(\w+)/(tree|framebuffer|pixel|each|screenshots|images)", one["path"]))}

        browser.open(server.url)
        for capture in (first, second, first):
            until(lambda: work() == {(capture, "tree")}, "the frames of one trace alone")
            browser.evaluate(choose(second if capture == first else first))
        trees.open()
        browser.wait_until(f"document.querySelector('#state').dataset.at == '{COMPUTES}'")
        browser.evaluate(f"location.hash = '#/{first}/commands/{DRAWS[1]}?target=depth&pin=1,1'")
        until(lambda: work() == {(first, "framebuffer"), (first, "pixel")}, "a picture, and the history of a texel")
        browser.click("#film-pictures")
        until(lambda: work() == {(first, "framebuffer"), (first, "pixel"), (first, "screenshots")}, "pictures of frames")
        browser.evaluate(f"location.hash = '#/{first}/objects/VkImage:1?type=VkDevice'")
        until(lambda: work() == {(first, "images")}, "a texture alone")
        browser.wait_until("document.querySelector('#object-view[data-object] .texture') != null")
        browser.click("#tabs [data-view=shaders]")
        until(lambda: not work(), "an end of the texture")
        browser.click("#tabs [data-type=VkImage]")
        until(lambda: work() == {(first, "images")}, "thumbnails alone")
        browser.click("#tabs [data-view=shaders]")
        until(lambda: not work(), "an end of the thumbnails")
        browser.evaluate("history.go(-4)")
        until(lambda: work() == {(first, "framebuffer"), (first, "pixel")}, "the picture again")
        browser.evaluate(choose(second))
        until(lambda: work() == {(second, "framebuffer")}, "a picture of the other trace alone")
        replays.open()
        thumbnails.open()
        browser.wait_until(is_at(second, COMPUTES))
        browser.evaluate("history.back()")
        browser.wait_until(is_at(first, DRAWS[1], "depth"))
        browser.click("#state-hold")
        browser.key("/")
        browser.type("Draw")
        browser.wait_until("document.querySelectorAll('#search-list [data-result]').length > 0")
        browser.evaluate("location.hash += '&object=VkDevice:1'")
        browser.wait_until("document.querySelector('#drawer-view').dataset.object")
        check_nothing_stays(browser, first, second)
        browser.evaluate("history.back()")
        browser.wait_until(is_at(first, DRAWS[1], "depth"))
        browser.evaluate("history.forward()")
        browser.wait_until(is_at(second, COMPUTES))
        for quick in (choose(first) + choose(second) + choose(first), choose(second), choose(first)):
            browser.evaluate(quick)
        browser.wait_until(is_at(first, DRAWS[0], "color0"))
        until(lambda: not work(), "an end of all work")
        check(browser.evaluate(is_at(first, DRAWS[0], "color0")), "an answer about the other trace came later")
        browser.check_quiet(server.origin)


@case
def wrong_addresses_and_a_server_that_ends_are_told(context: Context) -> None:
    for name in ("depth", "compute"):
        record(context, [context.app(name)], f"{name}.lapilli")
    with Server(context, "depth.lapilli", "compute.lapilli") as server, Browser(context) as browser:
        first, second = (path.rpartition("/")[2] for path in server.captures())
        browser.open(server.url + "#/none/commands/1")
        browser.wait_until(is_at(first, DRAWS[0], "color0"))
        for below, right, sentence in (("", f"commands/{DRAWS[0]}", "There is no trace none: this is depth.lapilli."),
                                       ("frames", f"commands/{DRAWS[0]}", "There is no view frames: these are the commands."),
                                       ("commands/abc", f"commands/{DRAWS[0]}", f"There is no command abc: this is {DRAWS[0]}."),
                                       ("commands/43.9.9.9", "commands/43.1", "There is no command 43.9.9.9: this is 43.1."),
                                       ("commands/43.1.1.99?show=draws", f"commands/{DRAWS[1]}?show=draws", f"There is no command 43.1.1.99: this is {DRAWS[1]}."),
                                       ("commands/99.1", "commands/45", "There is no command 99.1: this is 45."),
                                       (f"commands/{DRAWS[0]}?target=stencil", f"commands/{DRAWS[0]}?target=color0", "There is no target stencil: this is color0.")):
            if below:
                browser.evaluate(f"location.hash = '#/{first}/{below}'")
            browser.wait_until(f"location.hash == '#/{first}/{right}' && document.querySelector('#said').textContent == '{sentence}' && !document.querySelector('#said').hidden && {READY}")
        browser.key("n")  # the next command may have the target
        browser.wait_until(f"location.hash == '#/{first}/commands/1.1.1.30?target=stencil' && document.querySelector('#said').hidden && {READY}")
        browser.evaluate(f"location.hash = '#/{first}/objects/VkDevice:1?at={DRAWS[1]}'")
        browser.wait_until(f"document.querySelector('#object-view [data-at]') && {READY}")
        browser.evaluate(f"location.hash = '#/{first}/commands/{DRAWS[1]}'")
        browser.wait_until(is_at(first, DRAWS[1], "color0"))
        browser.evaluate("location.hash = '#/none/commands/1'")
        browser.wait_until("document.documentElement.dataset.state == 'failed'")
        browser.evaluate(choose(first))
        browser.wait_until(f"{is_at(first, DRAWS[0], 'color0')} && document.querySelector('#gate').hidden")
        network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.send("Network.emulateNetworkConditions", offline=True, **network)
        browser.evaluate(f"location.hash = '#/{first}/commands/{DRAWS[1]}'")
        browser.wait_until("!document.querySelector('#gate').hidden && document.querySelector('#gate button').textContent == 'try again'")
        browser.send("Network.emulateNetworkConditions", offline=False, **network)
        browser.click("#gate button")
        browser.wait_until(f"{is_at(first, DRAWS[1], 'color0')} && document.querySelector('#gate').hidden")
        complaints = [text for text in browser.complaints if not re.search(r"status of 404|ERR_INTERNET_DISCONNECTED", text)]
        check(not complaints, f"the page complains: {complaints[:10]}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    named = {program.name: program for program in programs(context)}
    return {f"shows/{name}": page_shows(named[name], text) for name, text in (("vkcube", "Draw"), ("modern", "quarter"))} | CASES


@case
def of_a_farm_shows_what_differs(context: Context) -> None:
    """Pictures in the page and beside it are shown, also as a difference; names are text; nothing is wider than the window."""
    names = ["<img src=x onerror=alert(1)>", "folder/" + "a-long-name-" * 20]
    devices = tuple(f"a-device-with-a-name-{i}" for i in range(8))
    made = [Made(context.folder, label, day, devices=devices) for day, label in enumerate(("old", "new"))]
    for farm, changed, red in zip(made, (None, 9), (10, 30)):
        for name, behind in zip(names, (b"", bytes(7_000_000))):  # the second is too large for the page
            farm.run(name, "same", changed, devices[0], shots={9: picture(red) + behind})
        for device in devices[1:]:
            farm.run("other", "same", device=device)
    report = [sys.executable, "-m", "farm.report", "--history", str(context.folder), "--results"]
    here = {"PYTHONPATH": str(context.root), "PYTHONDONTWRITEBYTECODE": "1"}
    context.run([*report, str(made[0].path)], here)
    context.run([*report, str(made[1].path), "--baseline", str(made[0].path)], here, expect=1)
    with Browser(context) as browser:
        browser.open(made[1].path.as_uri() + "/index.html")
        check(browser.evaluate("document.querySelectorAll('img, script').length") == 0, "a name has become an element")
        browser.click(".matrix a[href='#p1']")
        browser.wait_until("document.querySelector('#p1').closest('details').open")
        shown = browser.evaluate("""[...document.querySelectorAll('.pictures')].map((row) => { const i = row.querySelector('i'), style = getComputedStyle(i);
            return [row.style.cssText.includes('data:'), style.backgroundBlendMode.split(",")[0], (style.backgroundImage.match(/url\\(/g) ?? []).length, i.getBoundingClientRect().width > 100]; })""")
        check(sorted(shown) == [[False, "difference", 2, True], [True, "difference", 2, True]], f"the pictures are {shown}")
        for width in (1280, 700):
            browser.size(width, 900)
            check(browser.evaluate("document.documentElement.scrollWidth") <= width, f"the page is wider than {width}")
        wanted = [url for url in browser.requests if url.endswith(".png")]
        check(len(wanted) == 2, f"linked pictures that are asked for: {wanted}")
        browser.check_quiet(context.folder.as_uri())
