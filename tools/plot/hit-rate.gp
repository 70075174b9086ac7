# hit-rate.gp - a value over capacity (or over any number), a line for each series.
#
# CSV: the first column is x; every other column is a line, named by its header.
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
if (value_format eq "bytes") { set format y "%.1b %BB" }
set yrange [@low : @high]
# Beside the plot, or above it if it is as narrow as a column of a paper: never over a line.
if (width >= 4.5) {
    set key outside right center vertical Left reverse
} else {
    set key outside top center horizontal Left reverse width 2 samplen 2.6
}
if (columns == 2) { unset key }
plot for [i = 2:columns] csv using 1:i with linespoints linetype i - 1 title columnheader(i)
