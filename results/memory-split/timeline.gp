# Where the bytes are over time, stacked: snapsim run ... --timeline timeline.csv
# gnuplot -e "csv='timeline.csv'; out='timeline.png'" timeline.gp
set datafile separator ","
set terminal pngcairo size 1000,560 font "sans,11"
set output out
set key outside right top reverse Left
set xlabel "hours"
set ylabel "GiB"
set style fill solid 0.8
h = 3600e9
g = 1024.0**3
c(n) = column(n) / g
plot csv using (column("at_ns")/h):(c("kv_bytes")+c("snapshot_bytes")+c("live_bytes")+c("padding_bytes")+c("external_bytes")+c("free_bytes")) with filledcurves x1 lc "#dddddd" title "free", \
     csv using (column("at_ns")/h):(c("kv_bytes")+c("snapshot_bytes")+c("live_bytes")+c("padding_bytes")+c("external_bytes")) with filledcurves x1 lc "#d62728" title "external", \
     csv using (column("at_ns")/h):(c("kv_bytes")+c("snapshot_bytes")+c("live_bytes")+c("padding_bytes")) with filledcurves x1 lc "#ff7f0e" title "padding", \
     csv using (column("at_ns")/h):(c("kv_bytes")+c("snapshot_bytes")+c("live_bytes")) with filledcurves x1 lc "#2ca02c" title "snapshots, live", \
     csv using (column("at_ns")/h):(c("kv_bytes")) with filledcurves x1 lc "#1f77b4" title "KV"
