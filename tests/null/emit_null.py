#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the commands of the null driver: emit_null.py --registry vk.xml --overrides overrides.toml --out DIR

Every command of the registry gets a function that counts the call, may fail it, looks at all handles that it names, also in
structures and chains, and then does what it says here, or what is written by hand: makes handles, ends them, fills outputs
with zeroes. Which pointers a driver does not read, overrides.toml says; those are not followed."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "codegen"))

import model as model_module  # noqa: E402
import overrides as overrides_module  # noqa: E402
import registry as registry_module  # noqa: E402
from model import CommandPlan, Field, Model, StructPlan  # noqa: E402
from text import Text, arguments, expand, finish_header, header, is_instance_level, parameters  # noqa: E402

# By hand in acceleration.c, code.c, counters.c, driver.c, descriptors.c, machine.c, sync.c, video.c and window.c, as hand_X.
HAND = """
EnumerateInstanceVersion EnumerateInstanceExtensionProperties CreateInstance DestroyInstance GetInstanceProcAddr GetDeviceProcAddr
EnumeratePhysicalDevices EnumeratePhysicalDeviceGroups GetPhysicalDeviceFeatures GetPhysicalDeviceFeatures2
GetPhysicalDeviceProperties GetPhysicalDeviceProperties2 GetPhysicalDeviceFormatProperties GetPhysicalDeviceFormatProperties2
GetPhysicalDeviceImageFormatProperties GetPhysicalDeviceImageFormatProperties2 GetPhysicalDeviceMemoryProperties
GetPhysicalDeviceMemoryProperties2 GetPhysicalDeviceQueueFamilyProperties GetPhysicalDeviceQueueFamilyProperties2
EnumerateDeviceExtensionProperties GetPhysicalDeviceToolProperties CreateDevice DestroyDevice GetDeviceQueue GetDeviceQueue2 AllocateMemory FreeMemory MapMemory
CreateBuffer CreateImage GetBufferMemoryRequirements GetBufferMemoryRequirements2 GetImageMemoryRequirements
GetImageMemoryRequirements2 GetDeviceBufferMemoryRequirements GetDeviceImageMemoryRequirements GetImageSubresourceLayout
GetMemoryHostPointerPropertiesEXT CreateCommandPool AllocateCommandBuffers FreeCommandBuffers DestroyCommandPool CreateDescriptorPool AllocateDescriptorSets
CreateDescriptorSetLayout GetDescriptorSetLayoutSizeEXT GetDescriptorSetLayoutBindingOffsetEXT GetDescriptorEXT GetBufferDeviceAddress
GetPhysicalDeviceDescriptorSizeEXT WriteResourceDescriptorsEXT WriteSamplerDescriptorsEXT
FreeDescriptorSets ResetDescriptorPool DestroyDescriptorPool CreateFence ResetFences GetFenceStatus WaitForFences CreateSemaphore
GetSemaphoreCounterValue SignalSemaphore QueueSubmit QueueSubmit2 QueueBindSparse CreateEvent SetEvent ResetEvent GetEventStatus
MapMemory2 MapMemory2KHR UnmapMemory2 UnmapMemory2KHR
GetPhysicalDeviceSurfaceSupportKHR GetPhysicalDeviceSurfaceCapabilitiesKHR GetPhysicalDeviceSurfaceFormatsKHR
GetPhysicalDeviceSurfacePresentModesKHR GetPhysicalDeviceSurfaceCapabilities2KHR GetPhysicalDeviceSurfaceFormats2KHR CreateSwapchainKHR GetSwapchainImagesKHR AcquireNextImageKHR AcquireNextImage2KHR QueuePresentKHR
CreateShaderModule GetShaderModuleIdentifierEXT GetShaderModuleCreateInfoIdentifierEXT CreateShadersEXT GetShaderBinaryDataEXT
GetPipelineKeyKHR CreatePipelineBinariesKHR GetPipelineBinaryDataKHR
EnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR GetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR
GetAccelerationStructureBuildSizesKHR GetMicromapBuildSizesEXT
GetPhysicalDeviceVideoCapabilitiesKHR GetPhysicalDeviceVideoFormatPropertiesKHR GetVideoSessionMemoryRequirementsKHR
""".split()

# Instance extensions, and what device extensions are left out for: of windows only those that nobody sees are this driver's, and
# what presents to them.
INSTANCE_EXTENSIONS = ["VK_KHR_device_group_creation", "VK_KHR_external_fence_capabilities", "VK_KHR_external_memory_capabilities",
                       "VK_KHR_external_semaphore_capabilities", "VK_KHR_get_physical_device_properties2", "VK_KHR_surface", "VK_KHR_get_surface_capabilities2",
                       "VK_EXT_headless_surface"]
PRESENTS = ["VK_KHR_swapchain", "VK_KHR_present_id", "VK_KHR_present_id2", "VK_KHR_present_wait", "VK_KHR_present_wait2",
            "VK_GOOGLE_display_timing", "VK_EXT_present_timing", "VK_EXT_present_mode_fifo_latest_ready",
            "VK_KHR_present_mode_fifo_latest_ready", "VK_NV_present_barrier", "VK_EXT_hdr_metadata"]
LEFT_OUT = re.compile(r"swapchain|surface|display|present|portability|image_drm_format_modifier")

# Handles that the loader or a window system makes.
FOREIGN = re.compile(r"^Vk(Display|DebugUtils|DebugReport)")


def tracked(model: Model, name: str) -> bool:
    return name in model.registry.handles and not FOREIGN.match(name)


class Emitter:
    def __init__(self, model: Model):
        self.model = model
        self.commands = [p for p in model.commands if not p.packet]
        self.checked: dict[str, bool] = {}
        for s in model.structs:
            self._leads_to_handles(s.name, ())

    def _leads_to_handles(self, name: str, seen: tuple[str, ...]) -> bool:
        if name in self.checked:
            return self.checked[name]
        if name in seen or name not in self.model.struct_of:
            return False
        plan = self.model.struct_of[name]
        found = not plan.struct.union and (
            any(tracked(self.model, f.type) or self._leads_to_handles(f.type, seen + (name,)) for f in self._followed(plan))
            or name in self._chained())
        if not seen:
            self.checked[name] = found
        return found

    def _chained(self) -> set[str]:
        return {base for s in self.model.structs for base in s.struct.extends if any(tracked(self.model, f.type) for f in self._followed(s))}

    @staticmethod
    def _followed(plan: StructPlan) -> list[Field]:
        return [f for f in plan.fields if f.element in ("handle", "struct") and f.shape in ("value", "array", "pointer") and not f.condition
                and not f.member.stride and not (f.shape == "pointer" and not f.member.const)]

    # ---- looking at handles

    def _look(self, c: Text, f: Field, value: str, reference) -> None:
        """Looks at the handles of one member or parameter."""
        handle = f.element == "handle"
        if handle and not tracked(self.model, f.type) or not handle and not self.checked.get(f.type):
            return
        look = (lambda at: f"null_look(which, NULL_TYPE_{f.type}, null_id_{f.type}({at}));") if handle else \
            (lambda at: f"look_{f.type}(which, &{at});")
        if f.shape == "value":
            c(look(value))
            return
        if f.shape == "array":
            count, present = f.length, ""
        else:
            count, present = expand(f.count, reference), f"{value} && "
        c(f"for (size_t i = 0; {present}i < (size_t)({count}); i++)")
        c("    " + look(f"{value}[i]"))

    def _structs(self, c: Text) -> None:
        named = [s for s in self.model.structs if self.checked.get(s.name)]
        for s in c.guarded(named):
            c(f"static inline void look_{s.name}(enum null_command which, const {s.name} *s);")
        c("static inline void look_chain(enum null_command which, const void *chain)")
        c("{")
        c("for (const VkBaseInStructure *s = chain; s; s = s->pNext) {")
        c("switch ((uint32_t)s->sType) {")
        for s in c.guarded(s for s in self.model.extending if self.checked.get(s.name)):
            c(f"case {s.struct.stype}:")
            c(f"    look_members_{s.name}(which, (const {s.name} *)s);")
            c("    break;")
        c("default:")
        c("    break;")
        c("}")
        c("}")
        c("}")
        for s in c.guarded(named):
            c(f"static inline void look_members_{s.name}(enum null_command which, const {s.name} *s)")
            c("{")
            for f in self._followed(s):
                self._look(c, f, f"s->{f.name}", lambda name: f"s->{name}")
            c("}")
            c(f"static inline void look_{s.name}(enum null_command which, const {s.name} *s)")
            c("{")
            if any(f.shape == "pnext" for f in s.fields):
                c("look_chain(which, s->pNext);")
            c(f"look_members_{s.name}(which, s);")
            c("}")

    # ---- commands

    def _outputs(self, c: Text, p: CommandPlan) -> None:
        for f in p.fields:
            if not f.output:
                continue
            count = expand(f.count, lambda name: name) if f.shape in ("pointer", "bytes") else ""
            if f.created:
                if tracked(self.model, f.type):
                    c(f"for (size_t i = 0; {f.name} && i < (size_t)({count}); i++)")
                    c(f"    {f.name}[i] = null_make_{f.type}(NULL);")
            elif "*" in count:
                continue  # as many as the number that is 0 from here on says
            elif f.shape == "bytes":
                c(f"if ({f.name})")
                c(f"    memset({f.name}, 0, (size_t)({count}));")
            elif f.shape == "pointer" and f.element in ("struct", "union"):
                plan = self.model.struct_of[f.type]
                head = "sizeof(VkBaseOutStructure)" if plan.struct.stype else "0"
                c(f"for (size_t i = 0; {f.name} && i < (size_t)({count}); i++)")
                c(f"    memset((char *)&{f.name}[i] + {head}, 0, sizeof {f.name}[i] - {head});")
            elif f.shape == "pointer" and f.element == "scalar":
                c(f"for (size_t i = 0; {f.name} && i < (size_t)({count}); i++)")
                c(f"    {f.name}[i] = 0;")

    def _command(self, c: Text, p: CommandPlan) -> None:
        short, returns = p.command.short, p.command.returns
        c(f"static VKAPI_ATTR {returns} VKAPI_CALL null_{short}({parameters(p)})")
        c("{")
        c(f"const enum null_command which = NULL_{p.name};")
        c("VkResult failure = null_enter(which);")
        if returns == "VkResult":
            c("if (failure != VK_SUCCESS)")
            c("    return failure;")
        else:
            c("(void)failure;")
        for f in p.fields:
            if not f.output and f.shape in ("value", "pointer") and not f.condition and not f.member.stride:
                self._look(c, f, f.name, lambda name: name)
        if short in HAND:
            c(("return " if returns != "void" else "") + f"hand_{short}({arguments(p)});")
            c("}")
            return
        self._outputs(c, p)
        for f in p.fields:
            if f.destroyed and f.shape == "value" and tracked(self.model, f.type):
                c(f"null_end(which, NULL_TYPE_{f.type}, null_id_{f.type}({f.name}));")
        if returns in ("VkDeviceAddress", "uint64_t"):
            c("return null_address();")
        elif returns != "void":
            c(f"return ({returns})0;")
        c("}")

    def emit(self) -> dict[str, str]:
        model = self.model
        h = header(model, "emit_null.py", "NULL_COMMANDS_H", ["<stddef.h>", "<stdint.h>", "<vulkan/vulkan.h>"])
        h("enum null_type {")
        h("NULL_TYPE_NONE,")
        for name in model.handles:
            h(f"NULL_TYPE_{name},")
        h("NULL_TYPE_COUNT")
        h("};")
        h("enum null_command {")
        for p in self.commands:
            h(f"NULL_{p.name},")
        h("NULL_COMMAND_COUNT")
        h("};")
        h("struct null_command_info {")
        h("const char *name;")
        h("const VkResult *errors; /* that it may give */")
        h("uint32_t error_count;")
        h("};")
        h("extern const struct null_command_info null_commands[NULL_COMMAND_COUNT];")
        h("extern const char *const null_type_names[NULL_TYPE_COUNT];")
        h("struct null_entry {")
        h("const char *name;")
        h("PFN_vkVoidFunction function;")
        h("bool of_physical_device; /* its handle is one */")
        h("};")
        h("/* All names, aliases too, sorted by strcmp. */")
        h("extern const struct null_entry null_entries[];")
        h("extern const uint32_t null_entry_count;")
        h("extern const char *const null_instance_extensions[], *const null_device_extensions[];")
        h("extern const uint32_t null_instance_extension_count, null_device_extension_count;")
        h("/* Sets every feature of the structures in a chain. */")
        h("void null_fill_features(void *chain);")
        for p in h.guarded(p for p in self.commands if p.command.short in HAND):
            h(f"VKAPI_ATTR {p.command.returns} VKAPI_CALL hand_{p.command.short}({parameters(p)});")

        c = Text(model, "emit_null.py", ["<string.h>", "tests/null/null.h"])
        c("const char *const null_type_names[NULL_TYPE_COUNT] = {")
        c('"",')
        for name in model.handles:
            c(f'"{name}",')
        c("};")
        for name in c.guarded(n for n in model.handles if tracked(model, n)):
            dispatchable = model.registry.handles[name].dispatchable
            c(f"static inline uint64_t null_id_{name}({name} handle)")
            c("{")
            c("return handle ? ((const struct null_object *)handle)->id : 0;" if dispatchable else "return (uint64_t)handle;")
            c("}")
            c(f"static inline {name} null_make_{name}(void *payload)")
            c("{")
            c(f"return ({name})" + (f"null_make_object(NULL_TYPE_{name}, payload);" if dispatchable
                                    else f"null_make(NULL_TYPE_{name}, payload);"))
            c("}")
        for s in c.guarded(s for s in model.structs if self.checked.get(s.name)):
            c(f"static inline void look_members_{s.name}(enum null_command which, const {s.name} *s);")
        self._structs(c)
        for p in c.guarded(self.commands):
            self._command(c, p)
        self._tables(c)
        return {"null_commands.h": finish_header(h), "null_commands.c": c.render()}

    def _tables(self, c: Text) -> None:
        registry = self.model.registry
        known = {name for name, _ in registry.enums["VkResult"].values}
        rows = []
        for p in self.commands:
            errors = [registry.resolve(e) for e in p.command.errors]
            errors = [e for e in errors if e in known]
            if errors and p.command.returns == "VkResult":
                c(f"static const VkResult errors_{p.command.short}[] = {{{', '.join(errors)}}};")
            rows.append((p, len(errors) if p.command.returns == "VkResult" else 0))
        c("const struct null_command_info null_commands[NULL_COMMAND_COUNT] = {")
        for p, count in rows:
            c(f'{{"{p.name}", {f"errors_{p.command.short}" if count else "NULL"}, {count}}},')
        c("};")
        entries = sorted((name, p) for p in self.commands for name in [p.name, *p.command.aliases])
        c("const struct null_entry null_entries[] = {")
        for name, p in sorted(entries, key=lambda e: e[0]):
            c.guard(p.command.guard)
            c(f'{{"{name}", (PFN_vkVoidFunction)null_{p.command.short}, {int(p.command.params[0].type == "VkPhysicalDevice")}}},')
        c.guard(None)
        c("};")
        c("const uint32_t null_entry_count = sizeof null_entries / sizeof null_entries[0];")
        device = sorted(e.name for e in registry.extensions.values()
                        if e.kind == "device" and not e.platform and (e.name in PRESENTS or not LEFT_OUT.search(e.name + e.depends)))
        for kind, names in (("instance", [n for n in INSTANCE_EXTENSIONS if n in registry.extensions]), ("device", device)):
            c(f"const char *const null_{kind}_extensions[] = {{")
            for name in names:
                c(f'"{name}",')
            c("};")
            c(f"const uint32_t null_{kind}_extension_count = sizeof null_{kind}_extensions / sizeof null_{kind}_extensions[0];")
        c("void null_fill_features(void *chain)")
        c("{")
        c("for (VkBaseOutStructure *s = chain; s; s = s->pNext) {")
        c("switch ((uint32_t)s->sType) {")
        for s in c.guarded(s for s in self.model.extending if "VkPhysicalDeviceFeatures2" in s.struct.extends):
            c(f"case {s.struct.stype}:")
            for f in s.fields:
                if f.type == "VkBool32":
                    c(f"    (({s.name} *)s)->{f.name} = VK_TRUE;")
            c("    break;")
        c("default:")
        c("    break;")
        c("}")
        c("}")
        c("}")


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Writes the commands of the null driver.")
    for name in ("--registry", "--overrides", "--out"):
        parser.add_argument(name, required=True)
    options = parser.parse_args(given)
    registry = registry_module.load(options.registry)
    overrides = overrides_module.load(options.overrides, registry)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in Emitter(model_module.build(registry, overrides)).emit().items():
        if not (out / name).exists() or (out / name).read_text(encoding="utf-8") != text:
            (out / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
