# SPDX-License-Identifier: MIT
"""lapilli mcp: its tools answer what the verbs print, and bad messages get errors while the next ones are answered."""

from __future__ import annotations

import base64
import json
import os
import subprocess

from e2e.cases import Cases, Context, check, patience

CASES = Cases()
case = CASES.add


def talk(context: Context, messages: list[dict | str], *files: str) -> list[dict]:
    text = "".join((m if isinstance(m, str) else json.dumps({"jsonrpc": "2.0", **m})) + "\n" for m in messages)
    done = subprocess.run([context.program("lapilli"), "mcp", *(files or ["out.lapilli"])], cwd=context.folder, env=context.environment(), input=text, capture_output=True, text=True,
                          timeout=patience(120), check=False)
    check(done.returncode == 0 and not done.stderr, f"{done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(number: int, name: str, **arguments: object) -> dict:
    return {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@case
def tools_answer_what_verbs_print(context: Context) -> None:
    context.run([context.app("depth")], context.layer_env())

    def verb(*words: str) -> str:
        return context.run([context.program("lapilli"), *words]).out
    draw = json.loads(verb("draws", "--json", "out.lapilli").splitlines()[0])["position"]
    expected = {"info": ({}, verb("info", "--json", "out.lapilli")), "tree": ({"at": "1", "depth": 2}, verb("tree", "--json", "--at", "1", "--depth", "2", "out.lapilli")),
                "bound": ({"at": draw}, verb("state", "--json", "--at", draw, "out.lapilli")), "objects": ({"at": "1", "count": True}, verb("state", "--json", "--at", "1", "--count", "out.lapilli")),
                "memory": ({"at": "1", "object": "VkBuffer:1", "bytes": 8}, verb("memory", "--json", "--at", "1", "out.lapilli", "VkBuffer:1", "0", "8"))}
    context.run([context.program("lapilli"), "image", "--after", draw, "-o", "pictures", "--quiet", "out.lapilli"])
    answers = talk(context, [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}, {"method": "notifications/initialized"}, {"id": 1, "method": "tools/list"},
                             *(call(10 + i, name, **arguments) for i, (name, (arguments, _)) in enumerate(expected.items())), call(50, "framebuffer_picture", at=draw, file="depth.png"), call(51, "captures")])
    check([a["id"] for a in answers] == [0, 1, *range(10, 10 + len(expected)), 50, 51], f"{[a['id'] for a in answers]}")
    check(answers[0]["result"]["protocolVersion"] == "2025-03-26" and "tools" in answers[0]["result"]["capabilities"], f"{answers[0]}")
    tools = {tool["name"]: tool["inputSchema"] for tool in answers[1]["result"]["tools"]}
    check(set(expected) < set(tools) and tools["memory"]["required"] == ["at", "object"] and tools["objects"]["properties"]["count"]["type"] == "boolean", f"{tools}")
    for (name, (_, text)), answer in zip(expected.items(), answers[2:]):
        check(answer["result"] == {"content": [{"type": "text", "text": text}], "isError": False}, f"{name}: {answer}")
    picture = answers[-2]["result"]["content"][0]
    check(picture["mimeType"] == "image/png" and base64.b64decode(picture["data"]) == (context.folder / f"pictures/{draw}-depth.png").read_bytes(), "the picture")
    check(json.loads(answers[-1]["result"]["content"][0]["text"])[0]["path"] == os.path.realpath(context.folder / "out.lapilli"), f"{answers[-1]}")


@case
def what_is_wrong_is_said(context: Context) -> None:
    context.run([context.app("depth")], context.layer_env())
    said = [(call(1, "bound", at="99999"), "the trace has "), (call(2, "bound", at="-1"), "'at' wants a position"), (call(3, "bound"), "wants 'at'"), (call(4, "tree", no=1), "no parameter 'no'"),
            (call(5, "tree", at=[1]), "no text"), (call(6, "tree", capture=2), "no such trace"), (call(7, "framebuffer_picture", at="1", file="../x.png"), "the name of a file"),
            (call(8, "framebuffer_picture", at="1", file="color9.png"), "lists what there is")]
    wrong = [("{", -32700), ("[]", -32600), ({"id": 20, "method": "no/such"}, -32601), (call(21, "image_texels", at="1", object="VkImage:1"), -32602), ({"id": 22, "method": "tools/call"}, -32602)]
    answers = talk(context, [*(m for m, _ in said), *(m for m, _ in wrong), {"id": 99, "method": "ping"}])
    for (_, sentence), answer in zip(said, answers):
        check(answer["result"]["isError"] and sentence in answer["result"]["content"][0]["text"], f"{sentence}: {answer}")
    for (_, code), answer in zip(wrong, answers[len(said):]):
        check(answer["error"]["code"] == code, f"{code}: {answer}")
    check(answers[-1] == {"result": {}, "jsonrpc": "2.0", "id": 99}, f"{answers[-1]}")
    check(not list((context.home or context.folder).glob("tmp/lapilli-*")), "a folder is left")


def cases() -> dict[str, object]:
    return dict(CASES)
