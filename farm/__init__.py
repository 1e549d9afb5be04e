# SPDX-License-Identifier: MIT
"""lapilli farm: plays traces on devices and drivers, on this machine or on those of Slurm, and says what changed.

It imports nothing from elsewhere in this tree. It reads traces by `lapilli info --json` alone, and plays them by lapilli-replay.
"""
