// The extension module isthmus._native; src/isthmus/_native.pyi documents it.
#include "bindings/module.hpp"

NB_MODULE(_native, module) {
    module.doc() =
        "The native core of Isthmus: devices, buffers, timed transfers and allocations, and copies for callers.";
    isthmus::bindings::bind_errors(module);
    isthmus::bindings::bind_devices(module);
    isthmus::bindings::bind_streams(module);
    isthmus::bindings::bind_transfer(module);
    isthmus::bindings::bind_allocation(module);
    isthmus::bindings::bind_trip(module);
    isthmus::bindings::bind_interference(module);
    isthmus::bindings::bind_latency(module);
    isthmus::bindings::bind_concurrent(module);
    isthmus::bindings::bind_peer_copies(module);
    isthmus::bindings::bind_pieces(module);
    isthmus::bindings::bind_pipeline(module);
    isthmus::bindings::bind_transfer_table(module);
    isthmus::bindings::bind_migrations(module);
    isthmus::bindings::bind_sessions(module);
    isthmus::bindings::bind_device_array(module);
    isthmus::bindings::bind_future(module);
    isthmus::bindings::bind_copies(module);
    isthmus::bindings::bind_file_copies(module);
    isthmus::bindings::bind_pinned(module);
    isthmus::bindings::bind_rows(module);
    isthmus::bindings::bind_addresses(module);
}
