# SPDX-License-Identifier: MIT
"""Two GPUs in one machine: each question of lapilli serve, and the page, choose one; nothing of the other one is an answer."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

from e2e.browser import Browser
from e2e.cases import OTHER_DRIVERS, Cases, Context, Skip, check
from e2e.page import DIFFERENT, READY
from e2e.server import Gate, Server, draws_of_a_frame, read_words, record, until, verb, waiting_of

SERVER, PAGE = Cases(), Cases()

GPUS = ("llvmpipe", "SwiftShader Device")
# Rounding decides its colors.
NOISE = """#version 450
layout(location = 0) out vec4 color;
void main() { color = vec4(fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453)); }
"""
LOADED = "(document.querySelector('#picture')?.dataset.loaded ?? '')"


def both(context: Context) -> dict[str, str]:
    """The environment of a machine with both drivers."""
    manifests = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd.*.json"))
    if not manifests or not OTHER_DRIVERS["swiftshader"].exists() or context.driver or context.driver_dir:
        raise Skip("there is no second driver")
    drivers = ":".join(map(str, (manifests[0], OTHER_DRIVERS["swiftshader"])))
    return {"VK_DRIVER_FILES": drivers, "VK_ICD_FILENAMES": drivers}


def fragment_shader(context: Context) -> str:
    shaders = json.loads(verb(context, ["shaders", "--json", "FILE"], "out.lapilli").stdout)["shaders"]
    return next(one["hash"] for one in shaders if "FRAGMENT" in one["stages"][0]["stage"])


def picture_on(context: Context, env: dict[str, str], at: str, gpu: str, *words: str) -> tuple[bytes, bytes]:
    """What lapilli image prints, and its picture."""
    words = ("image", "--json", "--quiet", "--raw=also", "-o", "files", *(["--gpu", gpu] if gpu else []), *words, "--after", at, "FILE")
    done = verb(context, [*words], "out.lapilli", env)
    check(done.returncode == 0, done.stderr.decode())
    return done.stdout, (context.folder / f"files/{at}-color0.png").read_bytes()


@SERVER.add
def a_question_names_its_gpu(context: Context) -> None:
    """The bytes are those of the verb on that GPU, also where a replay on the other one waits. Without a name they are as before."""
    env = both(context)
    record(context, [context.app("triangle"), "--offscreen"])
    frame, draws, _ = draws_of_a_frame(context)
    shader, gate = fragment_shader(context), Gate(context, "image")
    gate.open()
    (context.folder / "noise.frag").write_text(NOISE)
    with Server(context, "--waiting", "1", "out.lapilli", folder=gate.folder, env=env) as server:
        [capture] = server.captures()

        def ask(path: str, gpu: str) -> bytes:
            answer = server.ask(f"{capture}/{path}{'&' if '?' in path else '?'}gpu={gpu.replace(' ', '%20')}")
            check(answer.status == 200, f"{path} on {gpu}: {answer.body[:500]}")
            return answer.body

        for number, gpu in enumerate(GPUS, 1):
            for at in draws[:2]:
                check(ask(f"framebuffer/{at}", gpu) == picture_on(context, env, at, gpu)[0], f"another answer than lapilli image --gpu {gpu}")
                until(lambda: [read_words(child)[read_words(child).index("--gpu") + 1] for child in waiting_of(server)] == [gpu], f"one that waits for {frame} on {gpu}")
            check(len(gate.started()) == number, f"{len(gate.started())} have played from the beginning, not one on each GPU")
        code = server.ask("/v1/code/frag", "POST", NOISE.encode()).json["code"]
        noise = [ask(f"framebuffer/{draws[-1]}/color0.png?replace={shader}%3D{code}", gpu) for gpu in GPUS]
        check(noise == [picture_on(context, env, draws[-1], gpu, "--replace-shader", f"{shader}=noise.frag")[1] for gpu in GPUS] and noise[0] != noise[1], "not the pictures of two GPUs")
        check(server.ask(f"{capture}/framebuffer/{draws[0]}").body == picture_on(context, env, draws[0], "")[0], "without a GPU the answer has changed")
        at = draws[0]
        for path in (f"framebuffer/{at}", f"framebuffer/{at}/color0.png", f"each/{at}", f"overdraw/{at}", f"pixel/{at}?xy=1,1&target=VkImage:2", f"debug/{at}?texel=9,9", f"mesh/{at}", "profile?frames=1-1", "screenshots?frames=1", "screenshots/1.png"):
            for unknown in ("nosuch", "99"):
                answer = server.ask(f"{capture}/{path}{'&' if '?' in path else '?'}gpu={unknown}")
                check((answer.status, answer.json["exit"]) == (501, 5) and f"GPU {unknown}" in answer.json["error"].replace('of this machine is called "nosuch"', "GPU nosuch"), f"{path}: {answer}")
        check(not json.loads(ask("check", "nosuch"))["can_replay"] and "SwiftShader" in json.loads(ask("check", GPUS[1]))["gpu"], "check looks at another GPU")
        for wrong in ("", "-1", "--help", "x" * 257, "%0a", "1&gpu=1"):
            check(server.ask(f"{capture}/framebuffer/{at}?gpu={wrong}").status == 400, f"gpu={wrong}")
        check(server.ask(f"{capture}/info?gpu=1").status == 400, "what plays nothing has a GPU")


def choose(gpu: str) -> str:
    return f"(() => {{ const menu = document.querySelector('#gpus'); menu.value = [...menu.options].find((one) => one.text === '{gpu}').value; menu.dispatchEvent(new Event('change')); }})()"


def shown_on(gpu: str, path: str = "replace=") -> str:
    return f"{READY} && {LOADED}.includes('{path}') && {LOADED}.endsWith('gpu={gpu.replace(' ', '%20')}')"


@PAGE.add
def a_gpu_is_chosen_in_the_header(context: Context) -> None:
    """The canvas has the picture of that GPU, all replays are asked of it, and times of another one are gone. The address keeps it."""
    env = both(context)
    record(context, [context.app("modern")], "modern.lapilli")
    record(context, [context.app("triangle"), "--offscreen"])
    at, shader = draws_of_a_frame(context)[1][-1], fragment_shader(context)
    (context.folder / "noise.frag").write_text(NOISE)
    different = {gpu: DIFFERENT % base64.b64encode(picture_on(context, env, at, gpu, "--replace-shader", f"{shader}=noise.frag")[1]).decode() for gpu in GPUS}
    with Server(context, "out.lapilli", "modern.lapilli", env=env) as server, Browser(context) as browser:
        ids = {one["file"]: one["id"] for one in server.ask("/v1/captures").json["captures"]}
        browser.open(f"{server.url}#/{ids['out.lapilli']}/commands/{at}?edit={shader}&as=glsl&show=time")
        browser.wait_until(f"{READY} && !document.querySelector('#edit-text').disabled && document.querySelectorAll('#gpus option').length == 3")
        check(not [url for url in browser.requests if "gpu=" in url], "a GPU is asked for, and none is chosen")
        browser.evaluate(f"(() => {{ const text = document.querySelector('#edit-text'); text.value = {json.dumps(NOISE)}; text.dispatchEvent(new Event('input')); }})()")
        browser.click("#edit-apply")
        browser.wait_until(f"{READY} && {LOADED}.includes('replace=')")
        browser.click("#times-measure")
        browser.wait_until(f"{READY} && !!document.querySelector('#tree .ms:not(:empty)')")
        before = len(browser.requests)
        for gpu in GPUS:
            browser.evaluate(choose(gpu))
            browser.wait_until(f"{shown_on(gpu)} && !!document.querySelector('#times-measure')")
            found = [browser.evaluate(different[one]) for one in GPUS]
            check(found[GPUS.index(gpu)] == 0 < max(found), f"on {gpu} {found} texels differ")
        link = browser.evaluate("location.href")
        browser.open("about:blank")
        browser.open(link)
        browser.wait_until(f"{shown_on(GPUS[1])} && document.querySelector('#gpus').selectedOptions[0]?.text == '{GPUS[1]}'")
        check(browser.evaluate(different[GPUS[1]]) == 0, "the link shows another picture")
        for query, shown in (("target=mesh", "#mesh[data-loaded]"), ("overdraw=shaded&pin=9,9", "#overdraw-most"), ("values=vertex&vertex=0", "#debug-pane[data-loaded]")):
            browser.evaluate(f"location.hash = location.hash.split('?')[0] + '?{query}&gpu={GPUS[1]}'")
            browser.wait_until(f"{READY} && !!document.querySelector('{shown}')")
        browser.click("#tabs [data-view=shaders]")
        browser.wait_until(READY)
        browser.click("#tabs [data-view=commands]")
        browser.evaluate("location.hash += '&show=time'")
        browser.wait_until("!!document.querySelector('#times-measure')")
        browser.click("#times-measure")
        browser.wait_until(f"{READY} && !!document.querySelector('#tree .ms:not(:empty)')")
        plays = [url.split("?") for url in browser.requests[before:] if re.search(r"/v1/captures/\w+/(framebuffer|each|overdraw|pixel|debug|mesh|profile|screenshots)\b", url)]
        check(len({url[0].split("/")[6] for url in plays}) >= 5 and all("gpu=" in url[-1] for url in plays), f"not on the GPU: {plays}")
        # A trace that this GPU can't play.
        browser.evaluate(f"(() => {{ const menu = document.querySelector('#captures'); menu.value = '{ids['modern.lapilli']}'; menu.dispatchEvent(new Event('change')); }})()")
        browser.wait_until(f"{READY} && !!document.querySelector('#picture')?.dataset.failed")
        said = browser.evaluate("[document.querySelector('#picture').textContent, location.hash]")
        check("lacks requirements of the trace" in said[0] and ids["modern.lapilli"] in said[1] and "gpu=SwiftShader" in said[1], f"{said}")
        browser.evaluate(f"location.hash = '#/{ids['modern.lapilli']}/commands/1?gpu=nosuch'")
        browser.wait_until(f"{READY} && document.querySelector('#said').textContent.includes('no GPU nosuch') && !location.hash.includes('gpu=') && !!{LOADED}")
        check(browser.evaluate("document.querySelector('#gpus').value") == "" and browser.evaluate("document.querySelector('header').offsetHeight") < 50, "the header is not as before")
        browser.complaints = [text for text in browser.complaints if "501" not in text]
        browser.check_quiet(server.origin)


@PAGE.add
def one_gpu_has_no_menu(context: Context) -> None:
    """There is one where the machine has several."""
    record(context, [context.app("triangle"), "--offscreen"])
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        browser.open(server.url)
        browser.wait_until(f"{READY} && performance.getEntriesByType('resource').some(({{name}}) => name.endsWith('/v1/devices'))")
        gpus = server.ask("/v1/devices").json["gpus"]
        check(browser.evaluate("document.querySelector('#gpu').hidden") == (len(gpus) == 1), f"the menu of {gpus}")
