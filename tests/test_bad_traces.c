/* What trace readers refuse, and in which words. Each input is a whole file; each message names the
 * line, the column, what was expected and what stands there. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/inputs.h"
#include "tests/suite.h"
#include "traces/open.h"

struct bad {
    const char *format, *text, *message;
};

#define C "conversations"
#define M "mooncake"
#define HEAD "{'block_size':64,'hash_id_scope':'global','requests':["
#define ONE "{'in':130,'out':5,'hash_runs':[[1,2]]}"
#define BODY(entries) HEAD entries "]}"
#define REQUEST(rest) BODY("{'in':130,'out':5,'hash_runs':[[1,2]]," rest "}")
#define IN(value) BODY("{'in':" value ",'out':5,'hash_runs':[[1,2]]}")
#define RUNS(value) BODY("{'in':130,'out':5,'hash_runs':" value "}")
#define AT(t) "{'t':" t ",'in':130,'out':5,'hash_runs':[[1,2]]}"
#define SUB(entries) "{'t':4,'type':'subagent','requests':[" entries "]}"
#define GOOD BODY(ONE) "\n"
#define DEEP8 "[[[[[[[["
#define DEEP DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 "["
#define CALL(t, in, ids)                                                                           \
    "{'timestamp':" t ",'input_length':" in ",'output_length':1,'hash_ids':" ids "}"

#define NUMBERED(runs, in) BODY("{'in':" in ",'out':5,'hash_runs':" runs "}")
#define CHAINED                                                                                    \
    "(numbers must be chained: equal number, equal prompt up to there; --block-ids content reads " \
    "numbers of contents)"

static const struct bad bad_inputs[] = {
    {C, "[]", "t.jsonl:1: column 1: expected an object, found ["},
    {C, "{'block_size':64", "t.jsonl:1: column 17: expected ',' or '}', found the end of the line"},
    {C, "{'block_size' 64}", "t.jsonl:1: column 15: expected ':' after a key, found 64"},
    {C, "{block_size:64}", "t.jsonl:1: column 2: expected a key in quotes, found block_size"},
    {C, "\n\n{'block_size':64,}", "t.jsonl:3: column 18: expected a key in quotes, found }"},
    {C, GOOD BODY(ONE) " x", "t.jsonl:2: column 96: expected the end of the line, found x"},
    {C, GOOD "{'hash_id_scope':'global','requests':[" ONE "]}",
     "t.jsonl:2: column 1: expected 'block_size' in a conversation, found none"},
    {C, "{'block_size':64,'requests':[" ONE "]}",
     "t.jsonl:1: column 1: expected 'hash_id_scope' in a conversation, found none"},
    {C, "{'block_size':64,'hash_id_scope':'global'}",
     "t.jsonl:1: column 1: expected 'requests' in a conversation, found none"},
    {C, "{'block_size':0,'hash_id_scope':'global','requests':[" ONE "]}",
     "t.jsonl:1: column 15: expected a whole number from 1 to 1048576 as 'block_size', found 0"},
    {C, "{'block_size':64,'hash_id_scope':'file','requests':[" ONE "]}",
     "t.jsonl:1: column 34: expected 'global' or 'local' as 'hash_id_scope', found 'file'"},
    {C, "{'block_size':64,'block_size':64,'hash_id_scope':'global','requests':[" ONE "]}",
     "t.jsonl:1: column 31: expected one 'block_size' in an object, found a second one"},
    {C, GOOD "{'block_size':16,'hash_id_scope':'global','requests':[" ONE "]}",
     "t.jsonl:2: column 15: expected a 'block_size' of 64 as in line 1, found 16"},
    {C, "{'tool_tokens':-1}",
     "t.jsonl:1: column 16: expected a whole number from 0 to 1073741824 as 'tool_tokens', found "
     "-1"},
    {C, BODY(""), "t.jsonl:1: column 54: expected at least one request in 'requests', found none"},
    {C, BODY("7"), "t.jsonl:1: column 55: expected an object, found 7"},
    {C, BODY("{'out':5,'hash_runs':[[1,2]]}"),
     "t.jsonl:1: column 55: expected 'in' in a request, found none"},
    {C, BODY("{'in':130,'hash_runs':[[1,2]]}"),
     "t.jsonl:1: column 55: expected 'out' in a request, found none"},
    {C, GOOD BODY("{'in':130,'out':5}"),
     "t.jsonl:2: column 55: expected 'hash_runs' in a request, found none"},
    {C, IN("-5"),
     "t.jsonl:1: column 61: expected a whole number from 1 to 1073741824 as 'in', found -5"},
    {C, IN("0"),
     "t.jsonl:1: column 61: expected a whole number from 1 to 1073741824 as 'in', found 0"},
    {C, IN("130.0"),
     "t.jsonl:1: column 61: expected a whole number from 1 to 1073741824 as 'in', found 130.0"},
    {C, IN("'130'"),
     "t.jsonl:1: column 61: expected a whole number from 1 to 1073741824 as 'in', found '130'"},
    {C, IN("0130"),
     "t.jsonl:1: column 61: expected a whole number from 1 to 1073741824 as 'in', found 0130"},
    {C, IN("99999999999999999999"),
     "t.jsonl:1: column 61: expected a whole number from 1 to 1073741824 as 'in', found "
     "99999999999999999999"},
    {C, IN("null"), "t.jsonl:1: column 55: expected 'in' in a request, found none"},
    {C, IN("1073741820"),
     "t.jsonl:1: column 55: expected 'in' and 'out' to be at most 1073741824 together, found "
     "1073741825"},
    {C, IN("129,'in':130"),
     "t.jsonl:1: column 70: expected one 'in' in an object, found a second one"},
    {C, IN("192"),
     "t.jsonl:1: column 55: expected 3 blocks in 'hash_runs' for 192 prompt tokens, found 2"},
    {C, RUNS("[[1]]"), "t.jsonl:1: column 88: expected ',', found ]"},
    {C, RUNS("[[1,2,3]]"), "t.jsonl:1: column 90: expected ']', found ,"},
    {C, RUNS("[1,2]"), "t.jsonl:1: column 86: expected an array, found 1"},
    {C, RUNS("[[1,0]]"),
     "t.jsonl:1: column 89: expected a whole number from 1 to 1073741824 as the length of a run, "
     "found 0"},
    {C, RUNS("[[-1,2]]"),
     "t.jsonl:1: column 87: expected a whole number from 0 to 9223372036854775807 as the first "
     "number of a run, found -1"},
    {C, RUNS("[[1,1],[9,2]]"),
     "t.jsonl:1: column 55: expected 2 blocks in 'hash_runs' for 130 prompt tokens, found 3"},
    {C, RUNS("{}"), "t.jsonl:1: column 85: expected an array, found {"},
    {C, REQUEST("'t':-1.5"),
     "t.jsonl:1: column 97: expected a number of seconds from 0 to 4e9 as 't', found -1.5"},
    {C, REQUEST("'t':NaN"),
     "t.jsonl:1: column 97: expected a number of seconds from 0 to 4e9 as 't', found NaN"},
    {C, REQUEST("'t':1e99"),
     "t.jsonl:1: column 97: expected a number of seconds from 0 to 4e9 as 't', found 1e99"},
    {C, REQUEST("'t':1."),
     "t.jsonl:1: column 97: expected a number of seconds from 0 to 4e9 as 't', found 1."},
    {C, REQUEST("'t':'now'"),
     "t.jsonl:1: column 97: expected a number of seconds from 0 to 4e9 as 't', found 'now'"},
    {C, GOOD BODY(AT("2.5") "," AT("2.499999999")),
     "t.jsonl:2: column 102: time going backwards: expected 't' to be at least 2.5 s, found "
     "2.499999999 s"},
    {C, BODY(AT("2") "," SUB(AT("3") "," AT("1"))),
     "t.jsonl:1: column 182: time going backwards: expected 't' to be at least 3 s, found 1 s"},
    {C, BODY(AT("2") "," SUB("{'t':0,'type':'subagent','requests':[" ONE "]}")),
     "t.jsonl:1: column 173: expected no sub-conversation inside a sub-conversation, found one"},
    {C, BODY(ONE ",{'type':'subagent','t':4}"),
     "t.jsonl:1: column 94: expected 'requests' in a sub-conversation, found none"},
    {C, BODY(ONE ",{'type':'n','requests':[" ONE "]}"),
     "t.jsonl:1: column 94: expected 'subagent' as 'type' of what has 'requests', found another"},
    {C, BODY(ONE "," SUB("")),
     "t.jsonl:1: column 130: expected at least one request in 'requests', found none"},
    {C, REQUEST("'type':'x'"),
     "t.jsonl:1: column 100: expected 'n', 's' or 'subagent' as 'type', found 'x'"},
    {C, REQUEST("'type':{}"), "t.jsonl:1: column 100: expected a string as 'type', found {"},
    {C, REQUEST("'input_types':'text'"), "t.jsonl:1: column 107: expected an array, found 'text'"},
    {C, REQUEST("'order':4294967295"),
     "t.jsonl:1: column 101: expected a whole number from 0 to 4294967294 as 'order', found "
     "4294967295"},
    {C, REQUEST("'keep':1"),
     "t.jsonl:1: column 55: expected 'keep' to be at most the 0 bounds of the request before, "
     "found 1"},
    {C, REQUEST("'bounds':[['u',5],['a',5]]"),
     "t.jsonl:1: column 55: expected 'bounds' to rise up to 'in', 130, found 5 after 5"},
    {C, REQUEST("'bounds':[['u',131]]"),
     "t.jsonl:1: column 55: expected 'bounds' to rise up to 'in', 130, found 131 after 0"},
    {C, REQUEST("'bounds':[['x',5]]"),
     "t.jsonl:1: column 104: expected 'o', 's', 'u', 'a' or 't' as the role of a message, found "
     "'x'"},
    {C, REQUEST("'bounds':[['u']]"), "t.jsonl:1: column 107: expected ',', found ]"},
    {C, REQUEST("'bounds':[[5,'u']]"),
     "t.jsonl:1: column 104: expected a string as the role of a message, found 5"},
    {C, REQUEST("'out_runs':[[3,5]]"),
     "t.jsonl:1: column 55: expected 'out_runs' only with a 'block_size' of 1, found them with 64"},
    {C,
     "{'block_size':1,'hash_id_scope':'local','requests':[{'in':2,'out':5,'hash_runs':[[1,2]],'out_"
     "runs':[[3,4]]}]}",
     "t.jsonl:1: column 53: expected 5 tokens in 'out_runs', found 4"},
    {C, REQUEST("'x':[1,2"), "t.jsonl:1: column 101: expected ',' or ']', found }"},
    {C, REQUEST("'x':'abc"),
     "t.jsonl:1: column 104: expected ''' at the end of a string, found the end of the line"},
    {C, REQUEST("'x':'abc\\"),
     "t.jsonl:1: column 105: expected ''' at the end of a string, found the end of the line"},
    {C, REQUEST("'x':'a\tb'"),
     "t.jsonl:1: column 99: expected a string without control characters, found ?"},
    {C, REQUEST("'x':tru"), "t.jsonl:1: column 97: expected a value, found tru"},
    {C, REQUEST("'x':[1 2]"), "t.jsonl:1: column 100: expected ',' or ']', found 2"},
    {C, REQUEST("'x':[1,]"), "t.jsonl:1: column 100: expected a value, found ]"},
    {C, REQUEST("'x':\x01"), "t.jsonl:1: column 97: expected a value, found ?"},
    {C, REQUEST("'x':" DEEP),
     "t.jsonl:1: column 161: expected values nested at most 64 deep, found deeper ones"},
    {M, "[]", "t.jsonl:1: column 1: expected an object, found ["},
    {M, CALL("0", "600", "[1,2]") "\n" CALL("5", "600", "[1]"),
     "t.jsonl:2: column 64: expected 2 numbers in 'hash_ids' for 600 prompt tokens, found 1"},
    {M, CALL("0", "1024", "[1,2,3]"),
     "t.jsonl:1: column 65: expected 2 numbers in 'hash_ids' for 1024 prompt tokens, found 3"},
    {M, CALL("7.5", "600", "[1,2]") "\n" CALL("7", "600", "[1,2]"),
     "t.jsonl:2: column 14: time going backwards: expected 'timestamp' to be at least 7.5 ms, "
     "found 7 ms"},
    {M, CALL("-1", "600", "[1,2]"),
     "t.jsonl:1: column 14: expected a number of milliseconds from 0 to 4e12 as 'timestamp', found "
     "-1"},
    {M, CALL("0", "0", "[]"),
     "t.jsonl:1: column 31: expected a whole number from 1 to 1073741824 as 'input_length', found "
     "0"},
    {M, CALL("0", "600", "[1,-2]"),
     "t.jsonl:1: column 67: expected a whole number from 0 to 9223372036854775806 as a block "
     "number, found -2"},
    {M, CALL("0", "600", "[1,'a']"),
     "t.jsonl:1: column 67: expected a whole number from 0 to 9223372036854775806 as a block "
     "number, found 'a'"},
    {M, CALL("0", "1073741824", "[]"),
     "t.jsonl:1: column 71: expected 2097152 numbers in 'hash_ids' for 1073741824 prompt tokens, "
     "found 0"},
    {M, "{'input_length':600,'output_length':1,'hash_ids':[1,2]}",
     "t.jsonl:1: column 1: expected 'timestamp' in a request, found none"},
    {M, "{'timestamp':0,'output_length':1,'hash_ids':[1,2]}",
     "t.jsonl:1: column 1: expected 'input_length' in a request, found none"},
    {M, "{'timestamp':0,'input_length':600,'hash_ids':[1,2]}",
     "t.jsonl:1: column 1: expected 'output_length' in a request, found none"},
    {M, "{'timestamp':0,'input_length':600,'output_length':1}",
     "t.jsonl:1: column 1: expected 'hash_ids' in a request, found none"},
    {M, "{'timestamp':0,'timestamp':1,'input_length':600,'output_length':1}",
     "t.jsonl:1: column 28: expected one 'timestamp' in an object, found a second one"},
    {M, CALL("0", "600", "[1,2]") "}",
     "t.jsonl:1: column 70: expected the end of the line, found }"},
    /* Numbers that are not chained: behind two blocks, and twice on one path. */
    {C, NUMBERED("[[1,4]]", "256") "\n" NUMBERED("[[9,1],[2,2]]", "192"),
     "t.jsonl:2: block number 2 was expected behind number 1, found behind number 9, as at "
     "t.jsonl:1 " CHAINED},
    {C, NUMBERED("[[9,1],[2,2]]", "192") "\n" NUMBERED("[[1,4]]", "256"),
     "t.jsonl:2: block number 2 was expected behind number 9, found behind number 1, as at "
     "t.jsonl:1 " CHAINED},
    {C, NUMBERED("[[5,3]]", "192") "\n" NUMBERED("[[6,1]]", "64"),
     "t.jsonl:2: block number 6 was expected behind number 5, found at the start of a prompt, as "
     "at t.jsonl:1 " CHAINED},
    {C, NUMBERED("[[5,1],[7,2]]", "192") "\n" NUMBERED("[[6,1],[7,1]]", "128"),
     "t.jsonl:2: block number 7 was expected behind number 5, found behind number 6, as at "
     "t.jsonl:1 " CHAINED},
    {C,
     "{'block_size':64,'hash_id_scope':'local','requests':[{'in':192,'out':5,'hash_runs':[[1,2],"
     "[1,1]]}]}",
     "t.jsonl:1: block number 1 was expected at the start of a prompt, found behind number 2, as "
     "at t.jsonl:1 " CHAINED},
    {M, CALL("0", "1300", "[0,0,0]"),
     "t.jsonl:1: block number 0 was expected at the start of a prompt, found behind number 0, as "
     "at t.jsonl:1 " CHAINED},
    {M, CALL("0", "1300", "[0,1,2]") "\n" CALL("0", "1300", "[7,1,2]"),
     "t.jsonl:2: block number 1 was expected behind number 0, found behind number 7, as at "
     "t.jsonl:1 " CHAINED},
    {M,
     CALL("0", "1300", "[0,3,2]") "\n" CALL("0", "1300", "[0,1,2]") "\n" CALL("0", "600", "[1,2]"),
     "t.jsonl:3: block number 1 was expected behind number 0, found at the start of a prompt, as "
     "at t.jsonl:2 " CHAINED},
    /* Who may share: a name, or nothing. */
    {C, REQUEST("'tenant':true"),
     "t.jsonl:1: column 102: expected a string or a number as 'tenant', found true"},
    {M, "{'timestamp':0,'cache_salt':{},'input_length':600}",
     "t.jsonl:1: column 29: expected a string or a number as 'cache_salt', found {"},
    {C, REQUEST("'lora':'a','lora':'b'"),
     "t.jsonl:1: column 111: expected one 'lora' in an object, found a second one"},
    {C, REQUEST("'reply_back':-1"),
     "t.jsonl:1: column 106: expected a whole number from 0 to 1073741824 as 'reply_back', found "
     "-1"},
    {NULL, "", "t.jsonl:1: expected a request, found an empty file"},
    {NULL, "\n \r\n\n", "t.jsonl:1: expected a request, found an empty file"},
    {NULL, "{'session':1}\n",
     "t.jsonl:1: expected a trace in one of the formats conversations, mooncake, compiled, found "
     "something else"},
    {"moncake", "{}",
     "there is no trace format 'moncake' (did you mean 'mooncake'?); known: conversations, "
     "mooncake, compiled"},
    {"zip", "{}", "there is no trace format 'zip'; known: conversations, mooncake, compiled"},
    {"compiled", GOOD, "t.jsonl: expected the compiled form of a trace, found something else"},
};

START_TEST(test_bad_input)
{
    const struct bad *bad = &bad_inputs[_i];
    struct record *record = NULL;
    struct err err = {"(it was accepted)"};
    char *message = input_unquote(bad->message);
    /* Messages quote like JSON; the table has ' for both. */
    ck_assert_int_eq(input_trace(bad->text, bad->format, &record, &err), -1);
    for (char *c = err.text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    ck_assert_str_eq(err.text, message);
    ck_assert_ptr_null(record);
    free(message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bad traces");
    TCase *parse = tcase_create("parse");
    tcase_add_loop_test(parse, test_bad_input, 0, (int)(sizeof bad_inputs / sizeof *bad_inputs));
    suite_add_tcase(suite, parse);
    return suite_run(suite);
}
