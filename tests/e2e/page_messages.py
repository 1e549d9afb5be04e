# SPDX-License-Identifier: MIT
"""Messages of the validation layer on the page: at the commands and calls that a replay names, and in the report."""

from __future__ import annotations

import json
from collections import Counter

from e2e.browser import Browser
from e2e.cases import Cases, Context, check, validation_layer
from e2e.page import READY, open_at
from e2e.server import Server, record, verb

CASES = Cases()
case = CASES.add

MARKS = """Object.fromEntries([...document.querySelectorAll('%s')].map((row) => [row.dataset.position ?? row.dataset.frame, row.querySelector('.marks')?.textContent ?? '']))"""


def places(context: Context) -> list[tuple[str, dict]]:
    """The messages of a replay, each with the position whose printed line has the packet and the command that it names."""
    def printed(*words: str) -> list[dict]:
        return [json.loads(line) for line in verb(context, ["print", "--json", *words, "FILE"], "out.lapilli").stdout.splitlines()]

    def positions(nodes: list[dict]) -> list[str]:
        return [at for node in nodes for at in (node["position"], *positions(node["children"]))]
    calls = [line for line in printed() if "ticket" in line]
    tickets = {line["index"]: line["ticket"] for line in calls}
    at = {(line["ticket"], None, line["name"]): f"#{line['index']}" for line in calls}
    for position in positions(json.loads(verb(context, ["tree", "--json", "--all", "--depth", "99", "FILE"], "out.lapilli").stdout)["nodes"]):
        dots = position.count(".")
        if dots % 2:  # a submit or a command
            line = next(line for line in printed("--at", position) if ("command" in line) == (dots > 1))
            at[tickets[line["index"]], line.get("command"), line["name"]] = position
    done = verb(context, ["replay", "--present", "headless", "--validate", "--json", "FILE"], "out.lapilli").stdout.splitlines()
    return [(at[one["packet"], one["command"], one["name"]], one) for one in map(json.loads, done[:-1])]


def check_marks(browser: Browser, truth: list[tuple[str, dict]]) -> None:
    """Rows of commands have the numbers of their messages, rows of other places those in them, also frames."""
    inside: Counter[str] = Counter()
    for position, one in truth:
        parts = [str(one["frame"]), position] if position.startswith("#") else position.split(".")
        inside.update({parts[0], position} if position.startswith("#") else [".".join(parts[:i + 1]) for i in range(len(parts))])
    expected = {at: f"✕ {number}" for at, number in inside.items()}
    for frame in ("1", "2"):
        browser.evaluate(f"location.hash = location.hash.replace(/(commands|report).*/, 'commands/{frame}?show=all')")
        browser.wait_until(f"document.querySelectorAll('#tree [data-position^=\"{frame}.1.1.\"]').length > 1 && {READY}")
        rows = browser.evaluate(MARKS % "#tree .row[data-position]")
        check(any(rows.values()) and rows == {at: expected.get(at, "") for at in rows}, f"frame {frame}: {rows}, not {expected}")
    frames = browser.evaluate(MARKS % "#film-strip .cell")
    check(frames == {at: expected.get(at, "") for at in frames}, f"{frames}, not {expected}")
    browser.click("#tree-modes [data-mode=calls]")
    browser.wait_until(f"document.querySelector('#tree .call') && {READY}")
    rows = browser.evaluate("[...document.querySelectorAll('#tree .call')].filter((row) => row.querySelector('.marks')).map((row) => row.querySelector('.what').textContent)")
    check(rows == [one["name"] for _, one in truth if one["frame"] == 2 and one["command"] is None], f"{rows}")


@case
def messages_stand_at_their_commands(context: Context) -> None:
    """Of commands of a secondary command buffer, of a call, and of a submit."""
    validation_layer(context)
    record(context, [context.app("invalid"), "--times", "3", "--secondary"])
    truth = places(context)
    check(len({one["vuid"] for _, one in truth}) == 3 and Counter(position[0] for position, _ in truth) == {"#": 1, "1": 3, "2": 1}, f"{[position for position, _ in truth]}")
    with Server(context, "out.lapilli") as server, Browser(context) as browser:
        open_at(browser, server, "1")
        browser.wait_until(READY)
        browser.click("#tabs [data-view=report]")
        browser.wait_until(f"{READY} && !!document.querySelector('#validate')")
        browser.click("#validate")
        browser.wait_until("!!document.querySelector('#validation [data-vuid]')", 120)
        rows = browser.evaluate("[...document.querySelectorAll('#validation [data-vuid]')].flatMap((group) => [...group.querySelectorAll('tr')].map((row) => [row.cells[0].textContent, row.cells[1].textContent, group.dataset.vuid]))")
        check(Counter(map(tuple, rows)) == Counter((position, one["name"], one["vuid"]) for position, one in truth), f"{rows}")
        for position, one in [truth[0], truth[1], truth[-1]]:
            browser.click("#tabs [data-view=report]")
            browser.click(f"#validation [data-vuid='{one['vuid']}'] .place")
            browser.wait_until(f"document.querySelector('#state').dataset.at == '{position}' && !!document.querySelector('#tree [aria-selected=true] .sign.error') && {READY}")
            said = browser.evaluate("['.vuid', '.text', '.message a.handle'].map((name) => [...document.querySelectorAll('#state ' + name)].map((one) => one.textContent))")
            objects = {f"{named['type']}:{named['index']}" for named in one["objects"]}
            check(said[:2] == [[one["vuid"]], [one["text"]]] and objects <= set(said[2]), f"{position}: {said}, not {one}")
        check_marks(browser, truth)
        other = browser.evaluate("import('/messages.js').then(({mark}) => [['error'], ['warning'], ['warning', 'error']].map((all) => mark(all.map((severity) => ({severity, vuid: 'V'}))).textContent))")
        check(other == ["✕ 1", "△ 1", "✕ 1△ 1"], f"{other}")
        findings = json.dumps([{"position": f"1.1.1.{at}"} for at in ("3", "4", "6.1.2", "7", "10")])
        inside = browser.evaluate(f"import('/messages.js').then(({{Messages}}) => {{const all = new Messages(); all.take({{vuids: [], rules: [{{rule: 'message', findings: {findings}}}]}}); return all.below('1.1.1.4', '1.1.1.6').map(({{position}}) => position)}})")
        check(inside == ["1.1.1.4", "1.1.1.6.1.2"], f"{inside}")
        browser.check_quiet(server.origin)


@case
def no_messages_are_said_in_words(context: Context) -> None:
    """And that there is no layer."""
    validation_layer(context)
    record(context, [context.app("headless")])
    for env, sentence in (({}, "The validation layer has no messages."), ({"VK_LAYER_PATH": str(context.folder)}, "the loader finds no VK_LAYER_KHRONOS_validation")):
        with Server(context, "out.lapilli", env=env) as server, Browser(context) as browser:
            open_at(browser, server, "1")
            browser.wait_until(f"{READY} && !!document.querySelector('#tree-validate')")
            browser.click("#tree-validate")
            browser.wait_until("['no messages', 'no validation'].includes(document.querySelector('#tree-validate').textContent)", 120)
            browser.click("#tree-validate")
            browser.wait_until(f"!!document.querySelector('#validation')?.textContent.includes('{sentence}')")
            check(not browser.evaluate("document.querySelector('.marks')"), "there are marks")
