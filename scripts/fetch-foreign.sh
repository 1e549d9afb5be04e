#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch-foreign.sh FOLDER i386|arm64|armhf: unpacks what it takes to build and run programs of another architecture on this
# machine (C library, the libraries that Lapilli is linked with, Vulkan loader, software driver and validation layer of this
# Debian release) into FOLDER, with apt, without installing anything. `make FOREIGN_DIR=FOLDER` builds with it. Does nothing where
# it is there already.
set -eu
usage="usage: fetch-foreign.sh FOLDER i386|arm64|armhf"
folder=${1:?$usage}
architecture=${2:?$usage}
case "$architecture" in
i386) triplet=i386-linux-gnu loader=ld-linux.so.2 ;;
arm64) triplet=aarch64-linux-gnu loader=ld-linux-aarch64.so.1 ;;
armhf) triplet=arm-linux-gnueabihf loader=ld-linux-armhf.so.3 ;;
*) echo "$usage" >&2; exit 2 ;;
esac
if [ -e "$folder/icd.json" ]; then
    exit 0
fi
. "$(dirname "$0")/debian.sh"
[ "$architecture" != i386 ] || [ "$(uname -m)" = x86_64 ] || fail "this machine runs no programs for i386"
compiler=$(gcc -dumpversion) || fail "there is no gcc"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
state="$folder/apt"
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" > "$state/sources.list"
: > "$state/status" # nothing is installed there: everything that is needed is fetched
set -- -o "Dir::Etc::sourcelist=$state/sources.list" -o "Dir::Etc::sourceparts=/dev/null" -o "Dir::State::lists=$state/lists" \
    -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache" -o "APT::Sandbox::User=root" -o "Debug::NoLocking=1" \
    -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
apt-get "$@" update -qq || fail "$mirror can't be read"
apt-get "$@" install -qq -y --no-install-recommends --download-only "libgcc-$compiler-dev" "libstdc++-$compiler-dev" libc6-dev \
    libvulkan-dev vulkan-validationlayers-dev vulkan-validationlayers mesa-vulkan-drivers libcjson-dev liblz4-dev libxxhash-dev \
    libzstd-dev libpng-dev libseccomp-dev nettle-dev libxcb1-dev libx11-dev libxrandr-dev libwayland-dev > /dev/null ||
    fail "$release has no such packages for $architecture"
rm -rf "$folder/root"
for package in "$state"/cache/archives/*.deb; do
    dpkg -x "$package" "$folder/root"
    case "$package" in
    */mesa-vulkan-drivers_* | */libc6_*) dpkg-deb --show --showformat "\${Package} \${Version} for \${Architecture}\n" "$package" ;;
    esac
done
# Where /lib is no link to usr/lib in a package, its files lie beside.
[ ! -d "$folder/root/lib" ] || [ -L "$folder/root/lib" ] || cp -a "$folder/root/lib/." "$folder/root/usr/lib/"
# Links that name a place from the top of the system mean one in here.
find "$folder/root/usr/lib" -type l | while read -r link; do
    target=$(readlink "$link")
    case "$target" in /*) [ ! -e "$folder/root$target" ] || ln -sfn "$folder/root$target" "$link" ;; esac
done
libraries="$folder/root/usr/lib/$triplet"
driver="$libraries/libvulkan_lvp.so"
[ -e "$driver" ] && [ -e "$folder/root/usr/lib/$loader" ] || fail "the packages have no driver where it is expected"
# One place each for what is asked for, as scripts/fetch-driver.sh makes it.
ln -sfn "$libraries" "$folder/lib"
ln -sfn "$triplet" "$folder/root/usr/lib/lib" # where LLVM, found in lib, looks for what it needs: ../lib
ln -sfn "$folder/root/usr/lib/$loader" "$folder/ld.so"
ln -sfn "$(dirname "$(find "$folder/root/usr/lib/gcc" -name crtbeginS.o)")" "$folder/gcc"
ln -sfn "$folder/root/usr/share/vulkan/explicit_layer.d" "$folder/layers"
echo "$architecture" > "$folder/architecture"
# The manifest comes last: it says that all the rest is there.
sed "s|\"library_path\" *: *\"[^\"]*\"|\"library_path\": \"$driver\"|" "$folder"/root/usr/share/vulkan/icd.d/lvp_icd*.json > "$folder/icd.tmp"
mv "$folder/icd.tmp" "$folder/icd.json"
rm -rf "$state"
