/* Text that is read with a limit, and text that is shown. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/json.h"
#include "tests/suite.h"

/* Control characters as ISO 6429 has them: C0 is 0 to 31, then DEL, and C1 is 128 to 159, which
 * UTF-8 writes as C2 80 to C2 9F. Other bytes are left alone, be they a character or not. */
static const struct {
    const char *text, *shown;
} lines[] = {
    {"", ""},
    {"plain ~!", "plain ~!"},
    {"a\tb\nc", "a\tb\nc"},
    {"\x1b[31m", "\\u001b[31m"},
    {"\r\x7f\x01", "\\u000d\\u007f\\u0001"},
    {"\xc2\x80\xc2\x9b\xc2\x9f", "\\u0080\\u009b\\u009f"},
    {"\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
     "\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\x9b", "\\u009b"},                         /* of no character */
    {"\xe2\x82", "\xe2\\u0082"},                 /* of one that was cut off */
    {"\xe2\x82\xac\x82", "\xe2\x82\xac\\u0082"}, /* one byte too many */
    {"\xc2", "\xc2"},
    {"\xc3\x28\x9b", "\xc3(\\u009b"},
    {"\xff\xfe\xa0", "\xff\xfe\xa0"},
};

START_TEST(shows)
{
    struct text shown = {0};
    text_add_visible(&shown, lines[_i].text, strlen(lines[_i].text), "\n\t");
    ck_assert_str_eq(shown.data, lines[_i].shown);
    text_close(&shown);
}
END_TEST

START_TEST(shows_one_line)
{
    struct text shown = {0};
    text_add_visible(&shown, "a\nb\0c\t", 6, "");
    ck_assert_str_eq(shown.data, "a\\u000ab\\u0000c\\u0009");
    text_close(&shown);
}
END_TEST

static void write_bytes(char *path, size_t length)
{
    strcpy(path, "/tmp/snapsim-text-XXXXXX");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(ftruncate(file, (off_t)length), 0);
    close(file);
}

START_TEST(reads_so_much)
{
    const size_t most = (size_t)2 << 20;
    for (size_t length = most - 1; length <= most + 1; length++) {
        char path[32], expected[200];
        struct text text = {0};
        struct err err = {""};
        write_bytes(path, length);
        text_add(&text, "before", 6);
        int result = text_read_input(&text, path, 2, &err);
        snprintf(expected, sizeof expected,
                 "%s: expected a file of at most 2 MiB, found a longer one", path);
        ck_assert_int_eq(result, length > most ? -1 : 0);
        ck_assert_str_eq(err.text, length > most ? expected : "");
        ck_assert_uint_eq(text.length, 6 + (length > most ? 0 : length));
        ck_assert_mem_eq(text.data, "before", 6);
        ck_assert_int_eq(text.data[text.length], '\0');
        unlink(path);
        text_close(&text);
    }
}
END_TEST

/* The second of the pair that is complete first is named, with its line. */
static const struct {
    const char *source, *message;
} twice[] = {
    {"{\"a\":1,\n\"b\":2,\n\"b\":3,\n\"a\":4}", "t:3: key 'b' appears twice"},
    {"{\"a\":1,\n\"a\":2,\n\"a\":3}", "t:2: key 'a' appears twice"},
    {"{\"o\":{\"a\":1,\n\"c\":0},\n\"p\":{\"a\":1,\n\"a\":2}}", "t:4: key 'a' appears twice"},
    {"[{\"a\":1},{\"a\":1}]", ""},
};

START_TEST(refuses_duplicates)
{
    struct json_document document;
    struct err err = {""};
    int result = json_open_text(&document, "t", twice[_i].source, &err);
    ck_assert_int_eq(result, twice[_i].message[0] ? -1 : 0);
    ck_assert_str_eq(err.text, twice[_i].message);
    if (result == 0)
        json_close_document(&document);
}
END_TEST

/* A million keys: pair by pair, that would be half of 10^12 comparisons. */
START_TEST(reads_many_keys)
{
    struct json_document document;
    struct text source = {0};
    struct err err = {""};
    text_add(&source, "{", 1);
    for (int i = 0; i < 1000000; i++)
        text_printf(&source, "%s\"k%d\":0", i ? "," : "", i);
    text_add(&source, "}", 1);
    ck_assert_msg(json_open_text(&document, "t", source.data, &err) == 0, "%s", err.text);
    json_close_document(&document);
    text_close(&source);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tcase = tcase_create("all");
    SUITE_LOOP(tcase, shows, lines);
    tcase_add_test(tcase, shows_one_line);
    tcase_add_test(tcase, reads_so_much);
    SUITE_LOOP(tcase, refuses_duplicates, twice);
    tcase_add_test(tcase, reads_many_keys);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
