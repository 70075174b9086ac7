#include "traces/scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void scan_open(struct scan *scan, const char *path, uint32_t line_number, const char *line,
               size_t length, struct err *err)
{
    *scan = (struct scan){
        .cursor = line,
        .start = line,
        .end = line + length,
        .path = path,
        .line = line_number,
        .err = err,
    };
}

/* After a failure the cursor stands at the end, where no value starts, so that the fast paths need
 * no test of their own. */
void scan_fail(struct scan *scan, unsigned column, const char *format, ...)
{
    if (scan->failed)
        return;
    char what[ERR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    err_set(scan->err, "%.600s:%u: column %u: %.380s", scan->path, scan->line, column, what);
    scan->failed = true;
    scan->fresh = false;
    scan->cursor = scan->end;
}

static void skip_space(struct scan *scan)
{
    while (*scan->cursor == ' ' || *scan->cursor == '\t' || *scan->cursor == '\r')
        scan->cursor++;
}

static unsigned column_of(const struct scan *scan, const char *at)
{
    return (unsigned)(at - scan->start) + 1;
}

unsigned scan_column(struct scan *scan)
{
    skip_space(scan);
    return column_of(scan, scan->cursor);
}

static bool ends_token(char c)
{
    return c == '\0' || c == ',' || c == ']' || c == '}' || c == ':' || c == ' ' || c == '\t';
}

/* What stands at the cursor, short enough for a message and without bytes that a terminal would
 * take for commands. */
static void describe(const struct scan *scan, char out[64])
{
    enum { LONGEST = 32 };
    const char *from = scan->cursor;
    size_t left = (size_t)(scan->end - from), length = 1;
    if (left == 0) {
        snprintf(out, 64, "the end of the line");
        return;
    }
    if (*from == '"') {
        while (length < left && length < LONGEST && from[length++] != '"')
            continue;
    } else if (!ends_token(*from) && *from != '{' && *from != '[') {
        while (length < left && length < LONGEST && !ends_token(from[length]))
            length++;
    }
    char shown[LONGEST + 1];
    for (size_t i = 0; i < length; i++)
        shown[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
    shown[length] = '\0';
    snprintf(out, 64, "%s%s", shown, length == LONGEST ? "..." : "");
}

static void expected_at(struct scan *scan, const char *at, const char *expected)
{
    if (scan->failed)
        return;
    char found[64];
    scan->cursor = at;
    describe(scan, found);
    scan_fail(scan, column_of(scan, at), "expected %s, found %s", expected, found);
}

void scan_expected(struct scan *scan, const char *expected)
{
    skip_space(scan);
    expected_at(scan, scan->cursor, expected);
}

int scan_close(struct scan *scan)
{
    skip_space(scan);
    if (scan->cursor != scan->end)
        scan_expected(scan, "the end of the line");
    return scan->failed ? -1 : 0;
}

void scan_enter(struct scan *scan, char open)
{
    skip_space(scan);
    if (*scan->cursor != open) {
        scan_expected(scan, open == '{' ? "an object" : "an array");
        return;
    }
    scan->cursor++;
    scan->fresh = true;
}

/* Steps over the ',' before the next member, or over the end of the object or array. */
static bool next_member(struct scan *scan, char close)
{
    skip_space(scan);
    bool fresh = scan->fresh;
    scan->fresh = false;
    if (*scan->cursor == close) {
        scan->cursor++;
        return false;
    }
    if (fresh)
        return true;
    if (*scan->cursor == ',') {
        scan->cursor++;
        return true;
    }
    scan_expected(scan, close == '}' ? "',' or '}'" : "',' or ']'");
    return false;
}

bool scan_item(struct scan *scan)
{
    return next_member(scan, ']');
}

void scan_next(struct scan *scan)
{
    skip_space(scan);
    if (!scan->fresh && *scan->cursor != ',')
        scan_expected(scan, "','");
    scan->cursor += !scan->fresh && !scan->failed;
    scan->fresh = false;
}

void scan_leave(struct scan *scan)
{
    skip_space(scan);
    if (*scan->cursor != ']')
        scan_expected(scan, "']'");
    scan->cursor += !scan->failed;
}

/* The string that starts at the cursor. What stands in it is of no interest to any reader, so all
 * escapes and all bytes above the control characters pass. */
static bool read_string(struct scan *scan, struct scan_text *text)
{
    const char *at = scan->cursor + 1;
    text->data = at;
    while (*at != '"') {
        if (*at == '\\' && (unsigned char)at[1] >= ' ')
            at += 2;
        else if ((unsigned char)*at >= ' ' && *at != '\\')
            at++;
        else
            break;
    }
    if (*at != '"') {
        bool cut = at + (*at == '\\') >= scan->end;
        expected_at(scan, cut ? scan->end : at,
                    cut ? "'\"' at the end of a string" : "a string without control characters");
        return false;
    }
    text->length = (size_t)(at - text->data);
    scan->cursor = at + 1;
    return true;
}

bool scan_key(struct scan *scan, struct scan_text *key)
{
    if (!next_member(scan, '}'))
        return false;
    skip_space(scan);
    if (*scan->cursor != '"') {
        scan_expected(scan, "a key in quotes");
        return false;
    }
    if (!read_string(scan, key))
        return false;
    skip_space(scan);
    if (*scan->cursor != ':') {
        scan_expected(scan, "':' after a key");
        return false;
    }
    scan->cursor++;
    return true;
}

struct scan_text scan_string(struct scan *scan, const char *what)
{
    struct scan_text text = {"", 0};
    skip_space(scan);
    if (*scan->cursor == '"' && read_string(scan, &text))
        return text;
    char expected[160];
    snprintf(expected, sizeof expected, "a string as %s", what);
    scan_expected(scan, expected);
    return (struct scan_text){"", 0};
}

unsigned scan_word(struct scan *scan, const char *what, const char *const *words)
{
    skip_space(scan);
    const char *at = scan->cursor;
    struct scan_text text = scan_string(scan, what);
    char expected[160];
    size_t length = 0;
    for (unsigned i = 0; words[i]; i++) {
        if (scan_is(text, words[i]))
            return i;
        if (length < sizeof expected)
            length += (size_t)snprintf(expected + length, sizeof expected - length, "%s\"%s\"",
                                       i == 0         ? ""
                                       : words[i + 1] ? ", "
                                                      : " or ",
                                       words[i]);
    }
    if (length < sizeof expected)
        snprintf(expected + length, sizeof expected - length, " as %s", what);
    expected_at(scan, at, expected);
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

uint64_t scan_u64(struct scan *scan, const char *what, uint64_t min, uint64_t max)
{
    enum { DIGITS_MAX = 19 }; /* always fit */
    skip_space(scan);
    const char *from = scan->cursor, *at = from;
    uint64_t value = 0;
    for (; is_digit(*at) && at - from < DIGITS_MAX; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    bool is_number = at > from && ends_token(*at) && (at - from == 1 || *from != '0');
    if (is_number && value >= min && value <= max) {
        scan->cursor = at;
        return value;
    }
    char expected[160];
    snprintf(expected, sizeof expected, "a whole number from %llu to %llu as %s",
             (unsigned long long)min, (unsigned long long)max, what);
    scan_expected(scan, expected);
    return min;
}

/* digits * 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
    bool negative;
};

/* Takes digits in, as far as 19 of them. Those behind are below half a unit of what is kept, and
 * so cannot change how it rounds when halves are rounded up. */
static const char *read_digits(const char *at, struct decimal *out, bool fraction)
{
    const uint64_t full = 1000000000000000000u;
    for (; is_digit(*at); at++) {
        bool fits = out->digits < full;
        if (fits)
            out->digits = out->digits * 10 + (uint64_t)(*at - '0');
        if (fits == fraction) /* no line has so many digits that this overflows */
            out->exponent += fraction ? -1 : 1;
    }
    return at;
}

/* Reads a number by the grammar of JSON. Returns what follows it, or NULL. */
static const char *read_decimal(const char *at, struct decimal *out)
{
    *out = (struct decimal){.negative = *at == '-'};
    at += out->negative;
    if (!is_digit(*at) || (*at == '0' && is_digit(at[1])))
        return NULL;
    at = read_digits(at, out, false);
    if (*at == '.') {
        if (!is_digit(at[1]))
            return NULL;
        at = read_digits(at + 1, out, true);
    }
    if (*at == 'e' || *at == 'E') {
        bool down = at[1] == '-';
        at += 1 + (at[1] == '-' || at[1] == '+');
        if (!is_digit(*at))
            return NULL;
        int power = 0;
        for (; is_digit(*at); at++)
            power = power < 100000000 ? power * 10 + (*at - '0') : power;
        out->exponent += down ? -power : power;
    }
    return ends_token(*at) ? at : NULL;
}

static const uint64_t power_of_ten[] = {1u,
                                        10u,
                                        100u,
                                        1000u,
                                        10000u,
                                        100000u,
                                        1000000u,
                                        10000000u,
                                        100000000u,
                                        1000000000u,
                                        10000000000u,
                                        100000000000u,
                                        1000000000000u,
                                        10000000000000u,
                                        100000000000000u,
                                        1000000000000000u,
                                        10000000000000000u,
                                        100000000000000000u,
                                        1000000000000000000u,
                                        10000000000000000000u};

/* digits * 10^exponent to the nearest whole number, halves up; UINT64_MAX if it is too large. */
static uint64_t round_decimal(const struct decimal *decimal)
{
    uint64_t digits = decimal->digits;
    if (digits == 0 || decimal->exponent < -19)
        return 0;
    if (decimal->exponent > 19)
        return UINT64_MAX;
    if (decimal->exponent >= 0) {
        uint64_t power = power_of_ten[decimal->exponent];
        return digits > UINT64_MAX / power ? UINT64_MAX : digits * power;
    }
    uint64_t power = power_of_ten[-decimal->exponent];
    uint64_t rest = digits % power;
    return digits / power + (rest >= power - rest);
}

uint64_t scan_time(struct scan *scan, const char *what, unsigned decimals)
{
    skip_space(scan);
    struct decimal decimal;
    const char *after = read_decimal(scan->cursor, &decimal);
    if (after) {
        decimal.exponent += (int)decimals;
        uint64_t ns = round_decimal(&decimal);
        if (ns <= SCAN_TIME_MAX_NS && (!decimal.negative || decimal.digits == 0)) {
            scan->cursor = after;
            return ns;
        }
    }
    char expected[160];
    snprintf(expected, sizeof expected, "a number of %s from 0 to 4e%u as %s",
             decimals == 9 ? "seconds" : "milliseconds", 18 - decimals, what);
    scan_expected(scan, expected);
    return 0;
}

const char *scan_time_text(uint64_t ns, unsigned decimals, char out[SCAN_TIME_TEXT])
{
    uint64_t fraction = ns % power_of_ten[decimals];
    int length = snprintf(out, SCAN_TIME_TEXT, "%llu.%0*llu",
                          (unsigned long long)(ns / power_of_ten[decimals]), (int)decimals,
                          (unsigned long long)fraction);
    while (out[length - 1] == '0')
        length--;
    out[out[length - 1] == '.' ? length - 1 : length] = '\0';
    return out;
}

/* Steps over a word such as true, if it stands at the cursor. */
static bool skip_word(struct scan *scan, const char *word, size_t length)
{
    if (*scan->cursor != *word || strncmp(scan->cursor, word, length) != 0 ||
        !ends_token(scan->cursor[length]))
        return false;
    scan->cursor += length;
    return true;
}

bool scan_null(struct scan *scan)
{
    skip_space(scan);
    return skip_word(scan, "null", 4);
}

struct scan_text scan_name(struct scan *scan, const char *what)
{
    struct scan_text text = {"", 0};
    struct decimal decimal;
    skip_space(scan);
    if (*scan->cursor == '"')
        return scan_string(scan, what);
    const char *after = scan->failed ? NULL : read_decimal(scan->cursor, &decimal);
    if (after) {
        text = (struct scan_text){scan->cursor, (size_t)(after - scan->cursor)};
        scan->cursor = after;
        return text;
    }
    char expected[160];
    snprintf(expected, sizeof expected, "a string or a number as %s", what);
    scan_expected(scan, expected);
    return text;
}

static void skip_value(struct scan *scan, unsigned depth)
{
    struct scan_text text;
    struct decimal decimal;
    const char *after = NULL;
    skip_space(scan);
    char c = *scan->cursor;
    if ((c == '{' || c == '[') && depth == SCAN_DEPTH_MAX) {
        scan_fail(scan, column_of(scan, scan->cursor),
                  "expected values nested at most %d deep, found deeper ones", SCAN_DEPTH_MAX);
    } else if (c == '"') {
        read_string(scan, &text);
    } else if (c == '{') {
        scan_enter(scan, '{');
        while (scan_key(scan, &text))
            skip_value(scan, depth + 1);
    } else if (c == '[') {
        scan_enter(scan, '[');
        while (scan_item(scan))
            skip_value(scan, depth + 1);
    } else if ((after = read_decimal(scan->cursor, &decimal)) != NULL) {
        scan->cursor = after;
    } else if (!skip_word(scan, "null", 4) && !skip_word(scan, "true", 4) &&
               !skip_word(scan, "false", 5)) {
        scan_expected(scan, "a value");
    }
}

void scan_skip(struct scan *scan)
{
    skip_value(scan, 0);
}

bool scan_line_has_key(const char *start, size_t length, const char *key)
{
    if (length == 0)
        return false;
    const char *end = memchr(start, '\n', length);
    if (end == NULL)
        end = start + length;
    size_t key_length = strlen(key);
    for (const char *at = start; (size_t)(end - at) > key_length + 2; at++) {
        at = memchr(at, '"', (size_t)(end - at));
        if (at == NULL || (size_t)(end - at) <= key_length + 2)
            return false;
        if (memcmp(at + 1, key, key_length) != 0 || at[1 + key_length] != '"')
            continue;
        const char *after = at + key_length + 2;
        while (after < end && (*after == ' ' || *after == '\t'))
            after++;
        if (after < end && *after == ':')
            return true;
    }
    return false;
}
