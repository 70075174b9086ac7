#!/bin/sh
# embed.sh FILE... - the files as one C source, so that the program needs none of them at run time.
# See tools/snapsim/gnuplot.h. Bytes, not string literals: C11 promises those only 4095 characters.
set -eu
printf '/* Made by tools/plot/embed.sh. */\n#include "tools/snapsim/embedded.h"\n\n'
number=0
for file in "$@"; do
    printf 'static const char file_%d[] = {\n' "$number"
    od -An -v -t d1 "$file" | sed 's/ \{1,\}/ /g; s/ $//; s/\([0-9]\)\( \|$\)/\1,\2/g'
    printf '0};\n'
    number=$((number + 1))
done
printf 'const struct embedded embedded[] = {\n'
number=0
for file in "$@"; do
    printf '    {"%s", file_%d},\n' "$(basename "$file")" "$number"
    number=$((number + 1))
done
printf '    {0, 0}};\n'
