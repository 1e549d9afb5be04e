# SPDX-License-Identifier: MIT
"""index.html: one file for people, without script and without network. What changed comes first, what is as always is folded.

Names and messages are strangers' text: all of it goes through text() before it is in the page.
"""

from __future__ import annotations

import html
from collections import Counter
from pathlib import Path
from statistics import median

from .history import History
from .pictures import Album, Picture, Row
from .policy import FAIL
from .results import NUMBER, Baseline, Farm, get, moment, own_path, plain
from .style import CLASSES, CSS, LETTERS, MEANINGS
from .verdict import CHANGES, GOOD, VERDICTS, Verdict, commonest

POLICY = "default-src 'none'; img-src data: 'self'; style-src 'unsafe-inline'"
MOST_DETAILS = 100  # pairs of one verdict; all are in the table
MOST_OPEN = 25  # of one verdict, before the rest is folded
MOST_NAMES = 20  # of pairs with one reason
ERROR_BYTES = 4096
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


def text(value: object, lines: bool = False) -> str:
    return html.escape(plain(value, lines))


def badge(verdict: str, words: bool = False, hidden: bool = False) -> str:
    """A letter on its colour. A screen reader hears the word, too, or nothing where the word is beside it."""
    word = f"&nbsp;{verdict}" if words else "" if hidden else f'<span class="sr"> {verdict}</span>'
    return f'<span class="v {CLASSES[verdict]}"{" aria-hidden=true" if hidden else ""}>{LETTERS[verdict]}{word}</span>'


def many(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("s" if count != 1 else "")


def heading(verdict: str, count: int) -> str:
    return many(count, verdict) if verdict.endswith("failure") else f"{count:,} {verdict}"


def anchor(verdict: str) -> str:
    return verdict.replace(" ", "-")


def headline(counts: dict[str, int]) -> str:
    parts = [heading(name, counts[name]) for name in CHANGES if counts[name]]
    return ", ".join(parts) or "Nothing changed"


# ---- what is said of one pair


def shot(kind: str, picture: Picture, caption: str, label: str) -> str:
    inner = "<i></i>" if kind == "d" else ""
    link = f'<a href="{text(picture.link)}">' if kind != "d" else ""
    return (f'<figure>{link}<span class="shot {kind}" role="img" aria-label="{text(label)}" style="aspect-ratio:{picture.width}/{picture.height}">{inner}</span>'
            f'{"</a>" if link else ""}<figcaption>{text(caption)}</figcaption></figure>')


def picture_row(row: Row) -> str:
    """Each picture is in the page once, as a property of the row: what shows it, and the difference, refer to it."""
    properties = "".join(f"--{name}:url('{picture.url}');" for name, picture in (("e", row.expected), ("g", row.got)) if picture)
    shots = []
    if row.expected:
        shots.append(shot("e", row.expected, "expected, from the baseline", f"expected picture of frame {row.frame}"))
    if row.got:
        shots.append(shot("g", row.got, "got", f"picture of frame {row.frame} of this farm"))
    if row.expected and row.got:
        shots.append(shot("d", row.got, "difference, 8 times brighter", f"difference of both pictures of frame {row.frame}"))
    said = "".join(f'<p class="dim">{text(sentence)}</p>' for sentence in row.sentences)
    return f'<div><h3>Frame {row.frame}, {row.which}</h3><div class="pictures" style="{html.escape(properties)}">{"".join(shots)}</div>{said}</div>'


def history_row(verdict: Verdict) -> str:
    cells = []
    for night in verdict.history:
        if night and night.verdict in LETTERS:
            cells.append(f'<li class="v {CLASSES[night.verdict]}" title="{text(night.label)}: {night.verdict}">{LETTERS[night.verdict]}</li>')
        else:
            cells.append('<li class="v none" title="not played"></li>')
    cells.append(f'<li class="v {CLASSES[verdict.verdict]} now" title="this farm: {verdict.verdict}">{LETTERS[verdict.verdict]}</li>')
    told = Counter(night.verdict if night else "not played" for night in verdict.history)
    said = ", ".join(f"{count} {name}" for name, count in told.most_common())
    return f'<div><h3>{many(len(verdict.history), "farm")} before, and this one</h3><ol class="history" aria-label="{text(said)}">{"".join(cells)}</ol></div>'


def chart(verdict: Verdict) -> str:
    """Times: a line over the farms before, a band of the baseline's spread, a dot for each repetition of this farm."""
    times = verdict.times
    past = [night.median_ms for night in verdict.history if night and night.median_ms is not None]
    if not times or not times.ours:
        return ""
    everything = [*past, *times.ours, *times.theirs]
    low, high = min(everything), max(everything)
    room = (high - low) * 0.15 or high * 0.1 or 1
    low, high = max(low - room, 0), high + room
    wide, tall, left = 460, 110, 64

    def y(value: float) -> float:
        return round(tall - 8 - (tall - 16) * (value - low) / (high - low), 1)

    step = (wide - left - 74) / max(len(past), 1)
    points = " ".join(f"{left + place * step:.1f},{y(value)}" for place, value in enumerate([*past, median(times.ours)]))
    end, parts = left + len(past) * step, []
    said = f"median of a frame {median(times.ours):.3g} ms"
    if times.theirs:
        middle, spread = median(times.theirs), max(times.spread, (high - low) / 200)
        parts.append(f'<rect x="{left}" y="{y(middle + spread)}" width="{wide - left - 74}" height="{max(y(middle - spread) - y(middle + spread), 1):.1f}" fill="var(--accent)" opacity=".25"/>')
        said += f", baseline {middle:.3g} ms, its spread {times.spread:.2g} ms"
    parts.append(f'<polyline points="{points}" fill="none" stroke="var(--dim)" stroke-width="1.5"/>')
    parts += [f'<circle cx="{end:.1f}" cy="{y(value)}" r="3" fill="var(--violet)"/>' for value in times.ours]
    parts.append(f'<text x="{end + 9:.1f}" y="{y(median(times.ours)) + 4}">{median(times.ours):.3g} ms</text>')
    if times.theirs:
        parts.append(f'<text x="0" y="{y(median(times.theirs)) + 4}">{median(times.theirs):.3g} ms</text>')
    return (f'<div><h3>Time of a frame{": the band is the baseline, a dot is a repetition" if times.theirs else ""}</h3>'
            f'<svg viewBox="0 0 {wide} {tall}" width="{wide}" role="img" aria-label="{said}">{"".join(parts)}</svg></div>')


def run_table(verdict: Verdict) -> str:
    rows = []
    for judged in verdict.runs:
        line, frame_ms = judged.run.line, judged.run.frame_ms
        ending = get(line, "signal") or (f"exit {get(line, 'exit', kind=int)}" if get(line, "exit", kind=int) is not None else "")
        cells = [get(line, "repetition", kind=int) or 0, judged.state, judged.run.outcome.replace("_", " "), ending, f"{frame_ms:.3g} ms" if frame_ms is not None else "",
                 f"{get(line, 'seconds', kind=NUMBER) or 0:.1f} s", get(line, "node") or "", (judged.run.hashes or "")[:12]]
        rows.append(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in cells)}</tr>")
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("run", "is", "replay says", "end", "frame", "took", "machine", "hash"))
    return f'<div><table class="runs"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>' if rows else ""


def errors(verdict: Verdict, folder: Path) -> str:
    """The ends of standard error, where they were kept: two that differ tell enough."""
    found = dict.fromkeys(read_error(judged.run.line, folder) for judged in verdict.runs if judged.state != GOOD)
    return "".join(f"<pre>{text(error, lines=True)}</pre>" for error in [error for error in found if error][:2])


def read_error(line: dict, folder: Path) -> str:
    """The end of standard error, where it was kept."""
    path = get(line, "files", "stderr")
    if not own_path(path):
        return ""
    try:
        with (folder / path).open("rb") as file:
            file.seek(max(file.seek(0, 2) - ERROR_BYTES, 0))
            return file.read(ERROR_BYTES).decode(errors="replace").strip()
    except (OSError, ValueError):
        return ""


def pair_details(place: int, one: Verdict, device: int, album: Album, baseline: Baseline | None, is_open: bool) -> str:
    rows = album.rows(one, baseline.path if baseline else None)
    pictures = "".join(map(picture_row, rows)) if not isinstance(rows, str) else f'<p class="dim">{rows}</p>' if rows else ""
    notes = "".join(f"<p>{text(note)}</p>" for note in one.notes)
    excused = ' <span class="dim">excused</span>' if one.excused else ""
    return (f'<details class="pair d{device}"{" open" if is_open else ""}><summary>{badge(one.verdict, words=True)}<span><span class="name">{text(one.trace.name)}</span> '
            f'<span class="on">on {text(one.device)}</span>{excused}</span><span class="why">{text(one.why)}</span></summary>'
            f'<div class="body" id="p{place}">{f"<div>{notes}</div>" if notes else ""}{pictures}'
            f'<div class="more">{run_table(one)}<div>{history_row(one) if one.history else ""}{chart(one)}</div></div>{errors(one, album.page)}'
            f'<p class="dim mono">{text(one.trace.path or one.trace.name)} · sha256 {text(one.trace.sha256[:16])}</p></div></details>')


# ---- the page


def with_details(changes: list[Verdict]) -> list[Verdict]:
    return [one for name in dict.fromkeys(one.verdict for one in changes) for one in [one for one in changes if one.verdict == name][:MOST_DETAILS]]


def changed_section(changes: list[Verdict], devices: list[str], album: Album, baseline: Baseline | None) -> str:
    if not changes:
        return ""
    order = {device: place for place, device in enumerate(devices)}
    shown = with_details(changes)
    filters = ""
    if len({one.device for one in shown}) > 1:
        radios = [f'<label><input type="radio" class="sr" name="device" id="f{place}"{" checked" if place == "all" else ""}> {text(name)}</label>'
                  for place, name in [("all", "all devices"), *((order[name], name) for name in devices if any(one.device == name for one in shown))]]
        filters = f'<fieldset><legend class="sr">Show what changed on</legend>{"".join(radios)}</fieldset>'
    entries = [pair_details(place, one, order[one.device], album, baseline, place == 0) for place, one in enumerate(shown)]
    reasons = "".join(f"<li><b>{count:,} pairs</b>: {text(why)}</li>" for count, why in commonest(changes)) if len(changes) > MOST_OPEN else ""
    parts = []
    for verdict in dict.fromkeys(one.verdict for one in shown):
        own = [entry for entry, one in zip(entries, shown) if one.verdict == verdict]
        total = sum(one.verdict == verdict for one in changes)
        only = f' <span class="dim">{MOST_DETAILS} are here; the table below and results.ndjson have all</span>' if total > len(own) else ""
        rest = f'<details class="rest"><summary>{len(own) - MOST_OPEN:,} more</summary>{"".join(own[MOST_OPEN:])}</details>' if len(own) > MOST_OPEN else ""
        parts.append(f'<div class="group" id="{anchor(verdict)}"><h3>{heading(verdict, total)}{only}</h3>'
                     f'<div class="panel">{"".join(own[:MOST_OPEN])}{rest}</div></div>')
    return (f'<section aria-labelledby="changed"><h2 id="changed">What changed</h2>{f"""<ul class="reasons">{reasons}</ul>""" if reasons else ""}{filters}'
            f'{"".join(parts)}</section>')


def reasons_section(verdicts: list[Verdict]) -> str:
    """Pairs that are neither good nor new, by reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in verdicts:
        if one.verdict not in CHANGES and one.why:
            reasons.setdefault((one.verdict, one.why), []).append(one.id)
    if not reasons:
        return ""
    rows = []
    for (verdict, why), names in sorted(reasons.items(), key=lambda item: (VERDICTS.index(item[0][0]), -len(item[1])))[:MOST_DETAILS]:
        listed = text(", ".join(names[:MOST_NAMES])) + (f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else "")
        rows.append(f'<tr><td>{badge(verdict)}</td><td>{text(why)}</td><td class="mono dim">{listed}</td></tr>')
    return (f'<details class="fold panel"><summary>Why others are known, unknown or skipped <span class="dim">{many(len(reasons), "reason")}</span></summary><div class="scrolls" tabindex="0">'
            f'<table class="facts"><thead><tr><th scope="col"><span class="sr">Verdict</span></th><th scope="col">Reason</th><th scope="col">Trace@device</th></tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div></details>')


def device_table(verdicts: list[Verdict], devices: list[str]) -> str:
    rows = []
    counts = {device: Counter(one.verdict for one in verdicts if one.device == device) for device in devices}
    used = [name for name in VERDICTS if any(count[name] for count in counts.values())]
    for device in devices:
        ours = Counter(get(run.run.line, "gpu", "driver") for one in verdicts if one.device == device for run in one.runs)
        theirs = Counter(get(old.line, "gpu", "driver") for one in verdicts if one.device == device for old in one.base)
        now, before = sorted(name for name in ours if name), sorted(name for name in theirs if name)
        driver = text("; ".join(now) or "unknown") + (f'<br><span class="dim">before: {text("; ".join(before))}</span>' if before and before != now else "")
        cells = "".join(f'<td>{counts[device][name]:,}</td>' if counts[device][name] else '<td class="dim">0</td>' for name in used)
        rows.append(f'<tr><th scope="row" class="mono">{text(device)}</th><td>{driver}</td>{cells}</tr>')
    heads = "".join(f'<th scope="col" title="{MEANINGS[name]}">{badge(name)}</th>' for name in used)
    return (f'<section aria-labelledby="devices"><h2 id="devices">Devices</h2><div class="panel scrolls" tabindex="0"><table class="facts"><thead><tr><th scope="col">Device</th>'
            f'<th scope="col">Driver</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div></section>')


def cell(one: Verdict | None, places: dict[int, int]) -> str:
    if one is None:
        return "<td></td>"
    if one.verdict == "pass":
        return '<td><b class="v v0">P</b></td>'
    inner = badge(one.verdict)
    if id(one) in places:
        inner = f'<a href="#p{places[id(one)]}">{inner}</a>'
    return f'<td title="{text((one.verdict + ": " + one.why)[:200])}">{inner}</td>'


def matrix_section(verdicts: list[Verdict], changes: list[Verdict], devices: list[str]) -> str:
    places = {id(one): place for place, one in enumerate(with_details(changes))}
    rows: dict[str, dict[str, Verdict]] = {}
    for one in verdicts:
        rows.setdefault(one.trace.name, {})[one.device] = one
    groups: dict[str, list[str]] = {"Something changed": [], "Known failures, unknown, skipped": [], "All good": []}
    names = list(groups)
    for name, row in rows.items():
        kinds = {one.verdict for one in row.values()}
        cells = "".join(cell(row.get(device), places) for device in devices)
        groups[names[0 if kinds & set(CHANGES) else 1 if kinds - {"pass"} else 2]].append(f'<tr><th scope="row">{text(name)}</th>{cells}</tr>')
    heads = "".join(f'<th scope="col"><span>{text(device)}</span></th>' for device in devices)
    tilted = " many" if len(devices) > 5 else ""
    parts = [f'<details class="fold panel"{" open" if place == 0 else ""}><summary>{title} <span class="dim">{many(len(lines), "trace")}</span></summary>'
             f'<div class="scrolls" tabindex="0" role="region" aria-label="{title}"><table class="matrix{tilted}"><thead><tr><th scope="col">Trace</th>{heads}</tr></thead>'
             f'<tbody>{"".join(lines)}</tbody></table></div></details>' for place, (title, lines) in enumerate(groups.items()) if lines]
    return f'<section aria-labelledby="traces"><h2 id="traces">All traces</h2>{"".join(parts)}</section>'


def make(farm: Farm, verdicts: list[Verdict], changes: list[Verdict], summary: dict, baseline: Baseline | None, history: History) -> bytes:
    devices = list(dict.fromkeys(one.device for one in verdicts))
    listed = [get(device, "name") for device in get(farm.about, "matrix", "device", kind=list) or []]
    devices.sort(key=lambda device: listed.index(device) if device in listed else len(listed))
    title, counts = headline(summary["verdicts"]), summary["verdicts"]
    chosen = "".join(f"body:has(#f{place}:checked) .pair:not(.d{place}) {{ display: none; }}\n" for place in range(len(devices)))
    created = moment(get(farm.about, "created", kind=NUMBER))
    facts = [created.strftime("%Y-%m-%d %H:%M UTC") if created else "", f"Lapilli {summary['version']}" if summary["version"] else "",
             f"against {baseline.label}" if baseline else "no baseline", f"{many(summary['traces'], 'trace')} on {many(summary['devices'], 'device')}", many(summary["runs"], "run"),
             f"{many(len(history.folders), 'farm')} before" if history.folders else ""]
    chips = "".join(f'<li title="{MEANINGS[name]}"><a href="#{anchor(name) if name in CHANGES else "traces"}">{badge(name, hidden=True)}'
                    f'<span>{heading(name, counts[name])}</span></a></li>' for name in VERDICTS if counts[name])
    said = "".join(f'<p class="says error" role="alert">{text(sentence)}. Their results can\'t be compared.</p>' for sentence in summary["conflicts"])
    said += "".join(f'<p class="says">{text(sentence)}</p>' for sentence in summary["notes"])
    failing = sum(one.policy == FAIL for one in verdicts)
    footer = f"Pairs that make this farm fail, by the policy: {failing:,}."
    album = Album(farm.path)
    body = [HEAD.format(policy=POLICY, title=text(f"{title} · {farm.label}"), style=CSS + chosen), f'<header><p class="dim">Farm <b>{text(farm.label)}</b></p><h1>{title}</h1>'
            f'<p class="dim">{text(" · ".join(fact for fact in facts if fact))}</p><ul class="counts" aria-label="Verdicts">{chips}</ul>{said}</header>\n<main>',
            changed_section(changes, devices, album, baseline), device_table(verdicts, devices), matrix_section(verdicts, changes, devices), reasons_section(verdicts),
            f"</main>\n<footer><p>{footer} Beside this file: results.ndjson, junit.xml, failures.txt, flakes.txt.</p></footer>\n</body>\n</html>\n"]
    return "\n".join(body).encode()
