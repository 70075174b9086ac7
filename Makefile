# snapsim - build, test, measure. `make help` lists the targets.
CC ?= cc
VARIANT ?= release
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wundef -Wvla -Wformat=2 -Wwrite-strings \
	-Wpointer-arith -Wcast-qual -Wswitch-enum -Wnull-dereference
FLAGS_release = -O2 -g
FLAGS_debug = -O0 -g -DSIM_CHECK=1
FLAGS_check = -O2 -g -DSIM_CHECK=1
FLAGS_asan = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DSIM_CHECK=1
FLAGS_tsan = -O1 -g -fsanitize=thread
FLAGS_fuzz = -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FLAGS_fault = -O1 -g -DSIM_CHECK=1 -DSIM_PLANTED_FAULT=1
FLAGS_cover = -O0 -g --coverage
CFLAGS += -std=c11 $(FLAGS_$(VARIANT)) -ffp-contract=off -fno-common $(if $(CI),-Werror)
CPPFLAGS += -I. -D_POSIX_C_SOURCE=200809L -MMD -MP
LDLIBS = -lzstd -lcjson -lcrypto -lpthread -lm

BUILD = build/$(VARIANT)
LIB_SOURCES = $(wildcard sim/core/*.c sim/load/*.c sim/model/*.c sim/cost/*.c sim/cache/*.c \
	sim/bound/*.c sim/engine/*.c policies/*/*.c policies/*.c traces/*.c)
TOOL_SOURCES = $(wildcard tools/snapsim/*.c)
TEST_SOURCES = $(wildcard tests/test_*.c tests/prop_*.c)
HELP_SOURCES = $(filter-out $(TEST_SOURCES) $(wildcard tests/fuzz_*.c), $(wildcard tests/*.c tests/examples/*.c))
LIB_OBJECTS = $(LIB_SOURCES:%.c=$(BUILD)/%.o) \
	$(addprefix $(BUILD)/,preset_files.o calib_published.o calib_measured.o)
TOOL_OBJECTS = $(TOOL_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/embedded.o
HELP_OBJECTS = $(HELP_SOURCES:%.c=$(BUILD)/%.o)
TEST_PROGRAMS = $(TEST_SOURCES:tests/%.c=$(BUILD)/tests/%)
FUZZ_PROGRAMS = $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/fuzz_*.c))
SECONDS ?= 60
LIBRARY = $(BUILD)/libsnapsim.a
PROGRAM = $(BUILD)/snapsim
VERSION := $(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
# Rebuilds the one file that holds the version when the version changes.
$(shell mkdir -p $(BUILD); echo '$(VERSION)' | cmp -s - $(BUILD)/version || \
	echo '$(VERSION)' >$(BUILD)/version)

.PHONY: all setup demo test check asan tidy bench results results-check bless fuzz fuzz-replay clean help
.SECONDARY:

all: build/snapsim ## build the program: build/snapsim

build/snapsim: $(PROGRAM)
	@mkdir -p build
	cp -f $< $@

$(PROGRAM): $(TOOL_OBJECTS) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(LIB_OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tools/snapsim/version.o: CPPFLAGS += -DSNAPSIM_VERSION='"$(VERSION)"'
$(BUILD)/tools/snapsim/version.o: $(BUILD)/version

# Files that become a part of the program: what snapsim plot and report need, models and published
# calibrations, and calibrations that were measured and committed (--calib h200-measured). A list of
# their names is made again when it changes, for one that is taken away.
EMBED_embedded = tools/snapsim/embedded.h $(sort $(wildcard tools/plot/*.gp tools/plot/*.css tools/plot/*.js))
EMBED_preset_files = sim/model/presets.h $(sort $(wildcard sim/model/presets/*.json))
EMBED_calib_published = sim/cost/calib_files.h $(sort $(wildcard sim/cost/published/*.json))
EMBED_calib_measured = sim/cost/calib_files.h $(sort $(wildcard results/calibration/*.json))
EMBEDDED = embedded preset_files calib_published calib_measured
$(foreach name,$(EMBEDDED),$(shell echo '$(EMBED_$(name))' | cmp -s - $(BUILD)/$(name).list || \
	echo '$(EMBED_$(name))' >$(BUILD)/$(name).list))
.SECONDEXPANSION:
$(EMBEDDED:%=$(BUILD)/%.c): $(BUILD)/%.c: tools/plot/embed.sh $(BUILD)/%.list $$(EMBED_$$*)
	tools/plot/embed.sh $(firstword $(EMBED_$*)) $* $(wordlist 2,$(words $(EMBED_$*)),$(EMBED_$*)) >$@

$(EMBEDDED:%=$(BUILD)/%.o): $(BUILD)/%.o: $(BUILD)/%.c
	$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -c -o $@ $<

$(BUILD)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wall -Wextra -c -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -c -o $@ $<

$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz_%.o $(LIBRARY)
	$(CC) $(CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(BUILD)/tests/test_results $(BUILD)/tests/test_compare: $(addprefix $(BUILD)/tools/snapsim/,results.o columns.o axis.o pivot.o \
	where.o compare.o compare_keys.o plugin_text.o replay_file.o html.o)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(HELP_OBJECTS) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) -lcheck -lsubunit -lrt $(LDLIBS)

include tools/probe/probe.mk tools/man/man.mk

setup: ## install what is missing, by package name
	@tools/setup/setup.sh

test: setup ## set up, build, and pass every test
	@$(MAKE) -s check

check: $(PROGRAM) $(TEST_PROGRAMS) ## every test of one build (VARIANT=release|check|asan|tsan)
	@tests/run.sh $(BUILD)

asan: ## every test under the address and undefined-behaviour sanitizers
	@$(MAKE) -s check VARIANT=asan

tidy: ## dependencies between folders, lengths, formatting
	@tests/tidy.sh

demo: setup all ## the main job on a generated load: one table, two pictures
	@tools/demo/demo.sh $(abspath build)

bench: $(BUILD)/bench $(PROGRAM) ## speed and memory, as results/bench.md records them
	@$(BUILD)/bench $(or $(SNAPSIM_SHARED),../shared)/traces $(abspath $(BUILD)) $(PROGRAM)

$(BUILD)/bench: $(BUILD)/tools/bench/bench.o $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tools/bench/bench.o: CPPFLAGS += -D_DEFAULT_SOURCE

results: $(PROGRAM) ## make every figure under results/ again
	@tools/results/results.sh make $(abspath $(PROGRAM))

results-check: $(PROGRAM) ## fail if a number under results/ would change
	@tools/results/results.sh check $(abspath $(PROGRAM))

bless: $(PROGRAM) ## accept changed golden numbers; then read git diff
	@BLESS=1 tests/run.sh $(BUILD) golden_grid

fuzz: $(FUZZ_PROGRAMS) ## fuzz every parser (CC=clang VARIANT=fuzz SECONDS=n each)
	@for f in $(FUZZ_PROGRAMS); do \
		mkdir -p $(BUILD)/found/$$(basename $$f) && \
		$$f -max_total_time=$(SECONDS) -malloc_limit_mb=4096 -print_final_stats=1 $(BUILD)/found/$$(basename $$f) \
			tests/fuzz_corpus/$$(basename $$f | sed s/fuzz_//) || exit 1; done

fuzz-replay: $(FUZZ_PROGRAMS) ## run every fuzz target over its corpus, once
	@for f in $(FUZZ_PROGRAMS); do \
		$$f -runs=0 -malloc_limit_mb=4096 tests/fuzz_corpus/$$(basename $$f | sed s/fuzz_//) || exit 1; done

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

-include $(LIB_OBJECTS:.o=.d) $(TOOL_OBJECTS:.o=.d) $(HELP_OBJECTS:.o=.d) \
	$(TEST_PROGRAMS:=.d) $(BUILD)/tools/bench/bench.d \
	$(patsubst tests/%.c,$(BUILD)/tests/%.d,$(wildcard tests/fuzz_*.c))
