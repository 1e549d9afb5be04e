# SPDX-License-Identifier: MIT
"""Which tests run when (tests/run.py --tier): "gate" before every change, "full" before a change that is about them, "all" when there
is an hour. Each tier has all of the tiers before it.

The gate has to end within three minutes on two processors, so a test of more than some five seconds is not in it, nor is one more way
to try every program.
"""

from __future__ import annotations

import re

TIERS = ("gate", "full", "all")

# Tests whose name begins like this are not in the gate, and why. Any other one is.
FULL = {
    "torture/": "thousands of points, of which a sample takes minutes",
    "stuck/|outcomes/a-driver-that-does-not-return": "each waits for a limit",
    "farm/(a-full-disk|a-trace-that-changes|a-fault-of-a-driver)": "three seconds each; the others have farms that are killed and replays that crash and hang",
    "bench/": "workloads run to their end",
    "bounded/": "the most memory that a process had, which other processes may change",
    "(matrix|planner|verify/all|trees/each|states/each|experiments/each|after/each|transforms/each|shaders/each|program/each|waiting/each)/": "every program in one more way",
    "find/(dynamic-libraries|nested)$": "find/modern finds nearly all that they have",
    ".*swiftshader": "a second driver, from a package that the gate does not install",
    "gfxr/(recorded|cuts-)": "another recorder, from a package that the gate does not install",
    "(trim|draws|parts)/validate|trim/(validate-gpu|gpu)/": "cut/ cuts the same programs",
    "(trim|parts)/cut/(?!null/|(triangle|compute|depth|modern|queues|descriptors|churn)$)": "every program in one more way",
    "draws/cut/(?!(triangle|depth|modern)$)": "every program in one more way",
    "state/lives/(?!(triangle|compute|churn|modern|null/generated)$)": "every program in one more way",
    "backing/(replay|validate)/(?!(triangle|suballoc|memory)$)": "the driver that is tested on has no memory that is backed",
    "incoherent/validate/|address/validate": "validate/ has the same programs",
    "address/addresses-are-kept-(alias|constants|khr)$": "every way to have an address in one more way",
    "incoherent/replayer/(?!(suballoc|threads)$)": "incoherent/replay/ plays the same programs on that memory, too",
    "queues/(plain-|gated-(two|random|event-two))": "of the same programs those without more options are enough",
    "pictures/checked/(?!(depth|formats|modern)$)": "every program in one more way",
    "blocks/|.*/compressed(-read)?$": "block-compressed images are decoded by a software driver for 20 seconds",
    "parts/in-flight/|draws/suspended-rendering-ends": "a program is killed in each command",
    "unit/test_(memtrack_model|trace_tail|trace_interrupted|trace_finish|trace_journal|trace_notes)$": "6 seconds and more",
    "profile/lines-that-are-wrong|parts/want-of-memory-ends": "four seconds each, about what goes wrong seldom",
    "runner/test_(?!farm_report$)": "10 seconds and more, about what runs tests",
    "queues/a-host-event-set-too-late|streaming/a-cable-|present/the-display-that-answers": "10 seconds of waiting",
    "after/triangle$|after/image/(?!push$)|trees/(suspended|nested)$|replay/memory-many$": "three seconds each; after/modern, trees/modern and replay/memory are alike",
    "streaming/(a-terminal-shows-what-arrives|commands-work-beside-frames|a-recording-is-stopped-while)|finish/processes-that-outlive|states/depth$": "four seconds each, about what others have in part",
    "streaming/connections-that-stop|parts/the-last-seconds|memory/what-comparing-costs": "programs that work for seconds as fast as they can",
    "validate/(teardown-one-by-one-devices|memory-many|threads)$|replay/teardown-one-by-one-devices$|incoherent/replay/suballoc-only$": "of the same programs others do the same less often",
    "order/.*-(above|below)$": "all-layers-at-once has them above and below",
    "pixel/(as-single-pictures|computed)/(?!modern$)": "one more program",
    "debug/(drawn/(?!triangle-offscreen$)|what-has-no|fragments-are)": "one more program; ten seconds each, and debug/loops plays the same way",
    "page/shows/(?!modern$)": "one more program",
    "page/twelve-tasks-are-done": "a minute of a browser, and a program of OpenGL that the gate does not install",
    "page/(draws-and-passes-are|the-first-view|uploads-are|messages-stand|no-messages|a-buffer-opens)": "seconds each for a browser; page/shows/modern has a tree",
    "report/(counts|layouts)-are-those": "a second each; others have findings of the same rules",
    "page/firefox-": "another browser, which takes seconds to start",
    "page/of-a-farm-": "a browser for a page without script",
    "waiting/swiftshader/(?!modern$)": "the same programs on one more driver",
    "server/a-question-names-its-gpu$|page/a-gpu-is-chosen": "seconds each, on two drivers",
    "server/a-head-has-its-time$": "waits ten seconds for a limit",
    "server/(answers/(?!triangle$)|waiting/(?!modern$)|ends-by-SIG(INT|KILL)$)": "every question about one more program; other signals",
    "android/(an-app-that-runs-on|a-pulled-cable|a-trace-is-played-by-the-app|a-trace-is-played-on|every-refusal|an-app-streams|app-and-programs)": "five seconds each; a signal, a kill, and a served trace go the same ways",
    "contract/(nothing-recorded|without-a-free-name|missing-hardening)": "valgrind; thousands of files; a build of its own",
    "export/any-call-may-fail": "more than a hundred exports",
    "dist/": "half a minute of packing and generating, about what is published",
    "process/(children-of-forks|exit-in|programs-survive-files)": "many processes",
    "present/(vkcube|wsi-is-shown)": "every window system in turn",
}

# Families that try every program in one more way: a quarter of each is in the full tier.
SAMPLED = ("verify/all", "planner", "matrix", "backing/replay", "backing/validate", "trim/cut", "parts/cut", "trees/each", "states/each", "state/lives", "shaders/each", "experiments/each", "after/each", "waiting/each", "transforms/each", "transforms/each/swiftshader", "program/each")


def _family(names: list[str], family: str) -> list[str]:
    return [name for name in names if name.rpartition("/")[0] == family]


def _beyond_full(names: list[str]) -> set[str]:
    members = [_family(names, family) for family in SAMPLED]
    return {name for i, family in enumerate(members) for name in set(family) - set(family[i % 4::4])}


LATER = re.compile("|".join(f"(?:{pattern})" for pattern in FULL))


def _beyond_gate(names: list[str]) -> set[str]:
    """Of validate/ every fourth program, and of replay/ those that are left in validate/."""
    validated = _family(names, "validate")
    left = [name for name in validated[1::4] if not LATER.match(name)]
    return (set(validated) - set(left)) | {f"replay/{name.partition('/')[2]}" for name in left}


def choose(names: list[str], tier: str) -> set[str]:
    """Those of the names, which are all that there are, that run in a tier."""
    if tier == "all":
        return set(names)
    chosen = set(names) - _beyond_full(names)
    if tier == "full":
        return chosen
    return {name for name in chosen - _beyond_gate(names) if not LATER.match(name)}
