# ratios.gp - hit ratio over the share of memory that a fixed split gives to states; the lines are the
# other strategies, which have no such share. After tools/plot/common.gp.
#
# CSV: the rows of one trace and one capacity of ratios.csv. gib: that capacity.
only(wanted, value) = strcol("memory") eq wanted ? value : NaN
share(name) = name eq "static" ? 0.5 : name[1:7] ne "static:" || name eq "static:best" ? NaN : \
    real(name[8:*]) # without its ratio it is at the default
names = "ideal two-ended:1 gcd max equal elastic:64MiB two-ended lcm"
shown = "ideal two-ended:compaction=1 gcd max equal elastic two-ended lcm"
array Hits[words(names)]
do for [i = 1:words(names)] {
    stats csv using (only(word(names, i), column("hit_ratio"))) nooutput name "S"
    Hits[i] = S_max
}
set xrange [0:1]
set yrange [0:1]
set key outside right center Left reverse
plot for [i = 1:words(names)] Hits[i] linetype i \
        title sprintf("%.1f %%  %s", 100 * Hits[i], word(shown, i)), \
    csv using (share(strcol("memory"))):"hit_ratio" with points pointtype 7 pointsize 0.6 \
        linecolor rgb "#222222" title "static:ratio", \
    csv using (only("static:best", column("quota_bytes") / gib / 1024.0 ** 3)):"hit_ratio" \
        with points pointtype 5 pointsize 1.1 linecolor rgb "#b0304a" title "static:best"
