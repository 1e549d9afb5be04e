#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch-backport-driver.sh FOLDER: unpacks the software driver of this Debian release's backports into FOLDER, with the
# libraries that it needs and that the system lacks, with apt, without installing anything. Programs that are linked as ever run
# on it with VK_DRIVER_FILES=FOLDER/icd.json and LD_LIBRARY_PATH=FOLDER/lib. Does nothing where it is there already.
set -eu
folder=${1:?usage: fetch-backport-driver.sh FOLDER}
if [ -e "$folder/icd.json" ]; then
    exit 0
fi
. "$(dirname "$0")/debian.sh"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
state="$folder/apt"
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
for suite in "$release" "$release-backports"; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
done > "$state/sources.list"
# The system's own status: what is installed there, C library included, is not fetched.
set -- -o "Dir::Etc::sourcelist=$state/sources.list" -o "Dir::Etc::sourceparts=/dev/null" -o "Dir::State::lists=$state/lists" \
    -o "Dir::Cache=$state/cache" -o "APT::Sandbox::User=root" -o "Debug::NoLocking=1"
apt-get "$@" update -qq || fail "$mirror can't be read"
apt-get "$@" install -qq -y --no-install-recommends --download-only --reinstall -t "$release-backports" mesa-vulkan-drivers > /dev/null ||
    fail "$release-backports has no mesa-vulkan-drivers that fits this system"
rm -rf "$folder/root"
for package in "$state"/cache/archives/*.deb; do
    dpkg -x "$package" "$folder/root"
    case "$package" in
    */mesa-vulkan-drivers_*) dpkg-deb --show --showformat "\${Package} \${Version} of $release-backports\n" "$package" ;;
    esac
done
libraries="$folder/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2> /dev/null || gcc -print-multiarch)"
driver="$libraries/libvulkan_lvp.so"
[ -e "$driver" ] || fail "$release-backports has no driver where it is expected"
ln -sfn "$libraries" "$folder/lib"
# The manifest comes last: it says that all the rest is there.
sed "s|\"library_path\" *: *\"[^\"]*\"|\"library_path\": \"$driver\"|" "$folder"/root/usr/share/vulkan/icd.d/lvp_icd*.json > "$folder/icd.tmp"
mv "$folder/icd.tmp" "$folder/icd.json"
rm -rf "$state"
