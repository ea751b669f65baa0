/* Files: what is refused, with which words and on which line. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support.h"

#define NOT_NUMERIC "has no numeric IPv4 address, or IPv6 address in brackets, before its port"

static const struct {
    const char *text;
    const char *errors;
} refused[] = {
    /* unknown keys and the nearest known one */
    {"{\"htp\": {}}", "F:1: htp: unknown key, did you mean 'http'?\n"},
    {"{\"zzzzzzzz\": {}}", "F:1: zzzzzzzz: unknown key\n"},
    {"{\"provider\": []}", "F:1: provider: unknown key, did you mean 'providers'?\n"},
    {"{\n \"http\": {\n  \"max_conections\": 1\n }\n}",
     "F:3: http.max_conections: unknown key, did you mean 'http.max_connections'?\n"},
    {"{\"http\": {\"max_nodes\": 1}}",
     "F:1: http.max_nodes: unknown key, did you mean 'limits.max_nodes'?\n"},
    {"{\"max_nodes\": 1}", "F:1: max_nodes: unknown key, did you mean 'limits.max_nodes'?\n"},
    {"{\"http\": {\"Max_connections\": 1}}",
     "F:1: http.Max_connections: unknown key, did you mean 'http.max_connections'?\n"},
    {"{\"a\\nb\": 1}", "F:1: a\\nb: unknown key\n"},
    /* given twice */
    {"{\"http\": {},\n\"http\": {}}", "F:2: http: given twice\n"},
    {"{\"http\": {\"max_chunks\": 1,\n\"max_chunks\": 2}}",
     "F:2: http.max_chunks: given twice, first at F:1\n"},
    {"{\"providers\": [{\"name\": \"a\"}], \"providers\": []}", "F:1: providers: given twice\n"},
    /* types */
    {"[]", "F:1: expected an object, got an array\n"},
    {"\n\n7", "F:3: expected an object, got a number\n"},
    {"{\"http\": 1}", "F:1: http: expected an object, got a number\n"},
    {"{\"http\": {\"max_chunks\": \"1\"}}",
     "F:1: http.max_chunks: expected an integer from 1 to 4294967295, got the string '1'\n"},
    {"{\"http\": {\"max_chunks\": true}}",
     "F:1: http.max_chunks: expected an integer from 1 to 4294967295, got true or false\n"},
    {"{\"http\": {\"max_chunks\": null}}",
     "F:1: http.max_chunks: expected an integer from 1 to 4294967295, got null\n"},
    {"{\"http\": {\"max_chunks\": [1]}}",
     "F:1: http.max_chunks: expected an integer from 1 to 4294967295, got an array\n"},
    {"{\"http\": {\"max_body_bytes\": {}}}",
     "F:1: http.max_body_bytes: expected an integer or a size like \"64MiB\" from 1 to "
     "1099511627776, got an object\n"},
    {"{\"bench\": {\"json\": 1}}", "F:1: bench.json: expected true or false, got a number\n"},
    {"{\"bench\": {\"json\": \"true\"}}",
     "F:1: bench.json: expected true or false, got the string 'true'\n"},
    {"{\"run\": {\"rtol\": \"1\"}}",
     "F:1: run.rtol: expected a number from 0 to 1e+09, got the string '1'\n"},
    {"{\"models\": {\"name\": 1}}", "F:1: models.name: expected a string, got a number\n"},
    {"{\"models\": {\"sources\": {}}}",
     "F:1: models.sources: expected a list of strings, got an object\n"},
    {"{\"models\": {\"sources\": [\"a\", 1]}}",
     "F:1: models.sources: element 1: expected a string, got a number\n"},
    {"{\"models\": {\"sources\": [\"\"]}}", "F:1: models.sources: element 0 is empty\n"},
    {"{\"logging\": {\"level\": 1}}",
     "F:1: logging.level: expected error, warn, info or debug, got a number\n"},
    /* values */
    {"{\"http\": {\"max_chunks\": 0}}",
     "F:1: http.max_chunks: out of range: '0', allowed are 1 to 4294967295\n"},
    {"{\"http\": {\"max_chunks\": 4294967296}}",
     "F:1: http.max_chunks: out of range: '4294967296', allowed are 1 to 4294967295\n"},
    {"{\"http\": {\"max_chunks\": 99999999999999999999999999}}",
     "F:1: http.max_chunks: out of range: '99999999999999999999999999', allowed are 1 to "
     "4294967295\n"},
    {"{\"http\": {\"max_chunks\": -5}}",
     "F:1: http.max_chunks: out of range: '-5', allowed are 1 to 4294967295\n"},
    {"{\"http\": {\"max_chunks\": 1.5}}",
     "F:1: http.max_chunks: expected an integer, got '1.5', allowed are 1 to 4294967295\n"},
    {"{\"http\": {\"max_chunks\": 1e3}}",
     "F:1: http.max_chunks: expected an integer, got '1e3', allowed are 1 to 4294967295\n"},
    {"{\"http\": {\"max_body_bytes\": \"64MB\"}}",
     "F:1: http.max_body_bytes: expected an integer or a size like \"64MiB\" (KiB, MiB, GiB, TiB), "
     "got '64MB', allowed are 1 to 1099511627776\n"},
    {"{\"http\": {\"max_inflight_bytes\": 0}}",
     "F:1: http.max_inflight_bytes: out of range: '0', allowed are at least 1 or \"unlimited\"\n"},
    {"{\"logging\": {\"level\": \"loud\"}}",
     "F:1: logging.level: expected error, warn, info or debug, got 'loud'\n"},
    {"{\"run\": {\"rtol\": -1}}", "F:1: run.rtol: expected a number from 0 to 1e+09, got '-1'\n"},
    /* one against another */
    {"{\"http\": {\"max_body_bytes\": \"1GiB\"}}",
     "F:1: http.max_body_bytes: is 1073741824, must not be more than http.max_inflight_bytes, "
     "which is 536870912\n"},
    {"{\"http\": {\n\"max_timeout_us\": 5}}",
     "F:2: http.max_timeout_us: is 5, must not be less than http.default_timeout_us, which is "
     "30000000\n"},
    /* addresses */
    {"{\"http\": {\"listen\": []}}",
     "F:1: http.listen: is empty, at least one address is needed\n"},
#define ADDRESS(address, reason)                                                                   \
    {                                                                                              \
        "{\"http\": {\"listen\": [\"127.0.0.1:0\", \"" address "\"]}}",                            \
            "F:1: http.listen: address '" address "' " reason                                      \
            "; allowed are 127.0.0.1:8000, [::1]:8000, unix:/path\n"                               \
    }
    ADDRESS("127.0.0.1", "does not end in a port from 0 to 65535"),
    ADDRESS("127.0.0.1:99999", "does not end in a port from 0 to 65535"),
    ADDRESS("127.0.0.1:", "does not end in a port from 0 to 65535"),
    ADDRESS("127.0.0.1:-1", "does not end in a port from 0 to 65535"),
    ADDRESS("localhost:8000", NOT_NUMERIC),
    ADDRESS(":8000", NOT_NUMERIC),
    ADDRESS("::1:8000", NOT_NUMERIC),
    ADDRESS("[::1:8000", NOT_NUMERIC),
    ADDRESS("[]:8000", NOT_NUMERIC),
    ADDRESS("[127.0.0.1]:8000", NOT_NUMERIC),
    ADDRESS("[:8000", NOT_NUMERIC),
    ADDRESS("unix:", "has no path, or one longer than 107 bytes"),
#undef ADDRESS
    /* names */
    {"{\"models\": {\n\"name\": \"a b\"}}",
     "F:2: models.name: 'a b' is no name of a model: expected a letter, digit or underscore and "
     "then up to 127 letters, digits, underscores, dots or dashes\n"},
    {"{\"models\": {\n\"ep\": \"cpu_ap\"}}",
     "F:2: models.ep: provider 'cpu_ap' is not configured, did you mean 'cpu_ep'?\n"},
    {"{\"models\": {\"ep\": \"cpu_ep:1\"}}",
     "F:1: models.ep: provider 'cpu_ep:1' is not configured, did you mean 'cpu_ep'?\n"},
    {"{\"models\": {\"ep\": \"gpu\"}, \"providers\": [{\"name\": \"simulated\"}]}",
     "F:1: models.ep: provider 'gpu' is not configured\n"},
    /* all problems, not just the first */
    {"{\"http\": {\"max_chunks\": 0,\n\"nonsense_key\": 1,\n\"max_pipelined\": \"x\"},\n\"run\": "
     "2}",
     "F:1: http.max_chunks: out of range: '0', allowed are 1 to 4294967295\n"
     "F:2: http.nonsense_key: unknown key\n"
     "F:3: http.max_pipelined: expected an integer from 1 to 65536, got the string 'x'\n"
     "F:4: run: expected an object, got a number\n"},
    /* providers */
    {"{\"providers\": {}}",
     "F:1: providers: expected an array of 1 to 64 objects, got an object of 0\n"},
    {"{\"providers\": []}",
     "F:1: providers: expected an array of 1 to 64 objects, got an array of 0\n"},
    {"{\"providers\": [1]}", "F:1: providers[0]: expected an object, got a number\n"},
    {"{\"providers\": [{}]}", "F:1: providers[0].name: missing\n"},
    {"{\"providers\": [{\"name\": 1}]}",
     "F:1: providers[0].name: expected a string, got a number\n"},
    {"{\"providers\": [{\"name\": \"CPU\"}]}",
     "F:1: providers[0].name: expected a small letter and then up to 31 small letters, digits or "
     "underscores, got 'CPU'\n"},
    {"{\"providers\": [{\"name\": \"a\", \"nmae\": \"b\"}]}",
     "F:1: providers[0].nmae: unknown key, did you mean 'name'?\n"},
    {"{\"providers\": [{\"name\": \"a\", \"module\": \"\"}]}",
     "F:1: providers[0].module: expected the path of a shared object, got an empty string\n"},
    {"{\"providers\": [{\"name\": \"a\", \"device_id\": -1}]}",
     "F:1: providers[0].device_id: expected an integer from 0 to 65535, got -1\n"},
    {"{\"providers\": [{\"name\": \"a\", \"device_id\": [1]}]}",
     "F:1: providers[0].device_id: expected an integer from 0 to 65535, got an array\n"},
    {"{\"providers\": [{\"name\": \"a\", \"device_ids\": 1}]}",
     "F:1: providers[0].device_ids: expected an array of integers, got a number\n"},
    {"{\"providers\": [{\"name\": \"a\", \"device_ids\": []}]}",
     "F:1: providers[0].device_ids: expected 1 to 64 device ids\n"},
    {"{\"providers\": [{\"name\": \"a\", \"device_ids\": [2,\n2]}]}",
     "F:2: providers[0].device_ids: the same device id twice\n"},
    {"{\"providers\": [{\"name\": \"a\", \"device_id\": 0, \"device_ids\": [1]}]}",
     "F:1: providers[0].device_ids: device_id and device_ids exclude each other\n"},
    {"{\"providers\": [{\"name\": \"a\", \"name\": \"b\"}]}",
     "F:1: providers[0].name: given twice\n"},
    {"{\"providers\": [{\"name\": \"a\", \"options\": []}]}",
     "F:1: providers[0].options: expected an object of at most 64 members, got an array\n"},
    {"{\"providers\": [{\"name\": \"a\", \"options\": {\"k\": null}}]}",
     "F:1: providers[0].options.k: expected a string, a number, true or false, got null\n"},
    {"{\"providers\": [{\"name\": \"a\", \"options\": {\"k\": 1, \"k\": 2}}]}",
     "F:1: providers[0].options.k: given twice\n"},
    {"{\"providers\": [{\"name\": \"a\"},\n{\"name\": \"a\"}]}",
     "F:2: providers[1].device_ids: a device that an earlier provider of the same name has\n"},
    {"{\"providers\": [{\"name\": \"a\"},\n{\"name\": \"a\", \"device_id\": 1, \"module\": "
     "\"m\"}]}",
     "F:2: providers[1].module: another module than that of an earlier provider of the same "
     "name\n"},
};

Test(file, refused_with_the_reason_and_the_line)
{
    for (size_t i = 0; i < ONNXD_COUNT(refused); i++) {
        loaded *result = load(refused[i].text, NULL, NULL, 0);
        cr_expect_str_eq(result->errors, refused[i].errors, "%s\ngives\n%s", refused[i].text,
                         result->errors);
        cr_expect_eq(result->code, ONNXD_INVALID_ARGUMENT);
        unload(result);
    }
}

/* What is no JSON: only the line and that it is refused are fixed here; the words are the
 * reader's. */
Test(file, malformed_text_is_refused_on_its_line)
{
    static const struct {
        const char *text;
        const char *where;
    } cases[] = {
        {"", "F:1: "},
        {"{", "F:1: "},
        {"{\"http\": {},}", "F:1: "},
        {"{\n\"http\": {}\n}\ntrailing", "F:4: "},
        {"{\"http\": {}\n\n\"run\": {}}", "F:3: "},
        {"{'http': {}}", "F:1: "},
        {"// comment\n{}", "F:1: "},
        {"\xef\xbb\xbf{}", "F:1: "},
        {"{\"a\": NaN}", "F:1: "},
        {"{\"models\": {\"name\": \"\xff\"}}", "F:1: "},
        {"{\"models\": {\"name\": \"\\ud800\"}}", "F:1: "},
        {"{\n\"models\": {\"name\": \"a\\u0000b\"}}", "F:2: text contains a NUL character\n"},
        {"{\"http\": {\"max_chunks\": 01}}", "F:1: "},
        {"{\"http\": {\"max_chunks\":\n"
         "1000000000000000000000000000000000000000000000000000000000000000000000}}",
         "F:2: number of 70 characters, allowed are 63\n"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "F:1: "},
    };
    for (size_t i = 0; i < ONNXD_COUNT(cases); i++) {
        loaded *result = load(cases[i].text, NULL, NULL, 0);
        cr_expect_eq(strncmp(result->errors, cases[i].where, strlen(cases[i].where)), 0,
                     "%s\ngives\n%s", cases[i].text, result->errors);
        cr_expect_eq(result->code, ONNXD_INVALID_ARGUMENT);
        unload(result);
    }
}

Test(file, an_escaped_backslash_before_u0000_is_no_nul)
{
    loaded *result = load("{\"run\": {\"data\": \"a\\\\u0000b\"}}", NULL, NULL, 0);
    cr_assert_str_eq(result->errors, "");
    cr_assert_str_eq(result->config->run_data, "a\\u0000b");
    unload(result);
}

Test(file, addresses_that_can_be_listened_on)
{
    static const char *const addresses[] = {"127.0.0.1:0",   "0.0.0.0:65535",       "[::1]:8000",
                                            "[::]:1",        "[fe80::1%eth0]:8000", "unix:/a:b",
                                            "unix:http.sock"};
    for (size_t i = 0; i < ONNXD_COUNT(addresses); i++) {
        char text[128];
        snprintf(text, sizeof(text), "{\"http\": {\"listen\": \"%s\"}}", addresses[i]);
        loaded *result = load(text, NULL, NULL, 0);
        cr_expect_str_eq(result->errors, "");
        if (result->config != NULL)
            cr_expect_str_eq(result->config->http_listen[0], addresses[i]);
        unload(result);
    }
}

/* One provider may be chosen by its name or by the label of one of its instances. */
Test(file, chosen_providers)
{
    static const char *const chosen[] = {"", "a", "a:3", "a:4", "b", "b:0"};
    for (size_t i = 0; i < ONNXD_COUNT(chosen); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "{\"models\": {\"ep\": \"%s\"}, \"providers\": [{\"name\": \"a\", "
                 "\"device_ids\": [3, 4]}, {\"name\": \"b\"}]}",
                 chosen[i]);
        loaded *result = load(text, NULL, NULL, 0);
        cr_expect_str_eq(result->errors, "");
        unload(result);
    }
}

/* Loads `path` itself; the message must name the path and say `expected`. */
static void refuse_path(const char *path, const char *expected)
{
    onnxd_config_sources sources = {.file = path};
    onnxd_config_report report;
    onnxd_config *config = NULL;
    char line[256];
    onnxd_config_report_init(&report);
    onnxd_status *status = onnxd_config_load(&sources, &report, &config);
    cr_assert_not_null(status);
    snprintf(line, sizeof(line), "configuration: file '%s' %s", path, expected);
    cr_assert_str_eq(onnxd_status_message(status), line);
    cr_assert_null(config);
    cr_assert_eq(report.error_count, 0);
    onnxd_status_free(status);
    onnxd_config_report_deinit(&report);
}

Test(file, what_is_no_file_is_refused_without_waiting)
{
    char folder[] = "/tmp/onnxd_config_XXXXXX";
    char pipe[64], large[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
    snprintf(large, sizeof(large), "%s/large", folder);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    refuse_path("/nonexistent/onnxd.json", "not found");
    refuse_path("/tmp", "is not a regular file");
    refuse_path(pipe, "is not a regular file");
    int descriptor = open(large, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    cr_assert(descriptor >= 0);
    cr_assert_eq(ftruncate(descriptor, ONNXD_CONFIG_MAX_FILE_BYTES + 1), 0);
    refuse_path(large, "has 1048577 bytes, at most 1048576 are allowed");
    cr_assert_eq(ftruncate(descriptor, ONNXD_CONFIG_MAX_FILE_BYTES), 0);
    close(descriptor);
    unlink(large);
    unlink(pipe);
    rmdir(folder);
}

/* The bounds keep a hostile file from costing more than reading it. */
Test(file, many_problems_are_bounded)
{
    enum { MEMBERS = 60000 };
    char *text = malloc(MEMBERS * 16 + 16);
    size_t used = 0;
    cr_assert_not_null(text);
    used += (size_t)snprintf(text, 16, "{\"http\":{");
    for (int i = 0; i < MEMBERS; i++)
        used += (size_t)snprintf(text + used, 16, "%s\"k%d\":0", i == 0 ? "" : ",", i);
    snprintf(text + used, 4, "}}");
    loaded *result = load(text, NULL, NULL, 0);
    cr_assert_not_null(strstr(result->errors, "more problems follow"));
    cr_assert(strlen(result->errors) < 16 * 1024);
    unload(result);
    free(text);
}

Test(file, everything_together)
{
    loaded *result = load(
        "{\"providers\": [\n"
        "  {\"name\": \"sim_ep\", \"module\": \"/m.so\", \"device_ids\": [1, 0],\n"
        "   \"options\": {\"sim.rate\": 2.5, \"sim.on\": true, \"sim.text\": \"x\"}},\n"
        "  {\"name\": \"cpu_ep\"}],\n"
        " \"models\": {\"sources\": [\"/a\", \"/b\"], \"disabled_passes\": \"fold\"},\n"
        " \"http\": {\"listen\": [\"[::1]:80\"], \"max_body_bytes\": \"8MiB\",\n"
        "            \"max_inflight_bytes\": \"unlimited\"},\n"
        " \"logging\": {\"level\": \"debug\"}, \"run\": {\"rtol\": 1e-5}, \"bench\": {\"json\": "
        "true}}",
        NULL, NULL, 0);
    cr_assert_str_eq(result->errors, "");
    const onnxd_config *config = result->config;
    cr_assert_eq(config->provider_count, 2);
    cr_assert_str_eq(config->providers[0].module, "/m.so");
    cr_assert_eq(config->providers[0].device_count, 2);
    cr_assert_eq(config->providers[0].device_ids[0], 1);
    cr_assert_eq(config->providers[0].option_count, 3);
    cr_assert_str_eq(config->providers[0].options[0].value, "2.5");
    cr_assert_str_eq(config->providers[0].options[1].value, "true");
    cr_assert_null(config->providers[1].module);
    cr_assert_eq(config->providers[1].device_ids[0], 0);
    cr_assert_str_eq(config->models_sources[1], "/b");
    cr_assert_null(config->models_sources[2]);
    cr_assert_str_eq(config->models_disabled_passes[0], "fold");
    cr_assert_eq(config->http_max_body_bytes, 8u << 20);
    cr_assert_eq(config->http_max_inflight_bytes, ONNXD_UNLIMITED);
    cr_assert_eq(config->logging_level, ONNXD_LOG_DEBUG);
    cr_assert(config->run_rtol > 0.99e-5 && config->run_rtol < 1.01e-5);
    cr_assert(config->bench_json);
    unload(result);
}

/* What is printed loads into the same, and printing that gives the same text. */
Test(file, printed_configuration_loads_into_the_same)
{
    loaded *first =
        load("{\"providers\": [{\"name\": \"x\", \"module\": \"/\\\"q\", \"device_ids\": "
             "[3], \"options\": {\"x.y\": \"z\"}}], \"models\": {\"sources\": [\"a,b\"]},"
             " \"memory\": {\"host_limit_bytes\": \"2GiB\"}}",
             NULL, NULL, 0);
    cr_assert_str_eq(first->errors, "");
    onnxd_strbuf text, again;
    onnxd_strbuf_init(&text, 1 << 20);
    onnxd_strbuf_init(&again, 1 << 20);
    onnxd_config_print(first->config, &text);
    loaded *second = load(text.data, NULL, NULL, 0);
    cr_assert_str_eq(second->errors, "");
    for (size_t i = 0; i < onnxd_option_count(); i++)
        cr_assert(onnxd_option_equal(onnxd_option_at(i), first->config, second->config), "%s",
                  onnxd_option_at(i)->key);
    cr_assert(onnxd_config_providers_equal(first->config, second->config));
    onnxd_config_print(second->config, &again);
    cr_assert_str_eq(text.data, again.data);
    onnxd_strbuf_deinit(&text);
    onnxd_strbuf_deinit(&again);
    unload(first);
    unload(second);
}

Test(file, every_allocation_may_fail)
{
    static const char text[] = "{\"providers\": [{\"name\": \"a\", \"options\": {\"k\": 1}}], "
                               "\"models\": {\"sources\": [\"/a\", \"/b\"]}, \"http\": "
                               "{\"listen\": [\"[::1]:1\"]}}";
    bool reached_the_end = false;
    for (uint64_t n = 1; !reached_the_end; n++) {
        cr_assert(n < 1000);
        uint64_t live = onnxd_alloc_query().live_count;
        onnxd_alloc_fail_at(n, 0);
        loaded *result = load(text, NULL, NULL, 0);
        onnxd_alloc_fail_at(0, 0);
        reached_the_end = result->config != NULL;
        if (!reached_the_end)
            cr_assert_eq(result->code, ONNXD_OUT_OF_MEMORY, "allocation %llu: %s",
                         (unsigned long long)n, result->errors);
        unload(result);
        cr_assert_eq(onnxd_alloc_query().live_count, live, "allocation %llu",
                     (unsigned long long)n);
    }
}
