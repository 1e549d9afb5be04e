#!/bin/sh
# SPDX-License-Identifier: MIT
# check-deb.sh PACKAGE SUITE…: builds Debian packages of a source package (make dist) in each bare SUITE (bookworm, trixie), and tries them in another one
# that has nothing but a software driver: what the README says to people who install holds, an upgrade leaves a program that records
# alone, and a removal leaves nothing. lintian finds no error. In the first suite they are built once more in other circumstances: the
# same bytes come of it, else diffoscope, where it is, says why; and the layer's package for i386 is built, which is installed beside that
# for amd64. It needs root, debootstrap and a network. Suites are kept in build/suite.
set -eu
tarball=${1:?usage: check-deb.sh PACKAGE SUITE…}
shift
tree=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "check-deb: $*" >&2; exit 1; }
in_suite() { "$tree/scripts/check-suite.sh" "$@"; }
again=yes
for suite in "$@"; do
    built="$tree/build/suite/$suite" bare="$tree/build/suite/$suite-bare"
    rm -rf "$built/root/lapilli/build/deb"
    PACKAGE="$tarball" in_suite "$suite" "$built" deb
    debs="$built/root/lapilli/build/deb"
    echo "== $suite: lintian"
    in_suite "$suite" "$built" --run sh -c 'cd /lapilli/build/deb && lintian --allow-root --fail-on error,warning ./*.deb'
    if [ -n "$again" ]; then
        again=
        echo "== $suite: the same packages once more"
        cp "$tarball" "$built/root/lapilli/build/package.tar.xz"
        in_suite "$suite" "$built" --run env TZ=Asia/Kathmandu LC_ALL=C PYTHONHASHSEED=7 DEB_BUILD_OPTIONS=parallel=1 \
            sh -c 'umask 027 && cd /lapilli && scripts/make-deb.sh build/a/folder/with-a-longer-name/deb build/package.tar.xz'
        for deb in "$debs"/*.deb; do
            other="$built/root/lapilli/build/a/folder/with-a-longer-name/deb/$(basename "$deb")"
            cmp -s "$deb" "$other" && continue
            if command -v diffoscope > /dev/null; then diffoscope --max-report-size 10000 "$deb" "$other" >&2 || :; fi
            fail "$suite: two builds of $(basename "$deb") differ"
        done
        echo "two builds have the same bytes"
        foreign="$tree/build/suite/$suite-i386"
        rm -rf "$foreign/root/lapilli/build/deb"
        PACKAGE="$tarball" ARCHITECTURE=i386 in_suite "$suite" "$foreign" deb
    fi
    echo "== $suite: installed, tried and removed"
    in_suite "$suite" "$bare" --run true
    rm -rf "$bare/root/debs"
    mkdir "$bare/root/debs"
    cp "$debs"/*.deb "$bare/root/debs"
    mkdir "$bare/root/debs/i386"
    if [ -e "$tree/build/suite/$suite-i386" ]; then cp "$tree/build/suite/$suite-i386/root/lapilli/build/deb/lapilli-layer_"*.deb "$bare/root/debs/i386"; fi
    cp "$tree/tests/deb/try.sh" "$bare/root/debs"
    in_suite "$suite" "$bare" --run sh -eu /debs/try.sh || { rm "$bare/made"; fail "$suite: what is there is not as it should be"; }
done
echo "packages of $(echo "$*" | tr ' ' ,): 0 failed"
