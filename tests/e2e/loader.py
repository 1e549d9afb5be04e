# SPDX-License-Identifier: MIT
"""What loaders ask of a layer: manifests, ways to switch it on and off, what it answers about itself, where it stands.

What a loader is too old for is skipped: Debian 12's has no VK_LOADER_LAYERS_ALLOW and no settings file.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Callable

from e2e.cases import INCOHERENT, LAYER, TEST_LAYER, VALIDATION, Cases, Context, Done, Skip, check, check_verified, validation_layer

CASES = Cases()
case = CASES.add


def cases() -> dict[str, Callable[[Context], None]]:
    return CASES


def implicit_folder(context: Context, name: str, layer: str = LAYER) -> Path:
    """A data folder with the implicit manifest of ours or of one of tests/layers, for every loader: Debian 12's does not know
    VK_IMPLICIT_LAYER_PATH."""
    own = layer.removeprefix(TEST_LAYER)
    library = "lib/libVkLayer_lapilli.so" if layer == LAYER else f"tests/layers/libVkLayer_{own}.so"
    folder = context.folder / name / "vulkan/implicit_layer.d"
    folder.mkdir(parents=True, exist_ok=True)
    for path in context.build.glob("share/vulkan/implicit_layer.d/*.json" if layer == LAYER else f"tests/layers/VkLayer_{own}.json"):
        manifest = json.loads(path.read_text())
        manifest["layer"]["library_path"] = str(context.build / library)
        (folder / path.name).write_text(json.dumps(manifest))
    return context.folder / name


def windows_env(context: Context, **more: str) -> dict[str, str]:
    """Ours above the one that has windows where the driver has none (tests/layers/windows.c)."""
    theirs = implicit_folder(context, "theirs", f"{TEST_LAYER}windows")
    return {"XDG_DATA_HOME": str(implicit_folder(context, "ours")), "XDG_DATA_DIRS": f"{theirs}:/usr/share", "LAPILLI_TEST_WINDOWS": "1",
            "LAPILLI_CAPTURE": "1", "LAPILLI_VERIFY": "1", **more}


def manifest_of(context: Context, kind: str) -> dict:
    files = list((context.build / f"share/vulkan/{kind}_layer.d").glob("*.json"))
    check(len(files) == 1, f"{files}")
    return json.loads(files[0].read_text()) | {"file": files[0]}


def traces(context: Context) -> list[str]:
    """Those that a run left; they are gone then."""
    files = sorted(context.folder.glob("*.lapilli*"))
    for file in files:
        file.unlink()
    return [file.name for file in files]


def records(context: Context, environment: dict[str, str]) -> bool:
    done = context.run([context.app("headless")], {"LAPILLI_FILE": "out.lapilli", **environment})
    check("ok headless" in done.out, done.text)
    found = traces(context)
    check(found in ([], ["out.lapilli"]), f"{found}")
    return bool(found)


def python(context: Context, script: str, *arguments: str, **environment: str) -> Done:
    return context.run([*context.installed("python3"), "-c", script, *arguments], environment)


def needs_loader_with(context: Context, word: str) -> None:
    """Loaders name in their code what they look for."""
    script = "import ctypes; ctypes.CDLL('libvulkan.so.1'); print(next(line.split()[-1] for line in open('/proc/self/maps') if 'libvulkan' in line))"
    path = Path(python(context, script).out.strip())
    if word.encode() not in path.read_bytes():
        raise Skip(f"the loader ({path.resolve().name}) does not know {word}")


@case
def the_environment_loads_the_explicit_layer(context: Context) -> None:
    context.run([context.app("headless")], context.layer_env(LAPILLI_VERIFY="1"))
    check_verified(context.replay())


@case
def the_implicit_layer_needs_its_switch(context: Context) -> None:
    manifests = str(context.build / "share/vulkan/implicit_layer.d")
    places = {"VK_IMPLICIT_LAYER_PATH": manifests, "VK_ADD_IMPLICIT_LAYER_PATH": manifests, "LAPILLI_FILE": "out.lapilli",
              "XDG_DATA_HOME": str(implicit_folder(context, "data"))}
    context.run([context.app("headless")], places)
    check(not list(context.folder.glob("*.lapilli")), "a trace was written without LAPILLI_CAPTURE=1")
    context.run([context.app("headless")], {**places, "LAPILLI_CAPTURE": "1", "DISABLE_LAPILLI_CAPTURE": "1"})
    check(not list(context.folder.glob("*.lapilli")), "a trace was written although the layer was disabled")
    context.run([context.app("headless")], {**places, "LAPILLI_CAPTURE": "1", "LAPILLI_VERIFY": "1"})
    check_verified(context.replay())


@case
def an_unarmed_layer_does_nothing(context: Context) -> None:
    """Loaded but not switched on (a settings file of the loader can force that): no file, no thread, no file descriptor."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    trace = ["strace", "-f", "-e", "trace=openat,clone,clone3,memfd_create,userfaultfd,rt_sigaction",
             context.app("headless")]
    context.run(trace)  # the driver makes its caches
    bare = context.run(trace)
    for watch in ("auto", "mprotect"):
        done = context.run(trace, context.layer_env(LAPILLI_CAPTURE="0", LAPILLI_WRITE_WATCH=watch))
        check("ok headless" in done.out, done.text[-2000:])
        for call in ("clone", "memfd_create", "O_CREAT", "userfaultfd", "/proc/self/pagemap", "rt_sigaction(SIGSEGV"):
            counts = [sum(call in line for line in run.err.splitlines()) for run in (done, bare)]
            check(counts[0] == counts[1], f"{call}: {counts[0]} times, without the layer {counts[1]}")
    check(not list(context.folder.glob("*.lapilli")), "a trace was written")


@case
def only_the_loaders_symbols_are_exported(context: Context) -> None:
    done = context.run(["nm", "-D", "--defined-only", str(context.build / "lib/libVkLayer_lapilli.so")])
    names = sorted(line.split()[-1].split("@")[0] for line in done.out.splitlines())
    check(all(name.startswith("vk") for name in names) and "vkNegotiateLoaderLayerInterfaceVersion" in names, f"{names}")
    check(len(names) == 7, f"{names}")


@case
def layers_are_in_the_order_asked_for(context: Context) -> None:
    """What the other cases mean by "on top" and "below" is what the loader makes of it."""
    validation_layer(context)
    for order in itertools.permutations((LAYER, VALIDATION, INCOHERENT)):
        done = context.run([context.app("headless")], context.layer_env(*order, VK_LOADER_DEBUG="layer"))
        stack = done.err[done.err.rindex("vkCreateDevice layer callstack"):]
        found = sorted(order, key=lambda name: stack.find(name) if name in stack else len(stack))
        check(all(name in stack for name in order) and found == list(order), f"{order}:\n{stack}")


@case
def manifests_follow_the_rules(context: Context) -> None:
    for kind in ("explicit", "implicit"):
        manifest = manifest_of(context, kind)
        layer = manifest["layer"]
        check(re.fullmatch(r"1\.2\.[1-9]", manifest["file_format_version"]) is not None, manifest["file_format_version"])
        check(re.fullmatch(r"VK_LAYER_[A-Z0-9]+_[a-z0-9_]+", layer["name"]) is not None, layer["name"])
        check(layer["library_arch"] in ("32", "64"), layer["library_arch"])
        for key in ("type", "library_path", "api_version", "implementation_version", "description"):
            check(isinstance(layer.get(key), str) and bool(layer[key]), f"{kind}: {key} is {layer.get(key)!r}")
        check((manifest["file"].parent / layer["library_path"]).exists(), f"{kind}: {layer['library_path']} does not exist")
        check(layer["type"] in ("GLOBAL", "INSTANCE"), layer["type"])
        check(("disable_environment" in layer) == (kind == "implicit"), f"{kind}: disable_environment")
        if kind == "implicit":
            check(layer["enable_environment"] == {"LAPILLI_CAPTURE": "1"}, f"{layer['enable_environment']}")


# Of a setting in a manifest, its type's values (LunarG's layers_schema.json).
KINDS = {"STRING": str, "SAVE_FILE": str, "LOAD_FILE": str, "SAVE_FOLDER": str, "BOOL": bool, "INT": int, "ENUM": str}


@case
def the_configurator_finds_each_option_and_the_layer_takes_each_value(context: Context) -> None:
    features = manifest_of(context, "implicit")["layer"]["features"]
    settings = {row["key"]: row for row in features["settings"]}
    options = re.findall(r'^ +\{"(LAPILLI_\w+)", "(\w+)", ', (context.root / "layer/core/options.c").read_text(encoding="utf-8"), re.M)
    check(len(options) > 20 and {(row["env"], key) for key, row in settings.items()} == set(options), f"{sorted(settings)}, {sorted(options)}")
    for key, row in settings.items():
        kind = KINDS[row["type"]]
        check(all(row.get(member) for member in ("label", "description")), f"{key} has no name or no help")
        check(isinstance(row["default"], kind), f"{key}: {row['default']!r}")
        keys = [flag["key"] for flag in row.get("flags", [])]
        check((row["type"] == "ENUM") == bool(keys) and (not keys or row["default"] in keys), f"{key}: {keys}")
        check(all(flag["label"] and flag["description"] for flag in row.get("flags", [])), f"{key}: a value without help")
    enums = {key: [flag["key"] for flag in row["flags"]] for key, row in settings.items() if "flags" in row}
    tried = [[(key, values[i]) for key, values in enums.items() if i < len(values)] for i in range(max(map(len, enums.values())))]
    tried.append([(key, row["default"]) for key, row in settings.items()])
    for preset in features["presets"]:
        tried.append([(row["key"], row["value"]) for row in preset["settings"]])
        check(all(isinstance(value, KINDS[settings[key]["type"]]) for key, value in tried[-1]) and all(preset[member] for member in ("label", "description")), f"{preset}")
    environment = {key: value for key, value in context.layer_env().items() if not key.startswith("LAPILLI_")}
    for number, values in enumerate(tried):
        lines = [f"lapilli_capture.{key} = {str(value).lower() if isinstance(value, bool) else value}\n" for key, value in values if key != "file"]
        (context.folder / "vk_layer_settings.txt").write_text("".join([*lines, f"lapilli_capture.file = {number}.lapilli\n"]))
        done = context.run([context.app("headless")], environment)
        check("this is not" not in done.err and "left out" not in done.err, f"{lines}: {done.err}")


def make_as_built(context: Context, *arguments: str) -> list[str]:
    """make for the build folder as it is: nothing may be built anew while tests run it."""
    return ["make", "-s", "-C", str(context.root), f"BUILD={context.build}", *arguments]


@case
def uninstall_removes_what_install_wrote(context: Context) -> None:
    prefix = context.folder / "prefix"
    make = make_as_built(context, f"prefix={prefix}")
    context.run([*make, "install-built"])
    tool = str(prefix / "bin/lapilli")
    [library] = (prefix / "lib/lapilli").iterdir()
    for installed in sorted((prefix / "bin").iterdir()):
        check("lapilli" in context.run([str(installed), "--help"]).out, f"{installed.name} says nothing")
        if installed.name in ("lapilli-farm", "lapilli-android"):
            continue  # of Python
        # Where no driver is played on, none is loaded (SECURITY.md).
        loaded = context.run(["env", "LD_TRACE_LOADED_OBJECTS=1", str(installed)]).out
        check("libvulkan" not in loaded and (str(library) in loaded.replace("bin/../", "") or installed.name == "lapilli-replay"), loaded)
    # XDG_DATA_HOME stands for a prefix that the loader searches.
    places = {"XDG_DATA_HOME": str(prefix / "share")}
    program = context.app("headless")
    context.run([program], {**places, "LAPILLI_FILE": "nothing.lapilli"})
    for name, more in {"implicit": {"LAPILLI_CAPTURE": "1"}, "explicit": {"VK_INSTANCE_LAYERS": LAYER},
                       "both": {"LAPILLI_CAPTURE": "1", "VK_INSTANCE_LAYERS": LAYER}}.items():
        context.run([program], {**places, **more, "LAPILLI_FILE": f"{name}.lapilli", "LAPILLI_VERIFY": "1"})
        lines = context.print_lines(f"{name}.lapilli")
        check(sum(line["name"] == "vkCreateInstance" for line in lines) == 1, f"{name}: the layer is not there exactly once")
        check_verified(context.run([tool, "replay", "--verify", f"{name}.lapilli"]))
    context.run([tool, "capture", "--verify", "-o", "tool.lapilli", "--", program])
    check_verified(context.run([tool, "replay", "--verify", "tool.lapilli"]))
    names = sorted(p.name for p in context.folder.glob("*.lapilli"))
    check(names == ["both.lapilli", "explicit.lapilli", "implicit.lapilli", "tool.lapilli"], f"{names}")
    context.run([*make, "uninstall"])
    left = [p for p in prefix.rglob("*") if not p.is_dir()]
    check(not left, f"left behind: {left}")


@case
def a_manifest_with_a_name_alone_is_for_every_architecture(context: Context) -> None:
    """As packages have it: the loader finds the library where it finds others."""
    prefix = context.folder / "prefix"
    make = make_as_built(context, f"prefix={prefix}", "layer_path=libVkLayer_lapilli.so")
    context.run([*make, "install-layer-built"])
    manifest = json.loads((prefix / "share/vulkan/implicit_layer.d/VkLayer_lapilli.json").read_text())
    check(manifest["layer"]["library_path"] == "libVkLayer_lapilli.so" and "library_arch" not in manifest["layer"], f"{manifest['layer']['library_path']}")
    places = {"XDG_DATA_HOME": str(prefix / "share"), "LD_LIBRARY_PATH": str(prefix / "lib"), "LAPILLI_VERIFY": "1"}
    context.run([context.app("headless")], {**places, "LAPILLI_FILE": "nothing.lapilli"})
    context.run([context.app("headless")], {**places, "LAPILLI_CAPTURE": "1", "LAPILLI_FILE": "named.lapilli"})
    check_verified(context.replay("named.lapilli"))
    found = traces(context)
    check(found == ["named.lapilli"], f"{found}")
    context.run([*make, "uninstall-layer"])
    check(not [p for p in prefix.rglob("*") if not p.is_dir()], "something is left behind")


@case
def setuid_programs_are_left_alone(context: Context) -> None:
    """A program with other rights than its caller: no variable of the caller is honoured."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root can make a setuid program and run it as somebody else")
    if context.folder.resolve().is_relative_to("/root"):
        raise Skip("others can't reach the folder")
    program = context.folder / "headless"
    shutil.copy(context.app("headless"), program)
    program.chmod(0o4755)
    context.folder.chmod(0o777)
    home = context.folder / "usr"
    (home / "vulkan").mkdir(parents=True)
    # The loader ignores the caller's paths too, so the manifest must lie where every program finds it.
    place = Path("/etc/vulkan/implicit_layer.d")
    manifest = place / f"lapilli-test-{os.getpid()}.json"
    made = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
    text = json.loads(next((context.build / "share/vulkan/implicit_layer.d").glob("*.json")).read_text())
    text["layer"]["library_path"] = str(context.build / "lib/libVkLayer_lapilli.so")
    # Of its own name and switch: several suites may run on one machine.
    text["layer"]["name"] = f"VK_LAYER_LAPILLI_setuid{os.getpid()}"
    text["layer"]["enable_environment"] = {f"LAPILLI_SETUID_TEST_{os.getpid()}": "1"}
    environment = {f"LAPILLI_SETUID_TEST_{os.getpid()}": "1", "LAPILLI_CAPTURE": "1", "LAPILLI_FILE": str(context.folder / "setuid.lapilli"),
                   "LAPILLI_SCREENSHOT": "1", "LAPILLI_REPORT": str(context.folder / "report")}
    (context.folder / "report").write_text("")
    (context.folder / "report").chmod(0o666)
    # Nor is what a settings file in the current folder says.
    (context.folder / "vk_layer_settings.txt").write_text("lapilli_capture.file = settings.lapilli\n")
    try:
        manifest.write_text(json.dumps(text))
        context.run([str(program)], {**environment, "LAPILLI_FILE": str(context.folder / "same.lapilli")})
        check((context.folder / "same.lapilli").exists(), "the same layer does not record for its own user")
        context.run([str(program)], {name: value for name, value in environment.items() if name != "LAPILLI_FILE"})
        check((context.folder / "settings.lapilli").exists(), "the settings file is not read for its own user")
        reported = (context.folder / "report").read_text()
        (context.folder / "settings.lapilli").unlink()
        context.run(["setpriv", "--reuid=65534", "--clear-groups", "--regid=65534", str(program)], environment)
    finally:
        manifest.unlink()
        if made and not list(place.iterdir()):
            place.rmdir()
    names = sorted(p.name for p in context.folder.glob("*.lapilli"))
    check(names == ["same.lapilli"], f"a setuid program wrote files for its caller: {names}")
    check((context.folder / "report").read_text() == reported, "a setuid program wrote into a file for its caller")


# Asks a layer, or the loader, by exported functions: the results of vkEnumerate* as JSON.
QUESTIONS = """
import ctypes, json, os, sys
path, names = sys.argv[1], [name.encode() if name else None for name in sys.argv[2].split(",")]
class Layer(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 256), ("spec", ctypes.c_uint32), ("version", ctypes.c_uint32), ("text", ctypes.c_char * 256)]
class Extension(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 256), ("version", ctypes.c_uint32)]
def ask(function, kind, *first):
    count = ctypes.c_uint32(7)
    result = function(*first, ctypes.byref(count), None)
    if result != 0:
        return {"result": result}
    found, room = (kind * max(count.value, 1))(), ctypes.c_uint32(0)
    few = function(*first, ctypes.byref(room), found)
    result = function(*first, ctypes.byref(count), found)
    return {"result": result, "few": few, "found": [[f.name.decode(), getattr(f, "spec", 0), f.version] for f in found[:count.value]]}
vk, device = ctypes.CDLL(path), None
for function in (vk.vkGetInstanceProcAddr, vk.vkGetDeviceProcAddr):
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
if len(sys.argv) > 3:
    info, instance, gpus, one = (ctypes.c_uint64 * 8)(1), ctypes.c_void_p(), (ctypes.c_void_p * 8)(), ctypes.c_uint32(8)
    assert vk.vkCreateInstance(info, None, ctypes.byref(instance)) == 0
    assert vk.vkEnumeratePhysicalDevices(instance, ctypes.byref(one), gpus) in (0, 5)
    device = ctypes.c_void_p(gpus[0])
answers = {"layers": ask(vk.vkEnumerateInstanceLayerProperties, Layer), "device layers": ask(vk.vkEnumerateDeviceLayerProperties, Layer, device),
           "instance": [ask(vk.vkEnumerateInstanceExtensionProperties, Extension, name) for name in names],
           "device": [ask(vk.vkEnumerateDeviceExtensionProperties, Extension, device, name) for name in names]}
if device is None:
    answers["creates"] = [bool(vk.vkGetInstanceProcAddr(None, name)) for name in (b"vkCreateInstance", b"vkNoSuchFunction")]
    class Negotiation(ctypes.Structure):
        _fields_ = [("type", ctypes.c_int), ("next", ctypes.c_void_p), ("version", ctypes.c_uint32), ("functions", ctypes.c_void_p * 3)]
    answers["negotiated"] = []
    for version in (0, 1, 2, 3, 1000):
        asked = Negotiation(1, None, version)
        result = vk.vkNegotiateLoaderLayerInterfaceVersion(ctypes.byref(asked))
        answers["negotiated"].append([result, asked.version, sum(bool(f) for f in asked.functions)])
print(json.dumps(answers))
sys.stdout.flush()
os._exit(0)
"""
SUCCESS, INCOMPLETE, LAYER_NOT_PRESENT, INITIALIZATION_FAILED = 0, 5, -6, -3


def version_number(text: str) -> int:
    major, minor, patch = map(int, text.split("."))
    return major << 22 | minor << 12 | patch


def check_not_present(answers: list[dict]) -> None:
    for answer in answers:
        check(answer == {"result": LAYER_NOT_PRESENT}, f"{answer} of what is not ours")


@case
def manifests_and_layer_agree(context: Context) -> None:
    """Asked itself, as a loader asks it: what it is, and nothing about others or about everything."""
    answers = json.loads(python(context, QUESTIONS, str(context.build / "lib/libVkLayer_lapilli.so"), f"{LAYER},VK_LAYER_LAPILLI_other,").out)
    for kind in ("explicit", "implicit"):
        layer = manifest_of(context, kind)["layer"]
        own = [layer["name"], version_number(layer["api_version"]), int(layer["implementation_version"])]
        for question in ("layers", "device layers"):
            check(answers[question] == {"result": SUCCESS, "few": INCOMPLETE, "found": [own]}, f"{kind}, {question}: {answers[question]}, not {own}")
        extensions = [[e["name"], 0, int(e["spec_version"])] for e in layer["device_extensions"]]
        check(answers["device"][0] == {"result": SUCCESS, "few": INCOMPLETE, "found": extensions}, f"{kind}: {answers['device'][0]}, not {extensions}")
        check(answers["instance"][0] == {"result": SUCCESS, "few": SUCCESS, "found": []} and "instance_extensions" not in layer, f"{answers['instance'][0]}")
    check_not_present(answers["instance"][1:] + answers["device"][1:])
    check(answers["creates"] == [True, False], f"{answers['creates']}")
    check(answers["negotiated"] == [[INITIALIZATION_FAILED, 0, 0], [INITIALIZATION_FAILED, 1, 0], [SUCCESS, 2, 3], [SUCCESS, 2, 3], [SUCCESS, 2, 3]],
          f"{answers['negotiated']}")


@case
def programs_are_answered_about_layers(context: Context) -> None:
    """Through the loader, with the layer and without: another layer's extensions are not ours, and all are the driver's."""
    names = f"{LAYER},VK_LAYER_LAPILLI_other,"
    alone, under = (json.loads(python(context, QUESTIONS, "libvulkan.so.1", names, "device", **environment).out)
                    for environment in ({}, context.layer_env(LAPILLI_MEMORY_TYPES="real")))
    check_not_present([alone["instance"][0], alone["instance"][1], under["instance"][1]])
    check(under["device"][1] == alone["device"][1], f"of another layer: {under['device'][1]}, without ours {alone['device'][1]}")
    layer = manifest_of(context, "explicit")["layer"]
    extensions = [[e["name"], 0, int(e["spec_version"])] for e in layer["device_extensions"]]
    check(under["instance"][0]["found"] == [] and under["device"][0]["found"] == extensions, f"{under['instance'][0]}, {under['device'][0]}")
    check([name for name, *_ in under["layers"]["found"] if name == LAYER] == [LAYER], f"{under['layers']}")
    check(under["instance"][2] == alone["instance"][2], "other extensions of instances")
    shown, given = ({name for name, *_ in run["device"][2]["found"]} for run in (under, alone))
    check(bool(shown) and shown <= given | {e[0] for e in extensions}, f"{shown - given} come from nowhere")


def list_first(folder: Path, name: str) -> None:
    """Renames a manifest so that who reads the folder, in which no order is kept, comes to it first."""
    for number in range(200):
        if os.listdir(folder)[0] == name:
            return
        (folder / name).rename(folder / f"VkLayer_lapilli_{number}.json")
        name = f"VkLayer_lapilli_{number}.json"
    raise Skip("the file system lists files in an order of its own")


@case
def layers_of_32_and_64_bits_are_installed_together(context: Context) -> None:
    """A loader takes the manifest for its own words and says nothing about the other, whichever it comes to first."""
    bits = manifest_of(context, "explicit")["layer"]["library_arch"]
    other = {"32": "64", "64": "32"}[bits]
    names = {"64": "VkLayer_lapilli.json", "32": "VkLayer_lapilli_32.json"}
    compiler = [shutil.which("gcc") or "gcc", f"-m{other}", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", "libVkLayer_lapilli.so"]
    if not shutil.which("gcc") or context.run(compiler, expect=None).status != 0:
        raise Skip(f"gcc makes no library of {other} bits here")
    for first in (bits, other):
        prefix = context.folder / f"{first}-first"
        context.run(make_as_built(context, f"prefix={prefix}", "install-layer-built"))
        for kind in ("explicit", "implicit"):
            folder = prefix / f"share/vulkan/{kind}_layer.d"
            context.run([*context.installed("python3"), str(context.root / "manifests/make_manifest.py"), "--kind", kind, "--bits", other,
                         "--ids", str(context.build / "gen/gen_ids.h"), "--library-path", str(context.folder / "libVkLayer_lapilli.so"),
                         "--out", str(folder / names[other])])
            check(sorted(os.listdir(folder)) == sorted(names.values()), f"{os.listdir(folder)}")
            list_first(folder, names[first])
        for switch in ({"LAPILLI_CAPTURE": "1"}, {"VK_INSTANCE_LAYERS": LAYER}):
            environment = {"XDG_DATA_HOME": str(prefix / "share"), "VK_LOADER_DEBUG": "error,warn", "LAPILLI_FILE": "out.lapilli", **switch}
            done = context.run([context.app("headless")], environment)
            check(traces(context) == ["out.lapilli"] and not complaints(done, ""), f"{first} first, {switch}:\n{done.err}")


def complaints(done: Done, about: str) -> list[str]:
    """Of the loader. That a variable names layers is itself a warning."""
    return [line for line in done.err.splitlines() if ("ERROR" in line or "WARN" in line) and "env var" not in line and about in line.lower()]


@case
def the_loader_has_no_complaint(context: Context) -> None:
    """None that it does not have without the layer, as explicit and as implicit one, and with both manifests."""
    home = implicit_folder(context, "data")
    explicit, implicit = context.layer_env(), {"XDG_DATA_HOME": str(home), "LAPILLI_CAPTURE": "1", "LAPILLI_FILE": "out.lapilli"}
    for program in (["headless"], ["compute"], ["multi"], ["teardown", "--devices"], ["threads"], ["modern"], *([["wsi"]] if os.environ.get("DISPLAY") else [])):
        command = [context.app(program[0]), *program[1:]]
        debug = {"VK_LOADER_DEBUG": "error,warn"}
        alone = complaints(context.run(command, debug, expect=None), "")
        for environment in (explicit, implicit, explicit | implicit):
            done = context.run(command, environment | debug, expect=None)
            new = [line for line in complaints(done, "") if line not in alone]
            check(not new and len(complaints(done, "lapilli")) == 0, f"{command}:\n" + "\n".join(new))
            check(done.status == 77 or bool(traces(context)), f"{command}: the layer does not record")


@case
def a_loader_filter_arms_the_layer_by_name_alone(context: Context) -> None:
    """VK_LOADER_LAYERS_ENABLE that names the layer asks for a recording; a pattern does not."""
    needs_loader_with(context, "VK_LOADER_LAYERS_ENABLE")
    explicit = {"VK_LAYER_PATH": str(context.layer_folder(LAYER))}
    implicit = {"XDG_DATA_HOME": str(implicit_folder(context, "data"))}
    for places in (explicit, implicit):
        for names, recorded in ((LAYER, True), (f"VK_LAYER_no_such,{LAYER}", True), ("*LAPILLI*", False), ("VK_LAYER_LAPILLI_*", False), ("VK_LAYER_no_such", False)):
            done = records(context, {**places, "VK_LOADER_LAYERS_ENABLE": names})
            check(done == recorded, f"{places}, enabled by {names}: {done}")
        check(not records(context, {**places, "VK_LOADER_LAYERS_ENABLE": LAYER, "LAPILLI_CAPTURE": "0"}), "LAPILLI_CAPTURE=0 is not heard")
    armed = {**implicit, "LAPILLI_CAPTURE": "1"}
    for names, recorded in ((LAYER, False), ("*lapilli*", False), ("~implicit~", False), ("~all~", False), ("~explicit~", True), ("VK_LAYER_no_such", True)):
        check(records(context, {**armed, "VK_LOADER_LAYERS_DISABLE": names}) == recorded, f"disabled by {names}")


@case
def a_loader_filter_that_allows_the_layer_needs_its_switch(context: Context) -> None:
    needs_loader_with(context, "VK_LOADER_LAYERS_ALLOW")
    places = {"XDG_DATA_HOME": str(implicit_folder(context, "data")), "VK_LOADER_LAYERS_DISABLE": "~implicit~"}
    for names, switch, recorded in ((LAYER, "1", True), ("*lapilli*", "1", True), (LAYER, "0", False), ("VK_LAYER_no_such", "1", False)):
        done = records(context, {**places, "VK_LOADER_LAYERS_ALLOW": names, "LAPILLI_CAPTURE": switch})
        check(done == recorded, f"allowed {names}, LAPILLI_CAPTURE={switch}: {done}")


def check_forced(context: Context, places: dict[str, str]) -> None:
    """The loader does not ask for the layer's switches then, so that the layer does."""
    for switches, recorded in (({}, False), ({"LAPILLI_CAPTURE": "0"}, False), ({"LAPILLI_CAPTURE": "1"}, True),
                               ({"LAPILLI_CAPTURE": "1", "DISABLE_LAPILLI_CAPTURE": "1"}, False)):
        done = context.run([context.app("headless")], {**places, **switches, "LAPILLI_FILE": "out.lapilli", "VK_LOADER_DEBUG": "layer"})
        stack = done.err[done.err.rfind("vkCreateInstance layer callstack"):]
        check(LAYER in stack, f"{switches}: the layer is not loaded\n{stack[-2000:]}")
        check(bool(traces(context)) == recorded, f"{switches}: {'nothing is' if recorded else 'it is'} recorded")


@case
def an_override_layer_does_not_arm_the_layer(context: Context) -> None:
    """As configurators write one: what it names is loaded into every program."""
    home = implicit_folder(context, "data")
    override = {"file_format_version": "1.1.2", "layer": {
        "name": "VK_LAYER_LUNARG_override", "type": "GLOBAL", "api_version": "1.3.0", "implementation_version": "1", "description": "override",
        "component_layers": [LAYER], "disable_environment": {"DISABLE_VK_LAYER_LUNARG_override": "1"}}}
    (home / "vulkan/implicit_layer.d/VkLayer_override.json").write_text(json.dumps(override))
    check_forced(context, {"XDG_DATA_HOME": str(home)})


@case
def a_loader_settings_file_does_not_arm_the_layer(context: Context) -> None:
    needs_loader_with(context, "vk_loader_settings.json")
    settings = context.folder / "home/.local/share/vulkan/loader_settings.d"
    settings.mkdir(parents=True)
    for kind in ("explicit", "implicit"):
        layers = [{"name": LAYER, "path": str(manifest_of(context, kind)["file"]), "control": "on"}, {"control": "unordered_layer_location"}]
        (settings / "vk_loader_settings.json").write_text(json.dumps({"file_format_version": "1.0.0", "settings": {"layers": layers}}))
        check_forced(context, {"HOME": str(context.folder / "home"), "XDG_DATA_HOME": ""})


@case
def the_disable_variable_wins_however_the_layer_is_loaded(context: Context) -> None:
    environment = context.layer_env()
    check(records(context, environment), "nothing is recorded")
    check(not records(context, {**environment, "DISABLE_LAPILLI_CAPTURE": "1"}), "it is recorded all the same")


def required_names(context: Context) -> str:
    """The functions without which Android's loader makes no instance, or no device: those of Vulkan 1.0 but the ones that need neither,
    and those of extensions that are enabled."""
    sys.path.insert(0, str(context.root / "codegen"))
    import registry as registry_module
    registry = registry_module.load(Path((context.build / "gen/sdk").read_text().splitlines()[0]) / "share/vulkan/registry/vk.xml")
    lines = []
    for command in registry.commands.values():
        first = command.params[0].type if command.params else ""
        if command.providers in (["VK_KHR_surface"], ["VK_KHR_swapchain"]) or "VK_VERSION_1_0" in command.providers and first in registry.handles:
            lines.append(f"{'instance' if first in ('VkInstance', 'VkPhysicalDevice') else 'device'} {command.name}\n")
    return "".join(sorted(lines))


def library_of(context: Context, manifest: Path) -> str:
    path = json.loads(manifest.read_text())["ICD"]["library_path"]
    return str(manifest.parent / path) if "/" in path else path


@case
def androids_loader_finds_all_that_it_needs(context: Context) -> None:
    """It opens, asks and closes the layer in every app, and nothing is left of that; named by it, the layer records without any variable."""
    command = [str(context.build / "tests/bin/android-loader"), str(context.build / "lib/libVkLayer_lapilli.so"), "names"]
    (context.folder / "names").write_text(required_names(context))
    (context.folder / "vk_layer_settings.txt").write_text("lapilli_capture.verify = true\n")
    context.run(command)
    check(not traces(context), "a trace was written for who only asked")
    manifests = [context.build / "tests/null/null_icd.json", *Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json")]
    for manifest in manifests if not context.driver_dir else manifests[:1]:
        done = context.run([*command, library_of(context, manifest)])
        check("18 instance functions\n126 device functions\n" in done.out and done.err == "", done.text)
        check("null" in manifest.name or "the buffer has 1a9111" in done.out, done.out)
        check(context.info("android-loader.lapilli")["complete"] is True, "the trace has no end")
        check_verified(replace(context, driver=manifest).replay("android-loader.lapilli"))
        check(traces(context) == ["android-loader.lapilli"], "there is more than the trace")
