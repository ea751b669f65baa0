#include "http/router.h"

#include <string.h>

#include "base/utf8.h"
#include "http/routes/routes.h"

static const onnxd_http_route routes[] = {
#define ONNXD_ROUTE(method_, pattern_, handler_, body_)                                            \
    {.method = ONNXD_HTTP_##method_,                                                               \
     .pattern = pattern_,                                                                          \
     .handler = onnxd_http_handle_##handler_,                                                      \
     .body = ONNXD_HTTP_BODY_##body_},
#define ONNXD_REFUSED(pattern_, feature_) {.pattern = pattern_, .feature = feature_},
#include "http/routes.inc"
#undef ONNXD_ROUTE
#undef ONNXD_REFUSED
};

const onnxd_http_route *onnxd_http_routes(size_t *out_count)
{
    *out_count = ONNXD_COUNT(routes);
    return routes;
}

/* Both start with '/'. Walks segment by segment. */
static bool matches(const char *pattern, onnxd_http_span path, onnxd_http_match *out)
{
    size_t at = 0;
    out->capture_count = 0;
    while (*pattern != '\0') {
        if (strcmp(pattern, "**") == 0)
            return true;
        if (pattern[0] == '{') {
            size_t start = at;
            while (at < path.size && path.data[at] != '/')
                at++;
            if (at == start)
                return false;
            out->captures[out->capture_count++] = (onnxd_http_span){path.data + start, at - start};
            pattern += 2;
            continue;
        }
        if (at == path.size || path.data[at] != *pattern)
            return false;
        at++;
        pattern++;
    }
    return at == path.size;
}

static uint32_t methods_of(const onnxd_http_route *route)
{
    uint32_t methods = 1u << route->method;
    return route->method == ONNXD_HTTP_GET ? methods | 1u << ONNXD_HTTP_HEAD : methods;
}

onnxd_http_match onnxd_http_router_find(onnxd_http_method method, onnxd_http_span path)
{
    uint32_t allowed = 0;
    for (size_t i = 0; i < ONNXD_COUNT(routes); i++) {
        onnxd_http_match match = {.route = &routes[i]};
        /* What is offered under another method is not refused as a feature. */
        if (!matches(routes[i].pattern, path, &match) ||
            (routes[i].handler == NULL && allowed != 0))
            continue;
        if (routes[i].handler == NULL || (methods_of(&routes[i]) & 1u << method) != 0)
            return match;
        allowed |= methods_of(&routes[i]);
    }
    return (onnxd_http_match){.allowed = allowed};
}

static unsigned hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return (unsigned)((c | 0x20) - 'a') + 10;
}

onnxd_status *onnxd_http_decode_segment(onnxd_http_span segment, onnxd_arena *arena,
                                        onnxd_http_span *out_text)
{
    char *text = onnxd_arena_strndup(arena, segment.data, segment.size);
    if (text == NULL)
        return onnxd_error_out_of_memory("a path segment", segment.size, UINT64_MAX);
    size_t length = 0;
    for (size_t i = 0; i < segment.size; i++) {
        unsigned char c = (unsigned char)segment.data[i];
        if (c == '%') { /* the head's parse has seen two hex digits */
            c = (unsigned char)(hex_value(segment.data[i + 1]) << 4 |
                                hex_value(segment.data[i + 2]));
            i += 2;
        }
        if (c < 0x20 || c == 0x7f)
            return onnxd_error(ONNXD_INVALID_ARGUMENT,
                               "the request path holds an encoded control character");
        text[length++] = (char)c;
    }
    text[length] = '\0';
    if (!onnxd_utf8_is_valid(text, length))
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "the request path is not UTF-8");
    *out_text = (onnxd_http_span){text, length};
    return NULL;
}
