# SPDX-License-Identifier: MIT
"""e2e/compare: what counts as the same, and what does not."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from e2e.compare import Dump, compare, copied_formats, layout_of, missing_in  # noqa: E402

WIDTH, HEIGHT = 50, 20


class Comparison(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def dump(self, name: str, *contents: bytes, **more) -> Dump:
        folder, at, lines = self.folder / name, 0, []
        folder.mkdir()
        (folder / "checks.bin").write_bytes(b"".join(contents))
        for number, content in enumerate(contents, 1):
            entry = {"check": number, "kind": "buffer", "frame": 1, "packet": number, "object": "VkBuffer:1", "offset": at,
                     "bytes": len(content), "same": True, "at": 0}
            lines.append(json.dumps(entry | more))
            at += len(content)
        (folder / "checks.ndjson").write_text("\n".join(lines))
        return Dump(folder)

    def images(self, change) -> tuple[Dump, Dump]:
        """An image, and the same after change(texels)."""
        more = {"kind": "present", "object": "VkSwapchainKHR:1", "image": 0, "format": "VK_FORMAT_B8G8R8A8_UNORM",
                "width": WIDTH, "height": HEIGHT}
        texels = numpy.full((HEIGHT, WIDTH, 4), 100, numpy.uint8)
        changed = texels.copy()
        change(changed)
        return self.dump("a", texels.tobytes(), **more), self.dump("b", changed.tobytes(), **more)

    def test_rounding_is_the_same_across_drivers_only(self) -> None:
        def brighter(texels: numpy.ndarray) -> None:
            texels[0, :20] += 2
        a, b = self.images(brighter)
        result = compare(a, b)
        self.assertTrue(result.within)
        self.assertEqual((result.different, round(result.largest, 6), round(result.mean, 6)), (1, 2, 0.04))
        self.assertFalse(compare(a, b, tolerant=False).within)

    def test_too_much_on_the_average_differs(self) -> None:
        a, b = self.images(lambda texels: numpy.add(texels, 1, out=texels))
        self.assertFalse(compare(a, b).within)

    def test_single_pixels_of_edges_may_be_others(self) -> None:
        def edge(texels: numpy.ndarray) -> None:
            texels[3, 4:6] = 150
        result = compare(*self.images(edge))
        self.assertTrue(result.within)
        self.assertEqual(result.share, 0.002)
        self.assertAlmostEqual(result.largest, 50)

    def test_more_pixels_differ_and_are_shown(self) -> None:
        def edge(texels: numpy.ndarray) -> None:
            texels[3, 4:7] = 200
        a, b = self.images(edge)
        result = compare(a, b, keep=self.folder / "kept")
        self.assertFalse(result.within)
        self.assertIn("present of VkSwapchainKHR:1, frame 1, packet 1", result.says)
        self.assertEqual([path.name for path in result.pictures],
                         ["check_1_reference.png", "check_1_candidate.png", "check_1_difference.png"])

    def test_bytes_of_no_known_format_must_be_the_same(self) -> None:
        self.assertFalse(compare(self.dump("a", bytes(4000)), self.dump("b", bytes(3999) + b"\1")).within)

    def test_buffers_hold_what_is_copied_into_them(self) -> None:
        a = self.dump("a", numpy.full(1000, 0.5, "<f4").tobytes())
        b = self.dump("b", numpy.full(1000, 0.5 + 2.0 ** -12, "<f4").tobytes())
        self.assertTrue(compare(a, b, {"VkBuffer:1": "VK_FORMAT_D32_SFLOAT"}).within)
        self.assertFalse(compare(a, b, {"VkBuffer:1": "VK_FORMAT_R32_UINT"}).within)

    def test_infinite_and_undefined_numbers_are_no_near_miss(self) -> None:
        a = self.dump("a", numpy.array([numpy.nan, numpy.inf, 1.0], "<f4").tobytes())
        b = self.dump("b", numpy.array([numpy.nan, numpy.inf, numpy.nan], "<f4").tobytes())
        formats = {"VkBuffer:1": "VK_FORMAT_R32_SFLOAT"}
        self.assertTrue(compare(a, a, formats).within)
        self.assertFalse(compare(a, b, formats).within)

    def test_other_checks_are_no_comparison(self) -> None:
        result = compare(self.dump("a", b"12", b"34"), self.dump("b", b"12"))
        self.assertFalse(result.within)
        self.assertIn("2 and 1 checks", result.says)

    def test_layouts(self) -> None:
        def first(name: str, data: bytes) -> list[float]:
            return [round(number, 6) for number in layout_of(name).decode(numpy.frombuffer(data, numpy.uint8))[0].tolist()]
        self.assertEqual(first("VK_FORMAT_R5G6B5_UNORM_PACK16", b"\x1f\xf8"), [1, 0, 1])
        self.assertEqual(first("VK_FORMAT_A2B10G10R10_UINT_PACK32", (1 << 30 | 2 << 20 | 3 << 10 | 4).to_bytes(4, "little")), [1, 2, 3, 4])
        self.assertEqual(first("VK_FORMAT_X8_D24_UNORM_PACK32", b"\xff\xff\xff\x77"), [1])
        self.assertEqual(first("VK_FORMAT_R8G8_SNORM", b"\x81\x80"), [-1, -1])
        self.assertEqual(first("VK_FORMAT_R16_SFLOAT", b"\x00\x3c"), [1])
        self.assertEqual(first("VK_FORMAT_A8B8G8R8_SINT_PACK32", b"\xff\x01\x80\x7f"), [127, -128, 1, -1])
        for name in (None, "VK_FORMAT_BC1_RGB_UNORM_BLOCK", "VK_FORMAT_B10G11R11_UFLOAT_PACK32", "VK_FORMAT_D24_UNORM_S8_UINT"):
            self.assertEqual(layout_of(name).kind, "opaque")

    def test_formats_of_copies(self) -> None:
        def copy(aspect: str) -> dict:
            return {"name": "vkCmdCopyImageToBuffer", "args": {"srcImage": "VkImage:1", "dstBuffer": "VkBuffer:2", "pRegions": [
                {"imageSubresource": {"aspectMask": aspect}}]}}
        image = {"name": "vkCreateImage", "args": {"pImage": "VkImage:1", "pCreateInfo": {"format": "VK_FORMAT_D32_SFLOAT_S8_UINT"}}}
        self.assertEqual(copied_formats([image, copy("VK_IMAGE_ASPECT_DEPTH_BIT")]), {"VkBuffer:2": "VK_FORMAT_D32_SFLOAT"})
        self.assertEqual(copied_formats([image, copy("VK_IMAGE_ASPECT_STENCIL_BIT")]), {"VkBuffer:2": "VK_FORMAT_S8_UINT"})

    def test_what_one_recording_left_out(self) -> None:
        whole, part = self.dump("a", b"one", b"two", b"six"), self.dump("b", b"one", b"six")
        self.assertIsNone(missing_in(whole, part))
        self.assertEqual(missing_in(part, whole)["check"], 2)
        self.assertEqual(missing_in(whole, self.dump("c", b"six", b"one"))["check"], 2)


if __name__ == "__main__":
    unittest.main()
