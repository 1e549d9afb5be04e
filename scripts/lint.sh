#!/bin/sh
# SPDX-License-Identifier: MIT
# lint.sh FILES...: formatting, include directions, licence lines and file sizes of C sources; Python sources are compiled.
set -u
failed=0
say() { echo "lint: $*" >&2; failed=1; }

# Arrows run one way: base <- trace, memtrack <- generated code and its support <- layer, replayer, tools.
allowed() {
    case "$1" in
    base) echo "base" ;;
    trace) echo "base trace" ;;
    memtrack) echo "base memtrack" ;;
    codegen) echo "base trace codegen" ;;
    layer) echo "base trace memtrack codegen layer" ;;
    replayer) echo "base trace codegen replayer" ;;
    tools) echo "base trace codegen tools" ;;
    esac
}

for file in "$@"; do
    folder=${file%%/*}
    head -n 1 "$file" | grep -q 'SPDX-License-Identifier: MIT' || say "$file has no SPDX line"
    lines=$(wc -l < "$file")
    [ "$lines" -le 1000 ] || say "$file has $lines lines: two ideas?"
    [ "$folder" = tests ] && continue
    may=$(allowed "$folder")
    for other in $(sed -n 's/^#include "\([a-z]*\)\/.*/\1/p' "$file" | sort -u); do
        case " $may " in
        *" $other "*) ;;
        *) say "$file includes from $other/; $folder/ may use: $may" ;;
        esac
    done
done

if command -v clang-format > /dev/null; then
    clang-format --dry-run --Werror "$@" 2> /tmp/lapilli-lint.$$ || { head -n 20 /tmp/lapilli-lint.$$ >&2; say "run make format"; }
    rm -f /tmp/lapilli-lint.$$
else
    say "clang-format is not installed"
fi
python3 -m compileall -q codegen tests manifests || say "Python sources do not compile"
for script in scripts/*.sh .ci/run; do
    "$(sed -n '1s|^#!||p' "$script")" -n "$script" || say "$script does not parse"
done
git ls-files 2> /dev/null | grep -E '(^|/)(gen|build)/' && say "generated files are under version control"
[ "$failed" = 0 ] && echo "lint: nothing found"
exit "$failed"
