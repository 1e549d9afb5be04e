# SPDX-License-Identifier: MIT
"""Twelve everyday questions about a program that somebody else wrote, answered in a browser, and checked against what the verbs say."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass

from e2e.browser import Browser
from e2e.cases import Cases, Context, Skip, check, display
from e2e.page import DIFFERENT, READY, choose
from e2e.page_state import shown
from e2e.server import Server, record, until, verb

CASES = Cases()

LOADED = "(document.querySelector('#picture').dataset.loaded ?? '')"
ZINK = {"LIBGL_ALWAYS_SOFTWARE": "1", "MESA_LOADER_DRIVER_OVERRIDE": "zink", "GALLIUM_DRIVER": "zink"}


@dataclass
class Tasks:
    """About a draw of one trace, which the page shows first."""

    context: Context
    browser: Browser
    server: Server
    file: str
    capture: str
    at: str = ""

    def ask(self, *words: str) -> list[dict]:
        return [json.loads(line) for line in verb(self.context, [*words[:1], "--json", *words[1:]], self.file).stdout.splitlines()]

    def state(self, *words: str) -> dict:
        return json.loads(verb(self.context, ["state", "--json", "--at", self.at, "FILE", *words], self.file).stdout)

    def picture(self, *words: str, at: str = "") -> tuple[dict, bytes]:
        """Of the first target: what is said of it, and its PNG."""
        folder = f"pictures{len(list(self.context.folder.glob('pictures*')))}"
        line = self.ask("image", "--quiet", "--raw=also", "-o", folder, "--after", at or self.at, *words, "FILE")[0]
        return line, (self.context.folder / line["file"]).read_bytes()

    def texels(self, *words: str, at: str = "") -> tuple[dict, list[bytes]]:
        line, _ = self.picture(*words, at=at)
        data, many = (self.context.folder / line["raw"]).read_bytes(), line["width"] * line["height"]
        size = len(data) // many
        return line, [data[i:i + size] for i in range(0, len(data), size)]

    def check_canvas(self, png: bytes, canvas: str = "#picture canvas") -> None:
        different = self.browser.evaluate(DIFFERENT.replace("#picture canvas", canvas) % base64.b64encode(png).decode())
        check(different == 0, f"{self.file}: {different} texels of {canvas} are others")

    def go(self, place: str) -> None:
        self.browser.evaluate(f"location.hash = '#/{self.capture}/{place}'")
        self.browser.wait_until(READY)

    # ---- the tasks

    def which_draw_painted_this_pixel(self) -> None:
        _, with_it = self.texels()
        line, without = self.texels("--skip", self.at)
        painted = [i for i, (a, b) in enumerate(zip(with_it, without)) if a != b]
        x, y = (number := painted[len(painted) // 2]) % line["width"], number // line["width"]
        self.go(f"commands/{self.at}")
        self.browser.wait_until(f"{LOADED}.includes('/framebuffer/{self.at}/') && {READY}")
        self.check_canvas(self.picture()[1])
        frame, image = self.at.partition(".")[0], line["image"]
        self.browser.evaluate("document.querySelector('#picture').focus()")
        place = self.browser.evaluate(f"""(() => {{ const box = document.querySelector('#picture-canvas').getBoundingClientRect();
            return {{x: box.x + ({x} + .5) / {line['width']} * box.width, y: box.y + ({y} + .5) / {line['height']} * box.height}}; }})()""")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.browser.send("Input.dispatchMouseEvent", type=kind, button="none" if kind == "mouseMoved" else "left", clickCount=1, **place)
        self.browser.wait_until("location.hash.includes('pin=')")
        pin = self.browser.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('pin')")
        check(all(abs(a - b) <= 1 for a, b in zip(map(int, pin.split(",")), (x, y))), f"{pin} is pinned, not {x},{y}")
        _, *written, _ = self.ask("pixel", "--at", frame, "--target", image, "--all", "FILE", pin)
        changing = [row["position"] for row in written if row["changed"]]
        self.browser.wait_until(f"{READY} && (document.querySelector('#history').dataset.loaded ?? '').endsWith('{pin}')")
        rows = self.browser.evaluate("[...document.querySelectorAll('#history [data-texel]')].map((row) => row.dataset.texel)")
        check(rows == changing and self.at in rows, f"{rows}, not {changing}")

    def bounds_of_the_mesh_and_the_written_depth(self) -> None:
        line, behind = self.texels("--targets", "depth")
        _, before = self.texels("--targets", "depth", "--skip", self.at)
        wide, where = line["width"], [i for i, (a, b) in enumerate(zip(behind, before)) if a != b]
        written = [min(i % wide for i in where), min(i // wide for i in where), max(i % wide for i in where) + 1, max(i // wide for i in where) + 1]
        self.go(f"commands/{self.at}?target=mesh&mesh=out")
        self.browser.wait_until(f"document.querySelector('#mesh')?.dataset.loaded == '{self.at}' && !!document.querySelector('#mesh').dataset.bounds && {READY}")
        bounds = [float(word) for word in self.browser.evaluate("document.querySelector('#mesh').dataset.bounds").split()]
        numbers = self.browser.evaluate("[...document.querySelectorAll('#state [data-part=Viewport] dd[data-key=\"viewport 0\"] .v-number')].map((one) => Number(one.textContent))")
        left, top, width, height = numbers[:4]
        # The view has y upward, and z toward the eye.
        top, height = min(top, top + height), abs(height)
        found = [left + (bounds[0] + 1) * width / 2, top + (1 - bounds[4]) * height / 2, left + (bounds[3] + 1) * width / 2, top + (1 - bounds[1]) * height / 2]
        check(all(abs(a - b) <= 2 for a, b in zip(found, written)), f"{self.file}: the mesh is in {found}, and depth is written in {written}")
        bits = 16 if "D16" in line["format"] else 24
        nearest = min(int.from_bytes(behind[i], "little") % (1 << bits) for i in where) / ((1 << bits) - 1)
        whole = any(one["name"] == "vkCmdSetDepthClipNegativeOneToOneEXT" and one["args"]["negativeOneToOne"] for one in self.state()["dynamicState"])
        near, far = ((1 - z) / 2 if whole else -z for z in (bounds[5], bounds[2]))
        check(-1e-4 < nearest - near < 0.05 * (far - near) + 1e-4, f"{self.file}: the nearest vertex is at {near}, and the nearest depth {nearest}")

    def levels_of_a_texture(self) -> None:
        made = {one["object"]: self.state(one["object"])["creation"]["args"].get("pCreateInfo", {}) for one in self.state("--list", "--type", "VkImage")["objects"]}
        image = max((one for one in made if "SAMPLED" in made[one].get("usage", "")), key=lambda one: made[one]["mipLevels"])
        levels = made[image]["mipLevels"]
        for level in sorted({0, levels // 2, levels - 1}):
            self.go(f"objects/{image}?at={self.at}&type=VkImage" + (f"&mip={level}" if level else ""))
            self.browser.wait_until(f"document.querySelector('#object-view .stage')?.dataset.loaded == '{level or ''},,' && {READY}")
            line, png = self.picture("--image", f"{image},{level}")
            check(line["width"] == max(made[image]["extent"]["width"] >> level, 1), f"{line}")
            self.check_canvas(png, "#object-view .stage canvas")

    def values_of_uniforms(self) -> None:
        self.go(f"commands/{self.at}")
        shown(self.browser, self.at)
        link = "#state [data-part^=Set] .handle[data-extra*='\"as\":\"block\"']"
        self.browser.wait_until(f"!!document.querySelector({json.dumps(link)})")
        buffer, extra = self.browser.evaluate(f"(() => {{ const one = document.querySelector({json.dumps(link)}); return [one.dataset.object, JSON.parse(one.dataset.extra)]; }})()")
        self.browser.click(link)
        self.browser.wait_until(f"{READY} && document.querySelectorAll('#drawer-view .members dd').length > 0")
        rows = self.browser.evaluate("[...document.querySelectorAll('#drawer-view .members dd')].map((row) => row.innerText)")
        numbers = [float(word) for row in rows for word in row.split() if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", word)]
        many = len(numbers)
        told = json.loads(verb(self.context, ["memory", "--json", "--at", self.at, "--as", "u32" if rows[0].endswith(" uint") else "f32", "FILE", buffer, str(extra["offset"]), str(4 * many)], self.file).stdout)
        values = [value for row in told["elements"] for value in row]
        # Matrices are shown row by row, and lie column by column.
        check(len(values) == many > 3 and all(abs(a - b) <= 1e-3 * max(1, abs(b)) for a, b in zip(sorted(numbers), sorted(values))), f"{self.file}: {rows[:4]}, not {values}")
        self.browser.click("#drawer-close")

    def two_frames_side_by_side(self) -> None:
        self.go(f"commands/{self.at}")
        shown(self.browser, self.at)
        self.browser.click("#state-hold")
        self.browser.key("]")
        self.browser.wait_until(f"document.querySelector('#state').dataset.against == '{self.at}' && document.querySelector('#compare')?.dataset.different !== undefined && {READY}")
        other = self.browser.evaluate("location.hash.split('?')[0].split('/').pop()")
        check(int(other.split(".")[0]) == int(self.at.split(".")[0]) + 1 and other.split(".")[1:] == self.at.split(".")[1:], f"] leads from {self.at} to {other}")
        different = sum(a != b for a, b in zip(self.texels()[1], self.texels(at=other)[1]))
        check(self.browser.evaluate("document.querySelector('#compare').dataset.different") == str(different) and different > 0, f"{different} texels")
        self.browser.click("#state-hold")

    def another_shader(self) -> None:
        shaders = json.loads(verb(self.context, ["shaders", "--json", "FILE"], self.file).stdout)["shaders"]
        pipeline = self.state()["bound"]["graphics"]["pipeline"]
        shader = next(one["hash"] for one in shaders if any(user["pipeline"] == pipeline for user in one["pipelines"]) and "FRAGMENT" in one["stages"][0]["stage"])
        self.go(f"commands/{self.at}")
        shown(self.browser, self.at)
        self.browser.click(f"#state [data-edit='{shader}']")
        self.browser.wait_until(f"{READY} && !!document.querySelector('#edit-text')?.value && !document.querySelector('#edit-text').disabled")
        own = self.browser.evaluate("document.querySelector('#edit-text').value")
        green = re.sub(r"void main\(\)\s*\{", "\\g<0> %s = vec4(0.0, 1.0, 0.0, 1.0); return;" % re.search(r"out vec4 (\w+)", own)[1], own)
        (self.context.folder / "green.frag").write_text(green)
        self.browser.evaluate(f"(() => {{ const text = document.querySelector('#edit-text'); text.value = {json.dumps(green)}; text.dispatchEvent(new Event('input')); }})()")
        self.browser.click("#edit-apply")
        self.browser.wait_until(f"{READY} && {LOADED}.includes('replace=')")
        line, png = self.picture("--replace-shader", f"{shader}=green.frag")
        self.check_canvas(png)
        check(png != self.picture()[1], f"{line}: the code changes nothing")
        self.browser.click("#edit-close")
        self.browser.wait_until(f"{READY} && !{LOADED}.includes('replace=')")

    def a_word_in_code(self) -> None:
        self.browser.key("/")
        self.browser.type("gl_Position")
        found = self.ask("find", "--limit", "100", "FILE", "gl_Position")
        self.browser.wait_until(f"document.querySelectorAll('#search-list [data-result]').length == {len(found)} && {len(found)} > 0")
        self.browser.key("Enter")
        self.browser.wait_until(f"location.hash.endsWith('/shaders/{found[0]['shader']}?line={found[0]['line']}') && !!document.querySelector('#code .hit')")
        check(self.browser.evaluate("document.querySelector('#code .hit').textContent.trim()") == found[0]["text"], f"{found[0]}")

    def memory_by_heap(self) -> None:
        memory = {}  # what binds each image, by the calls
        for call in self.ask("print", "--no-blocks", "FILE"):
            if call["name"] == "lapilliBindImage":
                memory[call["args"]["image"]] = call["args"]["size"]
        self.go(f"objects?at={self.at}&type=VkImage")
        self.browser.wait_until(f"{READY} && document.querySelectorAll('#object-list [data-listed]').length > 0 && !!document.querySelector('#resource-sums [data-heap]')")
        living = [one["object"] for one in self.state("--list", "--type", "VkImage")["objects"] if one["object"] in memory]
        sums = self.browser.evaluate("[...document.querySelectorAll('#resource-sums [data-heap]')].map((one) => [Number(one.dataset.bytes), Number(one.dataset.many)])")
        check(bool(living) and sum(size for size, _ in sums) == sum(memory[one] for one in living), f"{sums}, not {[memory[one] for one in living]}")

    def saved_files(self) -> None:
        saved = self.context.folder / "saved"
        saved.mkdir(exist_ok=True)
        self.browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(saved))
        self.go(f"commands/{self.at}")
        self.browser.wait_until(f"{LOADED}.includes('/framebuffer/{self.at}/') && {READY}")
        line, png = self.picture()
        name = f"{self.file.removesuffix('.lapilli')}-{self.at}-{line['name']}"
        for kind, wanted in (("png", png), ("raw", (self.context.folder / line["raw"]).read_bytes())):
            self.browser.click(f"#picture-probe [data-save={kind}]")
            until((saved / f"{name}.{kind}").exists, f"{name}.{kind}, but {[path.name for path in saved.iterdir()]}")
            check((saved / f"{name}.{kind}").read_bytes() == wanted, f"other bytes in {name}.{kind}")

    def a_link_for_somebody(self) -> str:
        self.go(f"commands/{self.at}?show=draws&pin=5,4")
        shown(self.browser, self.at)
        self.browser.click("#copy-link")
        self.browser.wait_until("!!document.querySelector('#copy-link').dataset.link")
        link = self.browser.evaluate("document.querySelector('#copy-link').dataset.link")
        check("token" not in link, link)
        self.browser.open("about:blank")
        self.browser.open(link)
        shown(self.browser, self.at)
        self.browser.wait_until(f"location.hash.includes('pin=5,4') && document.querySelector('#tree-modes [data-mode=draws]').ariaPressed == 'true' && {READY}")
        return link


TEN = [Tasks.which_draw_painted_this_pixel, Tasks.bounds_of_the_mesh_and_the_written_depth, Tasks.levels_of_a_texture, Tasks.values_of_uniforms, Tasks.two_frames_side_by_side,
       Tasks.another_shader, Tasks.a_word_in_code, Tasks.memory_by_heap, Tasks.saved_files, Tasks.a_link_for_somebody]


def recorded(context: Context) -> list[str]:
    """A Vulkan program, and one of OpenGL by way of zink."""
    display()
    record(context, [*context.installed("vkcube"), "--c", "8"], "vkcube.lapilli")
    if context.driver_dir:
        raise Skip("the driver of the tests has no OpenGL")
    program = context.installed("glmark2")
    context.run([context.program("lapilli"), "capture", "-o", "glmark.lapilli", "--", *program, "-s", "400x300", "-b", "texture:texture-filter=mipmap:nframes=16"], ZINK, expect=None)
    check(context.info("glmark.lapilli")["frames"] > 8, "glmark2 was not recorded")  # the end of its window may be an error of the window system
    return ["vkcube.lapilli", "glmark.lapilli"]


@CASES.add
def twelve_tasks_are_done(context: Context) -> None:
    files = recorded(context)
    with Browser(context, 1600, 1000) as browser:
        with Server(context, *files) as server:
            browser.open(server.url)
            browser.wait_until(READY)
            all_ = [Tasks(context, browser, server, file, path.split("/")[-1]) for file, path in zip(files, server.captures())]
            for tasks in all_:
                draws = [row["position"] for row in tasks.ask("draws", "FILE") if row["pass"]]
                tasks.at = draws[len(draws) // 2]
                tasks.go(f"commands/{tasks.at}")
                for task in TEN:
                    task(tasks)
            first = all_[0]
            browser.evaluate(choose(first.capture))
            browser.wait_until(f"location.hash.startsWith('#/{first.capture}/commands/') && document.querySelector('#facts').textContent.includes('vkcube') && {READY}")
            first.go(f"commands/{first.at}")
            shown(browser, first.at)
            first.check_canvas(first.picture()[1])
            server.process.kill()
            server.process.wait()
            browser.key("]")
            browser.wait_until("document.querySelector('#begin')?.textContent == 'try again'")
            place = browser.evaluate("location.hash.split('?')[0]")
        with Server(context, *files, port=server.port) as again:
            browser.click("#begin")
            browser.wait_until("document.querySelector('#gate code')?.textContent.includes('token=')")
            browser.open(again.url)
            shown(browser, place.split("/")[-1])
            check(browser.evaluate("location.hash.split('?')[0]") == place, f"the place of the killed server was {place}")
        browser.complaints = [text for text in browser.complaints if not re.search("404|501|ERR_CONNECTION|401", text)]
        browser.check_quiet(again.origin)
