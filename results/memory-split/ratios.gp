# Hit rate over the share of memory that a fixed split gives to states; lines: the other strategies.
# gnuplot -e "csv='ratios.csv'; trace='v8'; sha='c19f378f'" ratios.gp
set datafile separator ","
set terminal pngcairo size 1000,620 font "sans,11"
set output sprintf("ratios-%s-%s.png", trace, sha)
set title sprintf("%s, kimi-k3 TP8 fp8 KV, turn placement, 32 GiB per GPU", trace)
set xlabel "share of memory for states (static split)"
set ylabel "hit ratio"
set key bottom center
set grid
stem = sprintf("grep '%s,%s.*,32GiB,' %s", trace, sha, csv)
ratio = " | grep '\"static:ratio=0' | sed 's/\"static:ratio=\\([0-9.]*\\)\"/\\1/'"
of(name) = real(system(sprintf("%s | grep '\"%s' | cut -d, -f%d", stem, name, name eq "equal" || name eq "elastic" ? 9 : name eq "lcm" ? 8 : 7)))
best = real(system(stem . " | grep ratio=best | cut -d, -f20")) / (32.0 * 1024**3)
set xrange [0:1]
set yrange [0.5:*]
plot "< " . stem . ratio using 5:7 with linespoints lw 2 title "static:ratio", \
     of("ideal") with lines dt 2 lc "black" title "ideal", \
     of("equal") with lines title "equal", \
     of("lcm") with lines title "lcm", \
     of("two-ended:compaction=0") with lines title "two-ended", \
     "+" using (best):(of("static:ratio=best")) every ::0::0 with points pt 7 ps 2 title "static:best"
