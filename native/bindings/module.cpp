// The extension module isthmus._native; src/isthmus/_native.pyi documents it.
#include "bindings/module.hpp"

NB_MODULE(_native, module) {
    module.doc() =
        "The native core of Isthmus: devices, buffers, timed transfers and allocations, and copies for callers.";
    isthmus::bindings::bind_errors(module);
    isthmus::bindings::bind_devices(module);
    isthmus::bindings::bind_streams(module);
    isthmus::bindings::bind_timed(module);
    isthmus::bindings::bind_transfers(module);
    isthmus::bindings::bind_memory(module);
    isthmus::bindings::bind_latency(module);
    isthmus::bindings::bind_pieces(module);
    isthmus::bindings::bind_transfer_table(module);
    isthmus::bindings::bind_migrations(module);
    isthmus::bindings::bind_sessions(module);
    isthmus::bindings::bind_device_array(module);
    isthmus::bindings::bind_future(module);
    isthmus::bindings::bind_copies(module);
    isthmus::bindings::bind_batch(module);
    isthmus::bindings::bind_pinned(module);
    isthmus::bindings::bind_results(module);
    isthmus::bindings::bind_rows(module);
    isthmus::bindings::bind_addresses(module);
    isthmus::bindings::bind_arrow_stream(module);
    isthmus::bindings::bind_judge(module);
}
