#!/bin/sh
# SPDX-License-Identifier: MIT
# lint.sh FILES...: formatting, licence lines and file sizes of C sources; arrows between folders (folders.py); Python sources are compiled.
set -u
failed=0
say() { echo "lint: $*" >&2; failed=1; }

awk 'FNR == 1 && !/SPDX-License-Identifier: MIT/ { print "lint: " FILENAME " has no SPDX line"; failed = 1 }
    FNR == 1001 { print "lint: " FILENAME " has more than 1000 lines: two ideas?"; failed = 1 }
    END { exit failed }' "$@" >&2 || failed=1

python3 scripts/folders.py || say "arrows between folders run one way"
if command -v clang-format > /dev/null; then
    printf '%s\0' "$@" | xargs -0 -n 100 -P 2 clang-format --dry-run --Werror 2> /tmp/lapilli-lint.$$ || { head -n 20 /tmp/lapilli-lint.$$ >&2; say "run make format"; }
    rm -f /tmp/lapilli-lint.$$
else
    say "clang-format is not installed"
fi
python3 -m compileall -q codegen tests manifests farm android || say "Python sources do not compile"
for script in scripts/*.sh .ci/run; do
    "$(sed -n '1s|^#!||p' "$script")" -n "$script" || say "$script does not parse"
done
git ls-files 2> /dev/null | grep -E '(^|/)(gen|build)/' && say "generated files are under version control"
[ "$failed" = 0 ] && echo "lint: nothing found"
exit "$failed"
