# hit-rate.gp - a value over capacity (or over any number), a line for each series.
#
# CSV: the first column is x; every other column is a line, named by its header. The last `limits`
# of them are what limits the others.
if (!exists("limits")) limits = 0
stats csv using 1 nooutput name "X"
columns = X_columns

# Logarithmic to base two, or as they are: "bytes" and "log", or "linear_bytes" and "linear".
is_log = x_scale eq "bytes" || x_scale eq "log"
if (is_log) {
    set logscale x 2
    set xrange [X_min / 1.15 : X_max * 1.15]
}
# Ticks at powers of two; every second, or every third, where they would touch.
octaves = is_log ? log(X_max / X_min) / log(2) : 0
room = int((width < 4.5 ? width - 0.8 : width - 2) * 2 * 9 / font_size)
every = octaves > room ? ceil(octaves / room) : 1
if (is_log) { set xtics 2 ** ceil(log(X_min / 1.15) / log(2)), 2 ** every }
if (x_scale eq "log") { set format x "%.0f" }
if (x_scale eq "bytes") { set format x "%.0b %BB" }
if (x_scale eq "linear_bytes") { set format x "%.1b %BB" }
if (!is_log) { set offsets graph 0.02, graph 0.02, 0, 0 }
if (value_format eq "bytes") {
    # Ticks of binary units: 4 or more of a power of two.
    top_bytes = 1
    do for [i = 2:columns] {
        stats csv using i nooutput name "S"
        if (S_max > top_bytes) { top_bytes = S_max }
    }
    set format y "%.0b %BB"
    set ytics 2 ** floor(log(top_bytes / 3.5) / log(2))
    set ytics add ("0" 0)
}
set yrange [@low : @high]
# Beside the plot, or above it if it is as narrow as a column of a paper: never over a line.
if (width >= 4.5) {
    set key outside right center vertical Left reverse
} else {
    set key outside top center horizontal Left reverse width 2 samplen 2.6
}
if (columns == 2) { unset key }
legend_lines = columns == 2 ? 0 : columns - 1
set style line 101 linewidth 1.5 dashtype 3 linecolor rgb "#222222"
set style line 102 linewidth 1.5 dashtype 1 linecolor rgb "#999999"
plot for [i = columns - limits + 1:columns] csv using 1:i \
        with lines linestyle 100 + i - columns + limits title columnheader(i), \
    for [i = 2:columns - limits] csv using 1:i with linespoints linetype i - 1 title columnheader(i)
