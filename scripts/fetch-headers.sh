#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch-headers.sh FOLDER: unpacks the Vulkan headers and registry of the newest Debian suite that answers (sid, else trixie)
# into FOLDER, with apt, without installing anything.
set -eu
folder=${1:?usage: fetch-headers.sh FOLDER}
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null |
    grep -v security | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
for suite in sid trixie; do
    state="$folder/apt-$suite"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$state/sources.list"
    set -- -o "Dir::Etc::sourcelist=$state/sources.list" -o "Dir::Etc::sourceparts=/dev/null" -o "Dir::State::lists=$state/lists" \
        -o "Dir::Cache=$state/cache" -o "Acquire::Check-Valid-Until=false" -o "APT::Sandbox::User=root"
    if apt-get "$@" update -qq && (cd "$state" && apt-get "$@" download -qq libvulkan-dev); then
        dpkg -x "$state"/libvulkan-dev_*.deb "$folder"
        echo "Vulkan headers of $suite: $(sed -n 's/#define VK_HEADER_VERSION \([0-9]*\)/\1/p' "$folder/usr/include/vulkan/vulkan_core.h")"
        exit 0
    fi
done
echo "fetch-headers: no suite could be read from $mirror" >&2
exit 1
