#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

uint64_t suite_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

const char *suite_shared(void)
{
    struct stat status;
    const char *shared = getenv("SNAPSIM_SHARED");
    if (shared == NULL || *shared == '\0')
        shared = "../shared";
    if (stat(shared, &status) == 0 && S_ISDIR(status.st_mode))
        return shared;
    printf("skipped: no folder of shared traces at '%s' (SNAPSIM_SHARED)\n", shared);
    return NULL;
}
