# measure.gp - what the plot got of the picture, behind each figure: its width and height in inches,
# and the shares of both that lie between the axes; an axis that is turned round has a negative one.
# Then the lines of its legend, where the script counts them.
if (!exists("legend_lines")) legend_lines = 0
set print measures
print width, height, \
    (GPVAL_TERM_XMAX - GPVAL_TERM_XMIN) * GPVAL_TERM_SCALE / GPVAL_TERM_XSIZE, \
    (GPVAL_TERM_YMAX - GPVAL_TERM_YMIN) * GPVAL_TERM_SCALE / GPVAL_TERM_YSIZE, \
    legend_lines
