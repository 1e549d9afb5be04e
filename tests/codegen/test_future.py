# SPDX-License-Identifier: MIT
"""A registry of a time to come (tests/future) goes through the generator with nothing changed in it or its tables."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).resolve().parent
CODEGEN = HERE.parents[1] / "codegen"
sys.path[:0] = [str(CODEGEN), str(HERE.parent / "future")]
sys.dont_write_bytecode = True

import counted  # noqa: E402
import derive  # noqa: E402
import generate  # noqa: E402
import model as model_module  # noqa: E402
import needs as needs_module  # noqa: E402
import overrides as overrides_module  # noqa: E402
import registry as registry_module  # noqa: E402

TODAY = Path(os.environ.get("VULKAN_SDK") or "/usr")


class Future(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        today = TODAY / "share/vulkan/registry/vk.xml"
        if not today.exists():
            raise unittest.SkipTest(f"there is no {today}")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        derive.main(["--registry", str(today), "--include", str(TODAY / "include"), "--out", str(cls.folder)])
        cls.xml = cls.folder / "share/vulkan/registry/vk.xml"
        registry = registry_module.load(cls.xml)
        cls.model = model_module.build(registry, overrides_module.load(CODEGEN / "overrides.toml", registry))

    def command(self, name: str) -> model_module.CommandPlan:
        return next(p for p in self.model.commands if p.name == name)

    def test_everything_is_generated(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = generate.main(["--registry", str(self.xml), "--out", str(self.folder / "gen")])
        self.assertEqual((status, said.getvalue()), (0, ""))
        layer, replay = ((self.folder / "gen" / f"gen_{part}.c").read_text(encoding="utf-8") for part in ("layer", "replay"))
        for name in ("CreateMachineFUT", "DestroyMachineFUT", "GetMachineWordsFUT", "CmdRunMachineFUT", "CmdPartialFill"):
            self.assertIn(f"capture_{name}(", layer)
            self.assertIn(f'"vk{name}"', layer)
        for name in ("CreateMachineFUT", "DestroyMachineFUT", "CmdRunMachineFUT", "CmdPartialFill"):
            self.assertIn(f"vk.{name}(", replay)

    def test_new_types_have_shapes(self) -> None:
        registry = self.model.registry
        self.assertEqual(registry.features["VK_VERSION_1_9"], "1.9")
        self.assertIn("VkMachineFUT", self.model.handles)
        self.assertTrue(registry.flags["VkMachineStageFlags2FUT"].bits64)
        self.assertEqual(dict(registry.enums["VkMachineStageFlagBits2FUT"].values)["VK_MACHINE_STAGE_2_LAST_BIT_FUT"], 1 << 40)
        self.assertEqual(dict(registry.enums["VkFormat"].values)["VK_FORMAT_R9G9B9_UNORM_FUT"], 1000900000)
        self.assertEqual(dict(registry.enums["VkResult"].values)["VK_ERROR_MACHINE_BROKEN_FUT"], -1000900001)
        self.assertIn("VkBufferMachineInfoFUT", [s.name for s in self.model.extending])
        create = self.command("vkCreateMachineFUT")
        self.assertTrue(next(f for f in create.fields if f.name == "pMachine").created)
        self.assertTrue(next(f for f in self.command("vkDestroyMachineFUT").fields if f.name == "machine").destroyed)

    def test_promoted_commands_have_both_names(self) -> None:
        self.assertEqual(self.model.registry.commands["vkCmdPartialFill"].aliases, ["vkCmdPartialFillKHR"])
        self.assertEqual(self.model.registry.resolve("VkPartialFillInfoKHR"), "VkPartialFillInfo")
        self.assertEqual(self.command("vkCmdPartialFill").command.providers, ["VK_VERSION_1_9", "VK_KHR_partial_fill"])

    def test_uses_of_new_features_are_seen(self) -> None:
        found = {f.name: f for f in needs_module.load(CODEGEN / "needs.toml", self.model).features}
        self.assertIn(needs_module.Use("command", "vkCmdRunMachineFUT"), found["machine"].uses)
        self.assertIn(needs_module.Use("command", "vkCmdPartialFill"), found["partialFill"].uses)

    def test_what_was_withdrawn_is_gone(self) -> None:
        """Though overrides.toml names its commands; what no registry ever named is refused all the same."""
        self.assertNotIn(derive.DISABLED, self.model.registry.extensions)
        self.assertNotIn("vkCmdWriteBufferMarkerAMD", self.model.registry.commands)
        self.assertIn("vkCmdWriteBufferMarkerAMD", self.model.registry.withdrawn)
        text = (CODEGEN / "overrides.toml").read_text(encoding="utf-8").replace("vkCmdWriteBufferMarkerAMD", "vkCmdWriteBufferMarkerFUT")
        (self.folder / "overrides.toml").write_text(text, encoding="utf-8")
        with self.assertRaisesRegex(overrides_module.OverrideError, "there is no command vkCmdWriteBufferMarkerFUT"):
            overrides_module.load(self.folder / "overrides.toml", self.model.registry)

    def test_documentation_names_new_extensions(self) -> None:
        text = importlib.import_module("emit_docs").render(self.model)
        for name in ("VK_FUT_machine", "VK_KHR_partial_fill"):
            self.assertIn(name, text)

    def test_addition_is_new(self) -> None:
        today = TODAY / "share/vulkan/registry/vk.xml"
        names = {e.get("name") for e in ET.parse(HERE.parent / "future/addition.xml").getroot().iterfind("extensions/extension")}
        self.assertFalse(names & set(registry_module.load(today).extensions))


if __name__ == "__main__":
    sys.exit(counted.run())
