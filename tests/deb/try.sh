# SPDX-License-Identifier: MIT
# What scripts/check-deb.sh runs in a bare suite: installs the packages that lie beside this file, uses, upgrades and purges them.
fail() { echo "try: $*" >&2; exit 1; }
quiet() { "$@" > /tmp/said 2>&1 || { cat /tmp/said >&2; fail "$* ended with $?"; }; }
files() { find / -xdev \( -path /proc -o -path /tmp -o -path /dev -o -path /var/cache -o -path /var/log -o -path '/var/lib/apt/*' -o -path '/var/lib/dpkg/*' \
    -o -path /debs -o -path /root \) -prune -o -print | sort; }
same() { lapilli replay --verify "$1" > /tmp/said 2>&1 || { cat /tmp/said >&2; fail "$1 is not the same"; }
    grep -E '^verify: [1-9][0-9]* checks, 0 different' /tmp/said || fail "nothing was compared: $(cat /tmp/said)"; }

mkdir -p /tmp/tried && cd /tmp/tried
quiet apt-get update -q
quiet apt-get install -q -y --no-install-recommends mesa-vulkan-drivers vulkan-tools xvfb xauth shared-mime-info desktop-file-utils python3
quiet apt-get autoremove -q -y
files > /tmp/before

quiet apt-get install -q -y --no-install-recommends /debs/*.deb
lapilli --version
quiet xvfb-run -a vulkaninfo --summary
[ -z "$(ls)" ] || fail "a program that nobody records left $(ls)"
quiet xvfb-run -a lapilli capture --verify -o run.lapilli -- vkcube --c 60
same run.lapilli
lapilli info run.lapilli | grep -q vkcube || fail "the trace names no program"
LAPILLI_CAPTURE=1 LAPILLI_VERIFY=1 LAPILLI_FILE=implicit.lapilli quiet xvfb-run -a vkcube --c 20
same implicit.lapilli
quiet lapilli export run.lapilli -o folder
quiet folder/run --verify
printf '[[device]]\nname = "here"\n' > matrix.toml
quiet lapilli farm run --traces run.lapilli --matrix matrix.toml --results results
for verb in $(lapilli help | sed -n 's/^  lapilli \([a-z][a-z-]*\) .*/\1/p' | grep -v '^help$'); do
    [ -e "/usr/share/man/man1/lapilli-$verb.1.gz" ] || fail "$verb has no manual page"
    quiet lapilli help "$verb"
done
grep -q '^application/x-lapilli=lapilli.desktop;' /usr/share/applications/mimeinfo.cache || fail "no program is known for traces"
grep -q 'application/x-lapilli:\*.lapilli' /usr/share/mime/globs2 || fail "traces have no MIME type"
bash -n /usr/share/bash-completion/completions/lapilli || fail "bash does not read the completion"
[ -e /usr/include/lapilli.h ] && [ -e /usr/share/doc/lapilli/docs/cli.md ] || fail "a header or a document is missing"

# The layer of another architecture, beside this one: one manifest is for both.
if [ -n "$(ls /debs/i386)" ]; then
    dpkg --add-architecture i386
    quiet apt-get update -q
    quiet apt-get install -q -y --no-install-recommends /debs/i386/*.deb
    [ "$(ls /usr/lib/*/libVkLayer_lapilli.so | wc -l)" = 2 ] || fail "one of two layers is missing"
    LAPILLI_CAPTURE=1 LAPILLI_VERIFY=1 LAPILLI_FILE=beside.lapilli quiet xvfb-run -a vkcube --c 20
    same beside.lapilli
    quiet apt-get purge -q -y lapilli-layer:i386
    # shellcheck disable=SC2046
    quiet apt-get purge -q -y --allow-remove-essential $(dpkg-query -W -f '${binary:Package}\n' | grep ':i386$')
    dpkg --remove-architecture i386
    quiet apt-get update -q
fi

# The program that records has begun before, and ends behind the upgrade.
xvfb-run -a lapilli capture --verify -o upgraded.lapilli -- vkcube > /tmp/recorded 2>&1 &
capture=$!
until [ -e upgraded.lapilli.tail ] && [ "$(stat -c %s upgraded.lapilli)" -gt 100000 ]; do
    kill -0 "$capture" || fail "vkcube was not recorded: $(cat /tmp/recorded)"
    sleep 0.1
done
quiet apt-get install -q -y --no-install-recommends --reinstall /debs/*.deb
before=$(stat -c %s upgraded.lapilli)
until [ "$(stat -c %s upgraded.lapilli)" -gt $((before + 100000)) ]; do
    kill -0 "$capture" || fail "the program ended with the upgrade: $(cat /tmp/recorded)"
    sleep 0.1
done
for status in /proc/[0-9]*/comm; do
    if [ "$(cat "$status")" = vkcube ]; then kill "$(echo "$status" | cut -d/ -f3)"; fi
done
wait "$capture" || :
same upgraded.lapilli

quiet apt-get purge -q -y lapilli lapilli-layer lapilli-farm lapilli-android lapilli-dev lapilli-doc
quiet apt-get autoremove -q -y
files > /tmp/behind
diff /tmp/before /tmp/behind || fail "these files are other ones than before"
[ -z "$(dpkg-query -W 'lapilli*' 2> /dev/null)" ] || fail "dpkg still knows $(dpkg-query -W 'lapilli*')"
echo "nothing is left"
