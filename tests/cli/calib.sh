# Calibrations and costs on the command line: what is printed, what is refused, and the statuses.
set -eu
. "$ROOT/tests/expect.sh"
says() { # words that stdout must hold, then a command that must succeed
    words=$1
    shift
    "$SNAPSIM" "$@" >stdout 2>stderr
    if [ -s stderr ] || ! grep -qF -- "$words" stdout; then
        echo "snapsim $*: no '$words' in: $(cat stdout stderr)"
        exit 1
    fi
}
for command in calib cost; do
    says examples: "$command" --help
done
fails 2 "show, check, fit or diff was expected" calib
fails 2 "found 'shwo' (did you mean 'show'?)" calib shwo h200
fails 2 "calib show: a calibration was expected" calib show
fails 2 "calib diff: two calibrations were expected" calib diff h200
fails 2 "there is no calibration 'h300' (did you mean 'h200'?)" calib show h300
fails 2 "on a machine with that GPU, make probe && build/probe --output" calib show b300-measured
fails 1 "results/calibration/b300.json, then build again" cost --calib b300-measured
fails 2 "unknown option '--pionts' (did you mean 'points'?)" calib show h200 --pionts
fails 2 "--format: table or json was expected, found 'csv'" calib show h200 --format csv
fails 2 "unknown option '-o': calib fit takes it, show does not" calib show h200 -o x.json
fails 1 "open './missing.json'" calib show ./missing.json
fails 2 "unknown option '--tokns' (did you mean 'tokens'?)" cost --tokns 5
fails 2 "--tokens: a whole number from 1" cost --tokens 0
fails 2 "--tp needs a value" cost --tp
fails 2 "one argument too many" cost kimi-k3
fails 1 "did you mean 'kimi-k3'?" cost --model kimi-k4
fails 1 "there is no calibration 'h10'" cost --calib h10
fails 1 "tp: 5 does not divide the 96 heads" cost --tp 5
fails 1 "has no law mamba_prefill" cost --calib h20 --model nemotron-h-56b

# Built-in ones show their sources, pass their own bands, and survive being a file.
for name in h200 h100 h800 h20; do
    says "kda_prefill = " calib show $name
    says "; 0 faster than the device" calib check $name
    "$SNAPSIM" calib show $name --format json >$name.json
    "$SNAPSIM" calib show ./$name.json --format json >again.json
    cmp $name.json again.json
done
says "204 points of FlashKDA" calib show h200
says "kda_prefill heads=12 sequences=1 tokens=8192" calib show h200 --points
says "1.426  us" calib diff h200 ./h100.json # 0.378 / 0.265 ns per token of MLA decode
"$SNAPSIM" calib check h200 --format json | grep -q '"verdict":	"good"'
"$SNAPSIM" calib diff h200 h100 --format json | grep -q '"term":	"per_token_wave"'

# Fits: laws from the raw points, written as a file that can be used.
says "kda_prefill" calib fit ./h200.json -o fitted.json
says "fit to 36 points" calib show ./fitted.json
says "sum" cost --tp 8 --calib ./fitted.json

# A time that beats the memory: check says so and fails, cost refuses the file with its line.
sed 's/"median":	891,*/"median":	8/' h200.json >fast.json
code=0
"$SNAPSIM" calib check ./fast.json >stdout || code=$?
[ $code -eq 1 ]
grep -q '^IMPOSSIBLE kda_prefill heads=96 .* but the memory of a NVIDIA H200 SXM allows' stdout
fails 1 "but the memory of a NVIDIA H200 SXM allows" cost --calib ./fast.json
grep -q '^snapsim: ./fast.json:[0-9][0-9]*: kda_prefill' stderr
fails 1 "allows" calib fit ./fast.json

# What a stand-in measured can be looked at and not used.
sed '5s/published/simulated/; 4s/$/"program":{"name":"probe","version":"1","date":"now"},/' \
    h200.json >simulated.json
says "simulated" calib show ./simulated.json
fails 1 "./simulated.json:5: provenance: simulated values come from a stand-in" \
    cost --calib ./simulated.json
head -n 20 h200.json >broken.json
fails 1 "./broken.json:21: JSON was expected, found 'end of file'" calib check ./broken.json

# Costs: 587.4 us is the law of FlashKDA at 12 heads and 8,192 tokens.
says "kda recurrence                            587.4 us x   69" cost --tp 8
says "mla attention, expanded" cost --tp 8
says "mla attention, prefix expanded" cost --tp 8 --prefix 131072
says "mla attention, absorbed" cost --tp 8 --tokens 64 --prefix=131072
says "mamba2 recurrence" cost --model nemotron3-nano --calib h100
"$SNAPSIM" cost --tp 8 --format json >cost.json
grep -q '"part":	"kda recurrence"' cost.json
grep -q '"ns":	587426' cost.json
