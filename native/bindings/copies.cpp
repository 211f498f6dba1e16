// Copies between what callers pass, and from files: synchronous, asynchronous, and how they would be made.
#include <nanobind/stl/string.h>
#include <descriptions.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bindings/arrays/device_array.hpp"
#include "bindings/arrays/exchange.hpp"
#include "bindings/arrays/operand.hpp"
#include "bindings/batch.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "bindings/session.hpp"
#include "transfer/pieces/file_bytes.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

using StreamHandle = std::optional<std::uintptr_t>;

// The array to copy into, so that the producer is asked once. `make` is called with the source's shape, its type as
// NumPy writes it, the type's name where NumPy has none, and its dimensions from the outermost to the innermost in
// memory, empty where they are in C order.
nb::object new_array(nb::handle make, const Operand& from) {
    nb::list shape;
    nb::list axes;
    for (int i = 0; i < from.dimensions(); ++i) shape.append(from.extent(i));
    const std::vector<int> order = from.memory_order();
    if (!std::ranges::is_sorted(order)) {
        for (const int axis : order) axes.append(axis);
    }
    return or_sleep([&] { return make(shape, from.type().typestr(), std::string(from.type().name), axes); });
}

struct Pair final : Kept {
    Pair(nb::handle destination_object, nb::handle source_object, StreamHandle stream, Keep keep)
        : source(source_object, Role::source, stream, keep, current),
          destination(destination_object, Role::destination, stream, keep, current) {
        check_pair(destination, source);
    }
    // With what `make` gives as the destination.
    static std::unique_ptr<Pair> with_new(nb::handle make, nb::handle source_object, StreamHandle stream, Keep keep) {
        return std::unique_ptr<Pair>(new Pair(source_object, stream, keep, make));
    }
    CurrentStreams current;
    Operand source, destination;

  private:
    Pair(nb::handle source_object, StreamHandle stream, Keep keep, nb::handle make)
        : source(source_object, Role::source, stream, keep, current),
          destination(new_array(make, source), Role::destination, stream, keep, current) {
        check_pair(destination, source);
    }
};

// The stream to copy on.
Result<StreamHandle> stream_for(Session& session, StreamHandle stream, const Operand& destination,
                                const Operand& source) {
    if (!destination.ready() && !source.ready()) return stream;
    std::array<std::uintptr_t, 4> ready{};
    std::size_t count = 0;
    for (const Operand* const operand : {&destination, &source}) {
        if (operand->ready()) ready[count++] = *operand->ready();
        if (operand->awaited()) ready[count++] = *operand->awaited();
    }
    return joined(session, stream, std::span(ready).first(count));
}

// Precondition: check_pair was called.
void copy_between(const Operand& destination, const Operand& source, StreamHandle asked, nb::handle session) {
    const std::shared_ptr<Session> chosen = session_for(session, destination, source);
    if (source.bytes() == 0) return;
    const Outcome outcome = without_gil([&] {
        const StreamHandle ordered = unwrap(stream_for(*chosen, asked, destination, source));
        if (!destination.is_contiguous() || !source.is_contiguous()) {
            return chosen->copy(destination.view(), source.view(), ordered);
        }
        return chosen->copy_bytes({destination.address(), source.address(), source.bytes(), destination.offset_bytes(),
                                   source.offset_bytes()},
                                  {destination.side(), source.side()}, ordered);
    });
    check_copy(outcome, "copy");
}

void copy(nb::handle destination, nb::handle source, nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    const Pair pair(destination, source, asked, Keep::object);
    copy_between(pair.destination, pair.source, asked, session);
}

// Copies into the array that `make` gives.
nb::object copy_new(nb::handle make, nb::handle source, nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    const std::unique_ptr<Pair> pair = Pair::with_new(make, source, asked, Keep::object);
    copy_between(pair->destination, pair->source, asked, session);
    return nb::borrow(pair->destination.object());
}

// Without a result.
Future begin(std::unique_ptr<Pair> pair, StreamHandle asked, nb::handle session) {
    const std::shared_ptr<Session> chosen = session_for(session, pair->destination, pair->source);
    if (pair->source.bytes() == 0) return {};
    const std::array memories{pair->destination.memory(), pair->source.memory()};
    const ArrayView to = pair->destination.view();
    const ArrayView from = pair->source.view();
    const GilReleased release;
    const StreamHandle ordered = unwrap(stream_for(*chosen, asked, pair->destination, pair->source));
    std::shared_ptr<CopyHandle> begun =
        unwrap(chosen->copy_async(to, from, ordered, keep_until_released(std::move(pair))));
    for (const auto& memory : memories) {
        if (memory) memory->note(begun);
    }
    return {std::move(begun), {}};
}

Future copy_async(nb::handle destination, nb::handle source, nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    return begin(std::make_unique<Pair>(destination, source, asked, Keep::memory), asked, session);
}

Future copy_new_async(nb::handle make, nb::handle source, nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    auto pair = Pair::with_new(make, source, asked, Keep::memory);
    nb::object made = nb::borrow(pair->destination.object());
    Future future = begin(std::move(pair), asked, session);
    future.result = std::move(made);
    return future;
}

nb::dict explain(nb::handle destination, nb::handle source, nb::handle session) {
    const Pair pair(destination, source, std::nullopt, Keep::object);
    const std::shared_ptr<Session> chosen = session_for(session, pair.destination, pair.source);
    return dict_of(unwrap(without_gil([&] { return chosen->explain(pair.destination.view(), pair.source.view()); })),
                   chosen.get());
}

void copy_from_file(nb::handle destination, int descriptor, std::uint64_t offset, nb::handle stream,
                    nb::handle session) {
    end_kept();
    const std::optional<std::uintptr_t> asked = stream_of(stream);
    CurrentStreams current;
    const Operand to(destination, Role::destination, asked, Keep::object, current);
    if (to.is_read_only()) raise(invalid("the destination (" + to.text() + ") is read-only"));
    if (!to.is_contiguous()) {
        raise(invalid("the destination (" + to.text() +
                      ") has gaps or another order than C's, and a file's bytes go to one block; "
                      "read into a contiguous array, then copy"));
    }
    const std::shared_ptr<Session> chosen = session_for(session, to, to);
    if (to.bytes() == 0) return;
    const Outcome outcome = without_gil([&] {
        std::array<std::uintptr_t, 1> ready{to.ready().value_or(0)};
        const auto ordered = unwrap(joined(*chosen, asked, std::span(ready).first(to.ready() ? 1 : 0)));
        return chosen->copy_from_file(to.view(), {descriptor, offset}, ordered);
    });
    check_copy(outcome, "copy_from_file");
}

}  // namespace

void check_copy(const Outcome& outcome, const char* operation) {
    if (outcome.status.ok()) return;
    const Code code = outcome.status.code();
    const bool failed = code == Code::call_failed || code == Code::timed_out;
    if (!failed && code != Code::out_of_memory) raise(outcome.status);
    try {
        raise(failed ? "CopyFailed" : "OutOfMemory", outcome.status.message());
    } catch (nb::python_error& error) {
        const nb::object value = nb::borrow(error.value());
        value.attr("operation") = operation;
        value.attr("code") = failed ? (code == Code::timed_out ? "timed_out" : "call_failed") : "out_of_memory";
        value.attr("bytes_completed") = outcome.bytes_completed;
        throw;
    }
}

void bind_session_copies(nb::class_<SessionHandle>& session) {
    session
        .def("copy", as_method(&copy), ISTHMUS_DESCRIBED(Session_copy), nb::arg("dst").none(), nb::arg("src").none(),
             nb::kw_only(), nb::arg("stream") = nb::none())
        .def("copy_async", as_method(&copy_async), ISTHMUS_DESCRIBED(Session_copy_async), nb::arg("dst").none(),
             nb::arg("src").none(), nb::kw_only(), nb::arg("stream") = nb::none())
        .def("copy_batch", as_method(&copy_batch), ISTHMUS_DESCRIBED(Session_copy_batch), nb::arg("dsts").none(),
             nb::arg("srcs").none(), nb::kw_only(), nb::arg("stream") = nb::none())
        .def("copy_batch_async", as_method(&copy_batch_async), ISTHMUS_DESCRIBED(Session_copy_batch_async),
             nb::arg("dsts").none(), nb::arg("srcs").none(), nb::kw_only(), nb::arg("stream") = nb::none());
}

void bind_copies(nb::module_& module) {
    module.def("copy", &copy, ISTHMUS_DESCRIBED(copy), nb::arg("dst").none(), nb::arg("src").none(), nb::kw_only(),
               nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
    module.def("copy_new", &copy_new, ISTHMUS_DESCRIBED(copy_new), nb::arg("make"), nb::arg("src").none(),
               nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
    module.def("copy_new_async", &copy_new_async, ISTHMUS_DESCRIBED(copy_new_async), nb::arg("make"),
               nb::arg("src").none(), nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
    module.def("copy_async", &copy_async, ISTHMUS_DESCRIBED(copy_async), nb::arg("dst").none(), nb::arg("src").none(),
               nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
    module.def("copy_batch", &copy_batch, ISTHMUS_DESCRIBED(copy_batch), nb::arg("dsts").none(), nb::arg("srcs").none(),
               nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
    module.def("copy_batch_async", &copy_batch_async, ISTHMUS_DESCRIBED(copy_batch_async), nb::arg("dsts").none(),
               nb::arg("srcs").none(), nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("session") = nb::none());
    module.def("explain", &explain, ISTHMUS_DESCRIBED(explain), nb::arg("dst").none(), nb::arg("src").none(),
               nb::kw_only(), nb::arg("session") = nb::none());
    module.def("explain_batch", &explain_batch, ISTHMUS_DESCRIBED(explain_batch), nb::arg("dsts").none(),
               nb::arg("srcs").none(), nb::kw_only(), nb::arg("session") = nb::none());
    module.def("copy_from_file", &copy_from_file, ISTHMUS_DESCRIBED(copy_from_file), nb::arg("dst").none(),
               nb::arg("descriptor"), nb::arg("offset"), nb::kw_only(), nb::arg("stream") = nb::none(),
               nb::arg("session") = nb::none());
}

}  // namespace isthmus::bindings
