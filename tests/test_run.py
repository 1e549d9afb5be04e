# SPDX-License-Identifier: MIT
"""Tests of the runner itself: whatever cases do, the last line counts them, and the exit status says what came of them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "codegen")]
sys.dont_write_bytecode = True

import counted  # noqa: E402
import skips  # noqa: E402
from e2e import cases  # noqa: E402

SCRIPT = """
import os, sys, time
sys.path.insert(0, {here!r})
import run
from e2e.cases import Case, Failure, Skip
def raises(error):
    def case(context):
        raise error
    return case
CASES = [{cases}]
run.cases.all_cases = lambda context: CASES
sys.argv[1:] = ["--suite", "e2e", "--build", "/nonexistent", "--jobs", "2", *{arguments!r}]
sys.exit(run.main())
"""


class Runner(unittest.TestCase):
    def start(self, cases: str, *arguments: str) -> subprocess.Popen[str]:
        script = SCRIPT.format(here=str(HERE), cases=cases, arguments=arguments)
        return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def check_run(self, cases: str, status: int, last: str, *arguments: str) -> str:
        process = self.start(cases, *arguments)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out.splitlines()[-1]), (status, last), out + err)
        return out + err

    def test_whatever_a_case_raises_is_its_failure(self) -> None:
        out = self.check_run('Case("a", lambda c: None), Case("b", raises(KeyError("lost"))), Case("c", raises(SystemExit(0))),'
                             'Case("d", raises(Failure("wrong"))), Case("e", raises(Skip("no gpu"))), Case("f", raises(UnicodeDecodeError("x", b"", 0, 1, "y")))',
                             1, "1 passed, 4 failed, 1 skipped")
        self.assertIn("KeyError: 'lost'", out)
        self.assertIn("skip e: no gpu", out)

    def test_a_folder_that_can_not_be_removed_is_a_failure(self) -> None:
        self.check_run('Case("a", lambda c: c.folder.rmdir() or (c.folder.parent / c.folder.name).write_text("a file"))', 1, "0 passed, 1 failed, 0 skipped")

    def test_nothing_that_passed_is_no_success(self) -> None:
        self.check_run('Case("a", raises(Skip("all is missing")))', 1, "0 passed, 0 failed, 1 skipped")
        self.check_run("", 1, "0 passed, 0 failed, 0 skipped")

    def test_a_sample_leaves_out_programs_of_the_large_families_alone(self) -> None:
        names = [case.name for case in cases.all_cases(cases.Context(HERE.parent, HERE.parent / "build"))]
        left_out = set(names) - cases.sample(names)
        programs = {family: {name.rpartition("/")[2] for name in names if name.rpartition("/")[0] == family} for family in cases.EVERY_PROGRAM}
        self.assertTrue(all(programs.values()), programs)
        self.assertEqual({name.rpartition("/")[0] for name in left_out}, set(cases.EVERY_PROGRAM))
        for family in cases.EVERY_PROGRAM:
            self.assertLess(len({name for name in left_out if name.startswith(f"{family}/")}), len(programs[family]), family)
        # What every family has is tried in some of them.
        for program in set.intersection(*programs.values()):
            self.assertTrue(any(f"{family}/{program}" not in left_out for family in cases.EVERY_PROGRAM), program)

    def test_two_cases_of_one_name_are_an_error(self) -> None:
        out = self.check_run('Case("a", lambda c: None), Case("a", lambda c: None)', 1, "0 passed, 1 failed, 0 skipped")
        self.assertIn("several tests have one name: a", out)

    def test_an_interrupt_ends_what_runs_and_counts_what_was_run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start('Case("a", lambda c: None), Case("b", lambda c: c.run(["sleep", "600"], timeout=600)), *(Case(f"c{i}", lambda c: time.sleep(1)) for i in range(600))')
            lines = [process.stdout.readline()]
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
            lines += out.splitlines()
            self.assertEqual(process.returncode, 128 + number, out + err)
            self.assertRegex(lines[-1], r"^[1-9]\d* passed, 0 failed, 0 skipped$", out + err)
            self.assertIn(f"interrupted by {number.name}: ", out)

    def test_a_skip_that_is_not_foreseen_is_a_failure(self) -> None:
        cases = 'Case("a", lambda c: None), Case("b", raises(Skip("no gpu"))), Case("c", raises(Skip("no gpu")))'
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "skips.txt"
            path.write_text("# a comment\nalways\tb\tno gpu\nalways\ta\t.\nnot always\tc\tno gpu\n")
            out = self.check_run(cases, 1, "1 passed, 1 failed, 1 skipped", "--skips", str(path))
            self.assertIn("FAIL c: a skip that is not foreseen: no gpu", out)
            self.assertIn("skips.txt:3: a is foreseen to skip here, and did not", out)
            path.write_text("always\t[bc]\tno (gpu|time)\n")
            self.check_run(cases, 0, "1 passed, 0 failed, 2 skipped", "--skips", str(path))
            path.write_text("always\t[bc]\n")
            self.assertIn("skips.txt:1: 2 fields, not 3", self.check_run(cases, 1, "0 passed, 1 failed, 0 skipped", "--skips", str(path)))


class List(unittest.TestCase):
    def test_every_condition_of_the_list_is_known(self) -> None:
        machine = skips.Machine(Path("/nonexistent"))
        machine.gpus, machine.instrumented = "", False
        for line in skips.read(HERE / "skips.txt"):
            for condition in line.conditions:
                self.assertIn(machine.has(condition), (False, True), line.place)

    def test_every_line_of_the_list_is_about_a_test_that_there_is(self) -> None:
        names = [case.name for case in cases.all_cases(cases.Context(HERE.parent, HERE.parent / "build"))]
        for line in skips.read(HERE / "skips.txt"):
            program = re.match(r"(unit|codegen)/(test_\w+)/", line.name.pattern)
            if program:
                self.assertTrue(list((HERE / program[1]).glob(f"{program[2]}.*")), line.place)
            elif not line.name.pattern.startswith("unit/"):
                self.assertTrue(any(line.name.fullmatch(name) for name in names), line.place)

    def test_a_condition_that_is_not_known_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            skips.Machine(Path("/nonexistent")).has("weather=fine")


if __name__ == "__main__":
    sys.exit(counted.run())
