# common.gp - what all figures share: the terminal, fonts, line styles that are told apart in grey.
#
# snapsim plot runs  gnuplot SETTINGS common.gp KIND.gp  where SETTINGS assigns the variables below.
# By hand, from the CSV that --csv wrote:
#
#   gnuplot -e "csv = 'hit.csv'; output = 'hit.pdf'" tools/plot/common.gp tools/plot/hit-rate.gp
if (!exists("csv")) csv = "figure.csv"
if (!exists("output")) output = "figure.pdf"
if (!exists("terminal")) terminal = output[strlen(output) - 2 : *]
if (!exists("width")) width = 5.5
if (!exists("height")) height = 3.2
if (!exists("font")) font = "Helvetica"
if (!exists("font_size")) font_size = 9
if (!exists("heading")) heading = ""
if (!exists("x_label")) x_label = ""
if (!exists("y_label")) y_label = ""
if (!exists("value_label")) value_label = ""
if (!exists("x_scale")) x_scale = "bytes"
if (!exists("value_format")) value_format = "ratio"
if (!exists("low")) low = "0"
if (!exists("high")) high = "*"

face = sprintf("%s,%g", font, font_size)
dpi = 200
# Each terminal has its own idea of a point: these scales make font_size true in all three.
if (terminal eq "pdf") {
    set terminal pdfcairo size width, height font face fontscale 0.75 linewidth 1.2 \
        pointscale 0.8 rounded
}
if (terminal eq "svg") {
    set terminal svg size 72 * width, 72 * height font face linewidth 0.8 rounded dynamic \
        background "white"
}
if (terminal eq "png") {
    set terminal pngcairo size dpi * width, dpi * height font face fontscale dpi / 72. / 1.3 \
        linewidth dpi / 72. pointscale dpi / 90. rounded
}
set output output
set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile missing ""

# Names come from users: no letter of theirs is markup.
if (heading ne "") set title heading noenhanced offset 0, -0.3
set xlabel x_label noenhanced
set ylabel y_label noenhanced

set border 3 linewidth 0.7 linecolor rgb "#333333"
set tics nomirror out scale 0.6
set grid ytics linewidth 0.4 linecolor rgb "#d0d0d0" dashtype solid
set key noenhanced samplen 3.2 spacing 1.15 width -1

# Colours that keep apart for the colour-blind (after Okabe and Ito), darkened for print; each with
# its own dash and its own point, so that a grey copy loses nothing.
colours = "#1f4e8c #c8500a #0b7a5b #8c2d7a #9a7500 #222222 #3a8fc4 #b0304a #5c7a29 #777777"
points = "7 4 9 12 5 6 11 8 13 10"
set dashtype 2 (16, 7)
set dashtype 3 (3, 5)
set dashtype 4 (16, 5, 3, 5)
set dashtype 5 (8, 5)
set dashtype 6 (20, 5, 3, 5, 3, 5)
colour(i) = word(colours, (i - 1) % words(colours) + 1)
point(i) = int(word(points, (i - 1) % words(points) + 1))
do for [i = 1:40] {
    set linetype i linecolor rgb colour(i) linewidth 1.3 dashtype 1 + (i - 1) % 6 \
        pointtype point(i) pointsize 0.6
}
