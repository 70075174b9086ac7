#include "tools/probe/probe_file.h"

#include "sim/core/mem.h"

static void add_note(struct calib_notes *notes, const char *key, const char *text, uint64_t number)
{
    notes->note = mem_grow(notes->note, &notes->capacity, notes->count + 1, sizeof(*notes->note));
    notes->note[notes->count++] = (struct calib_note){key, text, number};
}

static void add_condition(struct calib_notes *notes, const struct device_condition *condition)
{
    add_note(notes, "sm_clock_mhz", NULL, condition->sm_clock_mhz);
    add_note(notes, "memory_clock_mhz", NULL, condition->memory_clock_mhz);
    add_note(notes, "power_w", NULL, condition->power_w);
    add_note(notes, "temperature_c", NULL, condition->temperature_c);
    add_note(notes, "other_processes", NULL, condition->other_processes);
}

static void add_method(struct calib_notes *notes)
{
    add_note(notes, "samples", NULL, GRID_SAMPLES);
    add_note(notes, "warm_up_launches", NULL, GRID_WARM_UP);
    add_note(notes, "timing",
             "events around launches, in a graph except for launch_stream and host_copy; "
             "median of samples",
             0);
    add_note(notes, "state_layout", "[slot][head][value][key] fp32", 0);
    add_note(notes, "window_layout", "[slot][3][channel] bf16", 0);
    add_note(notes, "cache_layout", "[page][token][576] bf16", 0);
    add_note(notes, "chunk_tokens", NULL, KERNEL_TILE);
}

int probe_file_open(struct calibration *out, const struct run *run, const char *name,
                    const char *date, const char *version, struct err *err)
{
    *out = (struct calibration){.name = name,
                                .provenance = run->provenance,
                                .program = "probe",
                                .version = version,
                                .date = date,
                                .device = run->device,
                                .point = mem_array(run->count + 1, sizeof(*out->point)),
                                .check = mem_array(run->checked_count + 1, sizeof(*out->check))};
    add_condition(&out->device.before, &run->before);
    add_condition(&out->device.after, &run->after);
    add_method(&out->method);
    for (; out->point_count < run->count; out->point_count++)
        out->point[out->point_count] =
            probe_measure_point(run, &run->measurements[out->point_count]);
    for (; out->check_count < run->checked_count; out->check_count++) {
        const struct checked *checked = &run->checked[out->check_count];
        out->check[out->check_count] = (struct calib_check){
            checked->check->name, checked->check->kernel, checked->outcome.what,
            checked->outcome.error, checked->outcome.bound};
    }
    return calib_fit_all(out, err);
}

int probe_file_print(const struct run *run, const char *name, const char *date, const char *version,
                     struct text *out, struct err *err)
{
    struct calibration calib;
    int result = probe_file_open(&calib, run, name, date, version, err);
    if (result == 0)
        calib_print(&calib, out);
    calib_close(&calib);
    return result;
}
