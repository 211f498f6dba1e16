// The parts of the extension module, one file each.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>

#include "backend/region.hpp"
#include "base/names.hpp"

namespace isthmus {
struct LinkReading;  // backend/device_info.hpp
}

namespace isthmus::bindings {

nanobind::dict link_dict(const LinkReading& link);
// Raises UsageError for a name that no kind has.
MemoryKind kind_of(const std::string& name);
// Raises UsageError for a name that is none of those known.
[[noreturn]] void raise_unknown(const char* what, const std::string& name, std::span<const std::string_view> known);
// The value of an enumeration that has this name.
template <typename Enum>
Enum named(const std::string& name, const char* what) {
    const auto value = value_of<Enum>(name);
    if (!value) raise_unknown(what, name, names_of<Enum>);
    return *value;
}

// Before anything can fail.
void bind_errors(nanobind::module_& module);
void bind_devices(nanobind::module_& module);
void bind_streams(nanobind::module_& module);
void bind_timed(nanobind::module_& module);
void bind_transfers(nanobind::module_& module);
void bind_memory(nanobind::module_& module);
void bind_latency(nanobind::module_& module);
void bind_pieces(nanobind::module_& module);
void bind_transfer_table(nanobind::module_& module);
void bind_migrations(nanobind::module_& module);
void bind_sessions(nanobind::module_& module);
void bind_copies(nanobind::module_& module);
void bind_batch(nanobind::module_& module);
void bind_rows(nanobind::module_& module);
void bind_addresses(nanobind::module_& module);
void bind_arrow_stream(nanobind::module_& module);
void bind_device_array(nanobind::module_& module);
void bind_future(nanobind::module_& module);
void bind_pinned(nanobind::module_& module);
void bind_judge(nanobind::module_& module);
void bind_results(nanobind::module_& module);

}  // namespace isthmus::bindings
