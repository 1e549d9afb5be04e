# SPDX-License-Identifier: MIT
"""lapilli android: records and plays on a device at the other end of adb, and leaves its settings as they were.

It imports nothing from elsewhere in this tree. It runs adb and the other programs of Lapilli, and reads traces by `lapilli info --json` alone.
"""
