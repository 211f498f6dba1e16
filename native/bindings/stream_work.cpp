// Python's view of what a stream does to sections of memory, to managed memory and to arrays of numbers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "backend/kernel_blocks.hpp"
#include "backend/launch.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/stream.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// Bytes from the start of the first of `count` units, a stride apart, to the end of the last. Raises UsageError.
std::size_t span_of(std::size_t count, std::size_t stride, std::size_t unit) {
    std::size_t bytes = 0;
    if (count > 0 &&
        (__builtin_mul_overflow(count - 1, stride, &bytes) || __builtin_add_overflow(bytes, unit, &bytes))) {
        raise(invalid("count times stride overflows 64 bits"));
    }
    return bytes;
}

// Such units. Raises UsageError for what is not aligned to them, or leaves the buffer.
Region units_of(Buffer& memory, std::size_t offset, std::size_t count, std::size_t stride, std::size_t unit) {
    if (stride == 0 || stride % unit != 0 || offset % unit != 0) {
        raise(invalid("offset " + std::to_string(offset) + " and stride " + std::to_string(stride) +
                      ": expected multiples of " + std::to_string(unit) + ", the stride above 0"));
    }
    return unwrap(memory.region(offset, span_of(count, stride, unit)));
}

// A whole buffer of points, row after row.
Region points_of(Buffer& memory, std::size_t rows, std::size_t columns) {
    std::size_t bytes = 0;
    if (rows == 0 || columns == 0 || __builtin_mul_overflow(rows, columns, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(double), &bytes)) {
        raise(invalid("no grid of " + std::to_string(rows) + " x " + std::to_string(columns) + " points"));
    }
    return unwrap(memory.region(0, bytes));
}

Layout layout_of(Buffer& memory, std::size_t offset, std::size_t pitch, const Extent& extent) {
    return {unwrap(memory.region(0, 0)).allocation, offset, pitch, extent.rows * pitch, {}};
}

template <typename Copy>
void copy_section(PyStream& self, Buffer& to, std::size_t to_offset, std::size_t to_pitch, Buffer& from,
                  std::size_t from_offset, std::size_t from_pitch, std::size_t width_bytes, std::size_t rows,
                  Copy copy) {
    const Extent extent{width_bytes, rows, 1};
    const Layout destination = layout_of(to, to_offset, to_pitch, extent);
    const Layout source = layout_of(from, from_offset, from_pitch, extent);
    check(check_destination(destination, extent));
    check(isthmus::check(source, extent));
    check(copy(bound(self.session), *self.handle, destination, source, extent));
}

void copy_section_by_driver(PyStream& self, Buffer& to, std::size_t to_offset, std::size_t to_pitch, Buffer& from,
                            std::size_t from_offset, std::size_t from_pitch, std::size_t width_bytes,
                            std::size_t rows) {
    copy_section(self, to, to_offset, to_pitch, from, from_offset, from_pitch, width_bytes, rows,
                 [](Device& device, Stream& stream, const Layout& destination, const Layout& source,
                    const Extent& extent) { return device.copy_section(stream, destination, source, extent); });
}

void copy_section_by_kernel(PyStream& self, Buffer& to, std::size_t to_offset, std::size_t to_pitch, Buffer& from,
                            std::size_t from_offset, std::size_t from_pitch, std::size_t width_bytes,
                            std::size_t rows) {
    copy_section(
        self, to, to_offset, to_pitch, from, from_offset, from_pitch, width_bytes, rows,
        [](Device& device, Stream& stream, const Layout& destination, const Layout& source, const Extent& extent) {
            const std::size_t unit = common_unit_bytes(destination, source, extent);
            return device.copy_pieces(stream, destination, source, extent, {unit, 0, extent.bytes() / unit}, {}, {});
        });
}

void prefetch(PyStream& self, Buffer& memory, std::size_t offset, std::size_t bytes, const std::string& side,
              std::size_t count, std::size_t stride) {
    Device& device = bound(self.session);
    const Side to = named<Side>(side, "side");
    (void)unwrap(memory.region(offset, span_of(count, stride, bytes)));
    for (std::size_t i = 0; i < count; ++i) {
        check(device.prefetch(*self.handle, unwrap(memory.region(offset + i * stride, bytes)), to));
    }
}

void touch_in_turn(PyStream& self, Buffer& memory, std::size_t offset, std::size_t count, std::size_t stride) {
    const Region region = units_of(memory, offset, count, stride, sizeof(std::uint32_t));
    check(launch(bound(self.session), *self.handle, kernel::touch_in_turn, region, count, stride, std::uint32_t{0}));
}

void add_doubles(PyStream& self, Buffer& memory, std::size_t offset, std::size_t count, std::size_t stride,
                 double value) {
    const Region region = units_of(memory, offset, count, stride, sizeof(double));
    check(launch(bound(self.session), *self.handle, kernel::add_doubles, region, count, stride, value));
}

void fill_ramp(PyStream& self, Buffer& memory, std::size_t rows, std::size_t columns, std::size_t first_column,
               std::size_t side) {
    const Region region = points_of(memory, rows, columns);
    if (side == 0) raise(invalid("no side of 0 points"));
    check(launch(bound(self.session), *self.handle, kernel::ramp, region, rows, columns, first_column, side));
}

void laplacian(PyStream& self, Buffer& to, Buffer& from, std::size_t rows, std::size_t columns, std::size_t halo) {
    const Region destination = points_of(to, rows, columns);
    const Region source = points_of(from, rows, columns);
    if (halo == 0 || halo >= (columns + 1) / 2) {
        raise(invalid("no points between halos of " + std::to_string(halo) + " in " + std::to_string(columns) +
                      " columns; expected 1 to less than half"));
    }
    if (destination.allocation == source.allocation) raise(invalid("a laplacian needs two buffers"));
    check(launch(bound(self.session), *self.handle, kernel::laplacian, destination, source, rows, columns, halo));
}

}  // namespace

void bind_stream_work(nb::class_<PyStream>& stream) {
    stream
        .def("copy_section", &copy_section_by_driver, nb::arg("to"), nb::arg("to_offset"), nb::arg("to_pitch"),
             nb::arg("from_"), nb::arg("from_offset"), nb::arg("from_pitch"), nb::arg("width_bytes"), nb::arg("rows"),
             ReleaseGil())
        .def("copy_section_by_kernel", &copy_section_by_kernel, nb::arg("to"), nb::arg("to_offset"),
             nb::arg("to_pitch"), nb::arg("from_"), nb::arg("from_offset"), nb::arg("from_pitch"),
             nb::arg("width_bytes"), nb::arg("rows"), ReleaseGil())
        .def("prefetch", &prefetch, nb::arg("memory"), nb::arg("offset"), nb::arg("bytes"), nb::arg("side"),
             nb::arg("count") = 1, nb::arg("stride_bytes") = 0, ReleaseGil())
        .def("touch_in_turn", &touch_in_turn, nb::arg("memory"), nb::arg("offset"), nb::arg("count"),
             nb::arg("stride_bytes"), ReleaseGil())
        .def("add_doubles", &add_doubles, nb::arg("memory"), nb::arg("offset"), nb::arg("count"),
             nb::arg("stride_bytes"), nb::arg("value"), ReleaseGil())
        .def("fill_ramp", &fill_ramp, nb::arg("memory"), nb::arg("rows"), nb::arg("columns"), nb::arg("first_column"),
             nb::arg("side"), ReleaseGil())
        .def("laplacian", &laplacian, nb::arg("to"), nb::arg("from_"), nb::arg("rows"), nb::arg("columns"),
             nb::arg("halo"), ReleaseGil());
}

}  // namespace isthmus::bindings
