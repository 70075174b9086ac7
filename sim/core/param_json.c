#include "sim/core/param_json.h"

int param_set_json(const struct param *entry, void *settings, const struct json_document *document,
                   const struct json *value, struct err *err)
{
    struct text text = {0};
    struct err reason;
    int result = 0;
    text_add(&text, "", 0);
    if (json_scalar_text(value, &text) != 0)
        result = json_fail(document, value, err, "%s: a number, a word or true/false was expected",
                           json_key(value));
    else if (param_set(entry, settings, text.data, &reason) != 0)
        result = json_fail(document, value, err, "%s", reason.text);
    text_close(&text);
    return result;
}

int param_read_json(const struct param_table *tables, void *settings, const char *what,
                    const struct json_document *document, const struct json *object,
                    struct err *err)
{
    for (const struct json *item = json_first(object); item; item = json_next(item)) {
        struct err reason;
        void *base = NULL;
        const struct param *entry = param_find_in(tables, settings, json_key(item), &base);
        if (!entry) {
            param_unknown(tables, what, json_key(item), "", &reason);
            return json_fail(document, item, err, "%s", reason.text);
        }
        if (param_set_json(entry, base, document, item, err) != 0)
            return -1;
    }
    return 0;
}
