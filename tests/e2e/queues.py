# SPDX-License-Identifier: MIT
"""Queues: programs are recorded on tests/layers/queues.c, which shows three families of independent queues next to the driver, and
replayed on the driver's one queue, on another order of families, and on as many queues as were recorded.

Recorded on the driver's one queue they are replayed on many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

from e2e.cases import LAYER, OTHER_DRIVERS, QUEUES, SHAPE, VALIDATION, Context, Skip, check, check_no_validation_message, check_verified, \
    display, validation_layer

MODES = [[], ["--backwards"], ["--two"], ["--two", "--backwards"]]
# Programs that submit work which waits for the host.
HELD_BACK = [("answers", []), ("answers", ["--two"]), ("answers", ["--semaphores"]), ("gated", []), ("gated", ["--two"]), ("gated", ["--event"]),
             ("gated", ["--event", "--two"]), ("gated", ["--random"])]


def command(context: Context, arguments: list[str]) -> list[str]:
    return [str(context.build / "tests/apps/queues"), *arguments]


def record(context: Context, arguments: list[str]) -> None:
    done = context.run(command(context, arguments), context.layer_env(LAYER, QUEUES, LAPILLI_VERIFY="1"))
    check(done.out == "3 queues\nok queues\n", done.text[-2000:])


def points(info: dict, side: str) -> list[tuple[str, int]]:
    """Semaphores and values that a batch waits for (side is Wait) or signals (Signal)."""
    if f"p{side}SemaphoreInfos" in info:
        return [(p["semaphore"], p["value"]) for p in info[f"p{side}SemaphoreInfos"] or []]
    values = next((s for s in info.get("pNext") or [] if f"p{side}SemaphoreValues" in s), {})
    return list(zip(info[f"p{side}Semaphores"] or [], values.get(f"p{side}SemaphoreValues") or []))


def waits_before_signals(context: Context) -> int:
    """How many batches were submitted when nothing that was submitted before signals what they wait for."""
    signalled: dict[str, int] = {}
    count = 0
    for line in context.print_lines():
        if line["name"] == "vkSignalSemaphore":
            info = line["args"]["pSignalInfo"]
            info = info[0] if isinstance(info, list) else info
            signalled[info["semaphore"]] = info["value"]
        if line["name"] not in ("vkQueueSubmit", "vkQueueSubmit2"):
            continue
        for info in line["args"]["pSubmits"] or []:
            count += any(signalled.get(semaphore, 0) < value for semaphore, value in points(info, "Wait"))
            for semaphore, value in points(info, "Signal"):
                signalled[semaphore] = max(value, signalled.get(semaphore, 0))
    return count


def from_many_to_one(arguments: list[str]) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        record(context, arguments)
        held = waits_before_signals(context)
        check(held == (12 if "--backwards" in arguments else 0), f"{held} batches wait for later ones")
        replays: list[dict[str, str]] = [{}, context.layer_env(SHAPE, LAPILLI_SHAPE="families=behind"),
                                         context.layer_env(SHAPE, LAPILLI_SHAPE="split,one-visible,families=one,garbage"),
                                         context.layer_env(QUEUES)]
        for environment in replays:
            done = context.replay(env=environment)
            check(check_verified(done) > 0, done.text)
            check("goes to the driver" not in done.err, f"work was let go before its time:\n{done.err}")
        text = context.run([context.program("lapilli"), "check", "out.lapilli"]).out
        check("needed for: compute" in text and "serve several" in text, text)
        other = OTHER_DRIVERS["swiftshader"]
        if other.exists() and not context.driver:
            check_verified(replace(context, driver=other).replay())
    return run


def from_one_to_many(context: Context) -> None:
    context.capture(command(context, []))
    check_verified(context.replay(env=context.layer_env(QUEUES)))


def converted_while_under_way(context: Context) -> None:
    """Copies of one command buffer, on two queues and in one primary, convert texels through one buffer of the replay's."""
    validation_layer(context)
    done = context.run([str(context.build / "tests/apps/again")], context.layer_env(LAYER, QUEUES, LAPILLI_VERIFY="1"))
    check(done.out == "ok again\n", done.text[-2000:])
    for layers in ((SHAPE, QUEUES), (VALIDATION, SHAPE), (VALIDATION, SHAPE, QUEUES)):
        done = context.replay(env=context.layer_env(*layers, LAPILLI_SHAPE="formats=44",
                                                    VK_LAYER_ENABLES="VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"))
        check_no_validation_message(done, f"of the replay on {layers[-1]}")
        check("substitutes it" in done.err, done.err)
        check_verified(done)


def drivers(context: Context) -> list[Context]:
    """The driver that is tested, and SwiftShader where it is there."""
    other = OTHER_DRIVERS["swiftshader"]
    return [context, *([replace(context, driver=other)] if other.exists() and not context.driver else [])]


def check_owners(context: Context, trace: str, *arguments: str, layers: tuple[str, ...] = (VALIDATION, SHAPE, QUEUES), shape: str = "owners") -> None:
    done = context.run([context.program("lapilli-replay"), "--verify", *arguments, trace], context.layer_env(*layers, LAPILLI_SHAPE=shape))
    check_verified(done)
    check("owners:" not in done.err, f"of what belongs to other families:\n{done.err[-2000:]}")
    check_no_validation_message(done, f"of the replay of {trace}")


def windows_of_another_family(context: Context) -> None:
    """Images go to the main queue's family to be shown, and back."""
    validation_layer(context)
    display()
    for number, one in enumerate(drivers(context)):
        trace = f"ownership_transfer{number}.lapilli"
        program = [str(context.build / "tests/apps/ownership_transfer")]
        done = one.run(program, one.layer_env(VALIDATION, SHAPE, QUEUES, LAPILLI_SHAPE="owners"))
        check("owners:" not in done.err, done.err[-2000:])
        check_no_validation_message(done, "of the program itself")
        done = one.run(program, one.layer_env(LAYER, QUEUES, LAPILLI_VERIFY="1", LAPILLI_FILE=trace))
        check(done.out == "ok ownership_transfer\n", done.text[-2000:])
        for arguments in (["--window-system", "xcb"], ["--present", "headless"]):
            check_owners(one, trace, *arguments)
            check_verified(one.run([one.program("lapilli-replay"), "--verify", *arguments, trace]))


def host_writes_of_another_family(context: Context) -> None:
    """What a replay copies there for the host reaches the family that it belongs to."""
    validation_layer(context)
    for number, one in enumerate(drivers(context)):
        trace = f"exclusive{number}.lapilli"
        # With real types memory of lavapipe is the device's and the host's at once.
        done = one.run([str(context.build / "tests/apps/exclusive")],
                       one.layer_env(LAYER, QUEUES, LAPILLI_VERIFY="1", LAPILLI_FILE=trace, LAPILLI_MEMORY_TYPES="real"))
        check(done.out == "ok exclusive\n", done.text[-2000:])
        for shape in ("owners", "owners,split", "owners,split,families=one"):
            check_owners(one, trace, layers=(VALIDATION, SHAPE, QUEUES), shape=shape)
    for arguments in ([], ["--two"]):
        context.run(command(context, arguments), context.layer_env(LAYER, QUEUES, LAPILLI_VERIFY="1", LAPILLI_FILE=f"queues{len(arguments)}.lapilli"))
        check_owners(context, f"queues{len(arguments)}.lapilli", shape="owners,split,one-visible,garbage")


def held_back(name: str, arguments: list[str]) -> Callable[[Context], None]:
    """Two queues are one in the replay: what waits for the host must not stand in front of what the host waits for first."""
    def run(context: Context) -> None:
        validation_layer(context)
        for number, one in enumerate(drivers(context)):
            trace = f"{name}{number}.lapilli"
            done = one.run([context.app(name), *arguments],
                           one.layer_env(LAYER, QUEUES, LAPILLI_VERIFY="1", LAPILLI_FILE=trace), expect=None)
            if done.status == 77 and number:
                continue
            check(done.out == f"ok {name}\n", done.text[-2000:])
            for layers in ((), (QUEUES,), (VALIDATION,), (SHAPE,)):
                done = one.replay(trace, env=one.layer_env(*layers, LAPILLI_SHAPE="split,one-visible") if layers else None)
                check_verified(done)
                check("goes to the driver" not in done.err, f"work was let go before its time:\n{done.err}")
                check_no_validation_message(done, f"of the replay on {layers}")
    return run


def the_host_is_asked(context: Context) -> None:
    """Work that asks the host something before it waits for the answer goes to the driver when the program saw the question."""
    for number, one in enumerate(drivers(context)):
        for arguments in (["--asks"], ["--asks", "--two"], ["--asks", "--secondary"], ["--asks", "--secondary", "--two"]):
            trace = f"asks{number}{''.join(arguments)}.lapilli"
            done = one.run([context.app("answers"), *arguments],
                           one.layer_env(LAYER, LAPILLI_VERIFY="1", LAPILLI_FILE=trace), expect=None)
            if done.status == 77 and number:
                continue
            check(done.out == "ok answers\n", done.text[-2000:])
            done = one.replay(trace)
            check_verified(done)
            check("waits on the device for an event of the host goes to the driver" in done.err, done.err)


def an_answer_behind_its_question_is_refused(context: Context) -> None:
    """Where what the host does before it answers stands behind the work that waits for the answer, a replay ends with a sentence."""
    def expect_refusal(arguments: list[str], recorded: str, shape: str, what: str) -> None:
        trace = f"refused{''.join(arguments)}.lapilli"
        done = context.run([context.app("answers"), *arguments],
                           context.layer_env(LAYER, *([recorded] if recorded else []), LAPILLI_VERIFY="1", LAPILLI_FILE=trace))
        check(done.out == "ok answers\n", done.text[-2000:])
        env = context.layer_env(SHAPE, LAPILLI_SHAPE=shape) if shape else None
        done = context.replay(trace, "--wait-limit", "1", env=env, expect=5)
        check(f"the device waits for an event that the host sets later: this wait of the replay ({what}) stands behind that" in done.err,
              done.err)
        check(", 0 different" in done.text, done.text)
    expect_refusal(["--between"], QUEUES, "", "a fence")
    expect_refusal(["--asks"], "", "split,crowded=1000000", "copies of what the host wrote")


def families_that_nobody_asked_for_are_known(context: Context) -> None:
    """Its second family computes and copies as well, but has no graphics; the program's device has the first one."""
    context = replace(context, driver=context.build / "tests/null/null_icd.json")
    if not context.driver or not context.driver.exists():
        raise Skip("the null driver is not built")
    context.capture([context.app("compute"), "--no-questions", "--no-check"])
    check("vkGetPhysicalDeviceQueueFamilyProperties" not in {line["name"] for line in context.print_lines()}, "the program asks")
    text = context.run([context.program("lapilli"), "check", "out.lapilli"]).out
    check("queue family 0: it is family 0 of this GPU (it had: graphics, compute, transfer" in text, text)


def validate(arguments: list[str]) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        validation_layer(context)
        # Debian 12's follows submits as they come, so it does not see who releases what a submit acquires before. The
        # replay gives all to the driver in an order that it follows.
        if "--backwards" not in arguments:
            done = context.run(command(context, arguments), context.layer_env(VALIDATION, QUEUES))
            check_no_validation_message(done, "of the program itself")
        record(context, arguments)
        for layers in ((VALIDATION,), (VALIDATION, QUEUES)):
            done = context.replay(env=context.layer_env(*layers))
            check_no_validation_message(done, f"of the replay on {layers[-1]}")
            check_verified(done)
    return run


def cases() -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = {"one-queue-is-played-on-many": from_one_to_many,
                                                          "unasked": families_that_nobody_asked_for_are_known,
                                                          "copies-under-way-are-converted-without-hazards": converted_while_under_way,
                                                          "work-that-waits-for-a-host-event-is-submitted-whole": the_host_is_asked,
                                                          "a-host-event-set-too-late-is-refused": an_answer_behind_its_question_is_refused,
                                                          "images-presented-by-another-family-change-owners": windows_of_another_family,
                                                          "host-writes-reach-the-family-that-owns-the-buffer": host_writes_of_another_family}
    for name, arguments in HELD_BACK:
        result["-".join([name, *(a.lstrip("-") for a in arguments)])] = held_back(name, arguments)
    for arguments in MODES:
        label = "-".join(["plain", *(a.lstrip("-") for a in arguments)])
        result[label] = from_many_to_one(arguments)
        result[f"validate/{label}"] = validate(arguments)
    return result
