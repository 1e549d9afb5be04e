#!/bin/sh
# SPDX-License-Identifier: MIT
# make-deb.sh FOLDER [TARBALL]: builds Debian packages into FOLDER, of a source package (make dist), or of this tree, where it is one. What
# was in FOLDER is removed. Packages with debug information, and what dpkg-buildpackage writes beside packages, go into FOLDER/more.
# Installs nothing.
set -eu
folder=${1:?usage: make-deb.sh FOLDER [TARBALL]} tarball=${2:-}
tree=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "make-deb: $*" >&2; exit 1; }
version=$(sed -n 's/^#define LAPILLI_VERSION *"\(.*\)"/\1/p' "$tree/base/version.h")
command -v dpkg-buildpackage > /dev/null || fail "dpkg-buildpackage is not installed (scripts/install-deps.sh deb)"
[ "$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)" = "$version" ] || fail "debian/changelog has another version than base/version.h, $version"
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ -n "$tarball" ]; then
    tar -C "$folder" -xf "$tarball"
else
    mkdir "$folder/lapilli-$version"
    tar -C "$tree" --exclude=./build --exclude=./debian/build --exclude=__pycache__ -cf - . | tar -C "$folder/lapilli-$version" -xf -
fi
cd "$folder/lapilli-$version"
[ -e third_party/vulkan/share ] || echo "make-deb: no source package: the packages know as much of Vulkan as the headers of this system" >&2
# Of the make that this runs under, nothing is for the package's own.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES dpkg-buildpackage -us -uc -b > "$folder/log" 2>&1 ||
    { tail -n 30 "$folder/log" >&2; fail "the packages could not be built ($folder/log)"; }
cd ..
rm -rf "lapilli-$version"
mkdir more
mv ./*dbgsym*.deb ./*.changes ./*.buildinfo log more
ls -l ./*.deb | awk '{ print $5, $NF }'
