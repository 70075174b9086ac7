# misses.gp - where the tokens of all prompts went: a bar for each setting, stacked.
#
# CSV: at (the bar's place, from the top), label, and shares of all prompt tokens by these names. A
# row without shares is the heading of a group.
parts = "hit_ratio missed_no_snapshot_ratio missed_evicted_ratio missed_rounding_ratio " . \
    "missed_last_ratio missed_new_ratio"
array Names[6] = ["hit", "missed: no usable snapshot", "missed: KV evicted", "missed: rounding", \
    "missed: last token", "missed: never seen before"]
# Dark, hatched, light: a grey copy tells them apart. Hatched is the loss that users cannot see.
array Fills[6] = ["#1f4e8c", "#c8500a", "#e8a33d", "#8c2d7a", "#777777", "#ececec"]

share(k) = column(word(parts, k))
upto(k) = (k == 0 ? 0 : sum [j = 1:k] share(j))

stats csv using "at" nooutput name "A"
# A part that is nowhere more than half a pixel is not in the legend.
solid = ""
hatched = ""
do for [k = 1:6] {
    stats csv using (share(k)) nooutput name "S"
    if (S_max > 0.0005 && k != 2) { solid = solid . sprintf("%d ", k) }
    if (S_max > 0.0005 && k == 2) { hatched = "2" }
}
set yrange [A_max + 0.7 : A_min - 0.7]
set xrange [0:1]
set format x "%.1f"
set ylabel ""
unset grid
set grid xtics linewidth 0.4 linecolor rgb "#d0d0d0" dashtype solid front
set border 1
set ytics scale 0 noenhanced
set key outside top center horizontal maxrows 2 Left reverse samplen 1.4 width 0
edge = "#333333"
set style line 1 linecolor rgb edge linewidth 0.5 dashtype solid

lower(k) = column("at") - 0.38
upper(k) = column("at") + 0.38
is_heading(unused) = stringcolumn("hit_ratio") eq ""
first = word(solid, 1) eq "1" ? "1" : ""
rest = first eq "1" ? solid[3:*] : solid
plot for [w in first] csv using \
        (upto(1)):"at":(upto(0)):(upto(1)):(lower(0)):(upper(0)) with boxxyerror linestyle 1 \
        fillcolor rgb Fills[1] fillstyle solid 1.0 border linecolor rgb edge title Names[1], \
    for [w in hatched] csv using \
        (upto(2)):"at":(upto(1)):(upto(2)):(lower(0)):(upper(0)) with boxxyerror linestyle 1 \
        fillcolor rgb Fills[2] fillstyle pattern 4 border linecolor rgb edge title Names[2], \
    for [w in rest] csv using \
        (upto(int(w))):"at":(upto(int(w) - 1)):(upto(int(w))):(lower(0)):(upper(0)) \
        with boxxyerror linestyle 1 fillcolor rgb Fills[int(w)] \
        fillstyle solid 1.0 border linecolor rgb edge title Names[int(w)], \
    csv using (0):"at":ytic(is_heading(0) ? "" : stringcolumn("label")) \
        with points pointtype -1 notitle, \
    csv using (0):"at":(is_heading(0) ? stringcolumn("label") : "") \
        with labels left font sprintf("%s:Bold,%g", font, font_size) noenhanced notitle
