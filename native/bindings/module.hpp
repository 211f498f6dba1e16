// The parts of the extension module, one file each.
#pragma once

#include <nanobind/nanobind.h>

namespace isthmus::bindings {

void bind_devices(nanobind::module_& module);
void bind_streams(nanobind::module_& module);
void bind_transfer(nanobind::module_& module);

}  // namespace isthmus::bindings
