#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch-android-libs.sh FOLDER NDK ABI: builds the libraries that Lapilli is linked with and Android lacks, of the source packages of this
# Debian release and with the compiler of an NDK, as static libraries for Android 11 (API level 30), into FOLDER. Nothing is installed.
# FOLDER/cc is then that compiler for that ABI; `make ANDROID_DIR=FOLDER` builds with it. Does nothing where it is there already.
set -eu
folder=${1:?usage: fetch-android-libs.sh FOLDER NDK ABI} ndk=${2:?usage: fetch-android-libs.sh FOLDER NDK ABI} abi=${3:?usage: fetch-android-libs.sh FOLDER NDK ABI}
. "$(dirname "$0")/debian.sh"
protection=-fstack-protector-strong
case "$abi" in
arm64-v8a) target=aarch64-linux-android30 ;;
armeabi-v7a) target=armv7a-linux-androideabi30 ;;
x86_64) target=x86_64-linux-android30 protection="$protection -fstack-clash-protection -fcf-protection" ;;
*) fail "ABI is arm64-v8a, armeabi-v7a or x86_64, not \"$abi\"" ;;
esac
for bin in "$ndk"/toolchains/llvm/prebuilt/*/bin; do :; done
[ -x "$bin/clang" ] || fail "$ndk is no NDK: it has no toolchains/llvm/prebuilt/*/bin/clang"
bin=$(cd "$bin" && pwd)
compiler="exec '$bin/clang' --target=$target \"\$@\""
if [ -e "$folder/cc" ] && [ "$(tail -n 1 "$folder/cc")" = "$compiler" ]; then
    exit 0
fi
command -v dpkg-source > /dev/null || fail "there is no dpkg-source (package dpkg-dev)"
rm -rf "$folder"
mkdir -p "$folder/include/cjson" "$folder/lib"
folder=$(cd "$folder" && pwd)
work="$folder/work"
state="$work/apt"
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" > "$state/sources.list"
set -- -o "Dir::Etc::sourcelist=$state/sources.list" -o "Dir::Etc::sourceparts=/dev/null" -o "Dir::State::lists=$state/lists" \
    -o "Dir::Cache=$state/cache" -o "APT::Sandbox::User=root" -o "Debug::NoLocking=1"
apt-get "$@" update -qq || fail "$mirror can't be read"
(cd "$work" && apt-get "$@" source -qq lz4 xxhash cjson libzstd libpng1.6 nettle > /dev/null 2>&1) || fail "$release has no such source packages"
cd "$work"
for name in lz4 xxhash cjson libzstd libpng1.6 nettle; do
    for source in "$name"-*/; do
        mv "$source" "$name"
        echo "$name $(dpkg-parsechangelog -l "$name/debian/changelog" -S Version) for $abi"
    done
done
cp lz4/lib/lz4.h lz4/lib/lz4hc.h xxhash/xxhash.h libzstd/lib/zstd.h libzstd/lib/zstd_errors.h libpng1.6/png.h libpng1.6/pngconf.h "$folder/include"
cp cjson/cJSON.h "$folder/include/cjson"
cp libpng1.6/scripts/pnglibconf.h.prebuilt "$folder/include/pnglibconf.h"
mkdir "$folder/include/nettle"
cp nettle/*.h "$folder/include/nettle"
: > nettle/config.h # as for a compiler and a machine of which nothing is known

# build NAME SOURCES: libNAME.a, as the libraries' own makefiles do it where there is no assembly of theirs.
build() {
    name=$1
    shift
    mkdir "$name.o"
    for source in "$@"; do
        # shellcheck disable=SC2086
        "$bin/clang" "--target=$target" -O2 -g -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections $protection -U_FORTIFY_SOURCE \
            -D_FORTIFY_SOURCE=2 -w -I"$folder/include" -Inettle -DPNG_ARM_NEON_OPT=0 -DPNG_INTEL_SSE_OPT=0 -DZSTD_DISABLE_ASM -c -o "$name.o/$(basename "$source" .c).o" \
            "$source" || fail "$source can't be compiled for $abi"
    done
    "$bin/llvm-ar" rcs "$folder/lib/lib$name.a" "$name.o"/*.o
}
build lz4 lz4/lib/lz4.c lz4/lib/lz4hc.c
build xxhash xxhash/xxhash.c
build cjson cjson/cJSON.c
build nettle nettle/hmac.c nettle/hmac-sha256.c nettle/sha256.c nettle/sha256-meta.c nettle/sha256-compress.c nettle/write-be32.c nettle/memxor.c nettle/memeql-sec.c
build zstd libzstd/lib/common/*.c libzstd/lib/compress/*.c libzstd/lib/decompress/*.c
# shellcheck disable=SC2046
build png $(ls libpng1.6/png*.c | grep -v pngtest)
cd "$folder"
rm -rf "$work"
# The compiler comes last: it says that all the rest is there.
printf '#!/bin/sh\n%s\n' "$compiler" > cc.tmp
chmod +x cc.tmp
mv cc.tmp cc
