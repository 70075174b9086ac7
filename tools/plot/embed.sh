#!/bin/sh
# embed.sh HEADER NAME [FILE...] - the files as one C source, so that the program needs none of them
# at run time: an array NAME of struct embedded_file, which HEADER declares, with the name and the
# text of each. Bytes, not string literals: C11 promises those only 4095 characters.
set -eu
header=$1
name=$2
shift 2
printf '/* Made by tools/plot/embed.sh. */\n#include "%s"\n\n' "$header"
number=0
for file in "$@"; do
    printf 'static const char file_%d[] = {\n' "$number"
    od -An -v -t d1 "$file" | sed 's/ \{1,\}/ /g; s/ $//; s/\([0-9]\)\( \|$\)/\1,\2/g'
    printf '0};\n'
    number=$((number + 1))
done
printf 'const struct embedded_file %s[] = {\n' "$name"
number=0
for file in "$@"; do
    printf '    {"%s", file_%d},\n' "$(basename "$file")" "$number"
    number=$((number + 1))
done
printf '    {0, 0}};\n'
