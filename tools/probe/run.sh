#!/bin/sh
# Runs the probe on a machine with a GPU and leaves everything worth keeping in a folder:
#
#     tools/probe/run.sh DIRECTORY
#
# Ends by saying how the result becomes a calibration that snapsim has by name.
# Builds build/probe first unless it is there. A machine without libcjson needs a copy of it beside
# build/probe (cp -L /usr/lib/*/libcjson.so.1 build/), which the program looks for there.
# Leaves check.log, quick.{json,txt,log}, full.{json,txt,log}, gpu.txt,
# status.txt and, where build/snapsim is, bands.txt.
set -u
if [ $# -ne 1 ]; then
    echo "usage: tools/probe/run.sh DIRECTORY" >&2
    exit 2
fi
out=$1
mkdir -p "$out" || exit 1
[ -x build/probe ] || make probe || exit 1
nvidia-smi -q >"$out/gpu.txt" 2>&1
: >"$out/status.txt"

# step NAME COMMAND...: its exit status and seconds go into status.txt.
step() {
    name=$1
    shift
    began=$(date +%s)
    "$@" >"$out/$name.txt" 2>"$out/$name.log"
    status=$?
    echo "$name exit=$status seconds=$(($(date +%s) - began))" | tee -a "$out/status.txt"
    return $status
}

# Nothing is timed with kernels that are wrong.
step check build/probe --check || exit 1
step quick build/probe --quick --output "$out/quick.json" || exit 1
step full build/probe --output "$out/full.json" || exit 1
if command -v compute-sanitizer >/dev/null 2>&1; then
    step memcheck timeout 120 compute-sanitizer --error-exitcode 1 build/probe --check
    step racecheck timeout 120 compute-sanitizer --tool racecheck --error-exitcode 1 \
        build/probe --check --only kda_prefill
fi
[ ! -x build/snapsim ] || build/snapsim calib check "$out/full.json" | tee "$out/bands.txt"

# "nvidia-h200-measured" is h200's.
name=$(sed -n 's/^\t"name":\t"\(nvidia-\)\{0,1\}\(.*\)-measured",$/\2/p' "$out/full.json")
into=results/calibration
cat <<END
To make this calibration a part of snapsim, as --calib $name-measured, commit it and its log:
    cp $out/full.json $into/$name.json
    cat $out/status.txt $out/check.log $out/full.log >$into/$name.log
    git add $into/$name.json $into/$name.log && git commit
END
