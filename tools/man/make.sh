#!/bin/sh
# make.sh PROGRAM PAGE.in >PAGE - a manual page, with the parts that the program knows better.
#
# A line of the page stands for
#
#   @NAME@            `snapsim man-part NAME`: settings, plug-ins, keys, from the tables behind them
#   @command NAME@    a subsection about `snapsim NAME`, what its --help says without the examples
#   @commands-rest@   the same for every command that no line before has named
#
# What stands in a literal display is escaped, so that it can be copied from the page: it is written
# in the source as it is typed. Two comments tell the tests what a display is (tests/cli/man.sh):
# `.\" run` is a script to run, `.\" file NAME` the content of a file that later ones need.
set -eu
program=$1 page=$2

parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
named=" $(sed -n 's/^@command \(.*\)@$/\1/p' "$page" | tr '\n' ' ')"
sed -n 's/^@\([a-z -]*\)@$/\1/p' "$page" | sort -u >"$parts/wanted"
while read -r part name; do
    case $part in
    command) "$program" man-part command "$name" >"$parts/command $name" ;;
    commands-rest)
        "$program" man-part commands | sed -n 's/^\.It Cm //p' | sed 's/\\&//; s/\\-/-/g' |
            while read -r name; do
                case $named in *" $name "*) ;; *) "$program" man-part command "$name" ;; esac
            done >"$parts/$part"
        ;;
    *) "$program" man-part "$part" >"$parts/$part" ;;
    esac
done <"$parts/wanted"

awk -v parts="$parts" -v quote="'" '
    function put(line) {
        if (literal && line !~ /^\./) {
            gsub(/\\/, "\\e", line)
            gsub(/-/, "\\-", line)
            gsub(quote, "\\(aq", line)
            gsub(/`/, "\\(ga", line)
            gsub(/~/, "\\(ti", line)
            gsub(/\^/, "\\(ha", line)
        }
        if (line ~ /^\.Bd -literal/) literal = 1
        if (line ~ /^\.Ed/) literal = 0
        print line
    }
    /^@[a-z -]*@$/ {
        file = parts "/" substr($0, 2, length($0) - 2)
        while ((getline line <file) > 0) put(line)
        close(file)
        next
    }
    { put($0) }' "$page"
