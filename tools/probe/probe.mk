# The CUDA probe. `make probe` builds build/probe with nvcc; everything else here is for the tests,
# which run the same kernels on the CPU through the host shim. Included by the top Makefile.
CXX ?= g++
NVCC ?= $(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
CUDA_LIB ?= $(firstword $(wildcard $(dir $(NVCC))../lib64) $(wildcard $(dir $(NVCC))../lib))
CXXFLAGS += -std=c++17 $(FLAGS_$(VARIANT)) -ffp-contract=off -fno-strict-aliasing \
	$(if $(CI),-Werror)
PROBE_CUBLAS := $(if $(wildcard $(CUDA_LIB)/libcublas.so),-DPROBE_CUBLAS -lcublas)

# -Wno-unknown-pragmas, -Wno-pass-failed: #pragma unroll is for nvcc.
$(BUILD)/tools/probe/%.o: tools/probe/%.cu
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -Wall -Wextra -Wno-unknown-pragmas -Wno-pass-failed -c -o $@ -x c++ $<

$(BUILD)/tools/probe/%.o: tools/probe/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -Wall -Wextra -c -o $@ $<

PROBE_REFERENCE = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/probe/*_reference.c))
PROBE_PLAIN = $(patsubst %.c,$(BUILD)/%.o,\
	$(wildcard tools/probe/probe_*.c) $(wildcard tools/probe/check_*.c))
PROBE_SHIM = $(patsubst tools/probe/%,$(BUILD)/tools/probe/%.o,\
	$(basename $(wildcard tools/probe/kernels_*.cu) $(wildcard tools/probe/shim*.cpp) \
	tools/probe/gpu_host.c))
PROBE_HOST = $(PROBE_REFERENCE) $(PROBE_PLAIN) $(PROBE_SHIM)

$(BUILD)/tests/test_kda_reference: $(BUILD)/tests/test_kda_reference.o $(BUILD)/tests/suite.o $(PROBE_REFERENCE) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcheck -lsubunit -lrt $(LDLIBS)

# Static patterns: of two rules that match, make could else take the general one for tests.
$(addprefix $(BUILD)/tests/test_probe_,kernels method points): \
		$(BUILD)/tests/test_probe_%: $(BUILD)/tests/test_probe_%.o $(BUILD)/tests/suite.o $(PROBE_HOST) $(LIBRARY)
	$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ -lcheck -lsubunit -lrt $(LDLIBS)

# With a GPU's own compiler. The C parts are built by the C compiler as everywhere.
PROBE_CUDA = $(patsubst tools/probe/%.cu,build/cuda/%.o,$(wildcard tools/probe/*.cu))
NVCC_FLAGS = -O2 -std=c++17 -arch=sm_90 -I. -DPROBE_VERSION='"$(VERSION)"' \
	$(filter -D%,$(PROBE_CUBLAS)) -Xcompiler -Wall,-Wextra

build/cuda/%.o: tools/probe/%.cu $(wildcard tools/probe/*.h tools/probe/*.cuh)
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -c -o $@ $<

# Its version is that of the working tree at the time of the build.
build/cuda/probe.o: FORCE

build/probe: $(PROBE_CUDA) $(PROBE_REFERENCE) $(PROBE_PLAIN) $(BUILD)/tools/probe/nvml_watch.o \
		$(LIBRARY)
	$(NVCC) -arch=sm_90 -o $@ $^ -L$(CUDA_LIB) $(filter -l%,$(PROBE_CUBLAS)) \
		-Xlinker --as-needed,-rpath,$(CUDA_LIB),-rpath,'$$ORIGIN' -lcjson -lpthread -ldl -lm

.PHONY: probe FORCE
ifneq ($(NVCC),)
probe: build/probe ## build build/probe, which measures this machine's GPU (needs nvcc)
else
probe:
	@echo "probe: nvcc is missing (CUDA toolkit 12.4 or newer); set NVCC=/path/to/nvcc" >&2; exit 1
endif

-include $(PROBE_HOST:.o=.d)
