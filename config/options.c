#include "config/option.h"

#include <string.h>

#include "config/config.h"

#define STARTUP false
#define RELOAD true

static const onnxd_option table[] = {
#define ONNXD_OPTION(group_, field_, KIND, default_, least_, most_, when_, flag_, commands_,       \
                     help_)                                                                        \
    {.group = #group_,                                                                             \
     .field = #field_,                                                                             \
     .key = #group_ "." #field_,                                                                   \
     .kind = ONNXD_OPTION_##KIND,                                                                  \
     .offset = offsetof(onnxd_config, group_##_##field_),                                          \
     .default_text = default_,                                                                     \
     .least = (uint64_t)(least_),                                                                  \
     .most = (uint64_t)(most_),                                                                    \
     .least_real = (double)(least_),                                                               \
     .most_real = (double)(most_),                                                                 \
     .is_reloadable = when_,                                                                       \
     .flag = flag_,                                                                                \
     .commands = commands_,                                                                        \
     .help = help_},
#include "config/options.inc"
};

size_t onnxd_option_count(void)
{
    return ONNXD_COUNT(table);
}

const onnxd_option *onnxd_option_at(size_t index)
{
    return &table[index];
}

size_t onnxd_option_index(const onnxd_option *option)
{
    return (size_t)(option - table);
}

const onnxd_option *onnxd_option_find(const char *key)
{
    for (size_t i = 0; i < ONNXD_COUNT(table); i++)
        if (strcmp(table[i].key, key) == 0)
            return &table[i];
    return NULL;
}

const onnxd_option *onnxd_option_find_flag(const char *flag, uint32_t commands)
{
    for (size_t i = 0; i < ONNXD_COUNT(table); i++)
        if (table[i].flag != NULL && (table[i].commands & commands) != 0 &&
            strcmp(table[i].flag, flag) == 0)
            return &table[i];
    return NULL;
}

static char to_environment(char c)
{
    static const char lower[] = "abcdefghijklmnopqrstuvwxyz.";
    static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *found = c != '\0' ? strchr(lower, c) : NULL;
    if (found == NULL)
        return c;
    return upper[found - lower];
}

const char *onnxd_option_environment(const onnxd_option *option, char *buffer)
{
    static const char prefix[] = "ONNXD_";
    size_t length = sizeof(prefix) - 1;
    memcpy(buffer, prefix, sizeof(prefix));
    for (const char *c = option->key; *c != '\0' && length + 1 < ONNXD_OPTION_ENVIRONMENT; c++)
        buffer[length++] = to_environment(*c);
    buffer[length] = '\0';
    return buffer;
}

const char *onnxd_option_kind_name(onnxd_option_kind kind)
{
    switch (kind) {
    case ONNXD_OPTION_BOOL:
        return "true or false";
    case ONNXD_OPTION_U32:
    case ONNXD_OPTION_U64:
        return "integer";
    case ONNXD_OPTION_BYTES:
        return "size";
    case ONNXD_OPTION_F64:
        return "number";
    case ONNXD_OPTION_STRING:
        return "string";
    case ONNXD_OPTION_LIST:
        return "list of strings";
    case ONNXD_OPTION_LEVEL:
        return "log level";
    }
    return "value";
}
