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
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
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

manifest() { # folder
    echo "program   $("$snapsim" --version)"
    echo "sweep     snapsim sweep $1/sweep.json --trace-dir \$SNAPSIM_SHARED/traces --output $1/results.jsonl.zst"
    while read -r file kind arguments; do
        case $kind in
        table) echo "$file  snapsim table $1/results.jsonl.zst $arguments --format csv" ;;
        plot)
            what=${arguments%% *} rest=${arguments#* }
            echo "$file  snapsim plot $what $1/results.jsonl.zst $rest -o $1/$file"
            ;;
        esac
    done <"$1/figures.txt"
    echo "traces, by sha256 of their content:"
    zstd -dc "$1/results.jsonl.zst" |
        sed -n 's/.*"trace":{"name":"\([^"]*\)","sha256":"\([^"]*\)".*/\2  \1/p' | sort -u
}

make_figure() { # folder
    run_sweep "$1" "$1/results.jsonl.zst"
    while read -r file kind arguments; do
        [ -n "$file" ] || continue
        # shellcheck disable=SC2086 # arguments are several words
        case $kind in
        table) "$snapsim" table "$1/results.jsonl.zst" $arguments --format csv >"$1/$file" ;;
        plot) "$snapsim" plot ${arguments%% *} "$1/results.jsonl.zst" ${arguments#* } \
            -o "$1/$file" ;;
        *)
            echo "results: $1/figures.txt: table or plot was expected, found '$kind'" >&2
            exit 1
            ;;
        esac
    done <"$1/figures.txt"
    manifest "$1" >"$1/manifest.txt"
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
    make) make_figure "$folder" ;;
    check)
        run_sweep "$folder" "$scratch/new.jsonl"
        "$snapsim" compare "$folder/results.jsonl.zst" "$scratch/new.jsonl"
        ;;
    esac
done
