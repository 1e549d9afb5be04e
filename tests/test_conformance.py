# SPDX-License-Identifier: MIT
"""Tests of tests/conformance, with programs that stand in for the binary and for Lapilli's (tests/conformance/fake.py)."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "codegen"), str(HERE.parent)]
sys.dont_write_bytecode = True

import counted  # noqa: E402
from conformance import binary, report, sample  # noqa: E402
from farm.process import Processes, Stopped  # noqa: E402

RUN = HERE / "conformance/run.py"


class Sample(unittest.TestCase):
    def test_every_group_gives_the_same_number_first(self) -> None:
        self.assertEqual(sample.quota([1, 10, 100], 30), 19)
        self.assertEqual(sample.quota([1, 10, 100], 1000), 100)
        self.assertEqual(sample.quota([5, 5, 5], 2), 0)
        self.assertEqual(sample.quota([], 5), 0)
        cases = [f"suite.m.g{group}.case{i}" for group, size in enumerate((1, 10, 100)) for i in range(size)]
        chosen = sample.choose(cases, 30, 7)
        self.assertEqual(len(chosen), 30)
        self.assertEqual([sum(f".g{group}." in case for case in chosen) for group in range(3)][:2], [1, 10])
        few = sample.choose(cases, 2, 7)
        self.assertEqual((len(few), len({sample.group_of(case) for case in few})), (2, 2))

    def test_a_sample_follows_from_its_seed_and_not_from_the_order_of_the_list(self) -> None:
        cases = [f"suite.m.g{i % 7}.case{i}" for i in range(5000)]
        self.assertEqual(sample.choose(cases, 100, 3), sample.choose(reversed(cases), 100, 3))
        self.assertNotEqual(sample.choose(cases, 100, 3), sample.choose(cases, 100, 4))
        self.assertEqual(sample.choose(["b", "a", "b"], None, 0), ["a", "b"])

    def test_a_list_of_any_length_is_trimmed_to_what_can_be_needed(self) -> None:
        cases = [f"suite.m.g{i % 100}.case{i}" for i in range(sample.TRIM_EVERY + 100)]
        sampler = sample.Sampler(200, 1)
        for case in cases:
            sampler.add(case)
        self.assertLess(sum(map(len, sampler.kept.values())), 400)
        self.assertEqual(len(sampler.chosen()), 200)


class Log(unittest.TestCase):
    def test_results_are_read_and_the_case_that_a_log_breaks_off_in(self) -> None:
        log = ('#beginTestCaseResult a.b\n<Result StatusCode="NotSupported">VK_KHR_x &amp; more\n at f.cpp:3</Result>\n#endTestCaseResult\n'
               "#beginTestCaseResult a.c\n#terminateTestCaseResult Timeout\n#beginTestCaseResult a.d\n#endTestCaseResult\n#beginTestCaseResult a.e\nText\n")
        results, unfinished = binary.parse_log(log)
        self.assertEqual({case: result.status for case, result in results.items()}, {"a.b": "NotSupported", "a.c": "Timeout", "a.d": "InternalError"})
        self.assertEqual((results["a.b"].text, unfinished), ("VK_KHR_x & more at f.cpp:3", "a.e"))


class Suite(unittest.TestCase):
    def setUp(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        (self.folder / "suite").mkdir()
        (self.folder / "suite/data.txt").write_text("")
        self.deqp = self.program(self.folder / "suite/deqp-vk")
        for name in ("lapilli-capture", "lapilli-replay", "lapilli-compare-checks"):
            self.program(self.folder / "build/bin" / name)
        (self.folder / "there.json").write_text("{}")
        (self.folder / "known.txt").write_text("# nothing\n")

    def program(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE}/conformance/fake.py {path.name} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def start(self, cases: list[str] | None, *arguments: str) -> subprocess.Popen[str]:
        if cases is not None:
            (self.folder / "cases.txt").write_text("\n".join(f"dEQP-FAKE.m.g.{case}" for case in cases))
            arguments += ("--cases", str(self.folder / "cases.txt"))
        command = [sys.executable, str(RUN), "--deqp", str(self.deqp), "--build", str(self.folder / "build"), "--known", str(self.folder / "known.txt"),
                   "--time-out", "60", *arguments]
        environment = {**os.environ, "FAKE_COUNTER": str(self.folder / "counter")}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def check_run(self, status: int, cases: list[str] | None, *arguments: str) -> tuple[str, dict]:
        process = self.start(cases, *arguments)
        out, err = process.communicate(timeout=400)
        self.assertEqual(process.returncode, status, out + err)
        path = self.folder / "build/conformance/report.json"
        return out + err, json.loads(path.read_text()) if path.exists() else {}

    def findings(self, found: dict) -> list[tuple[str, str]]:
        return sorted((finding["case"].rsplit(".", 1)[-1], finding["kind"]) for finding in found["findings"])

    def test_what_the_binary_lists_is_run_and_nothing_is_found(self) -> None:
        out, found = self.check_run(0, None, "--batch", "1")
        self.assertEqual((found["total"]["cases"], found["total"]["passed"], found["total"]["unsupported"], found["total"]["failed"]), (8, 6, 1, 1))
        self.assertEqual(set(found["groups"]), {"dEQP-FAKE.api", "dEQP-FAKE.draw"})
        self.assertEqual(found["total"]["replays"], {"here": {"identical": 6, "nothing": 1}})
        self.assertRegex(out, r"(?m)^dEQP-FAKE\.api +5 ")
        self.assertIn("0 findings", out)

    def test_a_sample_is_taken_of_what_the_binary_lists(self) -> None:
        _, found = self.check_run(0, None, "--sample", "3", "--seed", "5")
        self.assertEqual((found["total"]["cases"], len(found["groups"]), found["seed"]), (3, 2, 5))

    def test_what_changes_under_the_layer_is_found(self) -> None:
        out, found = self.check_run(1, ["pass", "hidden", "changes", "random", "breaks", "pass_2"])
        self.assertEqual(self.findings(found), [("breaks", "result"), ("changes", "result"), ("hidden", "unsupported")])
        self.assertEqual(found["lacks"], {"VK_KHR_fake_thing": 1})
        self.assertEqual((found["total"]["changed"], found["total"]["lost"], found["total"]["unsteady"]), (2, 1, 1))
        self.assertIn("object N is strange", out)
        self.assertTrue((self.folder / "build/conformance/evidence/dEQP-FAKE.m.g.changes.result.lapilli").exists())

    def test_what_a_replay_does_differently_is_found_case_by_case(self) -> None:
        out, found = self.check_run(1, ["pass", "differs", "shifts", "pass_2", "falls", "refused"], "--other-driver", str(self.folder / "there.json"),
                                    "--tolerance", "2")
        self.assertEqual(self.findings(found), [("differs", "replay"), ("differs", "replay"), ("falls", "replay"), ("falls", "replay"), ("refused", "replay")])
        self.assertEqual(found["total"]["replays"]["here"], {"identical": 3, "differs": 1, "unsteady": 1, "crashes": 1})
        self.assertEqual(found["total"]["replays"]["there"], {"within": 2, "differs": 1, "unsteady": 1, "crashes": 1, "refused": 1})
        self.assertIn("this GPU has no such thing", out)

    def test_what_crashes_or_hangs_natively_does_not_take_the_others_along(self) -> None:
        _, found = self.check_run(0, ["a_crash", "b_pass", "c_ended", "d_hang", "e_gone", "f_pass"], "--time-out", "8")
        self.assertEqual((found["total"]["passed"], found["total"]["failed"]), (2, 4))
        self.assertEqual(found["total"]["replays"], {"here": {"identical": 2}})

    def test_what_is_known_is_no_news(self) -> None:
        (self.folder / "known.txt").write_text("unsupported\tdEQP-FAKE\\..*hidden\tno reason at all\nreplay\t.*pass\tnever\n")
        out, found = self.check_run(0, ["pass", "hidden"])
        self.assertEqual([finding["reason"] for finding in found["findings"]], ["no reason at all"])
        self.assertIn("known.txt:2 was not needed by 1 cases", out)
        (self.folder / "known.txt").write_text("unsupported\tx\n")
        self.assertIn("known.txt:1", self.check_run(2, ["pass"])[0])

    def test_a_run_goes_on_where_it_was_interrupted(self) -> None:
        cases = [f"{i}_pass" for i in range(4)] + ["9_hang"]
        arguments = ("--batch", "1", "--jobs", "1")
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start(cases, *arguments)
            state = self.folder / "build/conformance/state.jsonl"
            first = process.stdout.readline()
            for _ in range(4000):
                if state.exists() and len(state.read_text().splitlines()) == 5:
                    break
                time.sleep(0.05)
            time.sleep(1)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + number, out + err)
            self.assertIn("1 of 5 cases were not run", out)
        self.assertIn("4 of them done before", first)

    def test_a_state_of_another_run_is_not_taken(self) -> None:
        self.check_run(0, ["pass"])
        self.assertNotIn("done before", self.check_run(0, ["pass", "pass_2"])[0])
        self.assertIn("2 of them done before", self.check_run(0, ["pass", "pass_2"])[0])
        self.assertNotIn("done before", self.check_run(0, ["pass", "pass_2"], "--fresh")[0])

    def test_a_binary_that_can_not_be_asked_is_an_error(self) -> None:
        (self.folder / "suite/deqp-vk").write_text("#!/bin/sh\nexit 3\n")
        self.assertIn("listed 0 cases", self.check_run(3, None)[0])
        self.assertIn("has no cases", self.check_run(3, [])[0])
        (self.folder / "suite/deqp-vk").unlink()
        self.assertIn("can't be started", self.check_run(3, None)[0])

    def test_nothing_is_written_beside_the_binary(self) -> None:
        self.check_run(0, ["pass"])
        self.assertEqual(sorted(path.name for path in (self.folder / "suite").iterdir()), ["data.txt", "deqp-vk"])


class List(unittest.TestCase):
    def test_the_list_of_what_is_known_can_be_read(self) -> None:
        self.assertEqual([known.place for known in report.read_known(HERE / "conformance/known.txt") if not known.reason.strip()], [])

    def test_what_was_stopped_starts_nothing(self) -> None:
        processes = Processes()
        processes.stop()
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(Stopped):
            processes.watch(["true"], Path(folder), {}, Path(folder), 1)


if __name__ == "__main__":
    sys.exit(counted.run())
