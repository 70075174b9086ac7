#include "traces/compiled.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the compiled form is the memory of a little-endian machine"
#endif

/* The first byte is no text, so that no other format can start like this. */
static const char magic[8] = "\x93snapsim";

enum {
    VERSION = 2, /* raise it when the header or a struct of workload.h changes */
    NAME_BYTES_MAX = 4096,
    ARRIVAL_BYTES_MAX = 256,
    FLAG_REPLIES_KEPT = 1,
    FLAG_PARTIAL_BLOCKS = 2,
    FLAG_SYSTEM_SHARED = 4,
    FLAG_CONTENTS = 8,
    FLAGS_KNOWN = 15
};

struct header {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t digest; /* of the header behind this field, then of each section */
    uint64_t prompt_tokens, reply_tokens;
    uint64_t order_digest; /* 0: the tree holds for any order */
    struct continuation_counts continuation;
    uint32_t block_tokens, flags;
    uint32_t reply_back, prompt_replaced; /* options, or TOKENS_UNDECLARED */
    uint32_t node_count, request_count, conversation_count, bound_count, stream_count;
    uint32_t name_space_count;
    uint32_t name_bytes, arrival_bytes; /* without the padding */
    char sha256[64];
};

/* No padding: files never hold bytes that nobody set. */
_Static_assert(sizeof(struct header) == 208, "header");
_Static_assert(sizeof(struct node) == 8, "node");
_Static_assert(sizeof(struct request) == 72, "request");
_Static_assert(sizeof(struct conversation) == 16, "conversation");

enum { SECTIONS = 6 };

/* What follows the header, in this order: name, arrival, nodes, requests, conversations, bounds. */
struct section {
    uint64_t count;
    size_t element_size;
};

static void lay_out(const struct header *header, struct section sections[SECTIONS])
{
    sections[0] = (struct section){(header->name_bytes + 7u) / 8, 8};
    sections[1] = (struct section){(header->arrival_bytes + 7u) / 8, 8};
    sections[2] = (struct section){header->node_count, sizeof(struct node)};
    sections[3] = (struct section){header->request_count, sizeof(struct request)};
    sections[4] = (struct section){header->conversation_count, sizeof(struct conversation)};
    sections[5] = (struct section){header->bound_count, sizeof(uint32_t)};
}

static uint64_t total_bytes(const struct section sections[SECTIONS])
{
    uint64_t total = sizeof(struct header);
    for (size_t i = 0; i < SECTIONS; i++)
        total += sections[i].count * sections[i].element_size;
    return total;
}

static uint64_t digest_header(const struct header *header)
{
    const size_t covered = offsetof(struct header, prompt_tokens);
    return digest_bytes(DIGEST_START, (const char *)header + covered, sizeof *header - covered);
}

bool compiled_matches(const char *start, size_t length)
{
    return length >= sizeof magic && memcmp(start, magic, sizeof magic) == 0;
}

bool compiled_seal(char *bytes, size_t length)
{
    struct header header;
    struct section sections[SECTIONS];
    if (length < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    lay_out(&header, sections);
    if (total_bytes(sections) != length)
        return false;
    uint64_t digest = digest_header(&header);
    const char *section = bytes + sizeof header;
    for (size_t i = 0; i < SECTIONS; i++) {
        size_t section_bytes = (size_t)sections[i].count * sections[i].element_size;
        digest = digest_bytes(digest, section, section_bytes);
        section += section_bytes;
    }
    memcpy(bytes + offsetof(struct header, digest), &digest, sizeof digest);
    return true;
}

static struct header make_header(const struct workload *workload)
{
    struct header header = {
        .version = VERSION,
        .header_bytes = sizeof header,
        .prompt_tokens = workload->prompt_tokens,
        .reply_tokens = workload->reply_tokens,
        .order_digest = workload->order_digest,
        .continuation = workload->continuation,
        .block_tokens = workload->block_tokens,
        .flags = (workload->replies_kept ? FLAG_REPLIES_KEPT : 0u) |
                 (workload->partial_blocks_kept ? FLAG_PARTIAL_BLOCKS : 0u) |
                 (workload->system_shared ? FLAG_SYSTEM_SHARED : 0u) |
                 (workload->contents_chained ? FLAG_CONTENTS : 0u),
        .reply_back = workload->reply_back,
        .prompt_replaced = workload->prompt_replaced,
        .node_count = workload->node_count,
        .request_count = workload->request_count,
        .conversation_count = workload->conversation_count,
        .bound_count = workload->bound_count,
        .stream_count = workload->stream_count,
        .name_space_count = workload->name_space_count,
        .name_bytes = (uint32_t)strlen(workload->name),
        .arrival_bytes = (uint32_t)strlen(workload->arrival),
    };
    assert(header.name_bytes <= NAME_BYTES_MAX && header.arrival_bytes <= ARRIVAL_BYTES_MAX);
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.sha256, workload->sha256, sizeof header.sha256);
    return header;
}

/* Text, with zeros up to a multiple of 8 bytes. */
static void print_padded(const char *text, size_t length, struct text *out)
{
    static const char zeros[8] = {0};
    text_add(out, text, length);
    text_add(out, zeros, (8 - length % 8) % 8);
}

void compiled_print(const struct workload *workload, struct text *out)
{
    const struct header header = make_header(workload);
    struct section sections[SECTIONS];
    lay_out(&header, sections);
    const size_t before = out->length;
    text_add(out, (const char *)&header, sizeof header);
    print_padded(workload->name, header.name_bytes, out);
    print_padded(workload->arrival, header.arrival_bytes, out);
    const void *const arrays[] = {workload->nodes, workload->requests, workload->conversations,
                                  workload->bounds};
    for (size_t i = 2; i < SECTIONS; i++)
        text_add(out, arrays[i - 2], (size_t)sections[i].count * sections[i].element_size);
    bool sealed = compiled_seal(out->data + before, out->length - before);
    assert(sealed);
    (void)sealed;
}

int compiled_write(const struct workload *workload, const char *path, struct err *err)
{
    struct text text = {0};
    compiled_print(workload, &text);
    int result = text_write_file(path, text.data, text.length, err);
    text_close(&text);
    return result;
}

/* Reads a section into new memory. Where the length of the content is known it was compared with
 * the header; where not (zstd), memory is taken only as content comes. */
static int read_section(struct trace_lines *lines, struct section section, bool length_known,
                        uint64_t *digest, void **out, struct err *err)
{
    const uint64_t bytes = section.count * section.element_size;
    uint64_t filled = 0, piece = length_known ? bytes : (uint64_t)1 << 20;
    char *array = mem_alloc(1); /* never NULL, also when there is nothing to read */
    while (filled < bytes) {
        uint64_t take = piece < bytes - filled ? piece : bytes - filled;
        array = mem_realloc(array, (size_t)(filled + take));
        int64_t got = lines_read(lines, array + filled, (size_t)take, err);
        if (got != (int64_t)take) {
            free(array);
            if (got < 0)
                return -1;
            return err_set(err,
                           "%.800s: damaged: expected the rest of the compiled trace, found "
                           "the end of the file",
                           lines_path(lines));
        }
        filled += take;
        piece = filled;
    }
    *digest = digest_bytes(*digest, array, (size_t)bytes);
    *out = array;
    return 0;
}

static int check_header(const struct header *header, const char *path, struct err *err)
{
    if (header->version != VERSION || header->header_bytes != sizeof *header)
        return err_set(err,
                       "%.800s: expected version %d of the compiled form, found version %" PRIu32
                       "; convert the original again",
                       path, VERSION, header->version);
    bool good = header->name_bytes <= NAME_BYTES_MAX &&
                header->arrival_bytes <= ARRIVAL_BYTES_MAX && header->flags <= FLAGS_KNOWN &&
                header->node_count > 0 && header->request_count > 0 &&
                header->conversation_count > 0 && header->block_tokens > 0;
    for (size_t i = 0; i < sizeof header->sha256; i++)
        good = good && header->sha256[i] && strchr("0123456789abcdef", header->sha256[i]);
    if (!good)
        return err_set(err, "%.800s: damaged: the header of the compiled trace makes no sense",
                       path);
    return 0;
}

/* The option that the file was built with must be the one asked for. */
static int check_option(const char *path, const char *flag, bool built, bool wanted,
                        const char *yes, const char *no, struct err *err)
{
    if (built == wanted)
        return 0;
    return err_set(err,
                   "%.800s: expected a trace compiled with %s%s, found one compiled with %s%s; "
                   "convert the original again, or ask for what it has",
                   path, flag, wanted ? yes : no, flag, built ? yes : no);
}

static int check_tokens(const char *path, const char *flag, uint32_t built, bool given,
                        uint32_t wanted, struct err *err)
{
    if (built == (given ? wanted : TOKENS_UNDECLARED))
        return 0;
    return err_set(err,
                   "%.800s: the trace was compiled with another %s than is asked for; convert the "
                   "original again, or ask for what it has",
                   path, flag);
}

static int check_options(const struct workload *built, const struct build_options *wanted,
                         const char *path, struct err *err)
{
    if (check_option(path, "--replies ", built->replies_kept, !wanted->drop_replies, "keep", "drop",
                     err) != 0)
        return -1;
    if (check_option(path, "--partial-blocks ", built->partial_blocks_kept,
                     wanted->keep_partial_blocks, "keep", "drop", err) != 0)
        return -1;
    if (check_option(path, "--block-ids ", built->contents_chained, wanted->chain_contents,
                     "content", "chained", err) != 0)
        return -1;
    const struct declared *declared = &wanted->declared;
    if (check_tokens(path, "--reply-back", built->reply_back, declared->back_given, declared->back,
                     err) != 0 ||
        check_tokens(path, "--prompt-replaced", built->prompt_replaced, declared->replaced_given,
                     declared->replaced, err) != 0)
        return -1;
    return check_option(path, "", built->system_shared, wanted->share_system, "--share-system",
                        "no --share-system", err);
}

static char *take_text(void *padded, uint32_t length)
{
    char *text = mem_strndup(padded ? padded : "", padded ? length : 0);
    free(padded);
    return text;
}

static int read_sections(struct trace_lines *lines, const struct header *header,
                         struct workload *workload, struct err *err)
{
    const char *path = lines_path(lines);
    struct section sections[SECTIONS];
    lay_out(header, sections);
    const uint64_t left = lines_left(lines), total = total_bytes(sections);
    const bool length_known = left != UINT64_MAX;
    if (length_known && left != total - sizeof *header)
        return err_set(err,
                       "%.800s: damaged: expected %" PRIu64 " bytes by its header, found %" PRIu64,
                       path, total, left + sizeof *header);
    uint64_t digest = digest_header(header);
    void *arrays[SECTIONS] = {NULL};
    int result = 0;
    for (size_t i = 0; i < SECTIONS && result == 0; i++)
        result = read_section(lines, sections[i], length_known, &digest, &arrays[i], err);
    workload->nodes = arrays[2];
    workload->requests = arrays[3];
    workload->conversations = arrays[4];
    workload->bounds = arrays[5];
    workload->name = take_text(arrays[0], header->name_bytes);
    workload->arrival = take_text(arrays[1], header->arrival_bytes);
    if (result != 0)
        return -1;
    char beyond;
    int64_t more = lines_read(lines, &beyond, 1, err);
    if (more > 0)
        return err_set(err, "%.800s: damaged: expected %" PRIu64 " bytes by its header, found more",
                       path, total);
    if (more == 0 && digest != header->digest)
        return err_set(err,
                       "%.800s: damaged: expected the digest %016" PRIx64 ", found %016" PRIx64,
                       path, header->digest, digest);
    return more == 0 ? 0 : -1;
}

static struct workload *take_header(const struct header *header)
{
    struct workload *workload = mem_zalloc(sizeof *workload);
    workload->block_tokens = header->block_tokens;
    workload->replies_kept = header->flags & FLAG_REPLIES_KEPT;
    workload->partial_blocks_kept = header->flags & FLAG_PARTIAL_BLOCKS;
    workload->system_shared = header->flags & FLAG_SYSTEM_SHARED;
    workload->contents_chained = header->flags & FLAG_CONTENTS;
    workload->reply_back = header->reply_back;
    workload->prompt_replaced = header->prompt_replaced;
    workload->order_digest = header->order_digest;
    workload->continuation = header->continuation;
    workload->node_count = header->node_count;
    workload->request_count = header->request_count;
    workload->conversation_count = header->conversation_count;
    workload->bound_count = header->bound_count;
    workload->stream_count = header->stream_count;
    workload->name_space_count = header->name_space_count;
    workload->prompt_tokens = header->prompt_tokens;
    workload->reply_tokens = header->reply_tokens;
    memcpy(workload->sha256, header->sha256, sizeof header->sha256);
    return workload;
}

int compiled_read(struct trace_lines *lines, const struct build_options *wanted,
                  struct record **out, struct err *err)
{
    const char *path = lines_path(lines);
    struct header header;
    int64_t got = lines_read(lines, &header, sizeof header, err);
    if (got < 0)
        return -1;
    if (got < (int64_t)sizeof header || !compiled_matches(header.magic, sizeof header.magic))
        return err_set(err, "%.800s: expected the compiled form of a trace, found something else",
                       path);
    if (check_header(&header, path, err) != 0)
        return -1;
    struct workload *workload = take_header(&header);
    struct err reason;
    if (check_options(workload, wanted, path, err) != 0 ||
        read_sections(lines, &header, workload, err) != 0)
        goto fail;
    if (workload_check(workload, &reason) != 0) {
        err_set(err, "%.500s: damaged: %.400s", path, reason.text);
        goto fail;
    }
    *out = mem_zalloc(sizeof **out);
    (*out)->calls = workload;
    (*out)->order_matters = workload->order_digest != 0;
    return 0;
fail:
    workload_close(workload);
    return -1;
}
