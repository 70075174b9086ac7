/* mem.h - memory that never fails.
 *
 * snapsim is a batch program: without memory it cannot usefully go on. So these functions never
 * return NULL; they print one line and abort. Everything they return is freed with free(). */
#ifndef SNAPSIM_MEM_H
#define SNAPSIM_MEM_H

#include <stddef.h>

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
