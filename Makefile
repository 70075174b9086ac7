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
LIB_SOURCES = $(wildcard sim/core/*.c sim/load/*.c sim/model/*.c sim/cache/*.c sim/engine/*.c \
	policies/*/*.c policies/*.c traces/*.c)
TOOL_SOURCES = $(wildcard tools/snapsim/*.c)
TEST_SOURCES = $(wildcard tests/test_*.c tests/prop_*.c)
HELP_SOURCES = $(filter-out $(TEST_SOURCES) $(wildcard tests/fuzz_*.c), $(wildcard tests/*.c))
LIB_OBJECTS = $(LIB_SOURCES:%.c=$(BUILD)/%.o)
TOOL_OBJECTS = $(TOOL_SOURCES:%.c=$(BUILD)/%.o)
HELP_OBJECTS = $(HELP_SOURCES:%.c=$(BUILD)/%.o)
TEST_PROGRAMS = $(TEST_SOURCES:tests/%.c=$(BUILD)/tests/%)
LIBRARY = $(BUILD)/libsnapsim.a
PROGRAM = $(BUILD)/snapsim
VERSION := $(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)

.PHONY: all setup demo test check clean help FORCE
.SECONDARY:

all: build/snapsim ## build the program: build/snapsim

build/snapsim: $(PROGRAM)
	@mkdir -p build
	cp -f $< $@

$(PROGRAM): $(TOOL_OBJECTS) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(LIB_OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wall -Wextra -c -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -c -o $@ $<

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(HELP_OBJECTS) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcheck -lsubunit -lrt $(LDLIBS)

setup: ## install what is missing, by package name
	@tools/setup/setup.sh

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

-include $(LIB_OBJECTS:.o=.d) $(TOOL_OBJECTS:.o=.d) $(HELP_OBJECTS:.o=.d) \
	$(TEST_PROGRAMS:=.d)
