/* Isthmus: copies between host memory and accelerators, at the rate of the link. The C interface.
 *
 * Handles are opaque. Every function may be called from any thread. Functions that can fail return a code, and fill the
 * status where one is passed; none throws, prints, exits or changes which device is current for the calling thread.
 * The ABI is stable within a major version: isthmus_options and isthmus_explanation, which begin with the size of the
 * caller's, may grow at their end, and no other structure changes. */
#ifndef ISTHMUS_H
#define ISTHMUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(ISTHMUS_BUILDING)
#define ISTHMUS_API __attribute__((visibility("default")))
#else
#define ISTHMUS_API
#endif

/* C++ may not even look at a number that an enumeration without a type has no name for, such as a later version's. */
#ifdef __cplusplus
#define ISTHMUS_OF_INT : int
#define ISTHMUS_NOEXCEPT noexcept
extern "C" {
#else
#define ISTHMUS_OF_INT
#define ISTHMUS_NOEXCEPT
#endif

#define ISTHMUS_VERSION_MAJOR 0
#define ISTHMUS_VERSION_MINOR 1

typedef enum isthmus_code ISTHMUS_OF_INT {
    ISTHMUS_OK = 0,
    ISTHMUS_LIBRARY_ABSENT = 1,  /* the vendor's library could not be opened */
    ISTHMUS_FUNCTION_ABSENT = 2, /* it is there, but too old */
    ISTHMUS_DEVICE_ABSENT = 3,   /* no device of this name */
    ISTHMUS_CALL_FAILED = 4,     /* a call of the driver or the system failed */
    ISTHMUS_TIMED_OUT = 5,       /* what was begun has not ended, and may still be at work */
    ISTHMUS_OUT_OF_MEMORY = 6,
    ISTHMUS_UNSUPPORTED = 7,     /* this device cannot do that */
    ISTHMUS_INVALID_ARGUMENT = 8 /* the caller's mistake */
} isthmus_code;

/* How a call ended. */
typedef struct isthmus_status {
    isthmus_code code;
    size_t bytes_completed; /* of a copy: how much had arrived */
    char operation[64];     /* what was being done: "copy", "open", ... */
    char message[960];      /* what was found, what was expected, what to do; empty on success */
} isthmus_status;

typedef struct isthmus_session isthmus_session;
typedef struct isthmus_transfer isthmus_transfer;

/* Zero means the default for every member but the first. */
typedef struct isthmus_options {
    size_t struct_bytes;        /* sizeof(isthmus_options), set by the caller */
    size_t pinned_budget_bytes; /* of page-locked memory; default 64 MiB, 128 MiB for several links */
    size_t threads;             /* the most that pack; default as calibrated */
    const char* table;          /* a file that `isthmus calibrate` wrote; default this machine's, if there is one */
    size_t kernel_blocks;       /* the most, of 1,024 threads, of a kernel that copies; default what fills the link */
    const char* paths;          /* "own" link alone, "all" other devices' too, or such as "cuda:1,cuda:2"; default what
                                   ISTHMUS_PATHS says, or own */
} isthmus_options;

typedef enum isthmus_side ISTHMUS_OF_INT {
    ISTHMUS_INFER = 0, /* ask the driver */
    ISTHMUS_HOST = 1,
    ISTHMUS_DEVICE = 2
} isthmus_side;

/* Of a copy whose caller knows, which saves asking the driver: a fair part of the time of a very small one. */
typedef enum isthmus_direction ISTHMUS_OF_INT {
    ISTHMUS_BY_ADDRESS = 0, /* ask the driver */
    ISTHMUS_H2D = 1,
    ISTHMUS_D2H = 2,
    ISTHMUS_D2D = 3,
    ISTHMUS_H2H = 4
} isthmus_direction;

/* An array of up to 32 dimensions. Strides are in bytes; without them rows follow one another (C order). */
typedef struct isthmus_array {
    void* address;       /* of the first element; of OpenCL's buffers the cl_mem */
    size_t offset_bytes; /* of the first element within a cl_mem; else 0 */
    size_t element_bytes;
    size_t dimensions; /* 0 for a single element */
    const size_t* shape;
    const ptrdiff_t* strides_bytes; /* may be null */
    isthmus_side side;
} isthmus_array;

/* Which rows of the first dimension of arrays, in order: integers with a sign, one after another. ISTHMUS_INFER stands
 * for the host's memory. */
typedef struct isthmus_rows {
    const void* indices;
    size_t count;
    size_t index_bytes; /* 4 or 8 */
    isthmus_side side;
} isthmus_rows;

/* How threads that pack write, where the processor can. */
typedef enum isthmus_stores {
    ISTHMUS_ORDINARY_STORES = 0,  /* also where no threads pack */
    ISTHMUS_STREAMING_STORES = 1, /* past the caches */
    ISTHMUS_DEMOTED_STORES = 2    /* ordinary ones, then handed to the cache that all cores share */
} isthmus_stores;

/* How a copy would be made, and why. */
typedef struct isthmus_explanation {
    size_t struct_bytes;  /* sizeof(isthmus_explanation), set by the caller */
    char method[32];      /* "driver", "direct", "staged", "device", "peer", "host", "nothing", or one for pieces */
    char direction[8];    /* "h2d", "d2h", "d2d", "h2h" */
    char host_memory[16]; /* "pageable", "pinned", "managed", or empty */
    size_t bytes, pieces, width_bytes;
    size_t chunk_bytes, threads;
    isthmus_stores stores;
    double seconds; /* expected; 0 where nobody knows */
    char why[256];
    size_t kernel_blocks; /* of kernels that copy, the most at once; 0 without, and where they may fill the device */
} isthmus_explanation;

/* "0.1.0" */
ISTHMUS_API const char* isthmus_version(void) ISTHMUS_NOEXCEPT;
/* "ISTHMUS_OUT_OF_MEMORY" */
ISTHMUS_API const char* isthmus_code_name(isthmus_code code) ISTHMUS_NOEXCEPT;

/* Opens a device: "cuda:0", "opencl:0", "host", or null for the best one present. Page-locked memory and threads are
 * got when they are first needed. `options` and `status` may be null, here and everywhere. */
ISTHMUS_API isthmus_code isthmus_open(const char* device, const isthmus_options* options, isthmus_session** session,
                                      isthmus_status* status) ISTHMUS_NOEXCEPT;
/* Waits for copies that were begun, and gives everything back, the handle too, whatever it returns: the first failure
 * of a copy that nobody waited for. Transfers stay valid until they are given to isthmus_finish. No other thread may
 * use the handle any more. Null is no mistake. */
ISTHMUS_API isthmus_code isthmus_close(isthmus_session* session, isthmus_status* status) ISTHMUS_NOEXCEPT;

/* Memory for programs that have no way of their own to get some: of the device, or page-locked memory of the host, as
 * isthmus_pinned_alloc gives it. With OpenCL memory of the device is a cl_mem. Memory that was not freed goes with its
 * session. No copy may use what is freed. Null is no mistake. */
ISTHMUS_API isthmus_code isthmus_allocate(isthmus_session* session, isthmus_side side, size_t bytes, void** memory,
                                          isthmus_status* status) ISTHMUS_NOEXCEPT;
ISTHMUS_API isthmus_code isthmus_free(isthmus_session* session, void* memory, isthmus_status* status) ISTHMUS_NOEXCEPT;

/* Page-locked memory of the host that every device of the kind takes as such, in exactly so many bytes, whose contents
 * are anything; it begins at a multiple of 64, and of each power of two up to 4096 that divides `bytes`. 1 GiB takes a
 * seventh of the driver's time or less, blocks of up to 1 MiB are cut from larger ones. It does not count towards the
 * budget. What is freed is kept for later blocks until isthmus_trim; no copy may use it any more. Fails with
 * ISTHMUS_OUT_OF_MEMORY, and nothing held, beyond a limit of the driver, the host or the control group. */
ISTHMUS_API isthmus_code isthmus_pinned_alloc(isthmus_session* session, size_t bytes, void** memory,
                                              isthmus_status* status) ISTHMUS_NOEXCEPT;
ISTHMUS_API isthmus_code isthmus_pinned_free(isthmus_session* session, void* memory,
                                             isthmus_status* status) ISTHMUS_NOEXCEPT;

/* What streams and cl_mem of the caller must belong to: CUcontext, cl_context; null with the host. */
ISTHMUS_API void* isthmus_context(const isthmus_session* session) ISTHMUS_NOEXCEPT;

/* A stream of the caller: CUstream or cudaStream_t, or cl_command_queue. Null is the default stream (with OpenCL, which
 * has none, no stream at all). A copy begins after what the stream holds. The functions without _async return when all
 * has arrived; those with return at once, and what the stream is given afterwards begins when the copy has ended.
 *
 * Either side may be any memory of the host, or memory of the session's device. A cl_mem is no address: what takes one
 * is told so by the direction, or by the side of an array. */
ISTHMUS_API isthmus_code isthmus_copy(isthmus_session* session, void* destination, const void* source, size_t bytes,
                                      isthmus_direction direction, void* stream,
                                      isthmus_status* status) ISTHMUS_NOEXCEPT;
ISTHMUS_API isthmus_code isthmus_copy_array(isthmus_session* session, const isthmus_array* destination,
                                            const isthmus_array* source, void* stream,
                                            isthmus_status* status) ISTHMUS_NOEXCEPT;
/* All pieces go one way. `bytes` has one size for each. */
ISTHMUS_API isthmus_code isthmus_copy_batch(isthmus_session* session, size_t pieces, void* const* destinations,
                                            const void* const* sources, const size_t* bytes,
                                            isthmus_direction direction, void* stream,
                                            isthmus_status* status) ISTHMUS_NOEXCEPT;
/* Rows of `layers` arrays, such as the layers of a cache, to rows of as many others: of all of them those that the two
 * lists name, which are of one length. Arrays of both sides have one row size. A row of a destination is named once,
 * rows of a source may repeat. Lists of the host are read before the call returns; those on the device in the order of
 * the stream, and if they are wrong, the copy ends with ISTHMUS_INVALID_ARGUMENT, and nothing was copied. */
ISTHMUS_API isthmus_code isthmus_copy_rows(isthmus_session* session, size_t layers, const isthmus_array* destinations,
                                           const isthmus_rows* destination_rows, const isthmus_array* sources,
                                           const isthmus_rows* source_rows, void* stream,
                                           isthmus_status* status) ISTHMUS_NOEXCEPT;
/* The memory must stay until the copy has ended, and `transfer` be given to isthmus_finish. */
ISTHMUS_API isthmus_code isthmus_copy_async(isthmus_session* session, void* destination, const void* source,
                                            size_t bytes, isthmus_direction direction, void* stream,
                                            isthmus_transfer** transfer, isthmus_status* status) ISTHMUS_NOEXCEPT;
ISTHMUS_API isthmus_code isthmus_copy_array_async(isthmus_session* session, const isthmus_array* destination,
                                                  const isthmus_array* source, void* stream,
                                                  isthmus_transfer** transfer, isthmus_status* status) ISTHMUS_NOEXCEPT;
ISTHMUS_API isthmus_code isthmus_copy_batch_async(isthmus_session* session, size_t pieces, void* const* destinations,
                                                  const void* const* sources, const size_t* bytes,
                                                  isthmus_direction direction, void* stream,
                                                  isthmus_transfer** transfer, isthmus_status* status) ISTHMUS_NOEXCEPT;

ISTHMUS_API isthmus_code isthmus_copy_rows_async(isthmus_session* session, size_t layers,
                                                 const isthmus_array* destinations,
                                                 const isthmus_rows* destination_rows, const isthmus_array* sources,
                                                 const isthmus_rows* source_rows, void* stream,
                                                 isthmus_transfer** transfer, isthmus_status* status) ISTHMUS_NOEXCEPT;

/* Whether it has ended: 1 or 0. Of null: 1. */
ISTHMUS_API int isthmus_done(isthmus_transfer* transfer) ISTHMUS_NOEXCEPT;
/* Returns when it has ended, with how it did. */
ISTHMUS_API isthmus_code isthmus_wait(isthmus_transfer* transfer, isthmus_status* status) ISTHMUS_NOEXCEPT;
/* What this stream is given from now on begins after it has ended. */
ISTHMUS_API isthmus_code isthmus_hold_stream(isthmus_transfer* transfer, void* stream,
                                             isthmus_status* status) ISTHMUS_NOEXCEPT;
/* Waits, and frees the handle. Null is no mistake. */
ISTHMUS_API isthmus_code isthmus_finish(isthmus_transfer* transfer, isthmus_status* status) ISTHMUS_NOEXCEPT;

/* How isthmus_copy_array would make a copy. Moves nothing. */
ISTHMUS_API isthmus_code isthmus_explain(isthmus_session* session, const isthmus_array* destination,
                                         const isthmus_array* source, isthmus_explanation* explanation,
                                         isthmus_status* status) ISTHMUS_NOEXCEPT;
/* How isthmus_copy_batch would. */
ISTHMUS_API isthmus_code isthmus_explain_batch(isthmus_session* session, size_t pieces, void* const* destinations,
                                               const void* const* sources, const size_t* bytes,
                                               isthmus_direction direction, isthmus_explanation* explanation,
                                               isthmus_status* status) ISTHMUS_NOEXCEPT;

/* Page-locked memory that the session holds, and may hold. */
ISTHMUS_API size_t isthmus_pinned_bytes(const isthmus_session* session) ISTHMUS_NOEXCEPT;
ISTHMUS_API size_t isthmus_pinned_budget_bytes(const isthmus_session* session) ISTHMUS_NOEXCEPT;
/* Gives back what no copy uses at this moment, and what is kept of freed blocks. */
ISTHMUS_API isthmus_code isthmus_trim(isthmus_session* session, isthmus_status* status) ISTHMUS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
