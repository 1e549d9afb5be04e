#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh: records 200 frames of vkcube on the software driver, replays them, and compares every image. Leaves under
# BUILD/demo the trace and one frame as it was presented while recording and as it was replayed.
set -u

build=${BUILD:-build}
frames=${FRAMES:-200}
shown=${SHOWN:-100}
demo=$build/demo
trace=$demo/vkcube.lapilli

fail() {
    echo "demo: $*" >&2
    exit 1
}

for program in xvfb-run vkcube; do
    command -v "$program" > /dev/null || fail "$program is missing; scripts/install-deps.sh demo installs it"
done
for program in lapilli lapilli-capture lapilli-replay lapilli-print; do
    [ -x "$build/bin/$program" ] || fail "$build/bin/$program is missing; run make"
done

# The software driver, so that the demo is the same everywhere; whoever has chosen a driver keeps it.
if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
    for manifest in /usr/share/vulkan/icd.d/lvp_icd*.json; do
        [ -e "$manifest" ] && VK_DRIVER_FILES=$manifest && VK_ICD_FILENAMES=$manifest
    done
    [ -n "${VK_DRIVER_FILES:-}" ] || fail "there is no lavapipe; scripts/install-deps.sh demo installs it"
    export VK_DRIVER_FILES VK_ICD_FILENAMES
fi

on_display() { xvfb-run -a -s "-screen 0 1280x720x24 -nolisten tcp -noreset" "$@"; }

rm -rf "$demo"
mkdir -p "$demo/recording" "$demo/replay" || exit 1

echo "demo: recording $frames frames of vkcube"
on_display "$build/bin/lapilli" capture -o "$trace" --verify --screenshot "$shown" --screenshot-dir "$demo/recording" \
    -- vkcube --c "$frames" > "$demo/recording.log" 2>&1 || { cat "$demo/recording.log" >&2; fail "recording ended with status $?"; }
grep '^lapilli-capture: ' "$demo/recording.log"
[ -f "$trace" ] || fail "there is no trace"

echo "demo: replaying"
on_display "$build/bin/lapilli" replay --verify --screenshot "$shown" --screenshot-dir "$demo/replay" "$trace" \
    > "$demo/replay.log" 2> "$demo/replay.errors"
status=$?
checks=$(sed -n 's/^verify: \([0-9]*\) checks, .*/\1/p' "$demo/replay.log")
different=$(sed -n 's/^verify: .*, \([0-9]*\) different.*/\1/p' "$demo/replay.log")
if [ -z "$checks" ]; then
    cat "$demo/replay.errors" >&2
    fail "the replay ended with status $status and compared nothing"
fi
presented=$("$build/bin/lapilli" print --no-blocks "$trace" | grep -c ' lapilliCheckPresent(')
[ "$checks" -le "$presented" ] || checks=$presented

mv "$demo/recording/frame_$shown.png" "$demo/recorded.png" || fail "frame $shown was not written while recording"
mv "$demo/replay/frame_$shown.png" "$demo/replayed.png" || fail "frame $shown was not written by the replay"
cmp -s "$demo/recorded.png" "$demo/replayed.png" || echo "demo: the two pictures of frame $shown differ"

echo "$((checks - different))/$presented frames identical"
echo "$demo/recorded.png"
echo "$demo/replayed.png"
[ "$status" = 0 ] || { tail -n 5 "$demo/replay.errors" >&2; fail "the replay ended with status $status"; }
[ "$different" = 0 ] && [ "$checks" = "$presented" ] && [ "$presented" = "$frames" ] && cmp -s "$demo/recorded.png" "$demo/replayed.png"
