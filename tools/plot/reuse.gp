# reuse.gp - how long ago what a prompt shares was last used: tokens that could be hit, by the time
# since, stacked by what the user's side was doing.
#
# CSV of snapsim reuse: of, waited_for, from, to, requests, tokens. Rows of gap_s are drawn.
waits = "tool person unknown"
array Names[3] = ["after a tool", "after a person", "not known"]
array Fills[3] = ["#1f4e8c", "#e8a33d", "#c8c8c8"]
array Total[3] = [0, 0, 0]

is_gap(any) = stringcolumn("of") eq "gap_s"
of_wait(k) = is_gap(0) && stringcolumn("waited_for") eq word(waits, k)
do for [k = 1:3] {
    stats csv using (of_wait(k) ? column("tokens") : 0) nooutput name "S"
    Total[k] = S_sum
}
everything = Total[1] + Total[2] + Total[3]
shown = ""
do for [k = 1:3] { if (Total[k] > 0) { shown = shown . sprintf("%d ", k) } }
bin(any) = column("from") == 0 ? -1 : floor(log(column("from")) / log(2) + 0.5)

set xlabel "time since it was last used"
set ylabel "share of reused tokens"
set xtics ("below 1 s" -1, "8 s" 3, "1 min" 6, "4 min" 8, "17 min" 10, "1 h" 12, \
    "5 h" 14, "1 d" 16, "3 d" 18)
set xrange [-1.7 : *] noextend
set yrange [0 : *]
set boxwidth 0.27
set style fill solid 1.0 noborder
set key top right Left reverse samplen 1.4
offset(k) = (k - (words(shown) + 1) / 2.0) * 0.27
plot for [i = 1:words(shown)] csv \
    using (of_wait(int(word(shown, i))) ? bin(0) + offset(i) : NaN):(column("tokens") / everything) \
    with boxes linecolor rgb Fills[int(word(shown, i))] title Names[int(word(shown, i))]
