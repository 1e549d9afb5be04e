# SPDX-License-Identifier: MIT
"""Attachments with rates of fragment shading, replayed where their texels cover another number of pixels.

Only tests/null has such attachments among the drivers of the tests; its texels are as large as it is asked to have them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

from e2e.cases import Context, Skip, check


def are_left_out(context: Context) -> None:
    manifest = context.build / "tests/null/null_icd.json"
    if not manifest.exists():
        raise Skip("the null driver is not built")
    context = replace(context, driver=manifest)
    context.capture([context.app("rates"), "--no-check"], "out.lapilli")
    for pixels, lacks in (("8", False), ("16", True)):
        said = context.replay("out.lapilli", env={"NULL_RATE_TEXELS": pixels}, expect=0).text
        check(("rates of fragment shading are left out" in said) == lacks, said[-2000:])
        report = context.run([context.program("lapilli"), "check", "out.lapilli"], {"NULL_RATE_TEXELS": pixels}, expect=0).text
        check(("shadingRateAttachmentTexelSize" in report) == lacks, report[-2000:])


def cases() -> dict[str, Callable[[Context], None]]:
    return {"attachments-with-texels-of-another-size-are-left-out": are_left_out}
