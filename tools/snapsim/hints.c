#include "tools/snapsim/hints.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"
#include "tools/snapsim/snapsim.h"

struct scene {
    const struct result *result;
    const struct config *config; /* the result's */
    const struct load *load;
    bool recurrent;
};

/* Appends the sentence and returns true, if the hint is due. */
typedef bool hint(const struct scene *scene, struct text *out);

/* ---- what hints ask ---- */

static uint32_t prompt_at(const struct scene *scene, uint32_t index)
{
    const struct workload *workload = scene->load->workload;
    uint32_t request = scene->load->schedule->arrivals[index].request;
    return workload->nodes[workload->requests[request].prompt_node].end;
}

/* Prompts that can use no state at or above a position, and the longest of all. */
static uint32_t count_below(const struct scene *scene, uint64_t position, uint32_t *longest)
{
    uint32_t count = 0;
    *longest = 0;
    for (uint32_t i = 0; i < scene->load->schedule->count; i++) {
        uint32_t prompt = prompt_at(scene, i);
        count += prompt < position + scene->config->min_compute_tokens;
        *longest = prompt > *longest ? prompt : *longest;
    }
    return count;
}

/* Prompts that earlier ones have shown to their last, perhaps partial, block: so they were sent
 * again. *shown is the least of what was shown of them. */
static uint32_t count_repeated(const struct scene *scene, uint32_t *shown)
{
    uint32_t count = 0, block = scene->load->workload->block_tokens;
    *shown = UINT32_MAX;
    for (uint32_t i = 0; i < scene->load->schedule->count; i++) {
        uint32_t seen = scene->load->schedule->arrivals[i].seen_tokens;
        if (seen == 0 || prompt_at(scene, i) - seen >= (block ? block : 1))
            continue;
        count++;
        *shown = seen < *shown ? seen : *shown;
    }
    return count;
}

/* Whether each part of a placement is of that name. */
static bool is_only(const char *placement, const char *name)
{
    size_t length = strlen(name);
    for (const char *part = placement; part; part = strchr(part, '+')) {
        part += *part == '+';
        if (strncmp(part, name, length) != 0 || !strchr(":+", part[length]))
            return false;
    }
    return true;
}

/* The interval of the next part "fixed:interval=N", from *at on, which moves behind it; or 0. */
static uint64_t next_interval(const char **at)
{
    static const char fixed[] = "fixed:interval=";
    const char *found = strstr(*at, fixed);
    if (!found)
        return 0;
    char *end = NULL;
    uint64_t interval = strtoull(found + strlen(fixed), &end, 10);
    *at = end;
    return interval;
}

/* " (--snapshot-grain 64, --match-unit 528)": the settings that move positions. */
static void add_movers(const struct scene *scene, struct text *out)
{
    uint64_t grain = scene->config->snapshot_grain, unit = scene->config->match_unit;
    if (grain > 0)
        text_printf(out, " (--snapshot-grain %" PRIu64 "%s", grain, unit ? "" : ")");
    if (unit > 0)
        text_printf(out, "%s--match-unit %" PRIu64 ")", grain ? ", " : " (", unit);
}

/* ---- the grid ---- */

static bool grid_is_moved(const struct scene *scene, struct text *out)
{
    const char *at = scene->config->placement;
    const struct grains *grains = &scene->result->grains;
    for (uint64_t interval; scene->recurrent && (interval = next_interval(&at)) > 0;) {
        uint64_t grid = grains_grid_in_force(grains, interval);
        if (grid == interval)
            continue;
        text_printf(out, "fixed:%" PRIu64 ": its snapshots are at multiples of %" PRIu64 " tokens",
                    interval, grid);
        add_movers(scene, out);
        if (scene->config->snapshot_grain == 0 && scene->config->match_unit == 0)
            text_printf(out,
                        ", the chunk of the model's kernels, as no server makes shorter steps; "
                        "--snapshot-grain %" PRIu64 " takes them all",
                        interval);
        else
            text_printf(out, "; with divisors of %" PRIu64 ", or without them, it is kept",
                        interval);
        return true;
    }
    return false;
}

static bool grain_is_common_multiple(const struct scene *scene, struct text *out)
{
    const struct config *config = scene->config;
    const struct grains *grains = &scene->result->grains;
    uint64_t grain = config->snapshot_grain ? config->snapshot_grain : grains->chunk;
    if (!scene->recurrent || config->match_unit == 0 || grains->interior == grain ||
        grains->interior == config->match_unit)
        return false;
    text_printf(out,
                "%s %" PRIu64 " and --match-unit %" PRIu64 " have multiples of %" PRIu64
                " tokens in common, and only there are %s",
                config->snapshot_grain ? "--snapshot-grain" : "the chunk of the model's kernels,",
                grain, config->match_unit, grains->interior,
                config->snapshot_grain ? "snapshots" : "those within prompts");
    return true;
}

/* Tokens below which no snapshot can lie, because of a grid that the user chose. */
static uint64_t least_position(const struct scene *scene)
{
    const struct result *result = scene->result;
    const struct grains *grains = &result->grains;
    if (is_only(scene->config->placement, "fixed"))
        return result->snapshot_grid_tokens;
    return grains->end < grains->interior ? grains->end : grains->interior;
}

static bool grid_is_beyond_prompts(const struct scene *scene, struct text *out)
{
    uint32_t longest = 0, requests = scene->load->schedule->count;
    uint64_t least = least_position(scene);
    uint32_t below = scene->recurrent && least > 1 ? count_below(scene, least, &longest) : 0;
    if (below == 0 || 2ull * below < requests)
        return false;
    char grid[UNITS_TEXT], all[UNITS_TEXT], most[UNITS_TEXT];
    text_printf(out, "snapshots are at multiples of %s tokens", units_grouped(least, grid));
    add_movers(scene, out);
    if (below == requests)
        text_printf(out, ", and the longest prompt has %s: none can hit",
                    units_grouped(longest, most));
    else
        text_printf(out, ", and %s of %s prompts are too short to use one",
                    units_grouped(below, most), units_grouped(requests, all));
    bool ends_are_free = scene->result->grains.end == 1;
    text_printf(out, "; take %s",
                ends_are_free ? "a smaller N, or a placement at ends" : "smaller ones");
    return true;
}

static bool page_is_no_unit(const struct scene *scene, struct text *out)
{
    const struct result *result = scene->result;
    uint32_t longest = 0;
    if (!scene->recurrent || result->page_tokens <= 1 || scene->config->match_unit > 0 ||
        result->sum.hit_tokens == 0 ||
        2ull * count_below(scene, result->page_tokens, &longest) < result->requests)
        return false;
    text_printf(out,
                "pages have %" PRIu64 " tokens, more than most prompts; hits are where snapshots "
                "are, and a server whose hits are whole pages, as vLLM's are, has none there: "
                "--match-unit %" PRIu64,
                result->page_tokens, result->page_tokens);
    return true;
}

/* ---- no hit at all ---- */

static bool nothing_fits(const struct scene *scene, struct text *out)
{
    const struct cache_counters *counters = &scene->result->cache;
    char capacity[UNITS_TEXT], snapshot[UNITS_TEXT];
    if (counters->kv_tokens_stored > 0 || counters->uncached_requests == 0)
        return false;
    text_printf(out, "nothing fits into --capacity %s",
                units_bytes(scene->config->capacity, capacity));
    if (scene->recurrent)
        text_printf(out, ": a snapshot takes %s, and its KV comes with it",
                    units_bytes(scene->result->sizes.snapshot_bytes, snapshot));
    return true;
}

static bool branch_is_alone(const struct scene *scene, struct text *out)
{
    if (!scene->recurrent || scene->result->cache.snapshots_taken > 0 ||
        scene->config->orphans != ORPHANS_DROP || !is_only(scene->config->placement, "branch"))
        return false;
    text_printf(out, "branch takes a snapshot where a prompt leaves what is stored, and by itself, "
                     "with --orphans drop, it stores nothing that could be left: join it with "
                     "ends (branch+turn), or --orphans keep");
    return true;
}

static bool nothing_is_taken(const struct scene *scene, struct text *out)
{
    if (!scene->recurrent || scene->result->cache.snapshots_taken > 0)
        return false;
    text_printf(out,
                "no snapshot was taken, and without one a model with recurrent layers hits "
                "nothing: placement %s found no place for one in this trace; turn takes them at "
                "the ends of prompts and replies",
                scene->config->placement);
    return true;
}

/* The largest power of two that a prompt of so many shown tokens can use, up to 4,096. */
static uint32_t interval_below(uint32_t shown)
{
    uint32_t interval = 4096;
    while (interval > 1 && interval >= shown)
        interval /= 2;
    return interval;
}

/* Whether more was lost for want of a snapshot than for want of room. */
static bool lacks_snapshots(const struct scene *scene)
{
    const struct outcome *sum = &scene->result->sum;
    return scene->recurrent && sum->missed_no_snapshot_tokens > 0 &&
           sum->missed_no_snapshot_tokens >= sum->missed_evicted_tokens;
}

static bool prompts_are_repeated(const struct scene *scene, struct text *out)
{
    uint32_t shown = 0;
    bool may_end = lacks_snapshots(scene) && !is_only(scene->config->placement, "branch");
    uint32_t repeated = may_end ? count_repeated(scene, &shown) : 0;
    if (repeated == 0)
        return false;
    uint32_t interval = interval_below(shown);
    text_printf(
        out,
        "%u of %u prompts were sent before, and none hit: their last token is computed in any "
        "case, so that the state at n, the end of a prompt of n tokens, comes too late, "
        "and one at n-1 or before is needed: add +fixed:%u%s to the placement",
        repeated, scene->load->schedule->count, interval,
        interval < scene->result->grains.chunk ? " and --snapshot-grain 1" : "");
    return true;
}

static bool prompts_leave_before(const struct scene *scene, struct text *out)
{
    char tokens[UNITS_TEXT];
    if (!lacks_snapshots(scene))
        return false;
    text_printf(
        out,
        "%s prompt tokens were seen before, but none of the snapshots there were lay within what a "
        "prompt had in common with earlier ones: add +fixed:512 to the placement",
        units_grouped(scene->result->sum.missed_no_snapshot_tokens, tokens));
    return true;
}

/* ---- all of them ---- */

static hint *const of_grids[] = {grid_is_moved, grain_is_common_multiple, grid_is_beyond_prompts,
                                 page_is_no_unit, NULL};

/* Why there is no hit: the first that is due. */
static hint *const of_no_hit[] = {nothing_fits,         branch_is_alone,      nothing_is_taken,
                                  prompts_are_repeated, prompts_leave_before, NULL};

static bool say_if_due(hint *one, const struct scene *scene)
{
    struct text sentence = {0};
    bool is_due = one(scene, &sentence);
    if (is_due)
        say(EXIT_GOOD, "hint: %s", sentence.data);
    text_close(&sentence);
    return is_due;
}

void hints_say(const struct result *result, const struct load *load)
{
    struct scene scene = {result, &result->config, load, result->sizes.snapshot_bytes > 0};
    bool is_explained = false;
    for (size_t i = 0; of_grids[i]; i++)
        is_explained |= say_if_due(of_grids[i], &scene) && of_grids[i] == grid_is_beyond_prompts;
    is_explained |= result->sum.hit_tokens > 0 || result->requests == 0;
    for (size_t i = 0; of_no_hit[i] && !is_explained; i++)
        is_explained = say_if_due(of_no_hit[i], &scene);
}
