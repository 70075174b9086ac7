# Hit rate over the share of memory that a fixed split gives to states; lines: the other strategies.
# csv: one trace of ratios.csv; gnuplot -e "csv='FILE'; name='coding'; out='FILE.png'" ratios.gp
set datafile separator ","
set datafile columnheaders
set terminal pngcairo size 1000,620 font "sans,11"
set output out
set title name . ", Kimi K3 TP8, fp8 KV, turn placement, 32 GiB per GPU" noenhanced
set xlabel "share of memory for states (static split)"
set ylabel "hit ratio"
set key outside right
set grid
set xrange [0:1]
set yrange [0.5:*]
here(m) = strcol("capacity") eq "32GiB" && strcol("memory") eq m
share(m) = strcol("capacity") eq "32GiB" && m[1:6] eq "static" && m ne "static:best" ? \
    (m eq "static" ? 0.5 : real(m[8:*])) : NaN
others = "ideal gcd equal:0 max lcm:0 two-ended elastic:64MiB"
shown = "ideal gcd equal max lcm two-ended elastic"
plot csv using (share(strcol("memory"))):"hit_ratio" \
        with points pt 7 lc "black" title "static:ratio", \
    csv using (here("static:best") ? column("quota_bytes") / 32.0 / 1024**3 : NaN):"hit_ratio" \
        with points pt 5 ps 2 lc "red" title "static:best", \
    for [i = 1:words(others)] csv \
        using (0):(here(word(others, i)) ? column("hit_ratio") : NaN):(1):(0) \
        with vectors nohead lw 2 dt i lc i title word(shown, i)
