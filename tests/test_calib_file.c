/* test_calib_file.c - calibrations as files: what is read, refused and written; laws from points.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/cost/calib.h"
#include "sim/cost/calib_band.h"
#include "tests/suite.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* A file as tools/probe writes it, cut down to one law and three points. */
static const char sample[] = "{\n"
                             "\t\"schema\":\t1,\n"
                             "\t\"kind\":\t\"calibration\",\n"
                             "\t\"name\":\t\"nvidia-h200-measured\",\n"
                             "\t\"provenance\":\t\"measured\",\n"
                             "\t\"program\":\t{\n"
                             "\t\t\"name\":\t\"probe\",\n"
                             "\t\t\"version\":\t\"ae22d61\",\n"
                             "\t\t\"date\":\t\"2026-11-29T00:00:00Z\"\n"
                             "\t},\n"
                             "\t\"device\":\t{\n"
                             "\t\t\"name\":\t\"NVIDIA H200\",\n"
                             "\t\t\"driver\":\t\"570.86\",\n"
                             "\t\t\"runtime\":\t\"CUDA 12.8\",\n"
                             "\t\t\"sm_count\":\t132,\n"
                             "\t\t\"memory_bytes\":\t150754820096,\n"
                             "\t\t\"l2_bytes\":\t62914560,\n"
                             "\t\t\"peak_bandwidth\":\t{\n"
                             "\t\t\t\"value\":\t4.8,\n"
                             "\t\t\t\"unit\":\t\"TB/s\",\n"
                             "\t\t\t\"provenance\":\t\"published\"\n"
                             "\t\t},\n"
                             "\t\t\"peak_bf16\":\t{\n"
                             "\t\t\t\"value\":\t989,\n"
                             "\t\t\t\"unit\":\t\"TFLOPS\",\n"
                             "\t\t\t\"provenance\":\t\"published\"\n"
                             "\t\t},\n"
                             "\t\t\"before\":\t{\n"
                             "\t\t\t\"sm_clock_mhz\":\t1980,\n"
                             "\t\t\t\"other_processes\":\t0\n"
                             "\t\t}\n"
                             "\t},\n"
                             "\t\"method\":\t{\n"
                             "\t\t\"samples\":\t20,\n"
                             "\t\t\"timing\":\t\"events\"\n"
                             "\t},\n"
                             "\t\"laws\":\t{\n"
                             "\t\t\"hbm_copy\":\t{\n"
                             "\t\t\t\"form\":\t\"t0 + bytes read and written / rate\",\n"
                             "\t\t\t\"coefficients\":\t{\n"
                             "\t\t\t\t\"t0\":\t{\n"
                             "\t\t\t\t\t\"value\":\t2.5,\n"
                             "\t\t\t\t\t\"unit\":\t\"us\",\n"
                             "\t\t\t\t\t\"provenance\":\t\"measured\"\n"
                             "\t\t\t\t},\n"
                             "\t\t\t\t\"rate\":\t{\n"
                             "\t\t\t\t\t\"value\":\t4.1,\n"
                             "\t\t\t\t\t\"unit\":\t\"TB/s\",\n"
                             "\t\t\t\t\t\"provenance\":\t\"measured\"\n"
                             "\t\t\t\t}\n"
                             "\t\t\t},\n"
                             "\t\t\t\"fit\":\t{\n"
                             "\t\t\t\t\"points\":\t4,\n"
                             "\t\t\t\t\"mean_relative_error\":\t0.001,\n"
                             "\t\t\t\t\"largest_relative_error\":\t0.0025\n"
                             "\t\t\t}\n"
                             "\t\t}\n"
                             "\t},\n"
                             "\t\"points\":\t[{\n"
                             "\t\t\t\"kernel\":\t\"hbm_copy\",\n"
                             "\t\t\t\"shape\":\t{\n"
                             "\t\t\t\t\"model\":\t\"-\",\n"
                             "\t\t\t\t\"payload_bytes\":\t1073741824\n"
                             "\t\t\t},\n"
                             "\t\t\t\"provenance\":\t\"measured\",\n"
                             "\t\t\t\"time_us\":\t{\n"
                             "\t\t\t\t\"median\":\t526.3,\n"
                             "\t\t\t\t\"p10\":\t525.9,\n"
                             "\t\t\t\t\"p90\":\t527,\n"
                             "\t\t\t\t\"least\":\t525.1,\n"
                             "\t\t\t\t\"most\":\t530.5\n"
                             "\t\t\t},\n"
                             "\t\t\t\"samples\":\t20,\n"
                             "\t\t\t\"launches_per_sample\":\t1,\n"
                             "\t\t\t\"buffer_sets\":\t2,\n"
                             "\t\t\t\"dram_bytes\":\t2147483648,\n"
                             "\t\t\t\"flops\":\t0\n"
                             "\t\t}, {\n"
                             "\t\t\t\"kernel\":\t\"host_copy\",\n"
                             "\t\t\t\"shape\":\t{\n"
                             "\t\t\t\t\"model\":\t\"-\",\n"
                             "\t\t\t\t\"payload_bytes\":\t16777216,\n"
                             "\t\t\t\t\"piece_bytes\":\t65536,\n"
                             "\t\t\t\t\"pieces\":\t256,\n"
                             "\t\t\t\t\"direction\":\t\"device_to_host\",\n"
                             "\t\t\t\t\"batched\":\ttrue\n"
                             "\t\t\t},\n"
                             "\t\t\t\"absent\":\t\"cudaMemcpyBatchAsync needs CUDA 13\"\n"
                             "\t\t}],\n"
                             "\t\"checks\":\t[{\n"
                             "\t\t\t\"name\":\t\"copy\",\n"
                             "\t\t\t\"kernel\":\t\"plain_copy\",\n"
                             "\t\t\t\"worst\":\t\"1 MiB\",\n"
                             "\t\t\t\"error\":\t0,\n"
                             "\t\t\t\"bound\":\t0\n"
                             "\t\t}]\n"
                             "}";

/* The sample with `from` replaced where it first stands. */
static char *edited(const char *from, const char *to)
{
    const char *at = strstr(sample, from);
    ck_assert_msg(at != NULL, "the sample has no '%s'", from);
    struct text out = {0};
    text_add(&out, sample, (size_t)(at - sample));
    text_printf(&out, "%s%s", to, at + strlen(from));
    return out.data;
}

START_TEST(sample_round_trip)
{
    struct calibration calib;
    struct err err = {""};
    struct text out = {0};
    ck_assert_msg(calib_read_text(&calib, "sample", sample, CALIB_TO_COST, &err) == 0, "%s",
                  err.text);
    ck_assert_str_eq(calib.device.driver, "570.86");
    ck_assert_str_eq(calib.date, "2026-11-29T00:00:00Z");
    ck_assert(calib.provenance == CALIB_MEASURED);
    ck_assert_double_eq(calib.law[LAW_HBM_COPY].term[1].value, 4.1);
    ck_assert_uint_eq(calib.point_count, 2);
    ck_assert_ptr_nonnull(calib.point[1].absent);
    ck_assert(calib.point[1].shape.to_host && calib.point[1].shape.batched);
    calib_print(&calib, &out);
    ck_assert_str_eq(out.data, sample);
    text_close(&out);
    calib_close(&calib);
}
END_TEST

/* What is built in, written and read, is the same and is written as the same bytes. */
START_TEST(built_in_round_trip)
{
    struct calibration calib, again;
    struct err err = {""};
    struct text first = {0}, second = {0};
    char name[CALIB_NAME];
    ck_assert(calib_builtin_name((size_t)_i, name));
    ck_assert_int_eq(calib_load(&calib, name, CALIB_TO_COST, &err), 0);
    calib_print(&calib, &first);
    ck_assert_msg(calib_read_text(&again, "file", first.data, CALIB_TO_COST, &err) == 0, "%s",
                  err.text);
    calib_print(&again, &second);
    ck_assert_str_eq(first.data, second.data);
    ck_assert_uint_eq(calib.point_count, again.point_count);
    for (int law = 0; law < CALIB_LAWS; law++)
        for (int term = 0; term < CALIB_TERMS; term++)
            ck_assert(calib.law[law].term[term].value == again.law[law].term[term].value);
    text_close(&first);
    text_close(&second);
    calib_close(&again);
    calib_close(&calib);
}
END_TEST

/* What is wrong, and the line at which it is told. */
static const struct bad {
    const char *from, *to, *message;
} bads[] = {
    {"\"calibration\"", "\"model\"", "f:3: an object with \"kind\": \"calibration\" was expected"},
    {"\"schema\":\t1", "\"schema\":\t2", "f:2: schema: 1 was expected"},
    {"\"schema\":\t1,\n", "", "f:2: schema: 1 was expected"},
    {"\"kind\"", "\"kinds\"", "an object with \"kind\": \"calibration\" was expected"},
    {"\"method\"", "\"methods\"", "f:33: unknown key 'methods' (did you mean 'method'?)"},
    {"\"measured\"", "\"guessed\"",
     "f:5: provenance: published, assumed, measured or simulated was expected"},
    {"\"measured\"", "\"published\"", "provenance: measured stands in a file that is published"},
    {"\t\t\"driver\":\t\"570.86\",\n", "", "f:12: driver: a text was expected"},
    {"\"ae22d61\"", "\"\"", "f:8: version: a text was expected"},
    {"\"date\":\t\"2026-11-29T00:00:00Z\"", "\"dated\":\t\"\"",
     "f:9: unknown key 'dated' (did you mean 'date'?)"},
    {"\"sm_count\":\t132", "\"sm_count\":\t0", "f:15: sm_count: a number above 0 was expected"},
    {"\"sm_count\":\t132", "\"sm_count\":\t1.5", "f:15: sm_count: a whole number was expected"},
    {"\"value\":\t4.8", "\"value\":\t-4.8", "f:19: value: a number above 0 was expected"},
    {"\"value\":\t4.1", "\"value\":\t1e-300", "f:47: value: a number above 0 was expected"},
    {"\"value\":\t4.1", "\"value\":\t1e300", "f:47: value: a number above 0 was expected"},
    {"\"peak_bf16\"", "\"pcie\"", "f:25: pcie: unit: 'GB/s' was expected, found 'TFLOPS'"},
    {"\"TB/s\"", "\"GB/s\"", "f:20: peak_bandwidth: unit: 'TB/s' was expected, found 'GB/s'"},
    {"\t\t\t\"sm_clock_mhz\":\t1980", "\t\t\t\"sm_clock_mhz\":\t-1",
     "f:29: sm_clock_mhz: a text or a whole number was expected"},
    {"\"hbm_copy\"", "\"hbm_copi\"", "f:38: unknown key 'hbm_copi' (did you mean 'hbm_copy'?)"},
    {"\"t0\":\t{", "\"t\":\t{", "f:41: unknown key 't'"},
    {"\"unit\":\t\"us\"", "\"unit\":\t\"ms\"", "f:43: t0: unit: 'us' was expected, found 'ms'"},
    {"\"value\":\t2.5,\n\t\t\t\t\t\"unit\":\t\"us\",\n\t\t\t\t\t\"provenance\":\t\"measured\"",
     "\"value\":\t2.5,\n\t\t\t\t\t\"unit\":\t\"us\",\n\t\t\t\t\t\"provenance\":\t\"published\"",
     "f:44: source: where a value is from was expected beside 'published'"},
    {"\"value\":\t4.1", "\"value\":\t5.1", "f:41: law hbm_copy:"},
    {"\"kernel\":\t\"hbm_copy\"", "\"kernel\":\t\"hbm_copyy\"",
     "f:60: kernel: a kernel was expected, found 'hbm_copyy' (did you mean 'hbm_copy'?)"},
    {"\"payload_bytes\":\t1073741824", "\"payload_byte\":\t1073741824",
     "f:63: unknown key 'payload_byte' (did you mean 'payload_bytes'?)"},
    {"\"median\":\t526.3", "\"median\":\t426.3",
     "time_us: least <= p10 <= median <= p90 <= most was expected"},
    {"\t\t\t\t\"p10\":\t525.9,\n", "", "p10: a number above 0 was expected"},
    {"\"dram_bytes\":\t2147483648", "\"dram_bytes\":\t1073741824",
     "f:76: dram_bytes: 2147483648 was expected for this shape"},
    {"\"pieces\":\t256", "\"pieces\":\t255", "f:84: pieces: 256 was expected for this shape"},
    {"\"device_to_host\"", "\"up\"",
     "f:85: direction: host_to_device or device_to_host was expected"},
    {"\"batched\":\ttrue", "\"batched\":\t1", "f:86: batched: true or false was expected"},
    {"\"absent\":\t\"cudaMemcpyBatchAsync needs CUDA 13\"", "\"samples\":\t1",
     "provenance: published, assumed, measured or simulated was expected"},
    {"\"points\":\t[{", "\"points\":\t[7, {", "f:59: points: a list of objects was expected"},
    {"\"error\":\t0", "\"error\":\t\"0\"", "f:94: error: a number of 0 or more was expected"},
    {"\"checks\"", "\"points\"", "f:90: key 'points' appears twice"},
};

START_TEST(bad_files)
{
    struct calibration calib;
    struct err err = {""};
    char *source = edited(bads[_i].from, bads[_i].to);
    int result = calib_read_text(&calib, "f", source, CALIB_TO_COST, &err);
    ck_assert_msg(result != 0, "read: %s", bads[_i].message);
    ck_assert_msg(strstr(err.text, bads[_i].message) != NULL, "%s\nexpected: %s", err.text,
                  bads[_i].message);
    ck_assert(strncmp(err.text, "f:", 2) == 0);
    free(source);
}
END_TEST

/* A point that beats the memory is refused with its line where it would be used. */
START_TEST(impossible_point)
{
    struct calibration calib;
    struct err err = {""};
    char *source = edited("\"median\":\t526.3,\n\t\t\t\t\"p10\":\t525.9,\n\t\t\t\t\"p90\":\t527,\n"
                          "\t\t\t\t\"least\":\t525.1",
                          "\"median\":\t400,\n\t\t\t\t\"p10\":\t400,\n\t\t\t\t\"p90\":\t527,\n"
                          "\t\t\t\t\"least\":\t399");
    ck_assert_int_ne(calib_read_text(&calib, "f", source, CALIB_TO_COST, &err), 0);
    ck_assert_msg(strstr(err.text, "f:66: hbm_copy bytes=1073741824: 400 us, but the memory of a "
                                   "NVIDIA H200 allows 447.4 us at best") != NULL,
                  "%s", err.text);
    ck_assert_int_eq(calib_read_text(&calib, "f", source, CALIB_TO_LOOK, &err), 0);
    ck_assert_int_ne(calib_fit_all(&calib, &err), 0);
    calib_close(&calib);
    free(source);
}
END_TEST

/* What a stand-in for a GPU said may be looked at, never used. */
START_TEST(simulated_is_refused)
{
    struct calibration calib;
    struct err err = {""};
    struct text source = {0};
    for (const char *c = sample; *c;) {
        bool here = strncmp(c, "\"measured\"", 10) == 0;
        text_add(&source, here ? "\"simulated\"" : c, here ? 11 : 1);
        c += here ? 10 : 1;
    }
    ck_assert_int_ne(calib_read_text(&calib, "f", source.data, CALIB_TO_COST, &err), 0);
    ck_assert_msg(strstr(err.text, "f:5: provenance: simulated values come from a stand-in") !=
                      NULL,
                  "%s", err.text);
    ck_assert_int_eq(calib_read_text(&calib, "f", source.data, CALIB_TO_LOOK, &err), 0);
    ck_assert(calib.provenance == CALIB_SIMULATED);
    calib_close(&calib);
    text_close(&source);
    /* nor may one value of it stand in a measured file */
    char *mixed = edited("\"us\",\n\t\t\t\t\t\"provenance\":\t\"measured\"",
                         "\"us\",\n\t\t\t\t\t\"provenance\":\t\"simulated\"");
    ck_assert_int_ne(calib_read_text(&calib, "f", mixed, CALIB_TO_LOOK, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "f:44: provenance: simulated stands in a file that is"));
    free(mixed);
}
END_TEST

static void plant(struct calibration *calib, enum calib_kernel kernel,
                  const struct calib_shape *shape, double us)
{
    calib->point = mem_grow(calib->point, &calib->point_capacity, calib->point_count + 1,
                            sizeof *calib->point);
    calib->point[calib->point_count++] = (struct calib_point){
        .kernel = kernel, .shape = *shape, .provenance = CALIB_MEASURED, .us = {.median = us}};
}

/* Points of a law on a grid wide enough to tell its terms apart; noise in the order of 0.2%. */
static void plant_law(struct calibration *calib, enum calib_law_id law, bool noisy)
{
    static const uint64_t heads[] = {6, 12, 32, 96}, sequences[] = {1, 3, 40};
    static const uint64_t sizes[] = {4096, 8192, 24576, 28672, 65536, 1048576};
    enum calib_kernel kernel = calib_law_facts(law)->kernel;
    int turn = 0;
    for (int h = 0; h < COUNT(heads); h++)
        for (int s = 0; s < COUNT(sequences); s++)
            for (int i = 0; i < COUNT(sizes); i++) {
                struct calib_shape shape = calib_shape_of(kernel);
                shape.heads = shape.key_heads = law == LAW_MLA_DECODE ? 12 : heads[h];
                if (law == LAW_MLA_DECODE_WIDE)
                    shape.heads = 64 + heads[h];
                shape.sequences = sequences[s];
                shape.tokens = sizes[i];
                shape.context =
                    kernel == CALIB_MLA_DECODE || kernel == CALIB_GQA_DECODE ? sizes[i] : 0;
                if (shape.context > 0)
                    shape.tokens = 0;
                shape.kv_token_bytes = kernel == CALIB_GQA_DECODE ? 2048 : shape.kv_token_bytes;
                shape.interval = kernel == CALIB_SNAPSHOT_EMIT ? 64 * (h + 1) : 0;
                shape.page_tokens = 64;
                shape.payload_bytes = sizes[i] * 100 * heads[h] * sequences[s];
                shape.piece_bytes = kernel == CALIB_HOST_COPY ? sizes[i] : 0;
                shape.m = law == LAW_GEMM_BF16_SMALL ? sequences[s] : sizes[i];
                shape.n = shape.k = 1024 * heads[h];
                shape.to_host = law == LAW_DEVICE_TO_HOST || law == LAW_DEVICE_TO_HOST_BATCHED;
                shape.batched =
                    law == LAW_HOST_TO_DEVICE_BATCHED || law == LAW_DEVICE_TO_HOST_BATCHED;
                double us = calib_law_us(calib, law, &shape);
                double noise = noisy ? 1 + 0.002 * (turn++ % 5 - 2) : 1;
                if (kernel == CALIB_SNAPSHOT_EMIT) {
                    struct calib_shape plain = shape;
                    plain.interval = 0;
                    double without = calib_law_us(calib, LAW_KDA_PREFILL, &shape);
                    plant(calib, CALIB_KDA_PREFILL, &plain, without);
                    us += without;
                    noise = 1;
                }
                plant(calib, kernel, &shape, us * noise);
            }
}

/* Each law of the H200, planted in points, is found again: exactly without noise, to a few percent
 * with it where the term matters. */
START_TEST(fit_finds_planted_laws)
{
    struct calibration calib;
    struct err err = {""};
    enum calib_law_id law = (enum calib_law_id)(_i / 2);
    bool noisy = _i % 2 == 1;
    ck_assert_int_eq(calib_load(&calib, "h200", CALIB_TO_COST, &err), 0);
    calib.point_count = 0;
    plant_law(&calib, law, noisy);
    struct calib_fit fit = calib_fit_law(&calib, law);
    ck_assert_msg(fit.points > 0, "%s: no fit", calib_law_facts(law)->name);
    ck_assert_double_le(fit.most_error, noisy ? 0.01 : 1e-6);
    for (size_t i = 0; i < calib_law_terms(law) && !noisy; i++) {
        const struct calib_value *planted = &calib.law[law].term[i];
        if (calib_law_facts(law)->term[i].optional && !planted->known)
            continue;
        /* a term of one part in a million of every point is lost in rounding */
        ck_assert_msg(fabs(fit.value[i] - planted->value) <= 1e-4 * planted->value + 1e-9,
                      "%s %s: %.9g, planted %.9g", calib_law_facts(law)->name,
                      calib_law_facts(law)->term[i].name, fit.value[i], planted->value);
    }
    ck_assert_msg(calib_fit_all(&calib, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(calib.law[law].fit_points, fit.points);
    ck_assert(calib.law[law].term[0].provenance == CALIB_MEASURED);
    calib_close(&calib);
}
END_TEST

static void plant_copies(struct calibration *calib, const double *us, int count)
{
    for (int i = 0; i < count; i++) {
        struct calib_shape shape = calib_shape_of(CALIB_HBM_COPY);
        shape.payload_bytes = (uint64_t)(i + 1) * 1000000;
        plant(calib, CALIB_HBM_COPY, &shape, us[i]);
    }
}

/* Where noise would make a negative time or a rate above the peak, the fit does not follow it. */
START_TEST(fit_is_bounded)
{
    static const double falling[] = {10, 9, 8, 7, 6}, steep[] = {5, 5.1, 5.2, 5.3, 5.4};
    struct calibration calib = {.device = {.name = "d", .sm_count = 132}};
    plant_copies(&calib, falling, COUNT(falling));
    struct calib_fit fit = calib_fit_law(&calib, LAW_HBM_COPY);
    ck_assert_uint_eq(fit.points, 5);
    ck_assert_double_gt(fit.value[0], 5); /* t0: the best constant */
    ck_assert(!fit.known[1]);             /* a rate without end */
    calib_close(&calib);
    /* 0.1 us per MB read and written would be 20 TB/s. */
    calib.device = (struct calib_device){.name = "d", .sm_count = 132};
    plant_copies(&calib, steep, COUNT(steep));
    fit = calib_fit_law(&calib, LAW_HBM_COPY);
    ck_assert_double_eq_tol(fit.value[1], 20, 1e-6);
    calib.device.peak_bandwidth = (struct calib_value){true, 4.8, CALIB_PUBLISHED, NULL};
    fit = calib_fit_law(&calib, LAW_HBM_COPY);
    ck_assert_double_eq(fit.value[1], 4.8);
    ck_assert_double_gt(fit.most_error, 0.05);
    calib_close(&calib);
}
END_TEST

/* A machine with a slow memory raises alarms; nothing known of a device is no verdict. */
START_TEST(bands_judge)
{
    struct calibration calib;
    struct err err = {""};
    ck_assert_int_eq(calib_load(&calib, "h200", CALIB_TO_COST, &err), 0);
    struct band good = calib_band_at(&calib, 0);
    ck_assert_str_eq(good.name, "hbm_copy");
    ck_assert(good.verdict == BAND_GOOD && good.from_law);
    calib.law[LAW_HBM_COPY].term[1].value = 3.0;
    ck_assert(calib_band_at(&calib, 0).verdict == BAND_ALARM);
    calib.law[LAW_HBM_COPY].term[1].value = 3.7;
    ck_assert(calib_band_at(&calib, 0).verdict == BAND_OUTSIDE);
    calib.law[LAW_HBM_COPY].present = false;
    ck_assert(calib_band_at(&calib, 0).verdict == BAND_ABSENT);
    struct calib_shape shape = calib_shape_of(CALIB_HBM_COPY);
    shape.payload_bytes = 1073741824;
    plant(&calib, CALIB_HBM_COPY, &shape, 526.3); /* 4.08 TB/s */
    struct band point = calib_band_at(&calib, 0);
    ck_assert(point.verdict == BAND_GOOD && !point.from_law);
    ck_assert_double_eq_tol(point.value, 4.0803, 0.0001);
    calib.device.name = "a GPU";
    ck_assert(calib_band_at(&calib, 0).verdict == BAND_UNJUDGED);
    calib_close(&calib);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calib_file");
    TCase *files = tcase_create("files"), *fits = tcase_create("fits");
    tcase_add_test(files, sample_round_trip);
    tcase_add_loop_test(files, built_in_round_trip, 0, 4);
    tcase_add_loop_test(files, bad_files, 0, COUNT(bads));
    tcase_add_test(files, impossible_point);
    tcase_add_test(files, simulated_is_refused);
    tcase_add_loop_test(fits, fit_finds_planted_laws, 0, 2 * CALIB_LAWS);
    tcase_add_test(fits, fit_is_bounded);
    tcase_add_test(fits, bands_judge);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, fits);
    return suite_run(suite);
}
