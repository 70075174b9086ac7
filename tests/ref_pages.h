/* ref_pages.h - the slow, obvious model of memory strategies: every page is an entry in an array.
 *
 * It is told what the real strategy is told, places each page by the rules as they are written
 * down, one by one and by looking at all of them, and compares after every step: which page of
 * which place each holder has, in order, and what is in use, unusable, moved and short. */
#ifndef SNAPSIM_REF_PAGES_H
#define SNAPSIM_REF_PAGES_H

#include "sim/memory.h"

/* A list of strategies for `struct plugins`, each the real one with the model beside it. Failures
 * end the test. */
const struct plugin *const *ref_pages_list(void);

/* How many steps were compared so far. */
uint64_t ref_pages_steps(void);

#endif
