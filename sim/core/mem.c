#include "sim/core/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The end of the program can come in any call, so what it has to do cannot be handed down. */
static struct {
    void (*clean)(void *of);
    void *of;
} before_end;

void mem_before_end(void (*clean)(void *of), void *of)
{
    before_end.clean = clean;
    before_end.of = of;
}

/* The one place under sim/ that prints and ends the program (see err.h). Other threads may be at
 * work: what they have buffered is not waited for. */
void mem_exhausted(size_t bytes)
{
    if (bytes == 0)
        fprintf(stderr, "snapsim: out of memory\n");
    else if (bytes == SIZE_MAX)
        fprintf(stderr, "snapsim: out of memory: more was asked for than an address can name\n");
    else
        fprintf(stderr, "snapsim: out of memory: %zu bytes asked for\n", bytes);
    if (before_end.clean)
        before_end.clean(before_end.of);
    _Exit(EXIT_FAILURE);
}

static void *checked(void *memory, size_t bytes)
{
    if (memory == NULL && bytes > 0)
        mem_exhausted(bytes);
    return memory;
}

void *mem_alloc(size_t bytes)
{
    return checked(malloc(bytes ? bytes : 1), bytes);
}

void *mem_zalloc(size_t bytes)
{
    return checked(calloc(1, bytes ? bytes : 1), bytes);
}

void *mem_realloc(void *old, size_t bytes)
{
    return checked(realloc(old, bytes ? bytes : 1), bytes);
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

char *mem_strndup(const char *text, size_t length)
{
    char *copy = mem_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void *mem_array(size_t count, size_t element_size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, element_size, &bytes))
        return checked(NULL, SIZE_MAX);
    return mem_zalloc(bytes);
}

void *mem_grow(void *array, size_t *capacity, size_t need, size_t element_size)
{
    if (need <= *capacity)
        return array;
    size_t wanted = *capacity < 16 ? 16 : *capacity;
    while (wanted < need)
        wanted *= 2;
    size_t bytes = 0;
    if (__builtin_mul_overflow(wanted, element_size, &bytes))
        return checked(NULL, SIZE_MAX);
    *capacity = wanted;
    return mem_realloc(array, bytes);
}

void *mem_grow_zeroed(void *array, size_t *capacity, size_t need, size_t element_size)
{
    size_t before = *capacity;
    char *grown = mem_grow(array, capacity, need, element_size);
    if (*capacity > before)
        memset(grown + before * element_size, 0, (*capacity - before) * element_size);
    return grown;
}
