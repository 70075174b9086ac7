# timeline.gp - memory over time, by what holds it, as stacked areas.
#
# CSV: at_ns, kv_bytes, snapshot_bytes, live_bytes, padding_bytes, external_bytes, free_bytes.
parts = "kv_bytes snapshot_bytes live_bytes padding_bytes external_bytes free_bytes"
array Names[6] = ["KV pages", "snapshots", "live states", "padding", "free, unusable", "free"]
array Fills[6] = ["#1f4e8c", "#e8a33d", "#7fb8a4", "#c8500a", "#b8b8b8", "#f2f2f2"]

stats csv using "at_ns" nooutput name "T"
span_s = (T_max - T_min) / 1e9
# The unit in which the axis has numbers that people read.
unit = span_s > 2 * 86400 ? "days" : span_s > 2 * 3600 ? "hours" : span_s > 120 ? "minutes" : "seconds"
unit_ns = unit eq "days" ? 86400e9 : unit eq "hours" ? 3600e9 : unit eq "minutes" ? 60e9 : 1e9

at(x) = (column("at_ns") - T_min) / unit_ns
upto(k) = (sum [j = 1:k] column(word(parts, j)))

# What is in memory after a request stays so until the next: steps. More of them than a page has
# dots are thinned out.
thin = 1 + int(T_records) / 4000

shown = ""
top_bytes = 1
do for [k = 6:1:-1] {
    stats csv using (column(word(parts, k))) nooutput name "S"
    if (S_max > 0) { shown = shown . sprintf("%d ", k) }
    stats csv using (upto(k)) nooutput name "S"
    if (S_max > top_bytes) { top_bytes = S_max }
}
set xlabel sprintf("time (%s)", unit)
set ylabel "memory per GPU"
set xrange [0 : (T_max - T_min) / unit_ns]
set yrange [0 : top_bytes]
set format y "%.0b %BB"
# Ticks of binary units: 4 or more of a power of two.
set ytics 2 ** floor(log(top_bytes / 3.5) / log(2))
set ytics add ("0" 0)
set grid front
set key outside top center horizontal Left reverse samplen 1.4 width 0
edge = "#333333"
set style line 1 linecolor rgb edge linewidth 0.6 dashtype solid
# Tallest first: each lower sum is painted over it. The key reads from the bottom up.
plot for [w in shown] csv every thin using (at(0)):(upto(int(w))) with fillsteps \
        linestyle 1 fillcolor rgb Fills[int(w)] fillstyle solid 1.0 noborder notitle, \
    for [w in shown] csv every thin using (at(0)):(upto(int(w))) with steps linestyle 1 notitle, \
    for [i = words(shown):1:-1] NaN with boxes linestyle 1 \
        fillcolor rgb Fills[int(word(shown, i))] fillstyle solid 1.0 border linecolor rgb edge \
        title Names[int(word(shown, i))]
