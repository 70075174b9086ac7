#include "tools/snapsim/settings.h"

#include <string.h>

#include "tools/snapsim/snapsim.h"

int settings_open(struct setup *out, const struct config *config, struct models *models,
                  struct err *err)
{
    if (setup_open(out, config, &snapsim_plugins, models, err) == 0)
        return 0;
    const struct model_content *content = NULL;
    struct err of_model;
    bool is_of_file = text_names_file(config->model) &&
                      models_find(models, config->model, &content, &of_model) != 0 &&
                      strcmp(of_model.text, err->text) == 0;
    return is_of_file ? -1 : USAGE_ERROR;
}

int settings_check(const struct config *config, struct models *models, struct err *err)
{
    struct setup setup;
    int result = settings_open(&setup, config, models, err);
    setup_close(&setup);
    return result;
}
