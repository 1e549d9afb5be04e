# SPDX-License-Identifier: MIT
"""How the page looks: the colours are those of page/style.css."""

# A verdict has a letter and a colour, so that none is told by colour alone.
LETTERS = {"pass": "P", "new failure": "F", "flaky": "~", "slower": "S", "missing": "M", "unreadable": "R", "fixed": "+", "known failure": "K", "unknown": "?",
           "skipped": "–"}
CLASSES = {name: f"v{place}" for place, name in enumerate(LETTERS)}
MEANINGS = {"pass": "as expected", "new failure": "it failed in all its runs, and did not before", "flaky": "some of its runs failed", "slower": "the same result takes longer",
            "missing": "runs gave no result", "unreadable": "the trace can't be read", "fixed": "it failed before", "known failure": "it failed before, too",
            "unknown": "there is nothing to compare with", "skipped": "it was left out, or the device lacks something"}

CSS = """
:root { color-scheme: light dark; --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --bg: #f6f7f9; --panel: #fff; --stage: #e4e8ee; --line: #dde1e7; --text: #1c2128; --dim: #5b6573; --accent: #0b5cb8; --hover: #eef2f7;
  --changed: #fff0c2; --label: #964300; --green: #2d6b43; --violet: #7a2f9c; --bad: #b3261e; --on-bad: #fff; }
@media (prefers-color-scheme: dark) { :root { --bg: #14161a; --panel: #1b1e24; --stage: #0e1013; --line: #2b3038; --text: #d9dee6; --dim: #97a1b1;
  --accent: #6cb3ff; --hover: #23272f; --changed: #40370f; --label: #ffb066; --green: #86c99b; --violet: #d59bf0; --bad: #ff8a80; --on-bad: #2a0a08; } }
* { box-sizing: border-box; margin: 0; }
html { scroll-padding-top: 12px; }
body { background: var(--bg); color: var(--text); font: 14px/1.5 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
header, main, footer { max-width: 1240px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 22px; display: grid; gap: 4px; }
h1 { font-size: 22px; line-height: 1.3; }
h2 { font-size: 15px; margin: 28px 0 10px; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.dim { color: var(--dim); font-weight: 400; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
code, pre, .mono { font: 12px/1.6 var(--mono); }
.counts { display: flex; flex-wrap: wrap; gap: 8px; list-style: none; padding: 12px 0 0; }
.counts a { display: flex; gap: 8px; align-items: center; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 5px 12px 5px 6px; color: inherit; }
.counts a:hover { background: var(--hover); text-decoration: none; } .counts a > span:last-child { font-size: 15px; font-weight: 600; }
.v { display: inline-grid; place-items: center; flex: none; min-width: 22px; height: 22px; padding: 0 5px; border-radius: 4px; font: 700 12px/1 var(--mono); --c: var(--dim);
  color: var(--c); background: color-mix(in srgb, var(--c) 13%, var(--panel)); }
.v0 { --c: var(--green) !important; } .v2 { --c: var(--label) !important; } .v3 { --c: var(--violet) !important; } .v6 { --c: var(--accent) !important; }
.v4, .v5, .v7 { --c: var(--bad) !important; }
.v.v1 { color: var(--on-bad); background: var(--bad); }
.v4, .v5 { box-shadow: inset 0 0 0 1px var(--bad); }
.says { background: var(--changed); color: var(--label); border-radius: 6px; padding: 7px 12px; margin-top: 10px; }
.says.error { background: var(--bad); color: var(--on-bad); }
table { border-collapse: collapse; width: 100%; }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; }
.scrolls { overflow: auto; max-height: 86vh; position: relative; }
th { text-align: left; font-weight: 600; }
thead th { overflow-wrap: normal; position: sticky; top: 0; background: var(--panel); z-index: 1; color: var(--dim); font-size: 12px; box-shadow: inset 0 -1px var(--line); vertical-align: bottom; }
th, td { padding: 4px 10px; }
tbody tr:not(:first-child) > * { border-top: 1px solid var(--line); }
tbody tr:hover { background: var(--hover); }
.facts td, .facts th { vertical-align: top; }
.matrix { width: auto; } .matrix tbody th { padding-right: 30px; font: 12px/1.6 var(--mono); min-width: 160px; }
.matrix td { text-align: center; padding: 2px 6px; width: 92px; }
.matrix thead th + th { text-align: center; padding: 6px; }
.many td { width: 40px; } .many thead th + th span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 15em; text-align: left; }
details > summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "▸"; color: var(--dim); flex: none; width: 12px; }
details[open] > summary::before { content: "▾"; }
.fold { margin-top: 10px; }
.fold > summary { display: flex; gap: 8px; padding: 8px 12px; font-weight: 600; }
.fold[open] > summary { border-bottom: 1px solid var(--line); }
.pair > summary { display: grid; grid-template-columns: 12px 116px minmax(0, 1fr); gap: 2px 10px; padding: 8px 12px; align-items: center; }
.pair > summary:hover, .fold > summary:hover { background: var(--hover); }
.pair + .pair, .pair + .rest, .rest .pair { border-top: 1px solid var(--line); }
.rest > summary { padding: 8px 12px; color: var(--accent); display: flex; gap: 10px; }
.group { margin-bottom: 14px; } .group h3 { font-size: 13px; }
.reasons { list-style: none; padding: 0 0 12px; font-size: 13px; }
.pair > summary .v { justify-self: start; }
.pair .name { font: 600 13px/1.5 var(--mono); } .pair .on { font: 400 12px/1.5 var(--mono); color: var(--dim); }
.pair .why { grid-column: 3; color: var(--dim); font-size: 13px; }
.body { scroll-margin-top: 70px; padding: 4px 14px 18px 34px; display: grid; gap: 14px; }
.pictures { display: grid; grid-template-columns: repeat(3, minmax(0, 320px)); gap: 12px; }
figcaption { font-size: 12px; color: var(--dim); padding-top: 3px; }
.shot { display: block; width: 100%; border: 1px solid var(--line); border-radius: 4px; background: var(--stage) center / 100% 100% no-repeat; }
.shot.e { background-image: var(--e); } .shot.g { background-image: var(--g); }
.shot.d { background: #000; overflow: hidden; } .shot.d i { display: block; width: 100%; height: 100%; background: #000 center / 100% 100% no-repeat;
  background-image: var(--e), var(--g); background-blend-mode: difference; filter: brightness(8); }
.more { display: flex; flex-wrap: wrap; gap: 16px 56px; align-items: flex-start; } .more > div { min-width: 0; display: grid; gap: 14px; }
.history { display: flex; flex-wrap: wrap; gap: 2px; list-style: none; padding: 0; }
.history .v { min-width: 18px; height: 18px; padding: 0; font-size: 10px; border-radius: 3px; }
.history .none { background: none; box-shadow: inset 0 0 0 1px var(--line); }
.history .now { outline: 2px solid var(--text); outline-offset: 1px; margin-left: 4px; }
h3 { font-size: 12px; color: var(--dim); font-weight: 600; margin-bottom: 4px; }
.runs td, .runs th { font: 12px/1.5 var(--mono); padding: 2px 14px 2px 0; } .runs { width: auto; } .runs thead th { position: static; box-shadow: none; }
pre { background: var(--stage); border-radius: 4px; padding: 8px 10px; white-space: pre-wrap; max-height: 240px; overflow: auto; }
svg { max-width: 100%; display: block; } svg text { font: 11px var(--mono); fill: var(--dim); }
fieldset { border: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 10px; }
fieldset label { border: 1px solid var(--line); border-radius: 999px; padding: 1px 12px; font-size: 12px; color: var(--dim); cursor: pointer; background: var(--panel); }
fieldset label:has(:checked) { color: var(--accent); border-color: var(--accent); }
fieldset label:has(:focus-visible) { outline: 2px solid var(--accent); outline-offset: 1px; }
footer { padding-top: 26px; padding-bottom: 30px; font-size: 12px; color: var(--dim); }
@media (max-width: 800px) { header, main, footer { padding-left: 12px; padding-right: 12px; } .body { padding-left: 14px; } .matrix td { width: 56px; } .many td { width: 36px; } th, td { padding: 4px 6px; }
  .runs td:last-child, .runs th:last-child { display: none; } }
@media print { details:not([open]) > * { display: none; } .scrolls { max-height: none; } }
"""
