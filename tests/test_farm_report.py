# SPDX-License-Identifier: MIT
"""Tests of a farm's verdicts and of the files that its report makes, with results that are made up."""

from __future__ import annotations

import html.parser
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE / "codegen")]
sys.dont_write_bytecode = True

import counted  # noqa: E402
from farm import verdict  # noqa: E402
from made_farm import GPU, Made, picture  # noqa: E402

STRANGE = "<img src=x onerror=alert(1)>\"'&\x1b[2J\ud800\ufffe"
TIMES = {"options": ["measure"]}


def times(*medians: float) -> list[dict]:
    return [{**TIMES, "measure": {"wall_ms": {"p50": median}, "frames": 9}} for median in medians]


class Report(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def report(self, made: Made, *options: str | Path, status: int = 0) -> dict:
        """The summary, with verdicts and sentences by NAME@DEVICE of results.ndjson."""
        done = subprocess.run([sys.executable, "-m", "farm.report", "--results", made.path, *map(str, options), "--json"], cwd=HERE.parent, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if status == 2:
            return {"error": done.stderr}
        lines = [json.loads(line) for line in (made.path / "results.ndjson").read_text().splitlines()]
        return {**json.loads(done.stdout), "of": {line["trace"]["name"]: line["verdict"] for line in lines}, "why": {line["trace"]["name"]: line["why"] for line in lines}}

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def test_three_nights_tell_what_changed(self) -> None:
        elsewhere, here = {"recorded_on": {"device": "RADV"}}, {"recorded_on": {"device": "llvmpipe"}}
        first = Made(self.folder, "first")
        for name in ("menu", "arena", "racy", "plays"):
            first.run(name, "same")
        first.run("other", "different", 1, **elsewhere)
        first.run("own", "different", 1, **here)
        first.run("crash", "crashed")
        first.run("mended", "timeout")
        first.run("cut", "incomplete")
        first.run("empty", "nothing_to_verify")
        first.run("lacks", "unsupported")
        first.plan("heavy", skip="an hour")
        first.plan("broken", unreadable="no trace")
        found = self.report(first, status=1)
        self.assertEqual(found["of"], {**dict.fromkeys(("menu", "arena", "racy", "plays", "cut"), "pass"), **dict.fromkeys(("own", "crash", "mended"), "new failure"),
                                       **dict.fromkeys(("other", "empty"), "unknown"), **dict.fromkeys(("lacks", "heavy"), "skipped"), "broken": "unreadable"})

        second = Made(self.folder, "second", 2)
        for repetition in range(3):
            second.run("menu", "different", 7, repetition=repetition, **elsewhere)
            second.run("arena", "different", 4, repetition=repetition)
            second.run("racy", "different" if repetition else "same", 3 if repetition else None, repetition=repetition)
        second.run("other", "different", 1, **elsewhere)
        second.run("own", "different", 1, **here)
        second.run("crash", "crashed")
        second.run("mended", "same")
        second.run("plays", "unsupported")
        self.assertEqual(verdict.failing_frames(second.path, first.path), {("menu", "lavapipe"): 7, ("arena", "lavapipe"): 4, ("racy", "lavapipe"): 3, ("own", "lavapipe"): None,
                                                                        ("crash", "lavapipe"): None, ("plays", "lavapipe"): None})
        found = self.report(second, "--baseline", first.path, "--history", self.folder, status=1)
        self.assertEqual(found["of"], {"menu": "new failure", "arena": "new failure", "racy": "flaky", "other": "pass", "own": "known failure", "crash": "known failure", "mended": "fixed",
                                       "plays": "new failure"})
        self.assertEqual(found["why"]["menu"], "It differs from the baseline first in frame 7, packet 70, VkSwapchainKHR:5 (as presented), check 7.")
        self.assertIn("2 of 3 runs were bad", found["why"]["racy"])
        self.assertEqual((second.path / "flakes.txt").read_text(), "racy@lavapipe\n")

        # The night before is the baseline. Its failures stay failures, and the expectation from before them holds.
        third = Made(self.folder, "third", 3, baseline=str(second.path))
        third.run("menu", "different", 7)
        third.run("arena", "different", **elsewhere)  # from the recording, as always
        third.run("racy", "same")
        third.run("crash", "timeout")
        third.plan("lost")
        third.write(f"attempts/{third.plan('lost')}.1", {"host": "n7", "text": "No space left on device"})
        found = self.report(third, "--history", self.folder, status=1)
        self.assertEqual(found["of"], {"menu": "known failure", "arena": "fixed", "racy": "pass", "crash": "new failure", "lost": "missing"})
        self.assertIn("n7: No space left on device", found["why"]["lost"])
        self.assertEqual(found["baseline"], "second")
        history = [line for line in (third.path / "index.html").read_text().split("<details") if "arena" in line][0]
        self.assertIn("first: pass", history)
        self.assertIn("second: new failure", history)
        self.report(third, "--expect", self.file("fails", "# known\ncrash@lavapipe,Timeout\n"), status=4)
        self.report(third, "--expect", second.path / "failures.txt", status=1)  # there it crashed

    def test_more_checks_than_the_baseline_are_good_where_all_is_as_recorded(self) -> None:
        old = Made(self.folder, "old")
        new = Made(self.folder, "new", 2, baseline=str(old.path))
        for name, outcome in (("as", "same"), ("other", "different")):
            old.run(name, outcome)
            new.run(name, outcome, checks=10)
        found = self.report(new, status=1)
        self.assertEqual(found["of"], {"as": "pass", "other": "new failure"})
        self.assertIn("it has more checks, and check 10 in frame 10", found["why"]["other"])

    def test_slower_is_more_than_the_spread_of_three_repetitions(self) -> None:
        old, new = Made(self.folder, "old"), Made(self.folder, "new", 2)
        steady, noisy = (10, 10.01, 9.99), (10, 12, 8)
        cases = {"slower": (steady, (10.5, 10.6, 10.4)), "alike": (steady, (10.2, 10.3, 10.1)), "noisy": (noisy, (14, 15, 13)), "twice": (steady[:2], (20, 20)), "faster": (steady, (5, 5, 5))}
        for name, both in cases.items():
            for made, medians in zip((old, new), both):
                for repetition, more in enumerate(times(*medians)):
                    made.run(name, "played", repetition=repetition, **more)
        for made, median in ((old, 10), (new, 20)):
            for repetition, more in enumerate(times(*[median] * 3)):
                made.run("verified", "same", repetition=repetition, **{**more, "options": ["measure", "verify"]})
        self.report(old)
        found = self.report(new, "--baseline", old.path)
        self.assertEqual({name for name, said in found["of"].items() if said != "pass"}, {"slower"})
        self.assertIn("10.5 ms instead of 10 ms: +5.0%", found["why"]["slower"])
        self.assertIn("<svg", (new.path / "index.html").read_text())
        self.report(new, "--baseline", old.path, "--policy", self.file("p.toml", 'slower = "fail"'), status=1)

    def test_the_policy_and_the_lists_decide_the_exit_status(self) -> None:
        made = Made(self.folder, "made")
        made.run("racy", "crashed")
        made.run("racy", "same", repetition=1)
        made.run("good", "same")
        strict = self.file("p.toml", 'flaky = "fail"\nfixed = "fail"')
        self.report(made)
        self.report(made, "--policy", strict, status=1)
        self.report(made, "--policy", strict, "--flakes", self.file("flakes", "^ra.*@lava"))
        self.report(made, "--policy", strict, "--skips", self.file("skips", "racy"))
        self.report(made, "--policy", strict, "--skips", self.folder / "skips", "--expect", self.file("fails", "good@lavapipe,Fail"), status=1)
        for wrong, told in (('flakey = "fail"', "flakey is no key"), ('flaky = "maybe"', '"fail" or "note"'), ("flaky", "p.toml")):
            self.assertIn(told, self.report(made, "--policy", self.file("p.toml", wrong), status=2)["error"])
        self.assertIn("fails:2", self.report(made, "--expect", self.file("fails", "\ngood@lavapipe,Bad"), status=2)["error"])
        self.assertIn("flakes:1", self.report(made, "--flakes", self.file("flakes", "("), status=2)["error"])

    def test_what_can_not_be_read_or_compared_is_said(self) -> None:
        old, new = Made(self.folder, "old"), Made(self.folder, "new", 2)
        for made, changed in ((old, None), (new, 5)):
            made.run("menu", "same", changed)
        self.report(old)
        for file in (old.path / "hashes").rglob("*.gz"):
            file.write_bytes(file.read_bytes()[:30])
        with (old.path / "results.ndjson").open("a") as file:
            file.write('{"verdict": "pass"}\n[1]\n{"trace": \n')
        new.run("arena", "same", gpu={**GPU, "driver": "Mesa 24"})
        new.write(f"runs/ab/{'ab' * 16}.ndjson", {"cut": True})
        new.write("plan.ndjson", {"trace": new.trace("half"), "device": "lavapipe", "key": "ab" * 16})
        found = self.report(new, "--baseline", old.path, "--history", self.folder, status=1)
        self.assertIn("damaged", found["why"]["menu"])
        self.assertEqual(found["conflicts"], ["lavapipe was played by 2 driver versions: Mesa 22.3.6; Mesa 24"])
        said = " ".join(found["notes"])
        for sentence in ("1 of 3 runs are missing", "this farm that can't be read: 1.", "the baseline that can't be read, and are left out: 3.", "earlier farms that can't be read, and are left out: 3.", "lacks 1 of 3 pairs"):
            self.assertIn(sentence, said)
        nothing = Made(self.folder, "nothing")
        nothing.plan("broken", unreadable="no trace")
        self.report(nothing, status=3)

    def test_junit_is_what_servers_read(self) -> None:
        made = Made(self.folder, "made", devices=("a", "b"))
        made.run(STRANGE, "failed", device="a", error={"text": "\x07bell " + "x" * 9000, "packet": 5, "frame": 2})
        made.run("racy", "crashed", device="a")
        made.run("racy", "same", device="a", repetition=1)
        made.run("lacks", "unsupported", device="b", error={"text": "no VK_KHR_x"})
        made.plan("lost", "b")
        made.run("good", "same", device="b")
        self.report(made, status=1)
        root = ET.fromstring((made.path / "junit.xml").read_bytes())
        self.assertEqual({name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}, {"tests": "5", "failures": "2", "errors": "1", "skipped": "1"})
        self.assertEqual([suite.get("name") for suite in root], ["a", "b"])
        self.assertEqual({one.get("name"): one.get("value") for one in root[0].iter("property")}["driver"], "Mesa 22.3.6")
        failure = next(case for case in root.iter("testcase") if "onerror" in case.get("name")).find("failure")
        self.assertEqual(failure.get("type"), "failed")
        self.assertIn("frame 2, packet 5: \ufffdbell", failure.get("message"))
        self.assertLessEqual(max(len(text.encode()) for text in (failure.text, failure.get("message"))), 4096)
        self.assertTrue(next(case for case in root.iter("testcase") if case.get("name") == "racy").find("failure").get("message").startswith("flaky: "))
        self.assertIsNotNone(root.find(".//testcase[@name='lost']/error"))

    def test_the_page_has_strangers_text_as_text_and_asks_nobody(self) -> None:
        old, new = Made(self.folder, "old"), Made(self.folder, "new", 2)
        for made, changed, red in ((old, None, 10), (new, 5, 20)):
            made.run(STRANGE, "same", changed, shots={9: picture(red)})
            made.run("first", "same", changed, shots={9: picture(red)} if made is old else {5: picture(red), 9: picture(red)})
            made.run("bare", "same", changed)
        new.run("stderr", "crashed", node=STRANGE, error={"text": STRANGE})
        self.report(old)
        for gone in (old.path / "files").rglob("*.png"):
            gone.unlink()
            break
        self.report(new, "--baseline", old.path, "--history", self.folder, status=1)
        page = (new.path / "index.html").read_text()
        tags: list[tuple[str, dict]] = []
        texts: list[str] = []
        parser = html.parser.HTMLParser()
        parser.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
        parser.handle_data = texts.append
        parser.feed(page)
        self.assertFalse({tag for tag, _ in tags} & {"script", "img", "iframe", "link", "object", "base", "form"})
        self.assertFalse([name for _, attributes in tags for name in attributes if name.startswith("on")])
        self.assertFalse([url for _, attributes in tags if (url := attributes.get("href")) and not url.startswith(("#", "files/", "../old/files/"))])
        self.assertNotIn("://", page.replace("file://", ""))
        self.assertFalse(set(page) & {"\x1b", "\x07", "\ufffe"})
        self.assertIn("<img src=x onerror=alert(1)>\"'&\ufffd[2J\ufffd\ufffd", texts)
        self.assertIn("default-src 'none'", dict(tags[[tag for tag, _ in tags].index("meta") + 1][1])["content"])
        self.assertEqual(page.count("data:image/png;base64,"), 4)
        for sentence in ("Frame 9, the nearest that both sides have", "Frame 5, the first that differs", "The baseline has no picture of frame 5.", "picture of frame 9 is gone",
                         "No picture was kept that shows the difference."):
            self.assertIn(sentence, page)


if __name__ == "__main__":
    sys.exit(counted.run())
