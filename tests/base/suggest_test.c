#include "base/suggest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *suggest(const char *given)
{
    static const char *const names[] = {"threads", "thread_pool", "port", "max_batch", "log"};
    onnxd_suggest search = {.name = given};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        onnxd_suggest_offer(&search, names[i]);
    return search.best;
}

Test(suggest, finds_the_nearest)
{
    cr_assert_str_eq(suggest("theads"), "threads");
    cr_assert_str_eq(suggest("thread"), "threads");
    cr_assert_str_eq(suggest("prot"), "port");
    cr_assert_str_eq(suggest("maxbatch"), "max_batch");
    cr_assert_str_eq(suggest("threads"), "threads");
}

Test(suggest, keeps_silent_when_nothing_is_near)
{
    cr_assert_null(suggest("certificate"));
    cr_assert_null(suggest("xyz"));
    cr_assert_null(suggest(""));
}

Test(suggest, survives_long_names)
{
    char given[400];
    memset(given, 'a', sizeof(given));
    given[sizeof(given) - 1] = '\0';
    cr_assert_null(suggest(given));
    onnxd_suggest search = {.name = "log"};
    onnxd_suggest_offer(&search, given);
    cr_assert_null(search.best);
}
