# snapsim advise: seeds where they change something, a command that can be run, each setting once.
set -eu
"$SNAPSIM" trace generate -o "it's a load" --conversations 30 --seed 3
advise() {
    "$SNAPSIM" advise --capacity 16GiB --tries 30 --show 2 "$@"
}
# arrivals that are drawn: three seeds, and the command is quoted and does what the table says
advise "it's a load" --trace-format conversations --arrival open:8 >table
grep -q 'gain by seed' table
command=$(sed -n 's/^  snapsim run/run/p' table)
case $command in
"run 'it'\\''s a load' --trace-format conversations --model"*) ;;
*) echo "$command" && exit 1 ;;
esac
eval "\"\$SNAPSIM\" $command" >run
hit=$(awk '/^ *[0-9.]*%/ && !/yours/ { print $1; exit }' table)
grep -q "  hit .* ${hit%\%} %" run
# nothing is drawn: no seeds
for arrival in sequential recorded; do
    advise "it's a load" --arrival $arrival >table
    grep -q "arrivals are $arrival: no seeds" table
    grep -q 'in both halves' table
    if grep -q 'every seed' table; then
        exit 1
    fi
done
advise "it's a load" --arrival sequential --format json >out.json
grep -q gain_points_second_half out.json
if grep -q seed_plus out.json; then
    exit 1
fi
# a generated load is made anew with each seed, whatever the arrivals are
for load in "" generated:conversations=40; do
    # shellcheck disable=SC2086 # none or one word
    advise $load --requests 200 --arrival sequential --format json >out.json
    grep -q gain_points_seed_plus_2 out.json
done
advise generated:conversations=40,seed=3 --arrival sequential >table
grep -q 'no seeds' table
# the same setting, written in another way, is not tried again
for placement in fixed:4096 fixed:interval=4096; do
    advise "it's a load" --placement $placement --tries 1000 --show 20 >table
    sed -n '1s/.*, \([0-9]* settings tried\).*/\1/p' table
    grep -q 'fixed:8192' table
done | sort -u >tried
[ "$(wc -l <tried)" = 1 ]
