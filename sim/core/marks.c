#include "sim/core/marks.h"

#include <stdlib.h>

#include "sim/core/mem.h"

void marks_open(struct marks *marks, uint32_t limit)
{
    uint32_t bits = limit;
    *marks = (struct marks){.limit = limit};
    do {
        uint32_t words = bits / 64 + 1;
        marks->words[marks->levels++] = mem_array(words, sizeof **marks->words);
        bits = words;
    } while (bits > 1);
}

void marks_close(struct marks *marks)
{
    for (uint32_t level = 0; level < marks->levels; level++)
        free(marks->words[level]);
    *marks = (struct marks){0};
}

void marks_set(struct marks *marks, uint32_t number)
{
    for (uint32_t level = 0; level < marks->levels; level++, number /= 64) {
        uint64_t *word = &marks->words[level][number / 64], before = *word;
        *word |= 1ull << (number % 64);
        if (before != 0)
            return;
    }
}

void marks_clear(struct marks *marks, uint32_t number)
{
    for (uint32_t level = 0; level < marks->levels; level++, number /= 64) {
        uint64_t *word = &marks->words[level][number / 64];
        *word &= ~(1ull << (number % 64));
        if (*word != 0)
            return;
    }
}

/* From a word that is known to have a member below it, down to the member itself. */
static uint32_t descend(const struct marks *marks, uint32_t level, uint32_t number, bool to_first)
{
    while (level-- > 0) {
        uint64_t word = marks->words[level][number];
        uint32_t bit =
            to_first ? (uint32_t)__builtin_ctzll(word) : 63 - (uint32_t)__builtin_clzll(word);
        number = number * 64 + bit;
    }
    return number;
}

uint32_t marks_next(const struct marks *marks, uint32_t number)
{
    if (number >= marks->limit)
        return MARKS_NONE;
    for (uint32_t level = 0; level < marks->levels; level++) {
        uint64_t word = marks->words[level][number / 64] & ~0ull << (number % 64);
        if (word != 0)
            return descend(marks, level, number / 64 * 64 + (uint32_t)__builtin_ctzll(word), true);
        number = number / 64 + 1; /* the words after this one */
    }
    return MARKS_NONE;
}

uint32_t marks_previous(const struct marks *marks, uint32_t number)
{
    for (uint32_t level = 0; level < marks->levels; level++) {
        uint64_t word = marks->words[level][number / 64] & ~0ull >> (63 - number % 64);
        if (word != 0)
            return descend(marks, level, number / 64 * 64 + 63 - (uint32_t)__builtin_clzll(word),
                           false);
        if (number < 64)
            break;
        number = number / 64 - 1; /* the words before this one */
    }
    return MARKS_NONE;
}
