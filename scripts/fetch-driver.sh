#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch-driver.sh FOLDER: unpacks the software driver of a newer Debian suite, the Vulkan loader and validation layer of the
# same time, and all libraries that they need, C library included, into FOLDER, with apt, without installing anything.
# SUITES names the suites to try, in this order. Programs that are linked with `make DRIVER_DIR=FOLDER` run on it.
set -eu
folder=${1:?usage: fetch-driver.sh FOLDER}
suites=${SUITES:-trixie sid}
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null |
    grep -v security | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

for suite in $suites; do
    state="$folder/apt-$suite"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$state/sources.list"
    : > "$state/status" # nothing is installed there: everything that is needed is fetched
    set -- -o "Dir::Etc::sourcelist=$state/sources.list" -o "Dir::Etc::sourceparts=/dev/null" -o "Dir::State::lists=$state/lists" \
        -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache" -o "Acquire::Check-Valid-Until=false" \
        -o "APT::Sandbox::User=root" -o "Debug::NoLocking=1"
    apt-get "$@" update -qq &&
        apt-get "$@" install -qq -y --no-install-recommends --download-only mesa-vulkan-drivers vulkan-validationlayers > /dev/null ||
        continue
    rm -rf "$folder/root"
    for package in "$state"/cache/archives/*.deb; do
        dpkg -x "$package" "$folder/root"
        dpkg-deb --show --showformat "\${Package} \${Version} of $suite\n" "$package" |
            grep -E '^(mesa-vulkan-drivers|libc6|libvulkan1|vulkan-validationlayers) ' || true
    done
    rm -rf "$state/cache"

    # One place each for what is asked for, with absolute paths: root is nowhere that a loader would look.
    libraries="$folder/root/usr/lib/$(gcc -print-multiarch)"
    # Where /lib is no link to usr/lib in a package, its files lie beside.
    [ ! -d "$folder/root/lib" ] || [ -L "$folder/root/lib" ] || cp -a "$folder/root/lib/." "$folder/root/usr/lib/"
    loader=$(find "$folder/root" -name 'ld-linux-*.so.*' | head -n 1)
    driver=$(find "$libraries" -name 'libvulkan_lvp.so')
    [ -n "$loader" ] && [ -n "$driver" ] || { echo "fetch-driver: $suite has no driver where it is expected" >&2; continue; }
    ln -sfn "$libraries" "$folder/lib"
    ln -sfn "$loader" "$folder/ld.so"
    ln -sfn "$folder/root/usr/share/vulkan/explicit_layer.d" "$folder/layers"
    # Libraries with a runpath of their own (LLVM's, "$ORIGIN/../lib") look for others there alone.
    ln -sfn "$libraries" "$folder/root/usr/lib/lib"
    sed "s|\"library_path\" *: *\"[^\"]*\"|\"library_path\": \"$driver\"|" "$folder"/root/usr/share/vulkan/icd.d/lvp_icd*.json > "$folder/icd.json"
    exit 0
done
echo "fetch-driver: none of these suites could be read from $mirror: $suites" >&2
exit 1
