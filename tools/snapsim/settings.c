#include "tools/snapsim/settings.h"

#include "tools/snapsim/snapsim.h"

int settings_check(const struct config *config, struct err *err)
{
    struct models models = {0};
    int result = setup_check(config, &snapsim_plugins, &models, err);
    models_close(&models);
    return result;
}
