// Copies of rows of any libraries' arrays that lists name.
#include <descriptions.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "bindings/arrays/device_array.hpp"
#include "bindings/arrays/exchange.hpp"
#include "bindings/batch.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "bindings/rows/integers.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

using StreamHandle = std::optional<std::uintptr_t>;

// Layers are a list or a tuple of arrays; anything else is one array.
std::vector<nb::object> layers_of(nb::handle arrays) {
    if (PyList_Check(arrays.ptr()) == 0 && PyTuple_Check(arrays.ptr()) == 0) return {nb::borrow(arrays)};
    std::vector<nb::object> layers;
    const nb::object all = nb::steal(PySequence_Tuple(arrays.ptr()));
    if (!all.is_valid()) throw nb::python_error();
    layers.reserve(nb::len(all));
    for (std::size_t i = 0; i < nb::len(all); ++i) {
        layers.push_back(nb::borrow(PyTuple_GetItem(all.ptr(), static_cast<Py_ssize_t>(i))));
    }
    return layers;
}

struct RowsOfArrays final : Kept {
    const Keep keep;
    CurrentStreams current;
    std::deque<Operand> destinations, sources;
    std::vector<ArrayView> to, from;
    Integers destination_rows, source_rows;
    std::vector<std::uintptr_t> ready;
    std::vector<std::shared_ptr<DeviceMemory>> memories;  // each once
    std::shared_ptr<Session> session;

    RowsOfArrays(nb::handle destination, nb::handle destination_list, nb::handle source, nb::handle source_list,
                 StreamHandle stream, nb::handle session_object, Keep what)
        : keep(what),
          destination_rows(destination_list, "rows of the destination", stream, keep, current),
          source_rows(source_list, "rows of the source", stream, keep, current) {
        const std::vector<nb::object> destination_layers = layers_of(destination);
        const std::vector<nb::object> source_layers = layers_of(source);
        if (destination_layers.size() != source_layers.size()) {
            raise(invalid("the destination has " + std::to_string(destination_layers.size()) +
                          " layers and the source " + std::to_string(source_layers.size()) +
                          "; expected as many arrays on both sides"));
        }
        for (std::size_t i = 0; i < destination_layers.size(); ++i) {
            take(i, destination_layers[i], source_layers[i], destination_layers.size() > 1, stream);
        }
        if (!destinations.empty()) {
            destination_rows.resolve(destinations.front().extent(0));
            source_rows.resolve(sources.front().extent(0));
            session = session_for(session_object, destinations.front(), sources.front());
            note(destination_rows.on_device());
            note(source_rows.on_device());
        }
    }
    bool is_empty() const { return destinations.empty(); }
    RowCopy copy() const { return {{to, list_of(destination_rows)}, {from, list_of(source_rows)}}; }

  private:
    void take(std::size_t index, nb::handle destination, nb::handle source, bool is_layer, StreamHandle stream) {
        try {
            const Operand& one = destinations.emplace_back(destination, Role::destination, stream, keep, current);
            const Operand& other = sources.emplace_back(source, Role::source, stream, keep, current);
            check_rows(one, other);
            check_side(destinations.front(), one, "destination");
            check_side(sources.front(), other, "source");
        } catch (nb::python_error& error) {
            if (!is_layer || !error.matches(error_class("UsageError"))) throw;
            raise(error.matches(error_class("WrongType")) ? "WrongType" : "UsageError",
                  "layer " + std::to_string(index) + ": " + text_of(error.value()));
        }
        to.push_back(destinations.back().view());
        from.push_back(sources.back().view());
        for (const Operand* const operand : {&destinations.back(), &sources.back()}) {
            if (operand->ready() && std::ranges::find(ready, *operand->ready()) == ready.end()) {
                ready.push_back(*operand->ready());
            }
            if (operand->memory() && std::ranges::find(memories, operand->memory()) == memories.end()) {
                memories.push_back(operand->memory());
            }
        }
    }
    // Whether arrays of one side are of one device, or all of the host.
    static void check_side(const Operand& first, const Operand& other, const char* side) {
        const bool same = first.backend() == other.backend() &&
                          (first.device() == other.device() || first.device() < 0 || other.device() < 0);
        if (same) return;
        raise(invalid(std::string("its ") + side + " (" + other.text() +
                      ") is not where that of layer 0 is; all layers of a copy go one way, "
                      "between the host and one device: copy others by themselves"));
    }
    // A list on a device is for kernels of that device, and written by work on some stream.
    void note(const Operand* list) {
        if (list == nullptr) return;
        const DeviceInfo& info = session->device().info();
        if (list->backend() != info.backend || (list->device() >= 0 && list->device() != info.index)) {
            raise(invalid("a list of rows (" + list->text() + ") is on " + std::string(list->backend()) + ":" +
                          std::to_string(list->device()) + ", and the session copies for " + info.backend + ":" +
                          std::to_string(info.index) + "; pass one on that device, or on the host"));
        }
        if (list->ready() && std::ranges::find(ready, *list->ready()) == ready.end()) ready.push_back(*list->ready());
        if (list->memory() && std::ranges::find(memories, list->memory()) == memories.end()) {
            memories.push_back(list->memory());
        }
    }
    static RowList list_of(const Integers& rows) {
        const Operand* const array = rows.on_device();
        if (array == nullptr || array->elements() == 0) return {rows.values(), std::nullopt};
        return {{},
                RowListOnDevice{array->address(), array->offset_bytes(), array->elements(), array->type().bytes,
                                rows.stride_bytes()}};
    }
};

void copy_rows(nb::handle destination, nb::handle destination_rows, nb::handle source, nb::handle source_rows,
               nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    const RowsOfArrays rows(destination, destination_rows, source, source_rows, asked, session, Keep::object);
    if (rows.is_empty()) return;
    const Outcome outcome = without_gil([&] {
        const StreamHandle ordered = unwrap(joined(*rows.session, asked, rows.ready));
        return rows.session->copy_rows(rows.copy(), ordered);
    });
    check_copy(outcome, "copy_rows");
}

Future copy_rows_async(nb::handle destination, nb::handle destination_rows, nb::handle source, nb::handle source_rows,
                       nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    auto rows = std::make_unique<RowsOfArrays>(destination, destination_rows, source, source_rows, asked, session,
                                               Keep::memory);
    if (rows->is_empty()) return {};
    const std::shared_ptr<Session> chosen = rows->session;
    const std::vector<std::shared_ptr<DeviceMemory>> memories = rows->memories;
    const std::vector<std::uintptr_t> ready = rows->ready;
    // What it refers to stays where it is until the copy has ended.
    const RowCopy copy = rows->copy();
    const GilReleased release;
    const StreamHandle ordered = unwrap(joined(*chosen, asked, ready));
    std::shared_ptr<CopyHandle> begun =
        unwrap(chosen->copy_rows_async(copy, ordered, keep_until_released(std::move(rows))));
    for (const auto& memory : memories) memory->note(begun);
    return {std::move(begun), {}};
}

nb::dict explain_rows(nb::handle destination, nb::handle destination_rows, nb::handle source, nb::handle source_rows,
                      nb::handle session) {
    const RowsOfArrays rows(destination, destination_rows, source, source_rows, std::nullopt, session, Keep::object);
    if (rows.is_empty()) return dict_of(Explanation::nothing("there are no arrays"), nullptr);
    return dict_of(unwrap(without_gil([&] { return rows.session->explain_rows(rows.copy()); })), rows.session.get());
}

}  // namespace

void bind_session_rows(nb::class_<SessionHandle>& session) {
    session
        .def("copy_rows", as_method(&copy_rows), ISTHMUS_DESCRIBED(Session_copy_rows), nb::arg("dst").none(),
             nb::arg("dst_rows").none(), nb::arg("src").none(), nb::arg("src_rows").none(), nb::kw_only(),
             nb::arg("stream") = nb::none())
        .def("copy_rows_async", as_method(&copy_rows_async), ISTHMUS_DESCRIBED(Session_copy_rows_async),
             nb::arg("dst").none(), nb::arg("dst_rows").none(), nb::arg("src").none(), nb::arg("src_rows").none(),
             nb::kw_only(), nb::arg("stream") = nb::none());
}

void bind_rows(nb::module_& module) {
    module.def("copy_rows", &copy_rows, ISTHMUS_DESCRIBED(copy_rows), nb::arg("dst").none(), nb::arg("dst_rows").none(),
               nb::arg("src").none(), nb::arg("src_rows").none(), nb::kw_only(), nb::arg("stream") = nb::none(),
               nb::arg("session") = nb::none());
    module.def("copy_rows_async", &copy_rows_async, ISTHMUS_DESCRIBED(copy_rows_async), nb::arg("dst").none(),
               nb::arg("dst_rows").none(), nb::arg("src").none(), nb::arg("src_rows").none(), nb::kw_only(),
               nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
    module.def("explain_rows", &explain_rows, ISTHMUS_DESCRIBED(explain_rows), nb::arg("dst").none(),
               nb::arg("dst_rows").none(), nb::arg("src").none(), nb::arg("src_rows").none(), nb::kw_only(),
               nb::arg("session") = nb::none());
}

}  // namespace isthmus::bindings
