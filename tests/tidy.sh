#!/bin/sh
# Style that a machine can check: which folder may include which, lengths, banned calls, formatting.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
complain() {
    echo "tidy: $*" >&2
    bad=1
}

# file pattern, then what its includes may not match
forbid() {
    # shellcheck disable=SC2086 # the pattern is to be expanded
    found=$(grep -nE "^#include \"($2)" $1 2>/dev/null)
    [ -z "$found" ] || complain "includes against the grain: $found"
}
forbid 'sim/core/*.[ch]' '(sim/(load|model|cost|cache|bound|engine)/|policies|traces|tools|tests)'
forbid 'sim/load/*.[ch]' '(sim/(model|cost|cache|bound|engine)/|policies|traces|tools|tests)'
forbid 'sim/model/*.[ch]' '(sim/(load|cost|cache|bound|engine)/|policies|traces|tools|tests)'
forbid 'sim/cost/*.[ch]' '(sim/(load|cache|bound|engine)/|policies|traces|tools|tests)'
forbid 'sim/bound/*.[ch]' '(sim/(model|cost|cache|engine)/|policies|traces|tools|tests)'
forbid 'sim/cache/*.[ch] sim/*.h' '(sim/(bound|engine)/|policies|traces|tools|tests)'
forbid 'sim/engine/*.[ch]' '(policies|traces|tools|tests)'
forbid 'policies/*.[ch] policies/*/*.[ch]' '(sim/engine/|traces|tools|tests)'
forbid 'traces/*.[ch]' '(sim/(cache|bound|engine|model|cost)/|policies|tools|tests)'
forbid 'tools/*/*.[ch]' 'tests'

sources=$(git ls-files -co --exclude-standard '*.c' '*.h')
for file in $sources; do
    case $file in tools/probe/*) continue ;; esac
    [ -f "$file" ] || continue
    lines=$(wc -l <"$file")
    [ "$lines" -le 600 ] || complain "$file has $lines lines, more than 600"
done
# shellcheck disable=SC2086
awk '
    FNR == 1 { depth = 0 }
    length($0) > 100 { print FILENAME ":" FNR ": longer than 100 columns"; bad = 1 }
    /^\{/ { start = FNR }
    /^\}/ { if (start && FNR - start - 1 > 70) {
                print FILENAME ":" start ": a function of " FNR - start - 1 " lines"; bad = 1 }
            start = 0 }
    END { exit bad }' $sources || bad=1
banned=$(echo "$sources" | grep -E '^(sim|policies|traces)/' | xargs grep -nE \
    '\b(v?f?printf|f?puts|perror|_?exit|abort|atoi|atof|gets|strcpy|sprintf|rand|srand|time)\(' |
    grep -vE 'sim/core/mem.c|strcpy\(out, "unlimited"\)')
[ -z "$banned" ] || complain "calls that have no place here: $banned"
names=$(git ls-files -co --exclude-standard '*.[ch]' | xargs -n1 basename | sort | uniq -d)
[ -z "$names" ] || complain "file names that are not unique: $names"
if command -v clang-format >/dev/null; then
    # shellcheck disable=SC2086
    clang-format --dry-run -Werror $sources 2>&1 | head -n 5 | grep . && bad=1
fi
if command -v shellcheck >/dev/null; then
    # shellcheck disable=SC2046
    shellcheck -s sh -x $(git ls-files -co --exclude-standard '*.sh' .ci/run) || bad=1
fi
exit $bad
