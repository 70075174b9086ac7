#!/bin/sh
# make.sh PROGRAM PAGE.in >PAGE - a manual page, with the parts that the program knows better.
#
# A line of the page stands for
#
#   @NAME@            `snapsim man-part NAME`: settings, plug-ins, keys, from the tables behind them
#   @command NAME@    a subsection made of `snapsim NAME --help`, without its examples
#   @commands-rest@   the same for every command that no line before has named
#
# What stands in a literal display is escaped, so that it can be copied from the page: it is written
# in the source as it is typed. Two comments tell the tests what a display is (tests/cli/man.sh):
# `.\" run` is a script to run, `.\" file NAME` the content of a file that later ones need.
set -eu
program=$1 page=$2

# --help of a command as mdoc. Flags, words with explanations and prose are told apart by their
# indent; settings of a run are left to their own section.
command_section() {
    printf '.Ss snapsim %s\n' "$1"
    "$program" "$1" --help | awk '
        function list() {
            if (!in_list) print ".Bl -tag -width Ds"
            in_list = 1
        }
        function unlist() {
            if (in_list) print ".El"
            in_list = 0
        }
        function prose(text) {
            while (match(text, /`[^`]*`/))
                text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 1, RLENGTH - 2) \
                    "\\fP" substr(text, RSTART + RLENGTH)
            while (match(text, /[a-z0-9)][.] [A-Z]/)) # a sentence, a line
                text = substr(text, 1, RSTART + 1) "\n" substr(text, RSTART + 3)
            if (text ~ /^[.'\'']/) text = "\\&" text
            print text
        }
        function word(text) {
            gsub(/-/, "\\-", text)
            return length(text) > 3 ? text : "\\&" text
        }
        BEGIN { usage = 1; paragraph = 0 }
        usage && NF == 0 { print ".Ed"; usage = 0; paragraph = 1; next }
        usage {
            if (NR == 1) print ".\\\" usage\n.Bd -literal"
            print substr($0, 8)
            next
        }
        /^examples?:/ { exit }
        /\[default\]:$/ {
            unlist()
            if (!settings) print ".Pp\nTakes all\n.Sx SETTINGS ."
            settings = 1
            next
        }
        settings { next }
        NF == 0 { unlist(); paragraph = 1; next }
        /^  -/ {
            list()
            flag = $1
            sub(/^-/, "", flag)
            rest = substr($0, length($1) + 4)
            value = rest ~ /^ / ? "" : rest
            sub(/ .*/, "", value)
            rest = substr(rest, length(value) + 1)
            sub(/^ */, "", rest)
            print ".It Fl " word(flag) (value == "" ? "" : " Ar " word(value))
            prose(rest)
            next
        }
        /^                    / { sub(/^ */, ""); prose($0); next }
        /^ *[a-z][a-z-]*  +[^ ]/ {
            list()
            print ".It Cm " word($1)
            sub(/^ *[a-z-]* */, "")
            prose($0)
            next
        }
        {
            unlist()
            if (paragraph) print ".Pp"
            paragraph = 0
            prose($0)
        }
        END { unlist() }'
}

parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
named=" $(sed -n 's/^@command \(.*\)@$/\1/p' "$page" | tr '\n' ' ')"
sed -n 's/^@\([a-z -]*\)@$/\1/p' "$page" | sort -u >"$parts/wanted"
while read -r part name; do
    case $part in
    command) command_section "$name" >"$parts/command $name" ;;
    commands-rest)
        "$program" man-part commands | sed -n 's/^\.It Cm //p' | sed 's/\\&//; s/\\-/-/g' |
            while read -r name; do
                case $named in *" $name "*) ;; *) command_section "$name" ;; esac
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
