/* The scheduler of the host shim. Its state is global because a kernel reaches it through names
 * without arguments, as it reaches threadIdx on a GPU. One kernel runs at a time. */
#include "tools/probe/device.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define SHIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHIM_ASAN 1
#endif
#endif
#ifdef SHIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace
{

const unsigned lanes_per_warp = 32;
const unsigned max_threads = 1024;
const unsigned max_copies = 512;
const size_t stack_bytes = 64 * 1024;

enum fiber_state { FIBER_RUNNABLE, FIBER_AT_WARP, FIBER_AT_BARRIER, FIBER_DONE };

struct pending_copy {
    void *to;
    const void *from;
    bool valid;
    unsigned group;
};

struct fiber {
    enum fiber_state state;
    bool started;
    ucontext_t context; /* for the first entry; later ones are jumps, which are much faster */
    void *resume[5];
    unsigned char *stack;
    void *fake_stack;
    shim_operation operation;
    void *operation_own;
    struct shim_place place;
    struct pending_copy copies[max_copies];
    unsigned copy_count, group; /* group: the number of commits so far */
};

struct scheduler {
    struct fiber *fibers;
    unsigned allocated;
    struct fiber *running;
    void *resume[5];
    void *fake_stack;
    const void *stack_bottom;
    size_t stack_size;
    shim_body body;
    const void *kernel, *arguments;
    enum shim_order order;
    uint64_t random;
};

struct scheduler scheduler;

uint64_t draw(void)
{
    scheduler.random += 0x9e3779b97f4a7c15u;
    uint64_t z = scheduler.random;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Number `step` of `count` in the order of the schedule; from `start` on if that is random. */
unsigned ordered(unsigned step, unsigned count, unsigned start)
{
    if (scheduler.order == SHIM_REVERSE)
        return count - 1 - step;
    if (scheduler.order == SHIM_RANDOM)
        return (step + start) % count;
    return step;
}

void do_copy(const struct pending_copy *copy)
{
    if (copy->valid)
        memcpy(copy->to, copy->from, 16);
    else
        memset(copy->to, 0, 16);
}

/* The compiler's own jumps instead of the library's: those make a sanitizer forget the stack that
 * is left, at the price of a system call each, though it is only left for a while. For the same
 * reason the functions that jump are not instrumented; they must not be inlined into one that is,
 * nor into the one that jumps back. */
#define SHIM_JUMPS __attribute__((noinline, no_sanitize("address")))

/* The sanitizer must be told of each change of stack. */
SHIM_JUMPS void leave_fiber(struct fiber *from, bool forever)
{
#ifdef SHIM_ASAN
    __sanitizer_start_switch_fiber(forever ? nullptr : &from->fake_stack, scheduler.stack_bottom,
                                   scheduler.stack_size);
#else
    (void)forever;
    (void)from;
#endif
    __builtin_longjmp(scheduler.resume, 1);
}

void entered_fiber(struct fiber *fiber)
{
#ifdef SHIM_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake_stack, &scheduler.stack_bottom,
                                    &scheduler.stack_size);
#else
    (void)fiber;
#endif
}

void fiber_main(void)
{
    struct fiber *self = scheduler.running;
    self->fake_stack = nullptr;
    entered_fiber(self);
    scheduler.body(scheduler.kernel, scheduler.arguments);
    self->state = FIBER_DONE;
    leave_fiber(self, true);
}

SHIM_JUMPS void wait_here(enum fiber_state state)
{
    struct fiber *self = scheduler.running;
    self->state = state;
    if (__builtin_setjmp(self->resume) == 0)
        leave_fiber(self, false);
    entered_fiber(scheduler.running);
}

SHIM_JUMPS void enter_fiber(struct fiber *fiber)
{
    if (fiber->started)
        __builtin_longjmp(fiber->resume, 1);
    fiber->started = true;
    setcontext(&fiber->context);
}

/* Runs one fiber until it waits or ends. */
SHIM_JUMPS void run_fiber(struct fiber *fiber)
{
    scheduler.running = fiber;
    if (__builtin_setjmp(scheduler.resume) == 0) {
#ifdef SHIM_ASAN
        __sanitizer_start_switch_fiber(&scheduler.fake_stack, fiber->stack, stack_bytes);
#endif
        enter_fiber(fiber);
    }
#ifdef SHIM_ASAN
    __sanitizer_finish_switch_fiber(scheduler.fake_stack, nullptr, nullptr);
#endif
    scheduler.running = nullptr;
}

void reserve_fibers(unsigned count)
{
    shim_require(count > 0 && count <= max_threads && count % lanes_per_warp == 0,
                 "a block must have whole warps, at most 1024 threads");
    if (scheduler.fibers == nullptr)
        scheduler.fibers = static_cast<struct fiber *>(calloc(max_threads, sizeof(struct fiber)));
    for (; scheduler.allocated < count; scheduler.allocated++)
        scheduler.fibers[scheduler.allocated].stack =
            static_cast<unsigned char *>(malloc(stack_bytes));
}

void start_fiber(struct fiber *fiber, const struct shim_place *place)
{
    fiber->state = FIBER_RUNNABLE;
    fiber->started = false;
    fiber->copy_count = fiber->group = 0;
    fiber->place = *place;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = stack_bytes;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, fiber_main, 0);
}

/* Runs any runnable lanes of a warp, one after another. Returns whether there was one. */
bool run_warp(unsigned warp)
{
    bool ran = false;
    unsigned start = static_cast<unsigned>(draw() % lanes_per_warp);
    for (unsigned step = 0; step < lanes_per_warp; step++) {
        unsigned lane = ordered(step, lanes_per_warp, start);
        struct fiber *fiber = &scheduler.fibers[warp * lanes_per_warp + lane];
        if (fiber->state == FIBER_RUNNABLE) {
            run_fiber(fiber);
            ran = true;
        }
    }
    return ran;
}

/* All threads wait or are done: if all wait at the barrier they go on. Returns false at the end. */
bool pass_barrier(unsigned threads)
{
    unsigned waiting = 0, done = 0;
    for (unsigned i = 0; i < threads; i++) {
        waiting += scheduler.fibers[i].state == FIBER_AT_BARRIER;
        done += scheduler.fibers[i].state == FIBER_DONE;
        shim_require(scheduler.fibers[i].state != FIBER_AT_WARP,
                     "some lanes wait at a warp-wide operation that others never reach");
    }
    if (done == threads)
        return false;
    shim_require(waiting == threads, "some threads wait at a barrier that others never reach");
    for (unsigned i = 0; i < threads; i++)
        scheduler.fibers[i].state = FIBER_RUNNABLE;
    return true;
}

void run_block(const struct launch_shape *shape, struct shim_place *place)
{
    unsigned warps = shape->threads / lanes_per_warp;
    size_t bytes = (shape->shared_bytes + 127) / 128 * 128;
    void *memory = nullptr;
    if (bytes > 0) {
        shim_require(posix_memalign(&memory, 128, bytes) == 0, "out of memory");
        memset(memory, 0xff, bytes);
    }
    place->shared = static_cast<unsigned char *>(memory);
    for (unsigned i = 0; i < shape->threads; i++) {
        place->thread = i;
        start_fiber(&scheduler.fibers[i], place);
    }
    do {
        bool any = true;
        while (any) {
            any = false;
            unsigned start = static_cast<unsigned>(draw() % warps);
            for (unsigned step = 0; step < warps; step++) {
                unsigned warp = ordered(step, warps, start);
                /* A random schedule changes warps at each operation, the others at barriers. */
                bool ran = run_warp(warp);
                any = any || ran;
                while (ran && scheduler.order != SHIM_RANDOM)
                    ran = run_warp(warp);
            }
        }
    } while (pass_barrier(shape->threads));
    free(memory);
}

} // namespace

void shim_set_order(enum shim_order order, uint64_t seed)
{
    scheduler.order = order;
    scheduler.random = seed;
}

void shim_require(bool holds, const char *what)
{
    if (holds)
        return;
    const struct fiber *self = scheduler.running;
    if (self != nullptr)
        fprintf(stderr, "shim: block %u,%u,%u thread %u: %s\n", self->place.block[0],
                self->place.block[1], self->place.block[2], self->place.thread, what);
    else
        fprintf(stderr, "shim: %s\n", what);
    abort();
}

const struct shim_place *shim_here(void)
{
    return &scheduler.running->place;
}

int shim_run(const struct launch_shape *shape, shim_body body, const void *kernel,
             const void *arguments)
{
    shim_require(scheduler.running == nullptr, "a kernel launches a kernel");
    shim_require(shape->blocks_x > 0 && shape->blocks_y > 0 && shape->blocks_z > 0 &&
                     shape->blocks_y < 65536 && shape->blocks_z < 65536,
                 "a grid must have 1 .. 65535 blocks in y and z");
    shim_require(shape->shared_bytes <= 227 * 1024, "a block has at most 227 KiB of shared memory");
    reserve_fibers(shape->threads);
    scheduler.body = body;
    scheduler.kernel = kernel;
    scheduler.arguments = arguments;
    unsigned blocks = shape->blocks_x * shape->blocks_y * shape->blocks_z;
    unsigned start = static_cast<unsigned>(draw() % blocks);
    for (unsigned step = 0; step < blocks; step++) {
        unsigned block = ordered(step, blocks, start);
        struct shim_place place = {};
        place.threads = shape->threads;
        place.block[0] = block % shape->blocks_x;
        place.block[1] = block / shape->blocks_x % shape->blocks_y;
        place.block[2] = block / shape->blocks_x / shape->blocks_y;
        place.blocks[0] = shape->blocks_x;
        place.blocks[1] = shape->blocks_y;
        place.blocks[2] = shape->blocks_z;
        run_block(shape, &place);
    }
    return 0;
}

void shim_warp(shim_operation operation, void *own)
{
    struct fiber *self = scheduler.running;
    unsigned first = self->place.thread / lanes_per_warp * lanes_per_warp;
    struct fiber *warp = &scheduler.fibers[first];
    self->operation = operation;
    self->operation_own = own;
    void *lanes[lanes_per_warp];
    for (unsigned i = 0; i < lanes_per_warp; i++) {
        if (&warp[i] != self && warp[i].state != FIBER_AT_WARP) {
            shim_require(warp[i].state != FIBER_DONE, "a lane ended before a warp-wide operation");
            wait_here(FIBER_AT_WARP);
            return;
        }
        shim_require(warp[i].operation == operation,
                     "lanes of one warp meet in different operations");
        lanes[i] = warp[i].operation_own;
    }
    operation(lanes);
    for (unsigned i = 0; i < lanes_per_warp; i++)
        warp[i].state = FIBER_RUNNABLE;
}

void shim_block_barrier(void)
{
    wait_here(FIBER_AT_BARRIER);
}

void shim_copy(void *to, const void *from, bool valid)
{
    struct fiber *self = scheduler.running;
    shim_require(reinterpret_cast<uintptr_t>(to) % 16 == 0 &&
                     reinterpret_cast<uintptr_t>(from) % 16 == 0,
                 "an asynchronous copy is not aligned to 16 bytes");
    struct pending_copy copy = {to, from, valid, self->group};
    bool late =
        scheduler.order == SHIM_FORWARD || (scheduler.order == SHIM_RANDOM && draw() % 2 == 0);
    if (!late) {
        do_copy(&copy);
        return;
    }
    shim_require(self->copy_count < max_copies, "too many asynchronous copies under way");
    self->copies[self->copy_count++] = copy;
}

void shim_copy_commit(void)
{
    scheduler.running->group++;
}

void shim_copy_wait(int pending)
{
    struct fiber *self = scheduler.running;
    unsigned kept = 0;
    for (unsigned i = 0; i < self->copy_count; i++) {
        if (self->copies[i].group + static_cast<unsigned>(pending) < self->group)
            do_copy(&self->copies[i]);
        else
            self->copies[kept++] = self->copies[i];
    }
    self->copy_count = kept;
}

void shim_do_nothing(void *const lanes[32])
{
    (void)lanes;
}

void shim_do_shuffle(void *const lanes[32])
{
    for (unsigned l = 0; l < lanes_per_warp; l++) {
        struct shim_shuffle *own = static_cast<struct shim_shuffle *>(lanes[l]);
        own->out = static_cast<struct shim_shuffle *>(lanes[(l ^ own->lanes) % 32])->in;
    }
}

static void load(void *const lanes[32], bool transposed)
{
    for (unsigned m = 0; m < 4; m++) {
        uint16_t matrix[8][8];
        for (unsigned r = 0; r < 8; r++) {
            const void *row = static_cast<struct shim_load *>(lanes[m * 8 + r])->row;
            shim_require(reinterpret_cast<uintptr_t>(row) % 16 == 0,
                         "a matrix row is not aligned to 16 bytes");
            memcpy(matrix[r], row, sizeof(matrix[r]));
        }
        for (unsigned l = 0; l < lanes_per_warp; l++) {
            unsigned major = l / 4, minor = 2 * (l % 4);
            uint32_t low = transposed ? matrix[minor][major] : matrix[major][minor];
            uint32_t high = transposed ? matrix[minor + 1][major] : matrix[major][minor + 1];
            static_cast<struct shim_load *>(lanes[l])->to[m] = low | high << 16;
        }
    }
}

void shim_do_load(void *const lanes[32])
{
    load(lanes, false);
}

void shim_do_load_transposed(void *const lanes[32])
{
    load(lanes, true);
}

void shim_do_multiply(void *const lanes[32])
{
    float a[16][16], b[8][16];
    for (unsigned l = 0; l < lanes_per_warp; l++) {
        const struct shim_multiply *own = static_cast<struct shim_multiply *>(lanes[l]);
        unsigned row = l / 4, column = 2 * (l % 4);
        for (unsigned part = 0; part < 4; part++) {
            unsigned r = row + part % 2 * 8, c = column + part / 2 * 8;
            a[r][c] = bf16_low(own->a[part]);
            a[r][c + 1] = bf16_high(own->a[part]);
        }
        for (unsigned part = 0; part < 2; part++) {
            b[row][column + part * 8] = bf16_low(own->b[part]);
            b[row][column + part * 8 + 1] = bf16_high(own->b[part]);
        }
    }
    for (unsigned l = 0; l < lanes_per_warp; l++) {
        float *c = static_cast<struct shim_multiply *>(lanes[l])->c;
        for (unsigned part = 0; part < 4; part++) {
            unsigned r = l / 4 + part / 2 * 8, n = 2 * (l % 4) + part % 2;
            float sum = 0;
            for (unsigned k = 0; k < 16; k++)
                sum += a[r][k] * b[n][k];
            c[part] += sum;
        }
    }
}
