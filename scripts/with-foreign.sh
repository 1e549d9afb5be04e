#!/bin/sh
# SPDX-License-Identifier: MIT
# with-foreign.sh [--in-memory FOLDER]... COMMAND ...: runs a command for which programs for ARM start as those for this machine do.
# qemu-user (Debian package qemu-user-static) runs them; the kernel knows of it in namespaces of the command's own (Linux 6.7 or
# newer: Documentation/admin-guide/binfmt-misc.rst), and nothing of the machine is changed. Each FOLDER is seen as a copy on tmpfs:
# emulated 32-bit programs without large files can't list a folder whose file system has positions of 64 bits. Ends as the
# command does, or with 77 and a sentence where the machine can't do that.
set -eu
fail() { echo "with-foreign.sh: $*" >&2; exit 77; }
if [ "${1:-}" != --inside ]; then
    [ $# -gt 0 ] || { echo "usage: with-foreign.sh [--in-memory FOLDER]... COMMAND ..." >&2; exit 2; }
    exec unshare --user --map-root-user --mount "$0" --inside "$@"
fi
shift
kernel=/proc/sys/fs/binfmt_misc
mount -t binfmt_misc binfmt_misc "$kernel" || fail "the kernel lets no namespace have formats of its own"
for machine in aarch64 arm; do
    format=/usr/lib/binfmt.d/qemu-$machine.conf
    [ -r "$format" ] || fail "there is no $format (Debian package qemu-user-static)"
    cat "$format" > "$kernel/register" || fail "the kernel does not take $format"
done
while [ "${1:-}" = --in-memory ]; do
    folder=$(realpath "$2")
    copy=$(mktemp -d /dev/shm/lapilli-foreign-XXXXXX)
    cp -a "$folder/." "$copy"
    mount -t tmpfs tmpfs "$folder"
    cp -a "$copy/." "$folder"
    rm -rf "$copy"
    shift 2
done
exec "$@"
