// Copies of many pieces of any libraries' arrays.
#include "bindings/batch.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays/device_array.hpp"
#include "bindings/arrays/exchange.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/released.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

using StreamHandle = std::optional<std::uintptr_t>;

nb::object tuple_of(nb::handle pieces, const char* role) {
    PyObject* const tuple = PySequence_Tuple(pieces.ptr());
    if (tuple != nullptr) return nb::steal(tuple);
    const nb::python_error error;
    if (!error.matches(PyExc_TypeError)) throw error;
    raise("WrongType", std::string("the ") + role + " of a batch are a " + text_of(pieces.type().attr("__name__")) +
                           "; expected a sequence of arrays");
}

// One side of a batch: the arrays, and the operands of those that are not kept by the objects alone.
struct ArraysOfSide {
    nb::object arrays;
    std::deque<Operand> held;
    std::vector<std::shared_ptr<DeviceMemory>> memories;  // some more than once
    std::string_view backend;
    std::optional<Side> side;
    int device = -1;  // of those that say so

    ArraysOfSide(nb::handle pieces, const char* role) : arrays(tuple_of(pieces, role)) {}
    std::size_t count() const { return nb::len(arrays); }
    const Operand& take(std::size_t index, Role role, StreamHandle stream, Keep keep, CurrentStreams& current) {
        return held.emplace_back(PyTuple_GetItem(arrays.ptr(), static_cast<Py_ssize_t>(index)), role, stream, keep,
                                 current);
    }
    // Looks whether the piece that was taken last goes with those before it, and lets go of what need not be held.
    void settle(std::size_t index, const char* role) {
        const Operand& operand = held.back();
        if (index == 0) {
            backend = operand.backend();
            side = operand.side();
        }
        if (operand.backend() != backend) {
            raise(invalid("piece " + std::to_string(index) + ": its " + role + " (" + operand.text() +
                          ") is not on the same side as that of piece 0; all "
                          "pieces of a batch go one way: make a batch of each"));
        }
        if (operand.side() == Side::device && operand.device() >= 0) {
            if (device < 0) device = operand.device();
            if (operand.device() != device) {
                raise(invalid("piece " + std::to_string(index) + ": its " + role + " (" + operand.text() + ") is on " +
                              std::string(backend) + ":" + std::to_string(operand.device()) + ", that of others on " +
                              std::string(backend) + ":" + std::to_string(device) +
                              "; a session copies for one device: make a batch of each"));
            }
        }
        if (operand.side() != side) side.reset();
        if (operand.memory() && (memories.empty() || memories.back() != operand.memory())) {
            memories.push_back(operand.memory());
        }
        if (operand.is_kept_by_object()) held.pop_back();
    }
};

struct BatchOfArrays final : Kept {
    ArraysOfSide destination, source;
    BatchLists pieces;
    std::vector<std::uintptr_t> ready;
    std::shared_ptr<Session> session;

    BatchOfArrays(nb::handle destinations, nb::handle sources, StreamHandle stream, nb::handle session_object,
                  Keep keep);
    Sides sides() const { return {destination.side, source.side}; }

  private:
    void add(const Operand& to, const Operand& from);
};

// Where a run of an array whose elements lie apart begins, from the array's first element; modulo 2^64.
std::size_t place(const ArrayPieces::Placement& placement, const Extent& extent, std::size_t piece) {
    const std::size_t regular =
        piece / extent.rows * placement.slice_pitch_bytes + piece % extent.rows * placement.pitch_bytes;
    return static_cast<std::size_t>(placement.first_bytes) + placement.offset +
           (placement.offsets.empty() ? regular : placement.offsets[piece]);
}

void BatchOfArrays::add(const Operand& to, const Operand& from) {
    const BatchPiece piece{to.address(), from.address(), from.bytes(), to.offset_bytes(), from.offset_bytes()};
    if (piece.bytes == 0) return;
    if (to.is_contiguous() && from.is_contiguous()) {
        pieces.add(piece);
        return;
    }
    ArrayPieces runs = unwrap(ArrayPieces::of(to.view(), from.view()));
    check(runs.write_offsets());
    for (std::size_t i = 0; i < runs.extent.pieces(); ++i) {
        BatchPiece run = piece;
        run.bytes = runs.extent.width_bytes;
        // OpenCL's memory has no addresses, only places within a handle.
        (to.backend() == "opencl" ? run.destination_offset_bytes : run.destination) +=
            place(runs.destination, runs.extent, i);
        (from.backend() == "opencl" ? run.source_offset_bytes : run.source) += place(runs.source, runs.extent, i);
        pieces.add(run);
    }
}

BatchOfArrays::BatchOfArrays(nb::handle destinations, nb::handle sources, StreamHandle stream,
                             nb::handle session_object, Keep keep)
    : destination(destinations, "destinations"), source(sources, "sources") {
    const std::size_t count = destination.count();
    if (source.count() != count) {
        raise(invalid("a batch has " + std::to_string(count) + " destinations and " + std::to_string(source.count()) +
                      " sources; expected as many"));
    }
    pieces.reserve(count);
    CurrentStreams current;
    for (std::size_t i = 0; i < count; ++i) {
        try {
            const Operand& taken = destination.take(i, Role::destination, stream, keep, current);
            check_pair(taken, source.take(i, Role::source, stream, keep, current));
            add(taken, source.held.back());
        } catch (nb::python_error& error) {
            if (!error.matches(error_class("UsageError"))) throw;
            raise(error.matches(error_class("WrongType")) ? "WrongType" : "UsageError",
                  "piece " + std::to_string(i) + ": " + text_of(error.value()));
        }
        const Operand& to = destination.held.back();
        const Operand& from = source.held.back();
        if (i == 0) session = session_for(session_object, to, from);
        for (const Operand* const operand : {&to, &from}) {
            for (const StreamHandle& each : {operand->ready(), operand->awaited()}) {
                if (each && std::ranges::find(ready, *each) == ready.end()) ready.push_back(*each);
            }
        }
        destination.settle(i, "destination");
        source.settle(i, "source");
    }
}

}  // namespace

void copy_batch(nb::handle destinations, nb::handle sources, nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    const BatchOfArrays batch(destinations, sources, asked, session, Keep::object);
    if (batch.pieces.empty()) return;
    const Outcome outcome = without_gil([&] {
        const StreamHandle ordered = unwrap(joined(*batch.session, asked, batch.ready));
        return batch.session->copy_batch(batch.pieces.batch(), batch.sides(), ordered);
    });
    check_copy(outcome, "copy_batch");
}

Future copy_batch_async(nb::handle destinations, nb::handle sources, nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    auto batch = std::make_unique<BatchOfArrays>(destinations, sources, asked, session, Keep::memory);
    if (batch->pieces.empty()) return {};
    const std::shared_ptr<Session> chosen = batch->session;
    const BatchLists pieces = std::move(batch->pieces);
    const Sides sides = batch->sides();
    std::vector<std::shared_ptr<DeviceMemory>> memories = batch->destination.memories;
    memories.insert(memories.end(), batch->source.memories.begin(), batch->source.memories.end());
    // Each once, by sorting: a search for each of many arrays of their own would take their number squared.
    std::ranges::sort(memories);
    const auto repeated = std::ranges::unique(memories);
    memories.erase(repeated.begin(), repeated.end());
    const GilReleased release;
    const StreamHandle ordered = unwrap(joined(*chosen, asked, batch->ready));
    std::shared_ptr<CopyHandle> begun =
        unwrap(chosen->copy_batch_async(pieces.batch(), sides, ordered, keep_until_released(std::move(batch))));
    for (const auto& memory : memories) memory->note(begun);
    return {std::move(begun), {}};
}

nb::dict explain_batch(nb::handle destinations, nb::handle sources, nb::handle session) {
    const BatchOfArrays batch(destinations, sources, std::nullopt, session, Keep::object);
    if (batch.session == nullptr) return dict_of(Explanation::nothing("the batch is empty"), nullptr);
    return dict_of(
        unwrap(without_gil([&] { return batch.session->explain_batch(batch.pieces.batch(), batch.sides()); })),
        batch.session.get());
}

}  // namespace isthmus::bindings
