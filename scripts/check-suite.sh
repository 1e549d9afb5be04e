#!/bin/sh
# SPDX-License-Identifier: MIT
# check-suite.sh SUITE FOLDER [TARGET…]: makes a bare Debian SUITE (trixie, sid) in FOLDER with debootstrap, copies this tree there, and
# runs `make deps` and then `make TARGET` for each TARGET in it, as the only root of its own mounts and processes; by default the
# build with warnings as errors, and the demo. FOLDER is kept, and taken as it is the next time. It needs root.
# ARCHITECTURE=i386: of that architecture.
# PACKAGE=FILE: what this source package (make dist) holds is taken instead of this tree.
# check-suite.sh SUITE FOLDER --run COMMAND…: runs a command there instead, with nothing copied and no `make deps`.
set -eu
suite=${1:?usage: check-suite.sh SUITE FOLDER [TARGET…]} folder=${2:?usage: check-suite.sh SUITE FOLDER [TARGET…]}
shift 2
[ $# -gt 0 ] || set -- "WERROR=1 all" demo
tree=$(cd "$(dirname "$0")/.." && pwd)
. "$tree/scripts/debian.sh"
[ "$(id -u)" = 0 ] || fail "a suite is made and entered by root only"
command -v debootstrap > /dev/null || fail "debootstrap is not installed (scripts/install-deps.sh suites)"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ ! -e "$folder/made" ]; then
    rm -rf "$folder/root"
    debootstrap ${ARCHITECTURE:+--arch="$ARCHITECTURE"} --variant=minbase --include=make,git,ca-certificates "$suite" "$folder/root" "$mirror" > "$folder/debootstrap.log" 2>&1 ||
        { tail -n 5 "$folder/debootstrap.log" >&2; fail "$suite could not be unpacked from $mirror"; }
    # Mirrors of sid may be some days behind.
    echo 'Acquire::Check-Valid-Until "false";' > "$folder/root/etc/apt/apt.conf.d/90-lapilli"
    touch "$folder/made"
fi
cp /etc/resolv.conf "$folder/root/etc/resolv.conf" 2> /dev/null || :

inside() {
    unshare --mount --pid --fork --kill-child sh -eu -c '
        root=$1
        shift
        mount --bind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm" 2> /dev/null || :
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/tmp"
        exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            "$@"' sh "$folder/root" "$@"
}

if [ "$1" = --run ]; then
    shift
    inside "$@"
    exit
fi
mkdir -p "$folder/root/lapilli"
# What is built there stays, so that a second time is short.
find "$folder/root/lapilli" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
if [ -n "${PACKAGE:-}" ]; then
    tar -C "$folder/root/lapilli" --strip-components=1 -xf "$PACKAGE"
else
    tar -C "$tree" --exclude=./build --exclude=./.git -cf - . | tar -C "$folder/root/lapilli" -xf -
fi
for target in deps "$@"; do
    echo "== $suite: make $target"
    # shellcheck disable=SC2086
    inside make -C /lapilli $target
done
