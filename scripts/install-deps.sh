#!/bin/sh
# SPDX-License-Identifier: MIT
# install-deps.sh [build] [check] [drivers] [demo] [lint] [analyze] [fuzz] [coverage] [suites] [deb] [valgrind] [arm] [android] [farm]: installs the Debian packages that a group
# needs and that are missing, and, for "build", fetches the newest Vulkan headers where none were fetched (fetch-headers.sh); a source
# package has its own.
# Does nothing, and asks nobody, when all are there.
set -u

packages() {
    case "$1" in
    # libvulkan-dev brings headers and a registry. Of packages with a | between them the first one that this release has.
    build) echo "gcc g++ libc6-dev make python3 libvulkan-dev vulkan-utility-libraries-dev|vulkan-validationlayers-dev libcjson-dev liblz4-dev libxxhash-dev" \
        "libzstd-dev libpng-dev libseccomp-dev nettle-dev libmicrohttpd-dev libxcb1-dev libx11-dev libxrandr-dev libwayland-dev libwayland-bin wayland-protocols glslang-tools" \
        "spirv-tools-dev|spirv-tools libspirv-cross-c-shared-dev" ;;
    check) echo "xvfb xauth mesa-vulkan-drivers vulkan-tools vulkan-validationlayers strace weston iproute2 python3-numpy \
        python3-pil" ;;
    # A second Vulkan driver, SwiftShader, lies in Chromium's package. Another recorder's layer goes above and below ours, and what it
    # records is imported.
    # The page is shown in Firefox, too. Shells and man read what is made of --help, desktops what tells them of traces.
    drivers) echo "chromium firefox-esr gfxreconstruct zsh fish man-db libglib2.0-bin desktop-file-utils shared-mime-info" ;;
    demo) echo "xvfb xauth mesa-vulkan-drivers vulkan-tools" ;;
    lint) echo "clang-format git" ;;
    analyze) echo "cppcheck gcc clang-tidy" ;;
    fuzz) echo "clang libclang-rt-dev|libclang-rt-14-dev" ;;
    coverage) echo "gcovr" ;;
    suites) echo "debootstrap" ;;
    deb) echo "build-essential dpkg-dev debhelper lintian" ;;
    valgrind) echo "valgrind" ;;
    farm) echo "slurmctld slurmd slurm-client munge" ;;
    arm) echo "gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf qemu-user-static" ;;
    # What packs and signs the app; its compiler is that of an NDK.
    android) echo "aapt zipalign apksigner android-framework-res default-jre-headless" ;;
    *)
        echo "install-deps.sh: there is no group '$1': build, check, drivers, demo, lint, analyze, fuzz, coverage, suites, deb, valgrind, arm, android, farm" >&2
        exit 2
        ;;
    esac
}

[ $# -gt 0 ] || set -- build
groups="$*"
wanted=
for group in "$@"; do
    found=$(packages "$group") || exit 2
    wanted="$wanted $found"
done

if ! command -v dpkg-query > /dev/null; then
    echo "install-deps.sh: this is no Debian system; what is needed there is called:$wanted" >&2
    exit 0
fi

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }

# The first of several packages that is installed, else the first that can be, else the last.
one_of() {
    for candidate in $(echo "$1" | tr '|' ' '); do
        if is_installed "$candidate"; then echo "$candidate" && return; fi
    done
    for candidate in $(echo "$1" | tr '|' ' '); do
        if apt-cache show "$candidate" > /dev/null 2>&1; then break; fi
    done
    echo "$candidate"
}

missing() {
    for entry in $wanted; do
        package=$(one_of "$entry")
        is_installed "$package" || echo "$package"
    done | sort -u | tr '\n' ' '
}

fetch_headers() {
    [ ! -e "$(dirname "$0")/../third_party/vulkan/share" ] || return 0
    case " $groups " in
    *" build "*) "$(dirname "$0")/fetch-headers.sh" --missing "$(dirname "$0")/../build/vulkan" ||
        echo "install-deps.sh: the build takes the system's Vulkan headers" >&2 ;;
    esac
}

needed=$(missing)
if [ -z "$needed" ]; then
    fetch_headers
    exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo > /dev/null; then
        echo "install-deps.sh: these packages are missing, and only root can install them: $needed" >&2
        exit 1
    fi
    # Without a terminal nobody can type a password.
    if [ -t 0 ]; then as_root=sudo; else as_root="sudo -n"; fi
fi

echo "install-deps.sh: installing $needed" >&2
install() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $needed >&2
}
# What is to be installed of several depends on what apt knows.
install || { $as_root apt-get update -q >&2 && needed=$(missing) && install; }
needed=$(missing)
if [ -n "$needed" ]; then
    echo "install-deps.sh: these packages could not be installed: $needed" >&2
    exit 1
fi
fetch_headers
