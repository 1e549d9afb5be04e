#!/bin/sh
# SPDX-License-Identifier: MIT
# Read by scripts that unpack packages of this Debian release: sets `release` and `mirror`, or ends them with a sentence.
fail() { echo "$(basename "$0" .sh): $*" >&2; exit 1; }
[ -r /etc/os-release ] || fail "this is no Debian system"
release=$(. /etc/os-release && echo "${ID:-}:${VERSION_CODENAME:-}")
case "$release" in debian:?*) release=${release#debian:} ;; *) fail "this is no Debian release" ;; esac
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null |
    grep '/debian/*$' | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}
