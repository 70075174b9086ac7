/* mem.h - memory that never fails.
 *
 * snapsim is a batch program: without memory it cannot usefully go on. So these functions never
 * return NULL; they print one line and end the program with status 1, as any other failure of the
 * world does. Everything they return is freed with free().
 *
 * Nothing may stay behind then. A file that is written by temporary name (text.h) needs no care,
 * as no memory is asked for while it is there; whoever keeps other files for a time says here how
 * to remove them. */
#ifndef SNAPSIM_MEM_H
#define SNAPSIM_MEM_H

#include <stddef.h>

/* What the functions below do when there is no memory, for libraries that say so themselves.
 * 0: it is not known how much was asked for. */
_Noreturn void mem_exhausted(size_t bytes);

/* What to do before the program ends so. One at a time, from the only thread; NULL: nothing. */
void mem_before_end(void (*clean)(void *of), void *of);

void *mem_alloc(size_t bytes);
void *mem_zalloc(size_t bytes);
void *mem_realloc(void *old, size_t bytes);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t length);

/* An array of count elements, zeroed. Overflow of the product is caught. */
void *mem_array(size_t count, size_t element_size);

/* Makes room for at least need elements in an array that holds *capacity, by doubling. New
 * elements are not initialised. Returns the array, which may have moved. */
void *mem_grow(void *array, size_t *capacity, size_t need, size_t element_size);

/* mem_grow, with the new elements zeroed. */
void *mem_grow_zeroed(void *array, size_t *capacity, size_t need, size_t element_size);

#endif
