# SPDX-License-Identifier: MIT
"""Tests of the generator: golden output for a tiny registry, errors for broken ones, facts about the machine's own.

test_codegen.py [--update]: --update rewrites the golden files; look at the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
CODEGEN = HERE.parents[1] / "codegen"
MANIFESTS = HERE.parents[1] / "manifests"
sys.path[:0] = [str(CODEGEN), str(MANIFESTS)]
sys.dont_write_bytecode = True

import counted  # noqa: E402
import effects as effects_module  # noqa: E402
import foreign  # noqa: E402
import generate  # noqa: E402
import make_manifest  # noqa: E402
import model as model_module  # noqa: E402
import needs as needs_module  # noqa: E402
import overrides as overrides_module  # noqa: E402
import registry as registry_module  # noqa: E402
import runs as runs_module  # noqa: E402

TINY_XML = (HERE / "tiny.xml").read_text(encoding="utf-8")
TINY_TOML = (HERE / "tiny.toml").read_text(encoding="utf-8")
# Those whose output depends on nothing but the registry and the shapes of members.
GOLDEN_EMITTERS = ["emit_ids", "emit_encode", "emit_decode", "emit_reflect", "emit_recode"]
UPDATE = False


# What a recording that begins later need not have of the past, beside creation and ends of objects and `[[kept]]` of overrides.toml.
# A new registry's command belongs into one of these, or is kept.
WRITTEN_ANEW = {  # as state of which the layer knows what has become (layer/part/, layer_keeper_block)
    "blocks": """lapilliBlock vkResetCommandPool vkResetCommandBuffer""",
    "descriptors": """vkUpdateDescriptorSets vkResetDescriptorPool vkWriteSamplerDescriptorsEXT vkWriteResourceDescriptorsEXT""",
    "contents": """lapilliUpdateBuffer lapilliUpdateImage lapilliUpdateBufferSpans lapilliUpdateImageSpans lapilliWriteTexels vkCopyImageToImage
                   vkConvertCooperativeVectorMatrixNV""",
    "layouts": "vkTransitionImageLayout",
    "work that has ended": "vkQueueSubmit vkQueueSubmit2",
    "pages": "vkQueueBindSparse",
    "fences": "vkResetFences vkGetFenceStatus vkWaitForFences",
    "semaphores": """vkGetSemaphoreCounterValue vkWaitSemaphores vkSignalSemaphore lapilliExportSync lapilliImportSync lapilliSeenSync vkLatencySleepNV
                     vkLatencySleepLegacyNV""",
    "events and queries": "vkGetEventStatus vkSetEvent vkResetEvent vkGetQueryPoolResults vkResetQueryPool",
    "swapchain images": "vkAcquireNextImageKHR vkAcquireNextImage2KHR vkQueuePresentKHR vkWaitForPresentKHR vkWaitForPresent2KHR",
}
NO_STATE = {
    "it goes with its memory": "lapilliFreeSparseMemory",
    "checks": "lapilliCheckPresent lapilliCheckBuffer lapilliCheckImage lapilliCheckStores lapilliCheckTexels lapilliCheckRegion lapilliCheckedBytes",
    "all work has ended": "lapilliWaitQueue vkQueueWaitIdle vkDeviceWaitIdle",
    "what is faster, or is measured": """vkMergePipelineCaches vkTrimCommandPool vkAntiLagUpdateAMD vkResetGpaSessionAMD vkSetGpaDeviceClockModeAMD
                                         vkClearShaderInstrumentationMetricsARM""",
    "labels": "vkQueueBeginDebugUtilsLabelEXT vkQueueEndDebugUtilsLabelEXT vkQueueInsertDebugUtilsLabelEXT",
}


class Scratch(unittest.TestCase):
    """A folder with a registry and overrides that a test may have changed."""

    def setUp(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)

    def write(self, xml: str = TINY_XML, toml: str = TINY_TOML) -> tuple[str, str]:
        (self.folder / "vk.xml").write_text(xml, encoding="utf-8")
        (self.folder / "overrides.toml").write_text(toml, encoding="utf-8")
        return str(self.folder / "vk.xml"), str(self.folder / "overrides.toml")

    def model(self, xml: str = TINY_XML, toml: str = TINY_TOML) -> model_module.Model:
        xml_path, toml_path = self.write(xml, toml)
        registry = registry_module.load(xml_path)
        return model_module.build(registry, overrides_module.load(toml_path, registry))


def replaced(text: str, old: str, new: str) -> str:
    """`text` with one thing changed; the thing must be there."""
    if text.count(old) != 1:
        raise AssertionError(f"{old!r} is there {text.count(old)} times")
    return text.replace(old, new)


class Golden(Scratch):
    def test_output_is_as_before(self) -> None:
        model = self.model()
        for emitter in GOLDEN_EMITTERS:
            for name, text in importlib.import_module(emitter).emit(model).items():
                with self.subTest(name):
                    path = HERE / "golden" / f"{name}.txt"
                    if UPDATE:
                        path.write_text(text, encoding="utf-8")
                    self.assertEqual(path.read_text(encoding="utf-8") if path.exists() else "", text,
                                     f"{path.name} differs; if the change is meant, run this test with --update")

    def test_output_is_the_same_again(self) -> None:
        first, second = (importlib.import_module("emit_reflect").emit(self.model()) for _ in range(2))
        self.assertEqual(first, second)


class TinyModel(Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.tiny = self.model()

    def field(self, owner: str, name: str) -> model_module.Field:
        plans = {p.name: p for p in self.tiny.structs + self.tiny.commands}
        return next(f for f in plans[owner].fields if f.name == name)

    def test_what_nobody_requires_is_left_out(self) -> None:
        self.assertNotIn("vkNobodyRequiresThis", [p.name for p in self.tiny.commands])
        self.assertNotIn("VK_TOY_other_api", self.tiny.registry.extensions)
        self.assertEqual(self.tiny.handles, ["VkBuffer", "VkCommandBuffer", "VkDevice", "VkInstance"])

    def test_header_version(self) -> None:
        self.assertEqual(self.tiny.registry.header_version, "1.3.7")

    def test_numbers_begin_with_our_packets_and_blocks(self) -> None:
        self.assertEqual([p.name for p in self.tiny.commands[:2]], ["lapilliData", "vkCmdFill"])
        self.assertEqual([p.number for p in self.tiny.commands], list(range(1, len(self.tiny.commands) + 1)))

    def test_runs(self) -> None:
        span = next(s for s in self.tiny.structs if s.name == "VkSpan")
        self.assertEqual([([f.name for f in group], [p.path for p in run]) for group, run in runs_module.runs(self.tiny, "VkSpan", span.fields)],
                         [(["shape", "weight", "parts", "closed"],) * 2])
        toy = next(s for s in self.tiny.structs if s.name == "VkToyInfo")
        self.assertEqual([p.path for _, run in runs_module.runs(self.tiny, "VkToyInfo", toy.fields) for p in run],
                         ["span.shape", "span.weight", "span.parts", "span.closed"])
        info = next(s for s in self.tiny.structs if s.name == "VkBufferCreateInfo")  # a size stands between its numbers
        self.assertEqual([run for _, run in runs_module.runs(self.tiny, "VkBufferCreateInfo", info.fields) if run], [])
        self.assertTrue(all(sum(p.bytes for p in run) <= runs_module.MOST_BYTES
                            for _, run in runs_module.runs(self.tiny, "VkSpan", span.fields * 20)))

    def test_shapes(self) -> None:
        for owner, name, element, shape, count in (
                ("VkInstanceCreateInfo", "sType", "scalar", "stype", ""),
                ("VkInstanceCreateInfo", "pNext", "struct", "pnext", ""),
                ("VkInstanceCreateInfo", "ppEnabledLayerNames", "char", "strings", "{enabledLayerCount}"),
                ("VkInstanceCreateInfo", "pName", "char", "string", ""),
                ("VkBufferCreateInfo", "pFamilies", "scalar", "pointer", "{familyCount}"),
                ("VkBufferCreateInfo", "pData", "scalar", "bytes", "{dataSize}"),
                ("VkBufferExtra", "data", "union", "value", ""),
                ("VkFill", "pMask", "scalar", "pointer", "({low} + 31) / 32"),
                ("VkToyInfo", "window", "opaque", "value", ""),
                ("vkCreateBuffer", "pAllocator", "opaque", "skip", ""),
                ("vkGetBuffers", "pBuffers", "handle", "pointer", "(*{pCount})"),
                ("vkCmdFill", "constants", "scalar", "array", "")):
            with self.subTest(f"{owner}.{name}"):
                f = self.field(owner, name)
                self.assertEqual((f.element, f.shape, f.count), (element, shape, count))

    def test_outputs_and_ends(self) -> None:
        self.assertTrue(self.field("vkCreateBuffer", "pBuffer").created)
        self.assertTrue(self.field("vkDestroyBuffer", "buffer").destroyed)
        self.assertFalse(self.field("vkCreateBuffer", "device").output)

    def test_extension_numbers_and_guards(self) -> None:
        values = dict(self.tiny.registry.enums["VkStructureType"].values)
        self.assertEqual(values["VK_STRUCTURE_TYPE_TOY_INFO"], 1000002000)
        self.assertEqual(values["VK_STRUCTURE_TYPE_BUFFER_EXTRA"], 1000003001)
        self.assertEqual(dict(self.tiny.registry.enums["VkResult"].values)["VK_ERROR_TOO_MUCH"], -1000003002)
        self.assertEqual(self.tiny.registry.structs["VkToyInfo"].guard, "VK_USE_PLATFORM_TOY")
        self.assertIsNone(self.tiny.registry.structs["VkBufferExtra"].guard)

    def test_versions_in_parts_are_one_version(self) -> None:
        parts = self.model(replaced(TINY_XML, 'name="VK_VERSION_1_0" number', 'apitype="internal" name="VK_BASE_VERSION_1_0" number'))
        self.assertEqual(parts.registry.features, {"VK_VERSION_1_0": "1.0"})
        for one, other in zip(self.tiny.structs + self.tiny.commands, parts.structs + parts.commands):
            if hasattr(one, "struct") and one.struct:
                self.assertEqual(one.struct.providers, other.struct.providers)

    def test_kinds_of_queues(self) -> None:
        fill = next(p for p in self.tiny.commands if p.name == "vkCmdFill")
        self.assertEqual(fill.command.queues, ["VK_QUEUE_TRANSFER_BIT", "VK_QUEUE_GRAPHICS_BIT"])
        self.assertEqual(next(p for p in self.tiny.commands if p.name == "vkCreateBuffer").command.queues, [])

    def test_aliases(self) -> None:
        self.assertEqual(self.tiny.registry.resolve("VkBufferExtraTOY"), "VkBufferExtra")
        self.assertEqual(self.tiny.registry.commands["vkCmdFill"].aliases, ["vkCmdFillTOY"])

    def test_no_instance_and_no_device_is_asked_for_a_global_command(self) -> None:
        loads = importlib.import_module("emit_dispatch").emit(self.tiny)["gen_dispatch.c"]
        self.assertIn('get(device, "vkCreateBuffer")', loads)
        self.assertNotIn('"vkCreateInstance"', loads)

    def test_what_needs_a_hidden_extension_is_hidden(self) -> None:
        extra = '<extension name="VK_TOY_extra" number="4" type="device" supported="vulkan"'
        for depends, reason in (('depends="VK_TOY_window+VK_VERSION_1_0"', "it needs VK_TOY_window"),
                                ('requires="VK_TOY_window"', "it needs VK_TOY_window"),
                                ('depends="(VK_TOY_window,VK_VERSION_1_0)"', None),
                                ('depends="VK_VERSION_1_0,VK_TOY_window+VK_TOY_window"', "it needs VK_TOY_window"),
                                ("", None)):
            with self.subTest(depends):
                model = self.model(replaced(TINY_XML, extra, f"{extra} {depends}"))
                self.assertEqual(model.overrides.hidden_extensions.get("VK_TOY_extra"), reason)

    def test_dispositions(self) -> None:
        dispositions = self.tiny.overrides.dispositions
        self.assertEqual((dispositions["vkDestroyBuffer"].order, dispositions["vkDestroyBuffer"].when), ("barrier", "entry"))
        self.assertEqual(dispositions["vkGetBuffers"].replay, "info")
        self.assertEqual(dispositions["vkCreateInstance"].capture, "hand")


class Errors(Scratch):
    """Broken input: generate.py ends with status 1 and one sentence that names the place."""

    def fails(self, expected: str, xml: str = TINY_XML, toml: str = TINY_TOML) -> None:
        xml_path, toml_path = self.write(xml, toml)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = generate.main(["--registry", xml_path, "--overrides", toml_path, "--out", str(self.folder / "out")])
        self.assertEqual(status, 1)
        self.assertRegex(said.getvalue(), expected)
        self.assertTrue(said.getvalue().startswith("codegen: ") and said.getvalue().count("\n") == 1, said.getvalue())
        self.assertFalse((self.folder / "out").exists())

    # ---- the registry

    def test_no_file(self) -> None:
        self.write()
        (self.folder / "vk.xml").unlink()
        with self.assertRaisesRegex(registry_module.RegistryError, "vk.xml"):
            registry_module.load(self.folder / "vk.xml")

    def test_no_xml(self) -> None:
        self.fails("vk.xml: .*line", xml="this is no XML")

    def test_another_root(self) -> None:
        self.fails("root element is <html>, not <registry>", xml="<html/>")

    CODEC = '<type requires="vk_video/toy.h" name="StdVideoToy"/><type category="struct" name="VkToyInfo"><member><type>StdVideoToy</type> <name>toy</name></member></type>'

    def test_no_registry_of_codecs(self) -> None:
        self.fails("video.xml: ", xml=replaced(TINY_XML, "</types>", self.CODEC + "</types>"))

    def test_structures_of_codecs(self) -> None:
        toy = '<member><type>uint32_t</type> <name>flag</name> : 1</member><member><type>StdVideoKind</type> <name>kind</name></member>'
        self.write(xml=replaced(TINY_XML, "</types>", self.CODEC + "</types>"))
        (self.folder / "video.xml").write_text(
            f'<registry><types><type category="struct" name="StdVideoToy">{toy}</type><type category="enum" name="StdVideoKind"/></types>'
            '<enums name="StdVideoKind" type="enum"><enum name="STD_VIDEO_KIND_A" value="0"/></enums></registry>', encoding="utf-8")
        registry = registry_module.load(self.folder / "vk.xml")
        self.assertEqual(registry.header_version, "1.3.7")
        self.assertNotIn("StdVideoToy", registry.externals)
        self.assertEqual(registry.enums["StdVideoKind"].values, [("STD_VIDEO_KIND_A", 0)])

    def test_a_kind_of_queue_that_is_none(self) -> None:
        self.fails("vkCmdFill: there is no VK_QUEUE_TOY_BIT", xml=replaced(TINY_XML, "transfer,VK_QUEUE_GRAPHICS_BIT", "toy"))

    def test_alias_of_nothing(self) -> None:
        self.fails("vkCmdFillTOY is an alias of vkGone", xml=replaced(TINY_XML, 'alias="vkCmdFill"', 'alias="vkGone"'))

    def test_command_without_prototype(self) -> None:
        self.fails("without a prototype", xml=replaced(
            TINY_XML, '<command name="vkCmdFillTOY" alias="vkCmdFill"/>', "<command><param/></command>"))

    # ---- the registry says something that has no shape

    def test_length_that_names_nothing(self) -> None:
        self.fails("vkGetBuffers: the length 'qCount' names no member", xml=replaced(TINY_XML, 'len="pCount"', 'len="qCount"'))

    def test_union_without_selector(self) -> None:
        self.fails("union VkShapeData has no selector", xml=replaced(TINY_XML, ' selection="VK_SHAPE_BOX"', ""))

    def test_count_behind_what_it_counts(self) -> None:
        member = "<member><type>uint32_t</type> <name>familyCount</name></member>\n            "
        moved = replaced(TINY_XML, member, "")
        self.fails("VkBufferCreateInfo.pFamilies is counted or selected by familyCount, which comes later", xml=replaced(
            moved, "<name>pFamilies</name></member>", "<name>pFamilies</name></member>\n            " + member))

    def test_pointers_to_pointers(self) -> None:
        self.fails("VkBufferCreateInfo.pFamilies points to pointers; overrides.toml must give inner_count", xml=replaced(
            TINY_XML, 'const <type>uint32_t</type>* <name>pFamilies', 'const <type>uint32_t</type>* const* <name>pFamilies'))

    def test_a_structure_within_itself(self) -> None:
        member = '<member><type>VkBool32</type> <name>closed</name></member>'
        self.fails("VkSpan may hold itself: decoders would not end", xml=replaced(
            TINY_XML, member, member + '<member optional="true">const <type>VkSpan</type>* <name>pNextSpan</name></member>'))

    def test_output_before_the_call(self) -> None:
        self.fails("vkCreateBuffer is written at entry but has outputs", toml=TINY_TOML + """
[[rule]]
match = "vkCreateBuffer"
when = "entry"
reason = "wrong on purpose"
""")

    # ---- the overrides

    def test_no_toml(self) -> None:
        self.fails("overrides.toml: ", toml="[[rule")

    def test_no_reason(self) -> None:
        self.fails(r"overrides.toml:\d+: the entry for vkGet\* has no reason", toml=replaced(
            TINY_TOML, 'replay = "info"\nreason = "questions"', 'replay = "info"'))

    def test_no_rule_for_a_command(self) -> None:
        self.fails("no rule says what is done with vkCreateInstance", toml=replaced(TINY_TOML, 'match = "vk*"', 'match = "vkC[!r]*"'))

    def test_rule_for_nothing(self) -> None:
        self.fails(r"overrides.toml:\d+: the rule for vkGone\* matches no command", toml=replaced(TINY_TOML, '"vkGet*"', '"vkGone*"'))

    def test_command_that_is_not_there(self) -> None:
        self.fails(r"overrides.toml:\d+: there is no command vkGone", toml=replaced(TINY_TOML, '["vkCreateInstance"]', '["vkGone"]'))

    def test_member_that_is_not_there(self) -> None:
        self.fails(r"overrides.toml:\d+: VkBufferCreateInfo.pGone is not in the registry",
                   toml=replaced(TINY_TOML, 'name = "pFamilies"', 'name = "pGone"'))

    def test_union_that_is_not_there(self) -> None:
        self.fails(r"overrides.toml:\d+: there is no union VkGone",
                   toml=TINY_TOML + '\n[[union]]\nname = "VkGone"\nas = "raw"\nreason = "wrong on purpose"\n')

    def test_struct_without_a_format(self) -> None:
        self.fails(r"overrides.toml:\d+: there is no struct VkBufferCreateInfo with a VkFormat",
                   toml=TINY_TOML + '\n[[other_format]]\nof = ["VkBufferCreateInfo"]\nreason = "wrong on purpose"\n')

    def test_value_that_is_none(self) -> None:
        self.fails("'sometimes' is none of return, entry", toml=replaced(TINY_TOML, 'when = "entry"', 'when = "sometimes"'))

    def test_packet_parameter_that_is_none(self) -> None:
        self.fails("a packet parameter reads 'buffer'", toml=replaced(TINY_TOML, '"VkBuffer buffer"', '"buffer"'))

    def test_packet_with_a_hash_that_checks_nothing(self) -> None:
        hashed = replaced(TINY_TOML, '"VkBuffer buffer"', '"VkBuffer buffer", "uint64_t hashLow"')
        self.fails(r"overrides.toml:\d+: lapilliData has a hash and does not say what it checks", toml=hashed)
        self.fails("lapilliData: 'bytes' is none of presents, buffers, images, none",
                   toml=replaced(hashed, 'name = "lapilliData"', 'name = "lapilliData"\ncheck = "bytes"'))

    def test_hook_that_is_none(self) -> None:
        self.fails(r"overrides.toml:\d+: vkCreateInstance: 'behind' is none of after, before, quick", toml=replaced(
            TINY_TOML, 'names = ["vkCreateInstance"]', 'names = ["vkCreateInstance"]\nhooks = ["behind"]'))

    def test_capture_that_is_none(self) -> None:
        self.fails("vkCreateInstance: 'foot' is none of gen, hand", toml=replaced(TINY_TOML, 'capture = "hand"', 'capture = "foot"'))

    def test_key_that_says_nothing(self) -> None:
        self.fails(r"overrides.toml:\d+: command vkCreateInstance: 'hook' says nothing", toml=replaced(
            TINY_TOML, 'names = ["vkCreateInstance"]', 'names = ["vkCreateInstance"]\nhook = ["after"]'))
        self.fails("there are no entries of the kind members", toml=TINY_TOML + '\n[[members]]\nof = "VkFill"\n')

    def test_one_thing_said_twice(self) -> None:
        self.fails("two entries say capture of vkCreateInstance", toml=TINY_TOML + """
[[command]]
names = ["vkCreateInstance"]
capture = "gen"
reason = "wrong on purpose"
""")

    def test_extension_that_is_not_there(self) -> None:
        self.fails(r"overrides.toml:\d+: there is no extension VK_TOY_widow", toml=replaced(TINY_TOML, '"VK_TOY_window"', '"VK_TOY_widow"'))
        self.assertEqual(self.model(toml=replaced(TINY_TOML, 'extensions = ["VK_TOY_window"]',
                                                  'extensions = ["VK_TOY_widow"]\nuntil = "1.3.6"')).overrides.hidden_extensions, {})

    def test_external_type_that_is_not_there(self) -> None:
        self.fails("there is no external type flaot", toml=replaced(TINY_TOML, "float =", "flaot ="))

    def test_sibling_that_is_not_there(self) -> None:
        self.fails("VkBufferCreateInfo.pFamilies: VkBufferCreateInfo has no familiesCount", toml=replaced(
            TINY_TOML, '"{familyCount} > 1"', '"{familiesCount} > 1"'))

    def test_feature_that_is_not_there(self) -> None:
        entry = '\n[[member]]\nof = "vkCmdFill"\nname = "buffer"\nunless = "nullFill"\nreason = "wrong on purpose"\n'
        self.fails("there is no feature nullFill", toml=TINY_TOML + entry)
        model = self.model(toml=TINY_TOML + entry + 'since = "1.3.8"\n')
        buffer = next(f for p in model.commands if p.name == "vkCmdFill" for f in p.fields if f.name == "buffer")
        self.assertEqual((buffer.needed, buffer.unless), ("1", ""))

    def test_since_excuses_an_older_registry(self) -> None:
        newer = replaced(TINY_TOML, 'names = ["vkCreateInstance"]', 'names = ["vkGone"]\nsince = "1.3.8"')
        self.assertIn("vkCreateInstance", self.model(toml=newer).overrides.dispositions)
        self.fails("there is no command vkGone", toml=newer.replace('"1.3.8"', '"1.3.7"'))


class MachineRegistry(unittest.TestCase):
    """Facts about the registry that make takes: the machine's, or that of VULKAN_SDK."""

    PATH = Path(os.environ.get("VULKAN_SDK") or "/usr") / "share/vulkan/registry/vk.xml"

    @classmethod
    def setUpClass(cls) -> None:
        if not cls.PATH.exists():
            raise unittest.SkipTest(f"there is no {cls.PATH}")
        registry = registry_module.load(cls.PATH)
        cls.machine = model_module.build(registry, overrides_module.load(CODEGEN / "overrides.toml", registry))

    def needs(self, *changes: tuple[str, str]) -> needs_module.Needs:
        text = (CODEGEN / "needs.toml").read_text(encoding="utf-8")
        for old, new in changes:
            text = replaced(text, old, new)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "needs.toml"
            path.write_text(text, encoding="utf-8")
            return needs_module.load(path, self.machine)

    def test_every_feature_has_a_rule(self) -> None:
        """Something shows its use, or it is said why nothing does, or why a replay needs none."""
        needs = self.needs()
        self.assertGreater(len(needs.features), 300)
        self.assertEqual([f.name for f in needs.features if not f.known], [])
        found = {f.name: f for f in needs.features}
        self.assertIn(needs_module.Use("member", "VkSamplerCreateInfo", "anisotropyEnable"), found["samplerAnisotropy"].uses)
        self.assertIn(needs_module.Use("capability", "Float64"), found["shaderFloat64"].uses)
        self.assertIn(needs_module.Use("command", "vkCmdSetPolygonModeEXT"), found["extendedDynamicState3PolygonMode"].uses)
        self.assertIn(needs_module.Use("command", "vkCmdSetViewportSwizzleNV"), found["extendedDynamicState3ViewportSwizzle"].uses)
        self.assertIn(needs_module.Use("command", "vkCmdDrawMultiEXT"), found["multiDraw"].uses)  # its extension's
        self.assertEqual([w for w in found["robustBufferAccess"].uses], [])
        self.assertTrue(found["robustBufferAccess"].unseen and found["privateData"].moot)
        self.assertIn(needs_module.Use("member", "VkVertexInputBindingDescription2EXT", "divisor", "ABOVE", 1),
                      found["vertexAttributeInstanceRateDivisor"].uses)  # also where it is dynamic

    def test_every_extension_has_a_rule(self) -> None:
        """It brought what shows its use, or has features, or it is said why nothing does, or why a replay needs none."""
        self.assertEqual([n for n, e in self.needs().extensions.items() if not e.known], [])
        needs = self.needs(('"VK_EXT_depth_range_unrestricted", ', ""))
        self.assertEqual([n for n, e in needs.extensions.items() if not e.known], ["VK_EXT_depth_range_unrestricted"])
        self.assertIn("nothing is known that shows it", importlib.import_module("emit_needs").emit_needs(self.machine, needs)["gen_needs.c"])

    def test_what_must_not_be_null(self) -> None:
        """Whatever this registry says: what newer ones allow is not refused, what drivers follow is."""
        found = {(p.name, f.name): (f.needed, f.unless) for p in self.machine.structs + self.machine.commands for f in p.fields}
        has = {m.name for s in self.machine.registry.structs.values() for m in s.members}
        for owner, name, needed, unless in (
                ("VkDeviceCreateInfo", "ppEnabledLayerNames", "", ""),
                ("VkDebugUtilsMessengerCallbackDataEXT", "pMessage", "", ""),
                ("VkAccelerationStructureTrianglesOpacityMicromapEXT", "micromap", "", ""),
                ("vkCmdBeginTransformFeedbackEXT", "pCounterBuffers", "", ""),
                ("vkCmdEndTransformFeedbackEXT", "pCounterBuffers", "", ""),
                ("VkComputePipelineCreateInfo", "layout", "", ""),
                ("vkCmdClearColorImage", "pColor", "1", ""),
                ("vkCmdDrawMultiEXT", "pVertexInfo", "1", ""),
                ("vkCreateBuffer", "pBuffer", "1", ""),
                ("vkCmdBindIndexBuffer", "buffer", "1", "maintenance6"),
                ("vkCmdSetSampleMaskEXT", "pSampleMask", "1", "maintenance10")):
            with self.subTest(f"{owner}.{name}"):
                self.assertEqual(found[owner, name], (needed, unless if unless in has else ""))

    def test_registries_agree_on_what_must_not_be_null(self) -> None:
        """A trace that one build takes is not refused by a build with another registry."""
        path = Path("/usr/share/vulkan/registry/vk.xml")
        if not path.exists() or path.samefile(self.PATH):
            self.skipTest("there is one registry (VULKAN_SDK names another one)")
        registry = registry_module.load(path)
        other = model_module.build(registry, overrides_module.load(CODEGEN / "overrides.toml", registry))

        def table(model: model_module.Model) -> dict:
            return {(self.machine.registry.resolve(p.name), f.name): (f.needed, f.needed_elements)
                    for p in model.structs + model.commands for f in p.fields}

        one, two = table(self.machine), table(other)
        self.assertGreater(len(one.keys() & two.keys()), 3000)
        self.assertEqual({key: (one[key], two[key]) for key in one.keys() & two.keys() if one[key] != two[key]}, {})

    def test_formats_of_images_may_be_replaced(self) -> None:
        text = importlib.import_module("emit_decode").emit(self.machine)["gen_decode_structs.c"]
        bodies = dict(re.findall(r"(?:decode_members|gen_decode)_(\w+)\([^;{]*?\)\n\{\n(.*?)\n\}\n", text, re.DOTALL))
        bodies |= dict(re.findall(r"decode_members_(\w+)\([^;{]*?\)\n\{\n(.*?)\n\}\n", text, re.DOTALL))
        replaced_in = {name for name, body in bodies.items() if "lap_get_format(dec)" in body}
        self.assertLessEqual({"VkImageViewCreateInfo", "VkImageFormatListCreateInfo", "VkFramebufferAttachmentImageInfo",
                              "VkCommandBufferInheritanceRenderingInfo"}, replaced_in)
        self.assertEqual(bodies["VkPipelineRenderingCreateInfo"].count("lap_get_format(dec)"), 3)
        self.assertFalse({"VkVertexInputAttributeDescription", "VkBufferViewCreateInfo", "VkImageCreateInfo",
                          "VkAttachmentDescription", "VkAttachmentDescription2"} & replaced_in)

    def test_layouts_of_stencil_alone_are_adapted_wherever_they_stand(self) -> None:
        text = importlib.import_module("emit_replay").emit(self.machine)["gen_replay.c"]
        bodies = dict(re.findall(r"static void stencil_(\w+)\([^)]*\)\n\{\n(.*?)\n\}\n", text, re.DOTALL))
        for name in ("VkImageMemoryBarrier", "VkImageMemoryBarrier2"):
            self.assertEqual(bodies[name].count("replay_format_stencil_transition(r, s->image, "), 1)
        self.assertEqual(re.findall(r"s->(\w+) = replay_format_stencil_layout\(r, s->(\w+),", bodies["VkRenderingAttachmentInfo"]),
                         [("imageLayout", "imageView"), ("resolveImageLayout", "resolveImageView")])
        self.assertIn("replay_format_stencil_layout", bodies["VkDescriptorImageInfo"])
        calls = dict(re.findall(r"enum lap_status call_(vk\w+)\([^)]*\)\n\{\n(.*?)\n\}\n", text, re.DOTALL))
        adapted = {name for name, body in calls.items() if "dev->formats.stencils_differ" in body}
        self.assertLessEqual({"vkCmdPipelineBarrier", "vkCmdPipelineBarrier2", "vkCmdWaitEvents", "vkCmdWaitEvents2", "vkCmdSetEvent2",
                              "vkUpdateDescriptorSets", "vkCmdPushDescriptorSetKHR", "vkCmdBeginRendering"},
                             adapted | ({"vkCmdPushDescriptorSetKHR"} if "vkCmdPushDescriptorSet" in adapted else set()))
        self.assertFalse({"vkCmdDraw", "vkCmdCopyImage", "vkCmdBeginRenderPass"} & adapted)

    def test_a_feature_without_a_rule_is_noticed(self) -> None:
        needs = self.needs(('names = ["alphaToOne"]', 'names = ["no*such"]\nlater = true'))
        self.assertEqual([f.name for f in needs.features if not f.known], ["alphaToOne"])

    def test_rules_that_name_nothing_are_refused(self) -> None:
        for change, message in ((('names = ["alphaToOne"]', 'names = ["alphaToTwo"]'), "there is no feature alphaToTwo"),
                                (('"VkSamplerCreateInfo.anisotropyEnable"', '"VkSamplerCreateInfo.anisotropy"'), "not in the registry"),
                                (('"VkFormat: VK_FORMAT_BC*"', '"VkFormat: VK_FORMAT_CB*"'), "not in the registry"),
                                (('"vkQueueBindSparse"', '"vkQueueBindDense"'), "not in the registry"),
                                (('"VkFormat: VK_FORMAT_BC*"', '"VkFormat; VK_FORMAT_BC*"'), "what is"),
                                (('names = ["largePoints"]', 'names = ["largePoints", "wideLines"]'), "two rules for wideLines")):
            with self.subTest(message), self.assertRaisesRegex(overrides_module.OverrideError, message):
                self.needs(change)

    def effects(self, *changes: tuple[str, str]) -> effects_module.Effects:
        text = (CODEGEN / "effects.toml").read_text(encoding="utf-8")
        for old, new in changes:
            text = replaced(text, old, new)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "effects.toml"
            path.write_text(text, encoding="utf-8")
            return effects_module.load(path, self.machine)

    def test_every_command_has_an_effect(self) -> None:
        """Without one it counts as doing everything, and parts of traces keep all that is before it."""
        effects = self.effects()
        self.assertEqual(effects.unknown(self.machine), [])
        found = effects.commands
        self.assertEqual(found["vkCreateImage"].does, "makes")
        self.assertEqual(found["vkFreeDescriptorSets"].does, "makes")
        self.assertEqual((found["vkCmdSetLineWidth"].objects, found["vkCmdSetLineWidth"].addresses), ("names", False))
        self.assertEqual((found["vkCmdSetEvent"].objects, found["vkCmdDraw"].addresses), ("changes", True))
        self.assertFalse(found["vkCmdCopyBuffer"].addresses)
        self.assertTrue({("vkCmdCopyBuffer", "srcBuffer"), ("vkCmdCopyQueryPoolResults", "queryPool")} <= effects.reads)
        self.assertFalse({("vkCmdCopyBuffer", "dstBuffer"), ("vkCmdResetQueryPool", "queryPool")} & effects.reads)

    def test_a_command_without_an_effect_is_noticed(self) -> None:
        effects = self.effects(('"vkCmdUpdateBuffer", ', ""), ('"vkCmdSet*", ', ""))
        unknown = effects.unknown(self.machine)
        self.assertIn("vkCmdUpdateBuffer", unknown)
        self.assertIn("vkCmdSetLineWidth", unknown)
        self.assertTrue(effects.commands["vkCmdUpdateBuffer"].everything)

    def test_effects_that_would_hide_something_are_refused(self) -> None:
        moved = self.effects(('"vkCmdUpdateBuffer", ', ""), ('"vkCmdClear*"', '"vkCmdClear*", "vkCmdUpdateB*"'))
        self.assertEqual(moved.unknown(self.machine), [])
        for changes, message in (((('"vkCmdUpdateBuffer", ', ""), ('"vkCmdSet*", ', '"vkCmdSet*", "vkCmdUpdateB*", ')), "vkCmdUpdateBuffer leave alone VkBuffer"),
                                 ((('"vkCmdTraceRays*", ', ""), ('"vkCmdClear*"', '"vkCmdClear*", "vkCmdTraceRays*"')), "vkCmdTraceRays.* reach nothing by addresses")):
            with self.subTest(message), self.assertRaisesRegex(overrides_module.OverrideError, message):
                self.effects(*changes)
        for change, message in ((('"vkCmdClear*"', '"vkCmdBuildAcc*"'), "two entries for"),
                                (('"vkCmdBuildAccelerationStructures*"', '"vkCmdBuildThis*"'), "vkCmdBuildThis\\* is not in the registry"),
                                (('"vkCmdCopyBuffer", ', '"vkCmdCopyBuffers", '), "vkCmdCopyBuffers is not in the registry"),
                                (('"vkQueueBindSparse"', '"vkCmdCopyBufferToImage"'), "in command buffers|two entries"),
                                (('does = "binds"', 'does = "ties"'), "what is ties"),
                                (('reason = "queries"', ""), "has no reason"),
                                (('does = "binds"', 'does = "binds"\nobject = "reads"'), "'object' says nothing")):
            if "is not in" in message and self.machine.registry.header_version != "1.4.363":
                continue
            with self.subTest(message), self.assertRaisesRegex(overrides_module.OverrideError, message):
                self.effects(change)

    def test_the_document_is_compared_across_registries(self) -> None:
        docs = importlib.import_module("emit_docs")
        text = docs.render(self.machine)
        other = re.sub(r"(Vulkan registry) \S+", r"\1 1.9.999", text)
        gone = re.sub(r"^\| `VK_KHR_swapchain`.*\n", "", other, flags=re.M)
        row = re.search(r"^\| `VK_LUNARG_direct_driver_loading`.*\n", other, re.M).group(0)
        self.assertTrue(docs.is_current(text, text) and docs.is_current(other, text) and docs.is_current(gone, text))
        self.assertFalse(docs.is_current(text + "\n", text))
        self.assertFalse(docs.is_current(other.replace(row, row.replace("never", "always")), text))
        self.assertFalse(docs.is_current(other.replace(row, "") + row, text))

    def test_a_capability_without_a_number_is_a_warning(self) -> None:
        """What it allows can't be seen, and so counts as used: a registry of a time to come has capabilities that nobody here knows."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            needs = self.needs(("\nFloat64 = 10", ""), ("\nTessellation = 3", ""))
        self.assertIn("warning: there is no number for the capability Float64", said.getvalue())
        found = {f.name: f for f in needs.features}
        self.assertFalse(found["shaderFloat64"].known)
        self.assertTrue(found["tessellationShader"].known)  # by a rule, whatever shaders declare

    def test_every_command_is_there_once(self) -> None:
        names = [p.name for p in self.machine.commands]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 400)

    def test_what_commands_reach_is_found_by_their_types(self) -> None:
        unknown = {p.name for p in self.machine.commands if importlib.import_module("emit_layer").reaches_unknown(self.machine, p)}
        for name in ("vkCmdTraceRaysNV", "vkCmdBindDescriptorBuffersEXT", "vkCmdCopyMemoryIndirectNV",
                     "vkCmdCopyMicromapEXT", "vkCmdExecuteGeneratedCommandsNV", "vkCmdTraceRaysNV"):
            if name in self.machine.registry.commands:
                self.assertIn(name, unknown)
        for name in ("vkCmdDraw", "vkCmdCopyBuffer", "vkCmdPipelineBarrier", "vkCmdPipelineBarrier2", "vkCmdBeginQuery",
                     "vkCmdSetViewport", "vkCmdExecuteCommands", "vkCmdBindDescriptorSets"):
            self.assertNotIn(name, unknown)

    def test_quick_commands_name_nothing_but_numbers_and_handles(self) -> None:
        quick = {p.name for p in self.machine.commands if importlib.import_module("emit_quick").is_quick(self.machine, p)}
        self.assertLessEqual({"vkCmdDraw", "vkCmdBindDescriptorSets", "vkCmdPushConstants", "vkCmdBindVertexBuffers"}, quick)
        for name in ("vkCmdPipelineBarrier", "vkCmdSetViewport", "vkCmdTraceRaysNV", "vkCmdUpdateBuffer", "vkCmdExecuteCommands",
                     "vkBeginCommandBuffer", "vkCmdDrawIndirect", "vkUpdateDescriptorSets"):
            self.assertNotIn(name, quick)

    def test_each_command_is_kept_or_need_not_be(self) -> None:
        decided = [name for lists in (WRITTEN_ANEW, NO_STATE) for names in lists.values() for name in names.split()]
        self.assertEqual(len(decided), len(set(decided)))
        open_ones = {p.name for p in self.machine.commands
                     if p.disposition.record and p.disposition.replay not in ("info", "never") and not p.disposition.kept
                     and not p.disposition.block and not p.name.startswith("vkCmd") and not any(f.created or f.destroyed for f in p.fields)}
        self.assertEqual(open_ones - set(decided), set(), "say in [[kept]] of overrides.toml, or here, what a later recording needs of them")
        self.assertEqual({p.name for p in self.machine.commands if p.disposition.kept} & set(decided), set())
        self.assertGreater(len(open_ones), 40)

    def test_every_disposition_has_a_reason(self) -> None:
        self.assertEqual([p.name for p in self.machine.commands if not p.disposition.reason], [])

    def test_no_extension_is_shown_that_needs_a_hidden_one(self) -> None:
        hidden = set(self.machine.overrides.hidden_extensions)
        shown = [e for e in self.machine.registry.extensions.values() if e.name not in hidden]
        self.assertEqual([e.name for e in shown if not overrides_module.is_met(e.depends, hidden)], [])

    def test_what_would_end_a_replay_is_not_recorded(self) -> None:
        """Structs that a decoder refuses, where a call that a replay makes may have them."""
        unrecorded, replayed = self.machine.unrecorded(), self.machine.replayed()
        self.assertGreater(len(unrecorded), 20)
        encode = importlib.import_module("emit_encode").emit(self.machine)["gen_encode_structs.c"]
        decode = importlib.import_module("emit_decode").emit(self.machine)["gen_decode_structs.c"]
        for s in self.machine.extending:
            with self.subTest(s.name):
                refused = f"[GEN_STRUCT_{s.name}] = GEN_FATE_REFUSED" in decode
                self.assertEqual(s.name in unrecorded, refused and bool(replayed & set(s.struct.extends)))
                self.assertEqual(s.name in unrecorded, re.search(rf"case {s.struct.stype}:\s+if \(lap_enc_leaves_out\(enc\)\)", encode) is not None)

    def test_arrays_that_are_filled_in_part(self) -> None:
        """What a driver leaves as it was of a fixed array is not written, whether the registry has a length for it or not."""
        counted = {(s.name, f.name) for s in self.machine.structs for f in s.fields if f.shape == "array" and f.filled}
        for struct, name in (("VkPhysicalDeviceMemoryProperties", "memoryTypes"), ("VkPhysicalDeviceMemoryProperties", "memoryHeaps"),
                             ("VkPhysicalDeviceGroupProperties", "physicalDevices"), ("VkShaderModuleIdentifierEXT", "identifier")):
            self.assertIn((struct, name), counted)
        for s in self.machine.structs:
            members = {f.name for f in s.fields}
            for f in s.fields:
                singular = re.sub("ies$", "y", f.name) if f.name.endswith("ies") else f.name.removesuffix("s")
                if s.struct.returned_only and f.shape == "array" and {f"{singular}Count", f"{f.name}Size"} & members:
                    self.assertIn((s.name, f.name), counted, "it has a count beside it")

    def test_what_is_hidden_is_never_replayed(self) -> None:
        """Commands that only hidden extensions have reach no driver, and it is said why."""
        hidden = self.machine.overrides.hidden_extensions
        only = [p for p in self.machine.commands if p.command.providers and set(p.command.providers) <= set(hidden)]
        self.assertGreater(len(only), 40)
        text = importlib.import_module("emit_replay").emit(self.machine)["gen_replay.c"]
        for p in only:
            with self.subTest(p.name):
                self.assertIn(p.disposition.replay, ("info", "never"))
                self.assertNotIn(f"call_{p.name}(", text)
                self.assertNotRegex(text, rf"vk\.{p.command.short}\b")
                self.assertEqual(p.disposition.replay == "never", f"[GEN_{p.name}] = \"{p.command.providers[0]} is hidden" in text)
        shown = {p.name for p in self.machine.commands if p.disposition.refusal} - {p.name for p in only}
        self.assertEqual(shown, {p.name for p in self.machine.commands if p.disposition.replay == "never"} - {p.name for p in only})

    def test_what_drivers_get_of_a_file_has_a_reason(self) -> None:
        """Bytes, names, addresses and descriptors that a replayed command leads to: each of them, and nothing else."""
        found = {(f.owner, f.member): f.kind for f in foreign.find(self.machine)}
        self.assertEqual({key: kind for key, kind in found.items() if key not in self.machine.overrides.handed_on}, {})
        self.assertEqual(set(self.machine.overrides.handed_on) - set(found), set())
        self.assertEqual(found["VkShaderModuleCreateInfo", "pCode"], "bytes")
        self.assertEqual(found["vkCmdSetCheckpointNV", "pCheckpointMarker"], "an address")

    def test_dangerous_things_are_found(self) -> None:
        """Where they are replayed: with nothing hidden the list is long."""
        registry = self.machine.registry
        text = (CODEGEN / "overrides.toml").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "overrides.toml"
            path.write_text(re.sub(r"\n\[\[hidden\]\]\n.*?(?=\n\n|$)", "", text, flags=re.DOTALL)
                            .replace('match = "vkImport*"\nreplay = "info"', 'match = "vkImport*"'), encoding="utf-8")
            bare = model_module.build(registry, overrides_module.load(path, registry))
        found = {(f.owner, f.member): f.kind for f in foreign.find(bare)}
        for owner, member, kind in (("VkCuModuleCreateInfoNVX", "pData", "bytes"),
                                    ("VkImportSemaphoreFdInfoKHR", "fd", "a number of type int")):
            with self.subTest(owner):
                self.assertEqual(found.get((owner, member)), kind)
                self.assertNotIn((owner, member), self.machine.overrides.handed_on)

    def test_features_are_hidden_wherever_they_stand(self) -> None:
        """A program may ask in the structure of a version, or in the one that the version took over."""
        registry, hidden = self.machine.registry, {(s, m) for s, m, _ in self.machine.overrides.hidden_features}
        core = {s.name for s in registry.structs.values() if "VkPhysicalDeviceFeatures2" in s.extends and not s.name.endswith("EXT")}
        for name, member in hidden:
            for other in core:
                if any(m.name == member for m in registry.structs[other].members):
                    self.assertIn((other, member), hidden, f"{member} of {name}")

    def test_documentation_names_every_extension(self) -> None:
        text = importlib.import_module("emit_docs").render(self.machine)
        rows = set(re.findall(r"^\| `?(VK_\w+)", text, re.MULTILINE))
        self.assertEqual(rows, set(self.machine.registry.extensions))


class Manifest(unittest.TestCase):
    """The rules of loader and configurator for manifests."""

    VERSION = {"LAPILLI_LAYER_NAME": "VK_LAYER_LAPILLI_capture", "LAPILLI_IMPLEMENTATION_VERSION": "3", "LAPILLI_LAYER_DESCRIPTION": "records"}

    def manifest(self, kind: str) -> dict:
        return make_manifest.manifest(kind, "../lib/libVkLayer_lapilli.so", "64", "1.4.304", True, self.VERSION)

    def test_required_keys(self) -> None:
        layer = self.manifest("explicit")["layer"]
        for key in ("name", "type", "library_path", "api_version", "implementation_version", "description"):
            self.assertTrue(layer[key], key)
        self.assertRegex(layer["name"], "^VK_LAYER_[A-Z0-9]+_[a-z0-9_]+$")
        self.assertEqual(layer["type"], "GLOBAL")

    def test_only_the_implicit_one_has_switches(self) -> None:
        self.assertNotIn("enable_environment", self.manifest("explicit")["layer"])
        layer = self.manifest("implicit")["layer"]
        self.assertEqual(layer["enable_environment"], {"LAPILLI_CAPTURE": "1"})
        self.assertEqual(list(layer["disable_environment"]), ["DISABLE_LAPILLI_CAPTURE"])

    def test_settings_are_those_of_the_layer(self) -> None:
        source = HERE.parents[1] / "layer" / "core" / "options.c"
        if not source.exists():
            self.skipTest("there is no layer/core/options.c")
        table = dict(re.findall(r'{"(LAPILLI_\w+)", "(\w+)",', source.read_text(encoding="utf-8")))
        table.pop("LAPILLI_CAPTURE", None)  # what switches the layer on is no setting of it
        settings = self.manifest("explicit")["layer"]["features"]["settings"]
        self.assertEqual({s["env"]: s["key"] for s in settings}, table)

    def test_version_header_is_read(self) -> None:
        version = make_manifest.read_version_header(HERE.parents[1] / "base" / "version.h")
        self.assertLessEqual(set(self.VERSION), set(version))


def main() -> int:
    global UPDATE
    if "--update" in sys.argv:
        UPDATE = True
        sys.argv.remove("--update")
    return counted.run()


if __name__ == "__main__":
    sys.exit(main())
