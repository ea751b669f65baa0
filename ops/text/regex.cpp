#include "ops/text/regex.h"

#include <re2/re2.h>

#include <cstdio>
#include <new>

/* What one pattern and its automata may take. */
static const int64_t max_pattern_bytes = 4 << 20;

struct onnxd_regex {
    RE2 compiled;
};

onnxd_regex *onnxd_regex_create(const char *pattern, size_t length, char *reason,
                                size_t reason_capacity)
{
    RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(max_pattern_bytes);
    onnxd_regex *regex =
        new (std::nothrow) onnxd_regex{{re2::StringPiece(pattern, length), options}};
    if (regex != nullptr && regex->compiled.ok())
        return regex;
    snprintf(reason, reason_capacity, "%s",
             regex == nullptr ? "out of memory" : regex->compiled.error().c_str());
    delete regex;
    return nullptr;
}

void onnxd_regex_destroy(onnxd_regex *regex)
{
    delete regex;
}

bool onnxd_regex_matches(const onnxd_regex *regex, const char *text, size_t length)
{
    return RE2::FullMatch(re2::StringPiece(text, length), regex->compiled);
}

bool onnxd_regex_find(const onnxd_regex *regex, const char *text, size_t length, size_t from,
                      size_t *out_first, size_t *out_end)
{
    const re2::StringPiece whole(text, length);
    re2::StringPiece found;
    if (!regex->compiled.Match(whole, from, length, RE2::UNANCHORED, &found, 1))
        return false;
    *out_first = static_cast<size_t>(found.data() - text);
    *out_end = *out_first + found.size();
    return true;
}
