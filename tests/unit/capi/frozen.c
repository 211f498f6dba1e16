// The layout of every structure and the number of every name in isthmus.h, as programs were built with them: that this
// compiles, as C99 and as C++20, is the test. A figure here changes with the major version alone.
#include <isthmus.h>

// C99 has no assertion that the compiler makes; an array of -1 elements is one.
#define FROZEN(name, condition)  typedef char frozen_##name[(condition) ? 1 : -1]
#define AT(type, member, offset) FROZEN(type##_##member, offsetof(type, member) == (offset))

FROZEN(pointers, sizeof(void*) == 8 && sizeof(size_t) == 8);
FROZEN(enumerations, sizeof(isthmus_code) == 4 && sizeof(isthmus_side) == 4 && sizeof(isthmus_direction) == 4);

FROZEN(status, sizeof(isthmus_status) == 1040);
AT(isthmus_status, code, 0);
AT(isthmus_status, bytes_completed, 8);
AT(isthmus_status, operation, 16);
AT(isthmus_status, message, 80);

FROZEN(array, sizeof(isthmus_array) == 56);
AT(isthmus_array, address, 0);
AT(isthmus_array, offset_bytes, 8);
AT(isthmus_array, element_bytes, 16);
AT(isthmus_array, dimensions, 24);
AT(isthmus_array, shape, 32);
AT(isthmus_array, strides_bytes, 40);
AT(isthmus_array, side, 48);

FROZEN(rows, sizeof(isthmus_rows) == 32);
AT(isthmus_rows, indices, 0);
AT(isthmus_rows, count, 8);
AT(isthmus_rows, index_bytes, 16);
AT(isthmus_rows, side, 24);

// These may grow, but what is there stays where it is.
FROZEN(options, sizeof(isthmus_options) >= 32);
AT(isthmus_options, struct_bytes, 0);
AT(isthmus_options, pinned_budget_bytes, 8);
AT(isthmus_options, threads, 16);
AT(isthmus_options, table, 24);
AT(isthmus_options, kernel_blocks, 32);

FROZEN(explanation, sizeof(isthmus_explanation) >= 376);
AT(isthmus_explanation, struct_bytes, 0);
AT(isthmus_explanation, method, 8);
AT(isthmus_explanation, direction, 40);
AT(isthmus_explanation, host_memory, 48);
AT(isthmus_explanation, bytes, 64);
AT(isthmus_explanation, pieces, 72);
AT(isthmus_explanation, width_bytes, 80);
AT(isthmus_explanation, chunk_bytes, 88);
AT(isthmus_explanation, threads, 96);
AT(isthmus_explanation, stores, 104);
AT(isthmus_explanation, seconds, 112);
AT(isthmus_explanation, why, 120);
AT(isthmus_explanation, kernel_blocks, 376);

FROZEN(codes, ISTHMUS_OK == 0 && ISTHMUS_LIBRARY_ABSENT == 1 && ISTHMUS_FUNCTION_ABSENT == 2 &&
                  ISTHMUS_DEVICE_ABSENT == 3 && ISTHMUS_CALL_FAILED == 4 && ISTHMUS_TIMED_OUT == 5 &&
                  ISTHMUS_OUT_OF_MEMORY == 6 && ISTHMUS_UNSUPPORTED == 7 && ISTHMUS_INVALID_ARGUMENT == 8);
FROZEN(sides, ISTHMUS_INFER == 0 && ISTHMUS_HOST == 1 && ISTHMUS_DEVICE == 2);
FROZEN(stores, ISTHMUS_ORDINARY_STORES == 0 && ISTHMUS_STREAMING_STORES == 1 && ISTHMUS_DEMOTED_STORES == 2);
FROZEN(directions,
       ISTHMUS_BY_ADDRESS == 0 && ISTHMUS_H2D == 1 && ISTHMUS_D2H == 2 && ISTHMUS_D2D == 3 && ISTHMUS_H2H == 4);
