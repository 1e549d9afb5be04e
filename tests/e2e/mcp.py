# SPDX-License-Identifier: MIT
"""lapilli mcp: its tools answer what the verbs print, without what says nothing and in parts, and bad messages get errors while the next ones are answered."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Iterator

from e2e.cases import STUCK, Cases, Context, Skip, check, patience

CASES = Cases()
case = CASES.add


def talk(context: Context, messages: list[dict | str], *options: str, env: dict[str, str] | None = None) -> list[dict]:
    text = "".join((m if isinstance(m, str) else json.dumps({"jsonrpc": "2.0", **m})) + "\n" for m in messages)
    done = subprocess.run([context.program("lapilli"), "mcp", *options, "out.lapilli"], cwd=context.folder, env=context.environment(env), input=text, capture_output=True, text=True,
                          timeout=patience(120), check=False)
    check(done.returncode == 0 and not done.stderr, f"{done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(number: int, name: str, /, **arguments: object) -> dict:
    return {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def texts(answer: dict) -> list[str]:
    return [item["text"] for item in answer["result"]["content"] if item["type"] == "text"]


def compact(value: Any) -> Any:
    """Without members that are null, zero or empty."""
    if isinstance(value, dict):
        members = {key: compact(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member or member is False}
    return [compact(element) for element in value] if isinstance(value, list) else value


def rows(text: str) -> list[Any]:
    """JSON values, one behind the other."""
    result: list[Any] = []
    while text := text.strip():
        value, end = json.JSONDecoder().raw_decode(text)
        result, text = [*result, value], text[end:]
    return result


@case
def tools_answer_what_verbs_print(context: Context) -> None:
    context.run([context.app("depth")], context.layer_env())

    def verb(*words: str) -> str:
        return context.run([context.program("lapilli"), *words]).out
    first = json.loads(verb("draws", "--json", "out.lapilli").splitlines()[0])
    draw, begin = first["position"], first["pass"]
    counts = verb("state", "--json", "--at", "1", "--count", "out.lapilli")
    pictures = rows(verb("image", "--json", "--after", draw, "-o", "pictures", "--quiet", "out.lapilli"))
    each = rows(verb("image", "--json", "--each", begin, "-o", "each", "--quiet", "out.lapilli"))
    target = pictures[0]["image"]
    validated = context.run([context.program("lapilli"), "report", "--validate", "--json", "out.lapilli"], expect=None)  # 5: there is no layer
    expected = [("info", {}, verb("info", "--json", "out.lapilli")), ("tree", {"at": "1", "depth": 2}, verb("tree", "--json", "--at", "1", "--depth", "2", "out.lapilli")),
                ("draws", {}, verb("draws", "--json", "out.lapilli")), ("bound", {"at": draw}, verb("state", "--json", "--at", draw, "out.lapilli")),
                ("objects", {"at": "1", "count": True}, counts), ("bound", {"at": "1"}, counts),
                ("memory", {"at": "1", "object": "VkBuffer:1", "bytes": 8}, verb("memory", "--json", "--at", "1", "out.lapilli", "VkBuffer:1", "0", "8")),
                ("pixel", {"at": draw, "xy": "5,4", "target": target}, verb("pixel", "--json", "--at", draw, "--target", target, "out.lapilli", "5,4")),
                *([("validation", {}, validated.out)] if validated.status == 0 else []),
                ("mesh", {"at": draw, "rows": "0-1"}, verb("mesh", "--json", "--quiet", "--at", draw, "--rows", "0-1", "out.lapilli")),
                *(("debug", {"at": draw, "vertex": 1, **name}, verb("debug", "--json", "--quiet", "--at", draw, "--vertex", "1", *(f"--name={value}" for value in name.values()), "out.lapilli")) for name in ({}, {"name": "gl_VertexIndex"}))]
    answers = talk(context, [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}, {"method": "notifications/initialized"}, {"id": 1, "method": "tools/list"},
                             call(2, "captures"), *(call(3, "framebuffer_picture", at=draw, **wish) for wish in ({}, {"file": "depth"}, {"file": "depth.png"})),
                             *(call(4, "each_picture", at=begin, **wish) for wish in ({}, {"file": f"{draw}-depth"})),
                             *(call(10 + i, name, **arguments) for i, (name, arguments, _) in enumerate(expected)), call(5, "profile", frames="1-1", loops=1)], "--wait-limit", "60")
    check([a["id"] for a in answers] == [0, 1, 2, 3, 3, 3, 4, 4, *range(10, 10 + len(expected)), 5], f"{[a['id'] for a in answers]}")
    times = json.loads(texts(answers.pop())[0])
    check(times["frame"]["gpu_ms"]["median"] > 0 and "pass" in {part["kind"] for part in times["parts"]}, f"{times}")
    check(answers[0]["result"]["protocolVersion"] == "2025-03-26" and "tools" in answers[0]["result"]["capabilities"], f"{answers[0]}")
    tools = {tool["name"]: tool["inputSchema"] for tool in answers[1]["result"]["tools"]}
    check({name for name, *_ in expected} < set(tools) and tools["memory"]["required"] == ["at", "object"] and tools["objects"]["properties"]["count"]["type"] == "boolean", f"{tools}")
    check(json.loads(texts(answers[2])[0])[0]["path"] == os.path.realpath(context.folder / "out.lapilli"), f"{answers[2]}")
    files = [Path(row["file"]).stem for row in each]
    for made, picture, names, answer in zip([pictures] * 3 + [each] * 2, ("color0", "depth", "depth") * 2, [[row["name"] for row in pictures]] * 3 + [files] * 2, answers[3:]):
        image, [text] = answer["result"]["content"][0], texts(answer)
        [row] = [row for row in made if row["name"] == picture and row.get("position", draw) == draw]
        check(image["mimeType"] == "image/png" and base64.b64decode(image["data"]) == (context.folder / row["file"]).read_bytes(), "the picture")
        facts = {**{key: row[key] for key in row if key not in ("file", "raw", "gpu")}, "files": names}
        check(json.loads(text) == compact(facts), f"{text} instead of {facts}")
    for (name, arguments, text), answer in zip(expected, answers[8:]):
        got = texts(answer)
        check(not answer["result"]["isError"] and rows(got[0]) == [compact(row) for row in rows(text)], f"{name}: {answer} instead of {text}")
        check(len(got) == 1 or (arguments == {"at": "1"} and "is no command" in got[1]), f"{name}: {got}")


@case
def long_answers_come_in_parts(context: Context) -> None:
    """Of each all parts are JSON, and together the whole."""
    context.run([context.app("modern")], context.layer_env())
    shader = json.loads(context.run([context.program("lapilli"), "shaders", "--json", "out.lapilli"]).out)["shaders"][0]["hash"]

    def parts(name: str, page: int, **arguments: object) -> list[list[Any]]:
        result: list[list[Any]] = []
        while not result or "cursor" in arguments:
            [answer] = talk(context, [call(1, name, **arguments)], "--page", str(page))
            text, *more = texts(answer)
            if "was built without" in text:
                raise Skip(text)
            check(not answer["result"]["isError"] and len(text) < page + 500, f"{name}: {answer}")
            arguments.pop("cursor", None)
            arguments |= {"cursor": int(more[0].rpartition("cursor=")[2])} if more else {}
            result.append(rows(text))
        return result
    for name, arguments, inside in (("draws", {"frames": "1-9"}, lambda rows: rows), ("objects", {"at": "2"}, lambda rows: rows[0].get("objects", [])),
                                    ("shader", {"hash": shader}, lambda rows: rows[0].get("spirv", "")), ("tree", {"at": "1", "all": True}, lambda rows: list(nodes(rows[0])))):
        [whole], several = parts(name, 1000000, **arguments), parts(name, 1000, **arguments)
        found = [part for rows in several for part in inside(rows)]
        if name == "tree":
            found = list(dict.fromkeys(found))
        check(len(several) > 2 and found == list(inside(whole)), f"{name}: {several} instead of {whole}")


def nodes(part: dict) -> Iterator[str]:
    for node in part.get("nodes", part.get("children", [])):
        yield node["position"]
        yield from nodes(node)


@case
def nothing_is_said_in_words(context: Context) -> None:
    """Also what a verb says beside its answer: that there is more, and that the trace is incomplete."""
    context.run([context.app("depth")], context.layer_env())
    asked = [(call(1, "find", text="no such name"), "nothing has 'no such name'"), (call(2, "unused", type="VkInstance"), "there is none"), (call(3, "find", text="vkCmd", limit=1), "'limit' sets")]
    for (_, sentence), answer in zip(asked, talk(context, [message for message, _ in asked])):
        check(not answer["result"]["isError"] and sentence in texts(answer)[-1], f"{answer}")
    trace = context.folder / "out.lapilli"
    trace.write_bytes(trace.read_bytes()[:-3000])
    [answer] = talk(context, [call(1, "tree")])
    check("incomplete" in texts(answer)[-1] and bool(json.loads(texts(answer)[0])["nodes"]), f"{answer}")


@case
def what_is_wrong_is_said(context: Context) -> None:
    context.run([context.app("depth")], context.layer_env())
    draw, begin, image = next((line["position"], line["pass"]["begin"], line["pass"]["attachments"][0]["image"]) for line in rows(context.run([context.program("lapilli"), "draws", "--json", "--state", "out.lapilli"]).out) if line["pass"])
    said = [(call(1, "bound", at="99999"), "the trace has "), (call(2, "bound", at="-1"), "'at' wants a position"), (call(3, "bound"), "'at' is missing"), (call(4, "tree", no=1), "no parameter 'no'; there are 'at'"),
            (call(5, "tree", at=[1]), "no text"), (call(5, "tree", at=3.25), "in quotes"), (call(6, "tree", capture=2), "no such trace"), (call(7, "framebuffer_picture", at="1", file="../x.png"), "the name of a file"),
            (call(8, "framebuffer_picture", at=draw, file="color9.png"), "'file' is one of [\"color0\""), (call(9, "screenshot", frames=9999), "there is no such picture"), (call(10, "tree", cursor=10**9), "behind the end"),
            (call(13, "each_picture", at=begin, file="color0"), f"'file' is one of [\"{draw}-color0\""), (call(14, "pixel", at=draw, xy="1"), "'xy' wants a texel"), (call(15, "pixel", at=draw, xy="9999,0", target=image), "9999"),
            (call(11, "image_picture", at=draw, object=image), "(framebuffer_picture, at "), (call(12, "memory", at=draw, object=image), "texels are shown by image_picture")]
    wrong = [("{", -32700), ("[]", -32600), ({"id": 20, "method": "no/such"}, -32601), (call(21, "image_texels", at="1", object="VkImage:1"), -32602), ({"id": 22, "method": "tools/call"}, -32602)]
    answers = talk(context, [*(m for m, _ in said), *(m for m, _ in wrong), {"id": 99, "method": "ping"}])
    for (_, sentence), answer in zip(said, answers):
        check(answer["result"]["isError"] and sentence in texts(answer)[0] and "/v1/" not in texts(answer)[0] and "{" not in texts(answer)[0], f"{sentence}: {answer}")
    for (_, code), answer in zip(wrong, answers[len(said):]):
        check(answer["error"]["code"] == code, f"{code}: {answer}")
    check(answers[-1] == {"result": {}, "jsonrpc": "2.0", "id": 99}, f"{answers[-1]}")
    [answer] = talk(context, [call(1, "framebuffer_picture", at=draw)], "--wait-limit", "1", env=context.layer_env(STUCK, LAPILLI_STUCK_IN="vkCreateComputePipelines"))
    check(answer["result"]["isError"] and "1 s were not enough" in texts(answer)[0], f"{answer}")
    check(not list((context.home or context.folder).glob("tmp/lapilli-*")), "a folder is left")


def cases() -> dict[str, object]:
    return dict(CASES)
