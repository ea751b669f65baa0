#include "http/router.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"

static onnxd_http_match find(onnxd_http_method method, const char *path)
{
    return onnxd_http_router_find(method, (onnxd_http_span){path, strlen(path)});
}

/* The pattern with every "{}" and "**" filled in. */
static void example_path(const char *pattern, char *out, size_t capacity)
{
    size_t length = 0;
    while (*pattern != '\0' && length + 2 < capacity) {
        if (strncmp(pattern, "{}", 2) == 0 || strncmp(pattern, "**", 2) == 0) {
            out[length++] = 'm';
            pattern += 2;
        } else {
            out[length++] = *pattern++;
        }
    }
    out[length] = '\0';
}

Test(router, finds_every_route)
{
    size_t count;
    const onnxd_http_route *routes = onnxd_http_routes(&count);
    cr_assert_gt(count, 20u);
    for (size_t i = 0; i < count; i++) {
        char path[128];
        example_path(routes[i].pattern, path, sizeof(path));
        cr_assert_eq(find(routes[i].method, path).route, &routes[i], "%s", path);
    }
}

static bool ends_in_name(const char *pattern)
{
    const size_t length = strlen(pattern);
    return length >= 2 && strcmp(pattern + length - 2, "{}") == 0;
}

/* No other spelling of a path reaches its handler. */
Test(router, knows_one_spelling_of_each_path)
{
    size_t count;
    const onnxd_http_route *routes = onnxd_http_routes(&count);
    for (size_t i = 0; i < count; i++) {
        if (routes[i].handler == NULL)
            continue;
        char path[128], other[160];
        example_path(routes[i].pattern, path, sizeof(path));
        static const struct {
            const char *before, *behind;
        } spellings[] = {{"/", ""},   {"/.", ""},  {"/x/..", ""}, {"", "/"},
                         {"", "//"},  {"", "/."},  {"", ";a"},    {"", "."},
                         {"", "%2f"}, {"", "%00"}, {"/%2e", ""}};
        for (size_t k = 0; k < ONNXD_COUNT(spellings); k++) {
            (void)snprintf(other, sizeof(other), "%s%s%s", spellings[k].before, path,
                           spellings[k].behind);
            onnxd_http_match match = find(routes[i].method, other);
            /* A name may end in anything; "/v2/" is a path of its own. */
            bool is_name = match.route != NULL && ends_in_name(match.route->pattern);
            cr_assert(match.route == NULL || match.route->handler == NULL || is_name ||
                          strcmp(other, "/v2/") == 0,
                      "%s", other);
        }
        for (char *c = path; *c != '\0'; c++) {
            if (*c >= 'a' && *c <= 'z' && *c != 'm') {
                *c = (char)(*c & ~0x20);
                const onnxd_http_route *route = find(routes[i].method, path).route;
                cr_assert_neq(route, &routes[i], "%s", path);
                *c = (char)(*c | 0x20);
            }
        }
    }
}

Test(router, captures_raw_segments)
{
    onnxd_http_match match = find(ONNXD_HTTP_POST, "/v2/models/a%20b/versions/17/infer");
    cr_assert_not_null(match.route);
    cr_assert_eq(match.capture_count, 2u);
    cr_assert(match.captures[0].size == 5 && memcmp(match.captures[0].data, "a%20b", 5) == 0);
    cr_assert(match.captures[1].size == 2 && memcmp(match.captures[1].data, "17", 2) == 0);
    match = find(ONNXD_HTTP_GET, "/v2/models/infer/ready");
    cr_assert_eq(match.capture_count, 1u);
}

Test(router, takes_head_for_get_and_lists_what_is_allowed)
{
    onnxd_http_match get = find(ONNXD_HTTP_GET, "/v2");
    cr_assert_eq(find(ONNXD_HTTP_HEAD, "/v2").route, get.route);
    onnxd_http_match match = find(ONNXD_HTTP_POST, "/v2");
    cr_assert_null(match.route);
    cr_assert_eq(match.allowed, 1u << ONNXD_HTTP_GET | 1u << ONNXD_HTTP_HEAD);
    match = find(ONNXD_HTTP_HEAD, "/v2/models/m/infer");
    cr_assert_null(match.route);
    cr_assert_eq(match.allowed, 1u << ONNXD_HTTP_POST);
    cr_assert_eq(find(ONNXD_HTTP_GET, "/v3").allowed, 0u);
}

Test(router, decodes_segments)
{
    static const struct {
        const char *raw, *decoded; /* NULL: refused */
    } cases[] = {{"plain", "plain"}, {"a%20b", "a b"}, {"%c3%A4", "\xc3\xa4"}, {"%25", "%"},
                 {"%2F", "/"},       {"%2e%2E", ".."}, {"a%00", NULL},         {"%0a", NULL},
                 {"%7f", NULL},      {"%c0%af", NULL}, {"%ff", NULL},          {"%ed%a0%80", NULL}};
    onnxd_arena arena;
    onnxd_arena_init(&arena, 1024, 4096);
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        onnxd_http_span text;
        onnxd_status *status = onnxd_http_decode_segment(
            (onnxd_http_span){cases[i].raw, strlen(cases[i].raw)}, &arena, &text);
        cr_assert_eq(status == NULL, cases[i].decoded != NULL, "%s", cases[i].raw);
        if (status == NULL)
            cr_assert(text.size == strlen(cases[i].decoded) &&
                          memcmp(text.data, cases[i].decoded, text.size) == 0,
                      "%s", cases[i].raw);
        else
            cr_assert_eq(onnxd_status_code(status), ONNXD_INVALID_ARGUMENT);
        onnxd_status_free(status);
    }
    onnxd_arena_deinit(&arena);
}
