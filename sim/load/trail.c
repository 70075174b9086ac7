#include "sim/load/trail.h"

#include <stdlib.h>

#include "sim/core/mem.h"

void trail_open(struct trail *trail, const struct paths *paths)
{
    uint32_t count = paths->workload->node_count;
    trail->paths = paths;
    trail->numbers = mem_array(count, sizeof *trail->numbers);
    marks_open(&trail->begins, count);
}

void trail_close(struct trail *trail)
{
    if (trail->paths == NULL)
        return;
    free(trail->numbers);
    marks_close(&trail->begins);
    *trail = (struct trail){0};
}

uint32_t trail_number(const struct trail *trail, uint32_t place)
{
    uint32_t begin = marks_previous(&trail->begins, place);
    bool of_chain = begin != MARKS_NONE && begin >= trail->paths->firsts[place];
    return of_chain ? trail->numbers[begin] : 0;
}

uint32_t trail_piece_end(const struct trail *trail, uint32_t place, uint32_t past)
{
    uint32_t next = marks_next(&trail->begins, place + 1);
    return next < past ? next : past;
}

uint32_t trail_cover(struct trail *trail, struct span span, uint32_t number)
{
    uint32_t ended = 1, count = trail->paths->workload->node_count;
    bool cuts = span.past < count && trail->paths->firsts[span.past] == span.first &&
                !marks_has(&trail->begins, span.past);
    uint32_t cut_number = cuts ? trail_number(trail, span.past) : 0;
    for (uint32_t begin = marks_next(&trail->begins, span.first); begin < span.past;
         begin = marks_next(&trail->begins, begin + 1)) {
        marks_clear(&trail->begins, begin);
        ended++;
    }
    if (cuts) {
        marks_set(&trail->begins, span.past);
        trail->numbers[span.past] = cut_number;
    }
    marks_set(&trail->begins, span.first);
    trail->numbers[span.first] = number;
    return ended;
}

uint32_t trail_walk(struct trail *trail, node_id node, uint32_t number)
{
    struct span span = paths_span(trail->paths, node);
    uint32_t ended = 0;
    do
        ended += trail_cover(trail, span, number);
    while (paths_go_up(trail->paths, &span));
    return ended;
}
