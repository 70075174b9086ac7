/* ref_place.c - the placements of the reference model, from their descriptions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tests/ref_running.h"

/* ---- reading "name:value+name:key=value,key=value" ---- */

static void read_setting(struct ref_part *part, const char *word)
{
    const char *equals = strchr(word, '=');
    const char *value = equals ? equals + 1 : word;
    if (strncmp(word, "bounds", 6) == 0)
        part->flag = strcmp(value, "1") == 0;
    else if (strncmp(word, "sight", 5) == 0)
        part->flag = strcmp(value, "second") == 0;
    else if (strncmp(word, "from", 4) == 0)
        part->flag = strcmp(value, "end") == 0;
    else
        part->number = strtod(value, NULL);
}

static struct ref_part read_part(char *text)
{
    struct ref_part part = {{0}, 0, false};
    char *colon = strchr(text, ':'), *rest = NULL;
    if (colon)
        *colon = '\0';
    snprintf(part.name, sizeof part.name, "%s", text);
    if (strcmp(part.name, "fixed") == 0)
        part.number = 64;
    else if (strcmp(part.name, "ladder") == 0)
        part.number = 2;
    else if (strcmp(part.name, "balanced") == 0)
        part.number = 16;
    for (char *word = colon ? strtok_r(colon + 1, ",", &rest) : NULL; word;
         word = strtok_r(NULL, ",", &rest))
        read_setting(&part, word);
    return part;
}

bool ref_parse_placement(struct ref_cache *cache)
{
    char *copy = mem_strdup(cache->settings.placement), *rest = NULL;
    bool fits = true;
    for (char *text = strtok_r(copy, "+", &rest); text && fits; text = strtok_r(NULL, "+", &rest)) {
        fits = cache->part_count < REF_PARTS_MAX;
        if (fits)
            cache->parts[cache->part_count++] = read_part(text);
    }
    free(copy);
    return fits;
}

/* ---- positions ---- */

/* One placement at work on one request. */
struct planner {
    struct ref_cache *cache;
    const struct ref_running *r;
    struct ref_wishes *wishes;
    uint32_t n, end;
};

static void wish(const struct planner *planner, uint64_t asked, uint64_t grain, bool newest_only)
{
    if (asked > UINT32_MAX)
        return;
    uint64_t position = asked / grain * grain;
    if (position <= planner->r->hit || position > planner->end)
        return;
    struct ref_wishes *wishes = planner->wishes;
    for (size_t i = 0; i < wishes->count; i++) {
        struct ref_wanted *other = &wishes->items[i];
        if (other->position != position)
            continue;
        if (other->asked < asked)
            other->asked = (uint32_t)asked;
        other->newest_only = other->newest_only && newest_only;
        return;
    }
    wishes->items =
        mem_grow(wishes->items, &wishes->capacity, wishes->count + 1, sizeof *wishes->items);
    wishes->items[wishes->count++] =
        (struct ref_wanted){(uint32_t)position, (uint32_t)asked, newest_only, 0};
}

static void wish_interior(const struct planner *planner, uint64_t asked)
{
    uint64_t grain = planner->cache->settings.grain;
    wish(planner, asked, grain ? grain : 64, false);
}

static void wish_end(const struct planner *planner, uint64_t asked, bool newest_only)
{
    uint64_t grain = planner->cache->settings.grain;
    wish(planner, asked, grain ? grain : 1, newest_only);
}

/* A multiple of an interval: exact, unless that is below 64. */
static void wish_on_grid(const struct planner *planner, uint64_t asked, uint64_t interval)
{
    if (interval < 64)
        wish_interior(planner, asked);
    else
        wish_end(planner, asked, false);
}

static void plan_ends(const struct planner *planner, const struct ref_part *part)
{
    const struct ref_request *request = planner->r->request;
    bool turn = strcmp(part->name, "turn") == 0;
    if (turn || strcmp(part->name, "prompt-end") == 0)
        wish_end(planner, planner->n, false);
    if ((turn || strcmp(part->name, "reply-end") == 0) && planner->end > planner->n)
        wish_end(planner, planner->end, false);
    if (turn && part->flag)
        for (uint32_t i = 0; i < request->bound_count; i++)
            wish_interior(planner, request->bounds[i]);
    if (strcmp(part->name, "last") == 0) {
        uint64_t grain = planner->cache->settings.grain;
        planner->wishes->newest =
            grain ? planner->end - planner->end % (uint32_t)grain : planner->end;
        wish_end(planner, planner->end, true);
    }
}

static void plan_branch(const struct planner *planner, size_t index)
{
    struct ref_cache *cache = planner->cache;
    const struct ref_running *r = planner->r;
    if (!cache->parts[index].flag) {
        if (r->forks)
            wish_interior(planner, r->match);
        return;
    }
    for (size_t i = 0; i < cache->mark_count[index]; i++) {
        uint32_t mark = cache->marks[index][i], length = cache->prefixes[mark].length;
        if (length <= planner->n && r->path[length] == mark)
            wish_interior(planner, length);
    }
    /* Where it found a snapshot already, there is nothing to remember. */
    if (!r->forks || r->match <= r->hit)
        return;
    cache->marks[index] = mem_grow(cache->marks[index], &cache->mark_capacity[index],
                                   cache->mark_count[index] + 1, sizeof **cache->marks);
    cache->marks[index][cache->mark_count[index]++] = r->path[r->match];
}

static uint32_t tokens_shared(const struct ref_request *a, uint32_t end,
                              const struct ref_request *b)
{
    uint32_t n = 0;
    while (n < end && n < b->end_tokens && a->tokens[n] == b->tokens[n])
        n++;
    return n;
}

/* Where later prompts would start, if those before them had left everything. */
static void plan_oracle(const struct planner *planner)
{
    const struct ref_cache *cache = planner->cache;
    const struct ref_request *requests = cache->requests, *now = planner->r->request;
    for (uint32_t i = cache->now + 1; i < cache->request_count; i++) {
        uint32_t seen = 0, prompt = requests[i].prompt_tokens;
        for (uint32_t j = 0; j < i; j++) {
            uint32_t shared = tokens_shared(&requests[i], prompt, &requests[j]);
            seen = shared > seen ? shared : seen;
        }
        uint64_t compute = cache->settings.min_compute_tokens;
        uint32_t limit = compute < prompt ? prompt - (uint32_t)compute : 0;
        uint32_t start = seen < limit ? seen : limit;
        if (start == 0 || tokens_shared(&requests[i], start, now) < start)
            continue;
        if (start == planner->n || start == planner->end)
            wish_end(planner, start, false);
        else
            wish_interior(planner, start);
    }
}

static void plan_ladder(const struct planner *planner, const struct ref_part *part)
{
    uint64_t rung = 1;
    while (rung < planner->n) {
        wish_interior(planner, part->flag ? planner->n - rung : rung);
        uint64_t scaled = (uint64_t)floor((double)rung * part->number);
        rung = scaled > rung + 1 ? scaled : rung + 1;
    }
    wish_end(planner, planner->n, false);
}

/* i (n+1) / (m+1) to the nearest whole number, halves to even. */
static void plan_balanced(const struct planner *planner, uint64_t m)
{
    for (uint64_t i = 1; i <= m; i++) {
        uint64_t top = i * (planner->n + 1u), bottom = m + 1;
        uint64_t whole = top / bottom, twice = top % bottom * 2;
        if (twice > bottom || (twice == bottom && whole % 2 == 1))
            whole++;
        wish_interior(planner, whole);
    }
}

static void plan_part(const struct planner *planner, size_t index)
{
    const struct ref_part *part = &planner->cache->parts[index];
    const char *name = part->name;
    if (strcmp(name, "fixed") == 0) {
        for (uint64_t p = (uint64_t)part->number; p <= planner->end; p += (uint64_t)part->number)
            wish_on_grid(planner, p, (uint64_t)part->number);
    } else if (strcmp(name, "branch") == 0) {
        plan_branch(planner, index);
    } else if (strcmp(name, "system-prompt") == 0) {
        uint32_t system = planner->r->request->system_tokens;
        if (system)
            wish_interior(planner, system);
    } else if (strcmp(name, "ladder") == 0) {
        plan_ladder(planner, part);
    } else if (strcmp(name, "balanced") == 0) {
        plan_balanced(planner, (uint64_t)part->number);
    } else if (strcmp(name, "sqrt") == 0) {
        uint64_t root = 0;
        while ((root + 1) * (root + 1) <= planner->n)
            root++;
        plan_balanced(planner, root);
    } else if (strcmp(name, "oracle") == 0) {
        plan_oracle(planner);
    } else if (strcmp(name, "dyadic") == 0) {
        for (uint64_t p = 1; p <= planner->n; p *= 2)
            wish_interior(planner, p);
    } else {
        plan_ends(planner, part);
    }
}

static int compare_wanted(const void *a, const void *b)
{
    const struct ref_wanted *first = a, *second = b;
    return (first->position > second->position) - (first->position < second->position);
}

void ref_plan(struct ref_cache *cache, struct ref_wishes *wishes)
{
    const struct ref_request *request = cache->current->request;
    struct planner planner = {cache, cache->current, wishes, request->prompt_tokens,
                              request->end_tokens};
    wishes->count = 0;
    for (size_t i = 0; i < cache->part_count; i++)
        plan_part(&planner, i);
    if (wishes->count)
        qsort(wishes->items, wishes->count, sizeof *wishes->items, compare_wanted);
}
