/* ref_story.h - short stories of requests that run at the same time, with what must be true after
 * each step, worked out on paper. Each is told to both caches (ref_twin.h). */
#ifndef SNAPSIM_REF_STORY_H
#define SNAPSIM_REF_STORY_H

#include "tests/ref_twin.h"

extern const size_t story_count;

/* Between ref_models_open and ref_models_close. The test fails if a story comes out otherwise. */
void story_tell(size_t index);

#endif
