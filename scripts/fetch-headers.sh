#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch-headers.sh [--missing] FOLDER: unpacks the Vulkan headers and registry of the newest Debian suite that answers (sid, else
# trixie; or of VULKAN_SUITE), and the headers of Vulkan's utility libraries, into FOLDER/usr, with apt, without installing anything. What is there
# is replaced only by other versions. --missing: does nothing where some are there, or could not be had within the last day.
set -eu
missing=
[ "${1:-}" != --missing ] || { missing=yes; shift; }
folder=${1:?usage: fetch-headers.sh [--missing] FOLDER}
registry=usr/share/vulkan/registry/vk.xml
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ -n "$missing" ]; then
    [ ! -e "$folder/$registry" ] || exit 0
    [ -z "$(find "$folder" -maxdepth 1 -name unreachable -mtime -1)" ] || exit 1
fi
command -v apt-get > /dev/null || { echo "fetch-headers: there is no apt-get" >&2; exit 1; }
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null |
    grep -v security | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}
for suite in ${VULKAN_SUITE:-sid trixie}; do
    state="$folder/apt-$suite"
    rm -rf "$state/packages" "$state/unpacked"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/packages" "$state/unpacked"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$state/sources.list"
    set -- -o "Dir::Etc::sourcelist=$state/sources.list" -o "Dir::Etc::sourceparts=/dev/null" -o "Dir::State::lists=$state/lists" \
        -o "Dir::Cache=$state/cache" -o "Acquire::Check-Valid-Until=false" -o "Acquire::Retries=0" -o "APT::Sandbox::User=root" \
        -o "Debug::NoLocking=1"
    # "update" is content with an old list where nothing answers, so what it says is listened to, too.
    if apt-get "$@" -o "APT::Update::Error-Mode=any" update -qq &&
        (cd "$state/packages" && apt-get "$@" download -qq libvulkan-dev vulkan-utility-libraries-dev); then
        for package in "$state"/packages/*.deb; do dpkg -x "$package" "$state/unpacked"; done
        if [ ! -e "$state/unpacked/$registry" ]; then
            echo "fetch-headers: $suite has no registry where it is expected" >&2
            continue
        fi
        if ! cmp -s "$state/unpacked/$registry" "$folder/$registry"; then
            rm -rf "$folder/old"
            [ ! -e "$folder/usr" ] || mv "$folder/usr" "$folder/old"
            mv "$state/unpacked/usr" "$folder/usr"
        fi
        rm -rf "$folder/old" "$folder/unreachable" "$state/unpacked" "$state/packages"
        echo "Vulkan headers of $suite: $(sed -n 's/#define VK_HEADER_VERSION \([0-9]*\)/\1/p' "$folder/usr/include/vulkan/vulkan_core.h")" >&2
        exit 0
    fi
done
touch "$folder/unreachable"
echo "fetch-headers: no suite could be read from $mirror" >&2
exit 1
