# heatmap.gp - a value over two settings, as shades with the numbers in them.
#
# CSV: x and y (places, from 1), x_name and y_name (what stands at them), value.
stats csv using "x" nooutput name "X"
stats csv using "y" nooutput name "Y"
stats csv using "value" nooutput name "V"

set xrange [X_min - 0.5 : X_max + 0.5]
set yrange [Y_max + 0.5 : Y_min - 0.5]
span = V_max > V_min ? V_max - V_min : 1
set cbrange [V_min : V_min + span]
# Light to dark in one hue: a grey copy keeps the order.
set palette defined (0 "#f7fbff", 0.35 "#b3cde8", 0.7 "#4a84bd", 1 "#08306b")
set cblabel value_label noenhanced offset 1.2, 0
set colorbox user origin graph 1.02, graph 0 size graph 0.03, graph 1
set format cb "%g"
set border 0
set tics scale 0
unset grid
unset key
set ytics noenhanced
set xtics rotate by (X_max > 1.5 * width ? 35 : 0) right noenhanced
if (X_max <= 1.5 * width) { set xtics norotate center }
dark(v) = v > V_min + 0.55 * span
if (value_format eq "bytes") { set format cb "%.1b %BB" }
number(v) = value_format eq "ratio" ? sprintf("%.3f", v) : \
    value_format eq "bytes" ? gprintf("%.1b %BB", v) : gprintf("%.3g", v)
digits = font_size * 0.85
set rmargin at screen 0.85
plot csv using "x":"y":(column("x") - 0.49):(column("x") + 0.49):(column("y") - 0.48):(column("y") + 0.48):"value" \
        with boxxyerror fillcolor palette fillstyle solid 1.0 noborder, \
    csv using "x":"y":(dark(column("value")) ? "" : number(column("value"))) \
        with labels font sprintf("%s,%g", font, digits) textcolor rgb "#111111", \
    csv using "x":"y":(dark(column("value")) ? number(column("value")) : "") \
        with labels font sprintf("%s,%g", font, digits) textcolor rgb "#ffffff", \
    csv using "x":(NaN):xtic(stringcolumn("x_name")) with points pointtype -1, \
    csv using (NaN):"y":ytic(stringcolumn("y_name")) with points pointtype -1
