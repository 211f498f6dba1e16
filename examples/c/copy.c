// Moves a buffer from ordinary memory to the device and back, and says how: copy [DEVICE]
#include <isthmus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 64 << 20 };

// Ends the program where a call failed. Real programs clean up; every message says what to do.
static void check(isthmus_code code, const isthmus_status* status) {
    if (code == ISTHMUS_OK) return;
    fprintf(stderr, "%s failed after %zu bytes: %s: %s\n", status->operation, status->bytes_completed,
            isthmus_code_name(code), status->message);
    exit(EXIT_FAILURE);
}

static void explain(isthmus_session* session, void* to, isthmus_side to_side, void* from, isthmus_side from_side) {
    const size_t shape[1] = {BYTES};
    const isthmus_array destination = {to, 0, 1, 1, shape, NULL, to_side};
    const isthmus_array source = {from, 0, 1, 1, shape, NULL, from_side};
    isthmus_explanation how = {.struct_bytes = sizeof how};
    isthmus_status status;
    check(isthmus_explain(session, &destination, &source, &how, &status), &status);
    printf("%s of %zu bytes, %s memory: %s; %s\n", how.direction, how.bytes, how.host_memory, how.method, how.why);
}

int main(int count, char** words) {
    isthmus_status status;
    isthmus_session* session = NULL;
    check(isthmus_open(count > 1 ? words[1] : NULL, NULL, &session, &status), &status);

    // Any memory will do: of malloc or mmap, or of cudaMalloc and cudaMallocHost where the program has CUDA.
    unsigned char* numbers = malloc(BYTES);
    unsigned char* returned = malloc(BYTES);
    void* device = NULL;
    check(isthmus_allocate(session, ISTHMUS_DEVICE, BYTES, &device, &status), &status);
    if (numbers == NULL || returned == NULL) return EXIT_FAILURE;
    for (size_t i = 0; i < BYTES; ++i) numbers[i] = (unsigned char)(i * 31 + (i >> 12));

    explain(session, device, ISTHMUS_DEVICE, numbers, ISTHMUS_HOST);
    check(isthmus_copy(session, device, numbers, BYTES, ISTHMUS_H2D, NULL, &status), &status);

    // Back without waiting. The memory belongs to the copy until isthmus_finish; in a program with a stream, what the
    // stream is given from here on would begin when the copy has ended.
    explain(session, returned, ISTHMUS_HOST, device, ISTHMUS_DEVICE);
    isthmus_transfer* transfer = NULL;
    check(isthmus_copy_async(session, returned, device, BYTES, ISTHMUS_D2H, NULL, &transfer, &status), &status);
    printf("other work while %d bytes are under way\n", BYTES);
    check(isthmus_finish(transfer, &status), &status);

    const int same = memcmp(numbers, returned, BYTES) == 0;
    printf("%zu bytes came back %s\n", status.bytes_completed, same ? "unchanged" : "CHANGED");

    check(isthmus_free(session, device, &status), &status);
    check(isthmus_close(session, &status), &status);
    free(numbers);
    free(returned);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
