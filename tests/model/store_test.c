#include "model/store.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "tests/model/support.h"

/* ---- repositories -------------------------------------------------------------------------- */

/* A model that multiplies its input by `factor`. */
static void write_model(const char *path, float factor)
{
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "1");
    onnx_floats(&file, "factor", "1", 1, &factor);
    onnx_node(&file, "Mul", "x,factor", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "1");
    onnx_file_write(&file, path);
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out);
    fputs(text, out);
    fclose(out);
}

/* <root>/<relative>, with the directories on the way. */
static const char *path_in(const char *root, const char *relative)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", root, relative);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    return path;
}

/* ---- a store and its changes --------------------------------------------------------------- */

typedef struct fixture {
    char root[64];
    const char *sources[2];
    onnxd_runtime *runtime;
    onnxd_store *store;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned changes;
} fixture;

static void note_change(void *user)
{
    fixture *f = user;
    pthread_mutex_lock(&f->mutex);
    f->changes++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
}

static void setup(fixture *f)
{
    memset(f, 0, sizeof(*f));
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->changed, NULL);
    support_make_directory(f->root, sizeof(f->root));
    f->sources[0] = f->root;
    f->runtime = support_runtime("cpu;cpu.threads=1");
}

static void start(fixture *f, uint32_t max_models, uint32_t max_versions)
{
    const onnxd_store_options options = {
        .sources = f->sources,
        .max_models = max_models,
        .max_versions = max_versions,
        .model = onnxd_model_options_default(),
        .changed = note_change,
        .user = f,
    };
    support_ok(onnxd_store_create(f->runtime, &options, &f->store));
    support_ok(onnxd_store_start(f->store));
}

/* Waits for more changes than there were before `seen`, at most 20 s. */
static void wait_changes(fixture *f, unsigned more_than)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    int error = 0;
    pthread_mutex_lock(&f->mutex);
    while (f->changes <= more_than && error == 0)
        error = pthread_cond_timedwait(&f->changed, &f->mutex, &until);
    pthread_mutex_unlock(&f->mutex);
    cr_assert_eq(error, 0, "the store did not change");
}

static unsigned changes_so_far(fixture *f)
{
    pthread_mutex_lock(&f->mutex);
    const unsigned changes = f->changes;
    pthread_mutex_unlock(&f->mutex);
    return changes;
}

static uint32_t wait_loaded(fixture *f)
{
    uint32_t failed;
    unsigned seen = 0;
    while (!onnxd_store_is_loaded(f->store, &failed)) {
        wait_changes(f, seen);
        seen = changes_so_far(f);
    }
    return failed;
}

static void teardown(fixture *f)
{
    onnxd_store_destroy(f->store);
    onnxd_runtime_destroy(f->runtime);
    support_remove_directory(f->root);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->mutex);
}

static onnxd_model *find(fixture *f, const char *name, int64_t version)
{
    onnxd_model *model;
    support_ok(onnxd_store_find(f->store, name, strlen(name), version, &model));
    return model;
}

/* Waits until the version serves. The store tells of its first load after that is visible, so the
 * number of changes alone may count one that came before. */
static void wait_found(fixture *f, const char *name, int64_t version)
{
    for (;;) {
        onnxd_model *model;
        const unsigned seen = changes_so_far(f);
        onnxd_status *status = onnxd_store_find(f->store, name, strlen(name), version, &model);
        if (status == NULL) {
            onnxd_store_release_model(f->store, model);
            return;
        }
        onnxd_status_free(status);
        wait_changes(f, seen);
    }
}

static void expect_missing(fixture *f, const char *name, int64_t version, onnxd_code code,
                           const char *text)
{
    onnxd_model *model;
    support_error(onnxd_store_find(f->store, name, strlen(name), version, &model), code, text);
}

static void expect_factor(fixture *f, const char *name, int64_t version, float factor)
{
    static const float two = 2;
    const float expected = two * factor;
    onnxd_model *model = find(f, name, version);
    const onnxd_tensor_view input = support_view(&two, ONNXD_FLOAT, "1");
    support_expect_floats(model, &input, 1, &expected);
    onnxd_store_release_model(f->store, model);
}

/* ---- tests --------------------------------------------------------------------------------- */

Test(store, serves_good_models_beside_bad_ones)
{
    fixture f;
    setup(&f);
    write_model(path_in(f.root, "plain.onnx"), 2);
    write_model(path_in(f.root, "single/model.onnx"), 3);
    write_model(path_in(f.root, "many/1/model.onnx"), 4);
    write_model(path_in(f.root, "many/10/model.onnx"), 5);
    write_model(path_in(f.root, "many/9/model.onnx"), 6);
    write_model(path_in(f.root, "many/07/model.onnx"), 7);
    write_text(path_in(f.root, "bad.onnx"), "this is no model");
    write_model(path_in(f.root, "bad name.onnx"), 1);
    write_text(path_in(f.root, "notes.txt"), "not a model either");
    write_text(path_in(f.root, "empty/readme"), "");
    start(&f, 0, 0);
    cr_expect_eq(wait_loaded(&f), 1);
    expect_factor(&f, "plain", 0, 2);
    expect_factor(&f, "plain", 1, 2);
    expect_factor(&f, "single", 1, 3);
    expect_factor(&f, "many", 0, 5);
    expect_factor(&f, "many", 1, 4);
    expect_factor(&f, "many", 9, 6);
    expect_missing(&f, "many", 7, ONNXD_NOT_FOUND, "version 7 is not found");
    expect_missing(&f, "nothing", 0, ONNXD_NOT_FOUND,
                   "Request for unknown model: 'nothing' is not found");
    expect_missing(&f, "bad name", 0, ONNXD_NOT_FOUND, "is not found");
    expect_missing(&f, "bad", 0, ONNXD_UNAVAILABLE, "'bad' version 1 is not available: ");
    teardown(&f);
}

static void list_entry(const onnxd_store_entry *entry, void *user)
{
    onnxd_strbuf *out = user;
    onnxd_strbuf_printf(out, "%s/%lld %s%s;", entry->name, (long long)entry->version,
                        onnxd_model_state_name(entry->state), entry->reason[0] != '\0' ? "!" : "");
}

Test(store, lists_by_name_and_version_within_its_limits)
{
    fixture f;
    onnxd_strbuf text;
    setup(&f);
    write_model(path_in(f.root, "b/1/model.onnx"), 1);
    write_model(path_in(f.root, "b/2/model.onnx"), 1);
    write_model(path_in(f.root, "b/11/model.onnx"), 1);
    write_model(path_in(f.root, "a.onnx"), 1);
    write_model(path_in(f.root, "c.onnx"), 1);
    start(&f, 2, 2);
    cr_expect_eq(wait_loaded(&f), 1);
    onnxd_strbuf_init(&text, 4096);
    onnxd_store_visit(f.store, list_entry, &text);
    cr_expect_str_eq(text.data, "a/1 READY;b/2 READY;b/11 READY;c/1 UNAVAILABLE!;");
    onnxd_strbuf_deinit(&text);
    expect_missing(&f, "c", 0, ONNXD_UNAVAILABLE, "max_models");
    teardown(&f);
}

/* Rewrites a file so that its stamp differs even within one tick of the file system's clock. */
static void rewrite_model(const char *path, float factor)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000 + (time_t)factor},
                                      {.tv_sec = 1000000000 + (time_t)factor}};
    write_model(path, factor);
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

Test(store, a_reload_picks_up_changes_and_a_failed_one_keeps_the_old)
{
    fixture f;
    setup(&f);
    write_model(path_in(f.root, "m.onnx"), 2);
    write_model(path_in(f.root, "gone.onnx"), 1);
    write_text(path_in(f.root, "late.onnx"), "not yet");
    start(&f, 0, 0);
    cr_expect_eq(wait_loaded(&f), 1);

    onnxd_model *held = find(&f, "m", 0);
    onnxd_model *gone = find(&f, "gone", 0);
    rewrite_model(path_in(f.root, "m.onnx"), 7);
    rewrite_model(path_in(f.root, "late.onnx"), 5);
    cr_assert_eq(remove(path_in(f.root, "gone.onnx")), 0);
    unsigned seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen + 3); /* unloading, unloaded, two loaded */
    expect_factor(&f, "m", 0, 7);
    expect_factor(&f, "late", 0, 5);
    expect_missing(&f, "gone", 0, ONNXD_NOT_FOUND, "is not found");

    /* What is held lives on. */
    const float two = 2, four = 4;
    const onnxd_tensor_view input = support_view(&two, ONNXD_FLOAT, "1");
    support_expect_floats(held, &input, 1, &four);
    support_expect_floats(gone, &input, 1, &two);
    onnxd_store_release_model(f.store, held);
    onnxd_store_release_model(f.store, gone);

    write_text(path_in(f.root, "m.onnx"), "broken by an upload");
    seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen);
    expect_factor(&f, "m", 0, 7);
    uint32_t failed;
    cr_expect(onnxd_store_is_loaded(f.store, &failed));
    cr_expect_eq(failed, 0);

    rewrite_model(path_in(f.root, "m.onnx"), 9);
    seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen);
    expect_factor(&f, "m", 0, 9);
    teardown(&f);
}

/* A newcomer whose name comes first does not push out what serves. */
Test(store, what_serves_keeps_its_place)
{
    fixture f;
    setup(&f);
    write_model(path_in(f.root, "m/1/model.onnx"), 2);
    start(&f, 1, 0);
    cr_expect_eq(wait_loaded(&f), 0);
    write_model(path_in(f.root, "a.onnx"), 3);
    write_model(path_in(f.root, "m/2/model.onnx"), 4);
    unsigned seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_found(&f, "m", 2); /* after the other was refused */
    expect_missing(&f, "a", 0, ONNXD_UNAVAILABLE, "max_models");
    expect_factor(&f, "m", 1, 2);
    expect_factor(&f, "m", 0, 4);
    cr_assert_eq(remove(path_in(f.root, "m/1/model.onnx")), 0);
    cr_assert_eq(remove(path_in(f.root, "m/2/model.onnx")), 0);
    seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen + 2); /* unloading, two unloaded, one loaded */
    wait_found(&f, "a", 0);
    expect_factor(&f, "a", 0, 3);
    expect_missing(&f, "m", 0, ONNXD_NOT_FOUND, "is not found");
    teardown(&f);
}

/* Names that begin alike, and one with bytes after a NUL. */
Test(store, finds_each_name_among_similar_ones)
{
    static const char *const names[] = {"a", "a-b", "aa", "ab", "a_b", "b", "ba"};
    fixture f;
    onnxd_model *model;
    char file[32];
    setup(&f);
    for (size_t i = 0; i < ONNXD_COUNT(names); i++) {
        snprintf(file, sizeof(file), "%s/3/model.onnx", names[i]);
        write_model(path_in(f.root, file), (float)i + 1);
        snprintf(file, sizeof(file), "%s/20/model.onnx", names[i]);
        write_model(path_in(f.root, file), (float)i + 100);
    }
    write_text(path_in(f.root, "b/30/model.onnx"), "broken");
    start(&f, 0, 0);
    cr_expect_eq(wait_loaded(&f), 1);
    for (size_t i = 0; i < ONNXD_COUNT(names); i++) {
        expect_factor(&f, names[i], 3, (float)i + 1);
        expect_factor(&f, names[i], 20, (float)i + 100);
        expect_factor(&f, names[i], 0, (float)i + 100);
        expect_missing(&f, names[i], 4, ONNXD_NOT_FOUND, "version 4 is not found");
        expect_missing(&f, names[i], 99, ONNXD_NOT_FOUND, "version 99 is not found");
    }
    expect_missing(&f, "b", 30, ONNXD_UNAVAILABLE, "not available");
    expect_missing(&f, "a-", 0, ONNXD_NOT_FOUND, "is not found");
    expect_missing(&f, "", 0, ONNXD_NOT_FOUND, "is not found");
    expect_missing(&f, "z", 0, ONNXD_NOT_FOUND, "is not found");
    support_error(onnxd_store_find(f.store, "a\0b", 3, 0, &model), ONNXD_NOT_FOUND, "is not found");
    teardown(&f);
}

/* ---- external data ------------------------------------------------------------------------- */

static void write_weights(const char *path, float factor)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000 + (time_t)factor},
                                      {.tv_sec = 1000000000 + (time_t)factor}};
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(&factor, sizeof(factor), 1, out), 1);
    fclose(out);
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void write_external_model(const char *path, const char *location)
{
    onnx_file file = onnx_file_begin();
    onnx_input(&file, "x", ONNXD_FLOAT, "1");
    onnx_external_floats(&file, "factor", "1", location);
    onnx_node(&file, "Mul", "x,factor", "y");
    onnx_output(&file, "y", ONNXD_FLOAT, "1");
    onnx_file_write(&file, path);
}

/* The model's own file stays as it is; a neighbour with weights of its own is left alone. */
Test(store, a_reload_picks_up_changed_external_data)
{
    fixture f;
    setup(&f);
    write_external_model(path_in(f.root, "m.onnx"), "data/m.bin");
    write_external_model(path_in(f.root, "n.onnx"), "n.bin");
    write_weights(path_in(f.root, "data/m.bin"), 2);
    write_weights(path_in(f.root, "n.bin"), 5);
    start(&f, 0, 0);
    cr_expect_eq(wait_loaded(&f), 0);
    expect_factor(&f, "m", 0, 2);
    onnxd_model *neighbour = find(&f, "n", 0);

    write_weights(path_in(f.root, "data/m.bin"), 3);
    unsigned seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen);
    expect_factor(&f, "m", 0, 3);
    onnxd_model *same = find(&f, "n", 0);
    cr_expect_eq(same, neighbour);
    onnxd_store_release_model(f.store, same);
    onnxd_store_release_model(f.store, neighbour);

    cr_assert_eq(remove(path_in(f.root, "data/m.bin")), 0);
    seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen);
    expect_factor(&f, "m", 0, 3);
    write_weights(path_in(f.root, "data/m.bin"), 4);
    seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen);
    expect_factor(&f, "m", 0, 4);
    teardown(&f);
}

/* From <name>.onnx to <name>/model.onnx: loaded once for it, not at every scan from then on. */
Test(store, a_version_that_moved_is_loaded_once)
{
    fixture f;
    setup(&f);
    write_model(path_in(f.root, "m.onnx"), 2);
    start(&f, 0, 0);
    wait_loaded(&f);
    cr_assert_eq(remove(path_in(f.root, "m.onnx")), 0);
    write_model(path_in(f.root, "m/model.onnx"), 3);
    unsigned seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen);
    onnxd_model *moved = find(&f, "m", 0);
    write_model(path_in(f.root, "n.onnx"), 4);
    seen = changes_so_far(&f);
    onnxd_store_reload(f.store);
    wait_changes(&f, seen);
    onnxd_model *same = find(&f, "m", 0);
    cr_expect_eq(same, moved);
    onnxd_store_release_model(f.store, same);
    onnxd_store_release_model(f.store, moved);
    teardown(&f);
}

Test(store, a_model_outlives_its_store)
{
    fixture f;
    setup(&f);
    write_model(path_in(f.root, "m.onnx"), 2);
    start(&f, 0, 0);
    wait_loaded(&f);
    onnxd_model *model = find(&f, "m", 0);
    onnxd_store_stop(f.store);
    expect_missing(&f, "m", 0, ONNXD_NOT_FOUND, "is not found");
    onnxd_store_destroy(f.store);
    f.store = NULL;
    const float two = 2, four = 4;
    const onnxd_tensor_view input = support_view(&two, ONNXD_FLOAT, "1");
    support_expect_floats(model, &input, 1, &four);
    onnxd_model_release(model);
    teardown(&f);
}

Test(store, takes_single_files_and_names_them)
{
    fixture f;
    char path[128];
    setup(&f);
    snprintf(path, sizeof(path), "%s", path_in(f.root, "some.thing.onnx"));
    write_model(path, 2);
    f.sources[0] = path;
    start(&f, 0, 0);
    wait_loaded(&f);
    expect_factor(&f, "some.thing", 0, 2);
    onnxd_store_destroy(f.store);
    const onnxd_store_options named = {.sources = f.sources,
                                       .file_model_name = "other",
                                       .model = onnxd_model_options_default(),
                                       .changed = note_change,
                                       .user = &f};
    support_ok(onnxd_store_create(f.runtime, &named, &f.store));
    support_ok(onnxd_store_start(f.store));
    wait_loaded(&f);
    expect_factor(&f, "other", 0, 2);
    teardown(&f);
}

static void expect_start_error(fixture *f, const char *const *sources, const char *name,
                               onnxd_code code, const char *text)
{
    onnxd_store *store;
    const onnxd_store_options options = {
        .sources = sources, .file_model_name = name, .model = onnxd_model_options_default()};
    support_ok(onnxd_store_create(f->runtime, &options, &store));
    support_error(onnxd_store_start(store), code, text);
    onnxd_store_destroy(store);
}

Test(store, refuses_sources_that_cannot_be)
{
    fixture f;
    char one[128], two[128], bad[128];
    setup(&f);
    snprintf(one, sizeof(one), "%s", path_in(f.root, "one.onnx"));
    snprintf(two, sizeof(two), "%s", path_in(f.root, "two.onnx"));
    snprintf(bad, sizeof(bad), "%s", path_in(f.root, "bad name.onnx"));
    write_model(one, 1);
    write_model(two, 1);
    write_model(bad, 1);
    const char *const missing[] = {f.root, "/nonexistent/models", NULL};
    const char *const device[] = {"/dev/null", NULL};
    const char *const both[] = {one, two, NULL};
    const char *const unnameable[] = {bad, NULL};
    expect_start_error(&f, missing, NULL, ONNXD_NOT_FOUND, "/nonexistent/models");
    expect_start_error(&f, device, NULL, ONNXD_INVALID_ARGUMENT, "neither a directory nor a file");
    expect_start_error(&f, both, "name", ONNXD_INVALID_ARGUMENT, "given for one file");
    expect_start_error(&f, unnameable, NULL, ONNXD_INVALID_ARGUMENT, "cannot be the name");
    expect_start_error(&f, (const char *const[]){one, NULL}, "a/b", ONNXD_INVALID_ARGUMENT,
                       "cannot be the name");
    teardown(&f);
}
