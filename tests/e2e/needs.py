# SPDX-License-Identifier: MIT
"""What a trace needs of a device: only what it uses, whatever the program switched on (codegen/needs.toml)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Callable

from e2e.cases import OTHER_DRIVERS, SHAPE, VALIDATION, Context, Done, Skip, check, check_no_validation_message, check_verified, validation_layer


def capture(context: Context, *arguments: str) -> None:
    done = context.capture([str(context.build / "tests/apps/enables"), *arguments], expect=None)
    if done.status == 77:
        raise Skip(done.out.strip().splitlines()[-1])
    check(done.status == 0, done.text[-2000:])


def lacking(context: Context, *names: str) -> dict[str, str]:
    return context.layer_env(SHAPE, LAPILLI_SHAPE=f"features={'+'.join(names)}")


def report(context: Context, environment: dict[str, str] | None = None, expect: int = 0) -> dict:
    return json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"], environment, expect=expect).out)


def outcomes(found: dict) -> dict[str, str]:
    return {finding["name"]: finding["outcome"] for finding in found["findings"] if finding["area"] in ("feature", "extension")}


def lines_with(done: Done, text: str) -> list[str]:
    return [line for line in done.err.splitlines() if text in line]


# Enabled where the device has them; nothing of the program uses them, but what the option makes it do.
IDLE = ["geometryShader", "samplerAnisotropy", "fillModeNonSolid", "depthClamp"]


def enabled_is_not_needed(context: Context) -> None:
    capture(context)
    environment = lacking(context, *IDLE)
    done = context.replay(env=environment)
    check_verified(done)
    check(len(lines_with(done, "enabled and never used")) == 1 and "geometryShader" in lines_with(done, "enabled and never used")[0], done.err)
    check(lines_with(done, "can't be seen") == [], done.err)
    found = report(context, environment)
    check(found["can_replay"] is True and all(outcomes(found)[name] == "dropped" for name in IDLE), f"{found}")


def used_is_needed(option: str, feature: str, use: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        capture(context, option)
        environment = lacking(context, *IDLE)
        done = context.replay("out.lapilli", "--quiet", env=environment, expect=5)
        found = report(context, environment, expect=1)
        refused = [name for name, outcome in outcomes(found).items() if outcome == "refused"]
        check(refused == [feature] and feature in found["refusal"], f"{found}")
        check(found["refusal"] in done.err, f"{found['refusal']!r}, but the replay: {done.err}")
        text = next(finding["text"] for finding in found["findings"] if finding["name"] == feature)
        check(use in text, f"{text!r} has no word of {use}")
        forced = context.replay("out.lapilli", "--force", env=environment, expect=None)
        check(f"left out, since the GPU has no {feature}" in forced.err, forced.err)
    return run


def unseen_is_dropped_with_a_warning(context: Context) -> None:
    capture(context)
    environment = lacking(context, "robustBufferAccess", "geometryShader")
    done = context.replay(env=environment)
    check_verified(done)
    warnings = lines_with(done, "can't be seen")
    check(len(warnings) == 1 and "robustBufferAccess" in warnings[0] and "geometryShader" not in warnings[0], done.err)
    check(outcomes(report(context, environment))["robustBufferAccess"] == "dropped", done.err)
    # Nor does an extension show what features of it do, or what it does without any.
    gone = ("VK_EXT_robustness2", "VK_EXT_texel_buffer_alignment", "VK_EXT_depth_range_unrestricted")
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE="extensions=" + "+".join((*gone, "VK_EXT_4444_formats")))
    done = context.replay(env=environment)
    check_verified(done)
    found = {finding["name"]: finding["text"] for finding in report(context, environment)["findings"] if finding["area"] == "extension"}
    warnings = lines_with(done, "can't be seen")
    enabled = next(line["args"]["pCreateInfo"]["ppEnabledExtensionNames"] for line in context.print_lines() if line["name"] == "vkCreateDevice")
    for name in gone:
        if name in enabled:
            check("can't be seen" in found[name] and len(warnings) == 1 and name in warnings[0], f"{name}: {found}\n{done.err}")
    check("nothing in the trace uses it" in found["VK_EXT_4444_formats"], f"{found}")


def nesting_is_seen(context: Context) -> None:
    """Secondary command buffers that execute others, which may be under way twice."""
    done = context.capture([context.app("nested")], expect=None)
    if done.status == 77:
        raise Skip(done.out.strip())
    for shape, name in (("features", "nestedCommandBufferSimultaneousUse"), ("extensions", "VK_EXT_nested_command_buffer")):
        found = report(context, context.layer_env(SHAPE, LAPILLI_SHAPE=f"{shape}={name}"), expect=1)
        check([n for n, outcome in outcomes(found).items() if outcome == "refused"] == [name], f"{found}")


def extensions_follow_the_same_rule(context: Context) -> None:
    """Each is taken away that the program enabled: it uses none, and validation has nothing to say."""
    validation_layer(context)
    capture(context)
    enabled = next(line["args"]["pCreateInfo"]["ppEnabledExtensionNames"] for line in context.print_lines() if line["name"] == "vkCreateDevice")
    # Vertex attributes of the old kind need one that goes.
    others = ("VK_KHR_push_descriptor", "VK_KHR_draw_indirect_count", "VK_EXT_shader_viewport_index_layer", "VK_EXT_legacy_vertex_attributes")
    gone = [name for name in enabled if (name.startswith("VK_EXT_") and "dynamic_state" in name) or name in others]
    if not gone:
        raise Skip("the device has none of them")
    environment = context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE="extensions=" + "+".join(gone))
    done = context.replay(env=environment)
    check_verified(done)
    check_no_validation_message(done, "of the replay")
    found = outcomes(report(context, context.layer_env(SHAPE, LAPILLI_SHAPE="extensions=" + "+".join(gone))))
    check(all(found[name] in ("dropped", "mapped") for name in gone), f"{found}")


# Program, and limits that its trace exceeds when they are as small as this.
SMALL = {
    ("triangle", "--offscreen"): {"maxVertexInputAttributes": 1, "maxVertexInputBindings": 0, "maxColorAttachments": 0,
                                  "maxBoundDescriptorSets": 0},
    ("compute",): {"maxComputeWorkGroupInvocations": 1, "maxComputeWorkGroupSize": 1, "maxPushConstantsSize": 4, "maxBufferSize": 16},
    ("descriptors",): {"maxTexelBufferElements": 1, "maxUniformBufferRange": 4},
}


def limits_are_named(context: Context) -> None:
    """Each limit that is too small is named, and nothing else; the replay tries all the same. What can't work is called so."""
    for command, limits in SMALL.items():
        context.capture([context.app(command[0]), *command[1:]], "out.lapilli")
        environment = context.layer_env(SHAPE, LAPILLI_SHAPE="limits=" + "+".join(f"{n}:{v}" for n, v in limits.items()))
        found = report(context, environment)
        named = {finding["name"]: finding["outcome"] for finding in found["findings"] if finding["area"] == "limit"}
        check(named == {name: "may_fail" for name in limits}, f"{command}: {named}")
        check(found["can_replay"] is True and found["may_fail"] is True, f"{found}")
        text = context.run([context.program("lapilli"), "check", "out.lapilli"], environment).out.splitlines()
        doubtful = [line for line in text if line.startswith("may fail limit ")]
        check(len(doubtful) == len(limits), "\n".join(text))
        check(text[-1].startswith("replay   yes, but it may fail: "), text[-1])
        check(report(context)["may_fail"] is False, "it may fail where it was recorded")
        (context.folder / "out.lapilli").unlink()


def offsets_are_said_once(context: Context) -> None:
    context.capture([str(context.build / "tests/apps/descriptors")])
    done = context.replay(env=context.layer_env(SHAPE, LAPILLI_SHAPE="offsets=65536"))
    check_verified(done)
    warnings = lines_with(done, "OffsetAlignment")
    check(len(warnings) == 1 and "frame 2, packet " in warnings[0], done.err)
    check(lines_with(context.replay(), "OffsetAlignment") == [], "the machine that it was recorded on wants other offsets")


def shaders_are_looked_at(context: Context) -> None:
    capture(context, "--geometry")
    check(not [f for f in report(context)["findings"] if f["area"] == "shader"], "the driver that made the trace lacks something")
    found = report(context, lacking(context, "geometryShader"), expect=1)
    check([(f["name"], f["outcome"]) for f in found["findings"] if f["area"] == "shader"] == [("Geometry", "may_fail")], f"{found}")


def refusals_are_complete(context: Context) -> None:
    """A feature, an extension and a queue family are lacking: one sentence names all."""
    program = [str(context.build / "tests/apps/modern"), "--khr"]
    context.capture(program)
    names = ["VK_EXT_multi_draw", "VK_KHR_timeline_semaphore"]
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE="extensions=" + "+".join(names) + ",features=timelineSemaphore")
    done = context.replay("out.lapilli", "--quiet", env=environment, expect=5)
    check(all(name in done.err for name in [names[0], "timelineSemaphore"]), done.err)
    done = context.replay("out.lapilli", env=environment, expect=5)
    check("lapilli check" in done.err, done.err)


def older_versions_are_refused_at_once(context: Context) -> None:
    """The program uses commands of Vulkan 1.3: what the device lacks, as extensions too, is said before anything is played."""
    context.capture([str(context.build / "tests/apps/modern")])
    check(context.info()["recorded_on"]["api_version"] >= "1.3", "the driver is older")
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE="version=1,extensions=VK_KHR_dynamic_rendering+VK_KHR_copy_commands2")
    done = context.replay("out.lapilli", "--quiet", env=environment, expect=5)
    check("has Vulkan 1.1, which lacks" in done.err or "lacks requirements of the trace" in done.err, done.err)
    found = report(context, environment, expect=1)
    refused = {finding["name"] for finding in found["findings"] if finding["outcome"] == "refused"}
    check("vkCmdBeginRendering" in refused or "dynamicRendering" in refused, f"{refused}")
    # A program that asks for Vulkan 1.3 and uses nothing of it is played.
    context.capture([str(context.build / "tests/apps/headless")], "plain.lapilli")
    check_verified(context.replay("plain.lapilli", env=environment))


def stages_follow_features(context: Context) -> None:
    """Stages and accesses of features that were left out are no longer named."""
    validation_layer(context)
    context.capture([str(context.build / "tests/apps/stages")])
    shape = "features=geometryShader+tessellationShader,extensions=VK_EXT_conditional_rendering+VK_EXT_transform_feedback"
    for without in ("", "features=geometryShader", shape):
        done = context.replay(env=context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE=without))
        check_no_validation_message(done, f"of the replay without {without}")
        check_verified(done)
    other = OTHER_DRIVERS["swiftshader"]
    if other.exists() and not context.driver:
        one = replace(context, driver=other)
        done = one.replay(env=one.layer_env(VALIDATION))
        check_no_validation_message(done, "of the replay on SwiftShader")
        check_verified(done)


def gpus_by_uuid(context: Context) -> None:
    """Both drivers at once: the recorded device is taken unless another one is asked for."""
    if not OTHER_DRIVERS["swiftshader"].exists() or context.driver or context.driver_dir:
        raise Skip("there is no second driver")
    drivers = [str(p) for p in (OTHER_DRIVERS["swiftshader"], *sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd.*.json")))]
    both = {"VK_DRIVER_FILES": ":".join(drivers), "VK_ICD_FILENAMES": ":".join(drivers)}
    listed = [line.split("\t") for line in context.run([context.program("lapilli-replay"), "--list-gpus"], both).out.splitlines()]
    check(len(listed) == 2 and all(re.fullmatch("[0-9a-f]{32}", line[3]) for line in listed), f"{listed}")
    for number, name, _, uuid in listed:
        done = context.capture([str(context.build / "tests/apps/enables"), "--gpu", number], f"{number}.lapilli", env=both)
        recorded_on = context.info(f"{number}.lapilli")["recorded_on"]
        check((recorded_on["device"], recorded_on["device_uuid"]) == (name, uuid) and recorded_on["driver_uuid"], f"{recorded_on}")
        check(uuid in context.run([context.program("lapilli"), "info", f"{number}.lapilli"]).out, "info does not show the UUID")
        context.capture([context.app("compute"), "--gpu", number, "--no-questions"], f"unasked{number}.lapilli", env=both)
        for trace in (f"{number}.lapilli", f"unasked{number}.lapilli"):
            done = context.replay(trace, env=both)
            check(f"playing on {name}" in done.err, done.err)
    for number, name, _, uuid in listed:
        dashed = "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]))
        for gpu in (number, uuid, dashed.upper(), name):
            done = context.replay("0.lapilli", "--gpu", gpu, env=both)
            check(f"playing on {name}" in done.err, f"--gpu {gpu}: {done.err}")
            alone = context.run([context.program("lapilli-replay"), "--list-gpus", "--gpu", gpu], both).out
            check(alone.startswith(f"{number}\t{name}\t") and len(alone.splitlines()) == 1, f"--gpu {gpu}: {alone}")
    done = context.replay("0.lapilli", "--gpu", "e", env=both, expect=5)
    check(all(name in done.err and uuid in done.err for _, name, _, uuid in listed), done.err)


def everything_on_one_driver_plays_on_the_other(driver: str, to_other: bool) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        other = context.on(driver)
        source, target = (context, other) if to_other else (other, context)
        capture(source)
        check(len([n for n, outcome in outcomes(report(target)).items() if outcome == "dropped"]) > 5, "the drivers hardly differ")
        check_verified(target.replay())
    return run


def cases() -> dict[str, Callable[[Context], None]]:
    result = {"enabled-is-not-needed": enabled_is_not_needed,
              "used-is-needed/geometry": used_is_needed("--geometry", "geometryShader", "Geometry"),
              "used-is-needed/sampler": used_is_needed("--sampler", "samplerAnisotropy", "VkSamplerCreateInfo.anisotropyEnable"),
              "unseen-is-dropped-with-a-warning": unseen_is_dropped_with_a_warning,
              "used-is-needed/nested": nesting_is_seen,
              "limits-are-named": limits_are_named,
              "misaligned-offsets-are-reported-once": offsets_are_said_once,
              "capabilities-of-shaders-are-compared": shaders_are_looked_at,
              "refusals-are-complete": refusals_are_complete,
              "older-versions-are-refused-at-once": older_versions_are_refused_at_once,
              "stages-follow-features": stages_follow_features,
              "gpus-are-chosen-by-number-uuid-and-name": gpus_by_uuid,
              "extensions-follow-the-same-rule": extensions_follow_the_same_rule}
    for driver in OTHER_DRIVERS:
        for to_other in (True, False):
            result[f"everything/{'to' if to_other else 'from'}-{driver}"] = everything_on_one_driver_plays_on_the_other(driver, to_other)
    return result
