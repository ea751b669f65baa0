/*
 * Golden requests, damaged at random and delivered in random pieces. Whatever comes: well-formed
 * responses, JSON on every error, no request left, and a connection that ends when its client does.
 * ONNXD_MUTATIONS in the environment asks for more than the usual number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/number.h"
#include "fake_backend.h"
#include "golden.h"
#include "loopback.h"
#include "tests/base/random.h"

#define DEFAULT_MUTATIONS 20000
#define MAX_SEEDS 1000
#define MAX_SEED_BYTES 2000
#define MAX_MESSAGE_BYTES 8000

typedef struct seed_list {
    golden_case *files[8];
    size_t file_count;
    const golden_case *cases[MAX_SEEDS];
    size_t count;
} seed_list;

static void load_seeds(seed_list *seeds)
{
    static const char *const names[] = {"framing", "chunked", "target", "infer_json",
                                        "infer_binary"};
    for (size_t i = 0; i < ONNXD_COUNT(names); i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%s.txt", ONNXD_HTTP_CASES, names[i]);
        golden_case *at = golden_load(path);
        seeds->files[seeds->file_count++] = at;
        for (; at != NULL; at = at->next) {
            if (at->request.length > 0 && at->request.length <= MAX_SEED_BYTES &&
                seeds->count < MAX_SEEDS)
                seeds->cases[seeds->count++] = at;
        }
    }
}

/* Bytes and words on which parsers have gone wrong. */
static const char *const tokens[] = {"\r\n",
                                     "\n",
                                     "\r",
                                     "\r\n\r\n",
                                     "\0",
                                     " ",
                                     "\t",
                                     ":",
                                     ",",
                                     "0",
                                     "-1",
                                     "4294967296",
                                     "18446744073709551616",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     "\\",
                                     "\\ud800",
                                     "1e999",
                                     "NaN",
                                     "\xff",
                                     "\xc3",
                                     "Content-Length: 5\r\n",
                                     "Transfer-Encoding: chunked\r\n",
                                     "Expect: 100-continue\r\n",
                                     "Host: y\r\n",
                                     "Inference-Header-Content-Length: 10\r\n"};

static void insert(char *text, size_t *length, size_t at, const char *bytes, size_t count)
{
    if (*length + count > MAX_MESSAGE_BYTES)
        return;
    memmove(text + at + count, text + at, *length - at);
    memcpy(text + at, bytes, count);
    *length += count;
}

static void mutate(char *text, size_t *length, const seed_list *seeds, uint64_t *seed)
{
    size_t at = (size_t)random_below(seed, *length + 1);
    size_t count = (size_t)random_below(seed, 20) + 1;
    switch (random_below(seed, 7)) {
    case 0:
        if (at < *length)
            text[at] = (char)(text[at] ^ 1 << random_below(seed, 8));
        break;
    case 1:
        if (at < *length)
            text[at] = (char)random_next(seed);
        break;
    case 2: { /* delete */
        count = count < *length - at ? count : *length - at;
        memmove(text + at, text + at + count, *length - at - count);
        *length -= count;
        break;
    }
    case 3: { /* repeat */
        char piece[20];
        count = count < *length - at ? count : *length - at;
        memcpy(piece, text + at, count);
        insert(text, length, at, piece, count);
        break;
    }
    case 4: {
        const char *token = tokens[random_below(seed, ONNXD_COUNT(tokens))];
        insert(text, length, at, token, token[0] == '\0' ? 1 : strlen(token));
        break;
    }
    case 5: /* cut */
        *length = at;
        break;
    default: { /* another request from there on */
        const onnxd_strbuf *other = &seeds->cases[random_below(seed, seeds->count)]->request;
        size_t from = (size_t)random_below(seed, other->length);
        *length = at;
        insert(text, length, at, other->data + from, other->length - from);
        break;
    }
    }
}

static void deliver(test_client *client, const char *text, size_t length, uint64_t *seed)
{
    while (length > 0) {
        size_t step = length;
        if (random_below(seed, 3) != 0)
            step = (size_t)random_below(seed, length) + 1;
        client_send(client, text, step);
        if (client->pending != NULL && random_below(seed, 2) != 0)
            client_unblock(client, (size_t)random_below(seed, 400));
        text += step;
        length -= step;
    }
}

/* Everything that was held back goes on. */
static void settle(test_client *client)
{
    do {
        fake_release_held();
        client_pump(client);
        client_unblock(client, SIZE_MAX);
    } while (fake.held_count > 0 || client->pending != NULL);
    fake.holds = false;
    client_pump(client);
}

/* The method of each request is not known here: a HEAD request's response has no body. */
static void check_responses(const test_client *client, uint64_t n)
{
    size_t position = 0;
    test_response got;
    while (position < client->received.length) {
        size_t before = position;
        bool is_whole = next_response(&client->received, &position, false, &got);
        if (is_whole && got.body_bytes >= 9 && memcmp(got.body, "HTTP/1.1 ", 9) == 0)
            is_whole = false;
        if (!is_whole) {
            position = before;
            cr_assert(next_response(&client->received, &position, true, &got),
                      "mutation %llu: not a response: %s", (unsigned long long)n,
                      client->received.data + before);
        }
        cr_assert(got.status == 100 || (got.status >= 200 && got.status < 600));
        cr_assert(!is_whole || got.status < 400 || memcmp(got.body, "{\"error\":\"", 10) == 0,
                  "mutation %llu: an error without JSON", (unsigned long long)n);
    }
}

Test(mutation, never_harms)
{
    static seed_list seeds;
    static char text[MAX_MESSAGE_BYTES];
    onnxd_http_options options = onnxd_http_options_default();
    options.max_body_bytes = options.max_json_body_bytes = 65536;
    options.lingering_bytes = 4096;
    options.inline_codec_bytes = 65536;
    const char *wanted = getenv("ONNXD_MUTATIONS");
    uint64_t rounds = DEFAULT_MUTATIONS;
    if (wanted != NULL)
        cr_assert(onnxd_parse_u64(wanted, strlen(wanted), &rounds));
    load_seeds(&seeds);
    onnxd_http_server *server = test_server_start(&options);
    for (uint64_t n = 0; n < rounds; n++) {
        uint64_t seed = n;
        const onnxd_strbuf *request = &seeds.cases[random_below(&seed, seeds.count)]->request;
        size_t length = request->length;
        memcpy(text, request->data, length);
        for (uint64_t k = random_below(&seed, 4) + 1; k > 0; k--)
            mutate(text, &length, &seeds, &seed);
        test_client client;
        client_open(&client, server);
        client.blocks_writes = random_below(&seed, 4) == 0;
        fake.holds = random_below(&seed, 8) == 0;
        deliver(&client, text, length, &seed);
        settle(&client);
        check_responses(&client, n);
        client_end(&client);
        cr_assert_null(client.conn, "mutation %llu: the connection stays", (unsigned long long)n);
        client_finish(&client);
        cr_assert_eq(fake.live_requests, 0u);
    }
    test_server_stop(server);
    for (size_t i = 0; i < seeds.file_count; i++)
        golden_free(seeds.files[i]);
}
