#!/bin/sh
# Makes the figures under results/ again, or checks that their numbers have not moved:
#
#   results.sh make|check SNAPSIM
#
# A figure is a folder results/NAME with sweep.json (what is run) and figures.txt (what is made of
# it: one line each, a file's name and then the arguments of `snapsim table` or `snapsim plot`).
# make writes results.jsonl.zst, the tables (.csv), the pictures (.svg, .png) and manifest.txt, which
# says with which program, on which traces and by which command. check runs the sweep again and
# compares it with results.jsonl.zst, exactly.
#
# A folder that needs more than one sweep has a make.sh instead, which makes its tables and pictures:
# make.sh SNAPSIM TRACES TARGET. check makes them elsewhere and compares the tables, exactly.
set -eu
action=$1 snapsim=$2
case $action in make | check) ;; *)
    echo "results: make or check was expected, found '$action'" >&2
    exit 2
    ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
. tools/results/manifest.sh
traces=${SNAPSIM_SHARED-../shared}/traces
if [ ! -d "$traces" ]; then
    echo "skipped: no traces at '$traces' (SNAPSIM_SHARED)"
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run_sweep() { # folder, target
    "$snapsim" sweep "$1/sweep.json" --trace-dir "$traces" -j "$(nproc)" --output "$2" --force
}

# Calls a function for each line of figures.txt: with the file to make, and the words of the command
# that prints it (a table) or writes it (a picture).
each_figure() { # function, folder
    while read -r file kind what rest; do
        # shellcheck disable=SC2086 # what follows are several words
        case $kind in
        '') ;;
        table) "$1" "$2/$file" table "$2/results.jsonl.zst" $what $rest --format csv ;;
        plot) "$1" "$2/$file" plot "$what" "$2/results.jsonl.zst" $rest -o "$2/$file" ;;
        *)
            echo "results: $2/figures.txt: table or plot was expected, found '$kind'" >&2
            exit 1
            ;;
        esac
    done <"$2/figures.txt"
}

make_figure() { # file, command
    file=$1
    shift
    if [ "$1" = table ]; then
        "$snapsim" "$@" >"$file"
    else
        "$snapsim" "$@"
    fi
}

name_figure() { # file, command
    file=${1##*/}
    shift
    echo "$file  snapsim $*"
}

make_folder() { # folder
    run_sweep "$1" "$1/results.jsonl.zst"
    each_figure make_figure "$1"
    {
        manifest_program "$snapsim"
        echo "sweep     snapsim sweep $1/sweep.json --trace-dir \$SNAPSIM_SHARED/traces --output $1/results.jsonl.zst"
        each_figure name_figure "$1"
        zstd -dc "$1/results.jsonl.zst" | manifest_traces
    } >"$1/manifest.txt"
}

for maker in results/*/make.sh; do
    folder=${maker%/make.sh}
    [ -f "$maker" ] || continue
    echo "$folder"
    if [ "$action" = make ]; then
        sh "$maker" "$snapsim" "$traces" "$folder"
        continue
    fi
    mkdir "$scratch/again"
    sh "$maker" "$snapsim" "$traces" "$scratch/again"
    for table in "$folder"/*.csv; do
        diff "$table" "$scratch/again/${table##*/}" | head -n 10
        cmp "$table" "$scratch/again/${table##*/}"
    done
    rm -r "$scratch/again"
done
for sweep in results/*/sweep.json; do
    folder=${sweep%/sweep.json}
    echo "$folder"
    case $action in
    make) make_folder "$folder" ;;
    check)
        run_sweep "$folder" "$scratch/new.jsonl"
        "$snapsim" compare "$folder/results.jsonl.zst" "$scratch/new.jsonl"
        ;;
    esac
done
