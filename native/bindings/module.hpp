// The parts of the extension module, one file each.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "backend/region.hpp"

namespace isthmus {
struct LinkReading;  // backend/device_info.hpp
}

namespace isthmus::bindings {

nanobind::dict link_dict(const LinkReading& link);
// Raises UsageError for a name that no kind has.
MemoryKind kind_of(const std::string& name);
// Likewise for ``host`` and ``device``.
Side side_of(const std::string& name);

// Before anything can fail.
void bind_errors(nanobind::module_& module);
void bind_devices(nanobind::module_& module);
void bind_streams(nanobind::module_& module);
void bind_transfer(nanobind::module_& module);
void bind_allocation(nanobind::module_& module);
void bind_trip(nanobind::module_& module);
void bind_interference(nanobind::module_& module);
void bind_latency(nanobind::module_& module);
void bind_concurrent(nanobind::module_& module);
void bind_peer_copies(nanobind::module_& module);
void bind_pieces(nanobind::module_& module);
void bind_pipeline(nanobind::module_& module);
void bind_transfer_table(nanobind::module_& module);
void bind_migrations(nanobind::module_& module);
void bind_sessions(nanobind::module_& module);
void bind_copies(nanobind::module_& module);
void bind_file_copies(nanobind::module_& module);
void bind_rows(nanobind::module_& module);
void bind_addresses(nanobind::module_& module);
void bind_device_array(nanobind::module_& module);
void bind_future(nanobind::module_& module);
void bind_pinned(nanobind::module_& module);

}  // namespace isthmus::bindings
