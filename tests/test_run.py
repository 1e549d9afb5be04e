# SPDX-License-Identifier: MIT
"""Tests of the runner itself: whatever cases do, the last line counts them, and the exit status says what came of them."""

from __future__ import annotations

import os
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
import tiers  # noqa: E402
from e2e import cases  # noqa: E402

SCRIPT = """
import os, subprocess, sys, time
sys.path.insert(0, {here!r})
import run
from e2e.cases import Case, Failure, Skip
def start(place, c):
    process = subprocess.Popen(["sh", "-c", "echo; exec sleep 600"], env=c.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()
    open(place, "w").write(str(process.pid))
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

    def test_a_test_that_fails_beside_others_alone_is_flaky(self) -> None:
        flaky = 'Case("a", lambda c: None), Case("b", lambda c: (open(%r, "x").close(), raises(Failure("beside others"))(c)) if not os.path.exists(%r) else None)'
        for arguments, status, last in ((), 0, "2 passed, 0 failed, 0 skipped"), (("--strict",), 1, "2 passed, 1 failed, 0 skipped"):
            with tempfile.TemporaryDirectory() as folder:
                place = f"{folder}/was-here"
                out = self.check_run(flaky % (place, place), status, last, *arguments)
                self.assertRegex(out, "FLAKY b: .*\n.*beside others")
                self.assertIn("1 passed only when they ran again, alone", out)

    def test_a_case_that_fails_leaves_no_process(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = f"{folder}/number"
            self.check_run(f'Case("a", lambda c: (start({place!r}, c), raises(Failure("wrong"))(c)))', 1, "0 passed, 1 failed, 0 skipped")
            stat = Path(f"/proc/{Path(place).read_text(encoding='utf-8')}/stat")
            self.assertTrue(not stat.exists() or stat.read_text(encoding="utf-8").split()[2] == "Z", stat)

    def test_what_the_runner_inherits_does_not_reach_tests(self) -> None:
        """Signals that a job in the background ignores, a preloaded library, and the user's folders."""
        looks = ("import os, signal; assert signal.getsignal(signal.SIGINT) == signal.default_int_handler and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL;"
                 "assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) and 'LD_PRELOAD' not in os.environ and '_STDBUF_O' not in os.environ;"
                 "assert all(os.environ[n].startswith('/tmp/lapilli-home-') for n in ('HOME', 'TMPDIR', 'XDG_RUNTIME_DIR', 'XDG_CACHE_HOME'))")
        script = SCRIPT.format(here=str(HERE), cases=f'Case("a", lambda c: c.run([sys.executable, "-c", {looks!r}]))', arguments=())
        hostile = "import os, signal, sys; [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGTERM)]; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
        done = subprocess.run([sys.executable, "-c", hostile, "-c", script], env={**os.environ, "LD_PRELOAD": "libm.so.6", "_STDBUF_O": "L", "TMPDIR": "/tmp"},
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed, 0 skipped", done.stdout + done.stderr)

    def test_each_tier_has_all_of_the_tier_before(self) -> None:
        names = [case.name for case in cases.all_cases(cases.Context(HERE.parent, HERE.parent / "build"))]
        chosen = [tiers.choose(names, tier) for tier in tiers.TIERS]
        self.assertTrue(chosen[0] < chosen[1] < chosen[2] == set(names))
        for pattern in tiers.FULL:
            if not pattern.startswith(("unit/", "runner/")):
                self.assertTrue(any(re.match(pattern, name) for name in names), pattern)
        # Each program is recorded, and replayed, in the gate.
        later = re.compile("|".join(tiers.FULL))
        for program in {name.partition("/")[2] for name in names if name.startswith("replay/") and not later.match(name)}:
            self.assertTrue(chosen[0] & {f"replay/{program}", f"validate/{program}"}, program)

    def test_two_cases_of_one_name_are_an_error(self) -> None:
        out = self.check_run('Case("a", lambda c: None), Case("a", lambda c: None)', 1, "0 passed, 1 failed, 0 skipped")
        self.assertIn("several tests have one name: a", out)

    def test_an_interrupt_ends_what_runs_and_counts_what_was_run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start('Case("a", lambda c: None), Case("b", lambda c: c.run(["sleep", "600"], timeout=600)), *(Case(f"c{i}", lambda c: time.sleep(1)) for i in range(600))')
            lines = []
            while not lines or not lines[-1].startswith("ok "):  # then the runner listens
                lines.append(process.stdout.readline())
                self.assertTrue(lines[-1])
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
        machine.gpus, machine.registry, machine.instrumented = "", "1.4.1", False
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
