# Hit rate over the share of memory that a fixed split gives to states; lines: the other strategies.
# gnuplot -e "trace='v8'; out='ratios-coding.png'" ratios.gp
set datafile separator ","
set datafile columnheaders
set terminal pngcairo size 1000,620 font "sans,11"
set output out
set title trace . ", Kimi K3 TP8, fp8 KV, turn placement, 32 GiB per GPU" noenhanced
set xlabel "share of memory for states (static split)"
set ylabel "hit ratio"
set key outside right
set grid
set xrange [0:1]
set yrange [0.5:*]
csv = "ratios.csv"
here(m) = strcol("trace") eq trace && strcol("capacity") eq "32GiB" && strcol("memory") eq m
fixed() = strcol("trace") eq trace && strcol("capacity") eq "32GiB" && \
    strcol("memory")[1:7] eq "static:" && strcol("memory") ne "static:best"
others = "ideal gcd equal max lcm two-ended elastic"
plot csv using (fixed() ? real(strcol("memory")[8:*]) : NaN):"hit_ratio" \
        with points pt 7 lc "black" title "static:ratio", \
    csv using (here("static:best") ? column("quota_bytes") / 32.0 / 1024**3 : NaN):"hit_ratio" \
        with points pt 5 ps 2 lc "red" title "static:best", \
    for [i = 1:words(others)] csv \
        using (0):(here(word(others, i)) ? column("hit_ratio") : NaN):(1):(0) \
        with vectors nohead lw 2 dt i lc i title word(others, i)
