/* The probe: checks the kernels on this machine's GPU, measures them, writes a calibration file. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/probe/clock_cuda.h"
#include "tools/probe/probe_main.h"

int main(int argc, char **argv)
{
    struct cuda_clock *clock = clock_cuda_open();
    if (clock == nullptr) {
        fprintf(stderr, "probe: out of memory\n");
        return EXIT_FAILURE;
    }
    struct probe_clock interface = clock_cuda_interface(clock);
    int status = probe_main(argc, argv, &interface, PROBE_VERSION, stdout, stderr);
    clock_cuda_close(clock);
    return status;
}
