// Copies 4 MiB there and back, and times nothing: a profiler does that, isthmus trace -- ./profile_test
#include "driver.h"

int main(void) {
    const size_t bytes = (size_t)1048576 * sizeof(int);
    Device device = 0;
    (void)open_device();
    int* host = malloc(bytes);
    if (host == NULL) return EXIT_FAILURE;
    CHECK(cu.cuMemAlloc_v2(&device, bytes));

    memset(host, 0, bytes);
    CHECK(cu.cuMemcpyHtoD_v2(device, host, bytes));
    CHECK(cu.cuMemcpyDtoH_v2(host, device, bytes));

    CHECK(cu.cuMemFree_v2(device));
    free(host);
    return EXIT_SUCCESS;
}
