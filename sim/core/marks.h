/* marks.h - a set of numbers below a limit that knows the next and the previous member.
 *
 *     level 1   1 . . 1        a bit for each word below that is not empty
 *     level 0   .11. .... .... 1...
 *
 * Each level has 64 times fewer bits than the one below it, so that every operation takes as many
 * steps as the limit has digits in base 64: three for 200,000. */
#ifndef SNAPSIM_MARKS_H
#define SNAPSIM_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#define MARKS_NONE UINT32_MAX
#define MARKS_LEVELS 6 /* 64^6 > 2^32 */

struct marks {
    uint64_t *words[MARKS_LEVELS];
    uint32_t levels; /* 0: not opened */
    uint32_t limit;
};

/* Members are 0 .. limit - 1; there are none yet. */
void marks_open(struct marks *marks, uint32_t limit);
void marks_close(struct marks *marks);

void marks_set(struct marks *marks, uint32_t number);
void marks_clear(struct marks *marks, uint32_t number);

static inline bool marks_has(const struct marks *marks, uint32_t number)
{
    return marks->words[0][number / 64] >> (number % 64) & 1;
}

/* The smallest member from a number on, and the largest one up to a number; MARKS_NONE if there is
 * none. The number may be the limit or more for marks_next. */
uint32_t marks_next(const struct marks *marks, uint32_t number);
uint32_t marks_previous(const struct marks *marks, uint32_t number);

#endif
