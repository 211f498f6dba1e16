// Copies of many pieces of any libraries' arrays: once, and of a batch that is kept.
#include "bindings/batch.hpp"

#include <descriptions.hpp>

#include <memory>
#include <utility>
#include <vector>

#include "bindings/arrays/device_array.hpp"
#include "bindings/arrays/exchange.hpp"
#include "bindings/batch_arrays.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/released.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

using StreamHandle = std::optional<std::uintptr_t>;

struct KeptBatch final : Kept {
    std::shared_ptr<const BatchOfArrays> batch;
    explicit KeptBatch(std::shared_ptr<const BatchOfArrays> kept) : batch(std::move(kept)) {}
};

void perform(const BatchOfArrays& batch, StreamHandle asked, const std::vector<std::uintptr_t>& ready) {
    if (batch.pieces.empty()) return;
    const Outcome outcome = without_gil([&] {
        const StreamHandle ordered = unwrap(joined(*batch.session, asked, ready));
        return batch.session->copy_batch(batch.pieces.batch(), batch.sides(), ordered);
    });
    check_copy(outcome, "copy_batch");
}

// The caller holds the batch until this has returned.
Future begin(const std::shared_ptr<const BatchOfArrays>& batch, StreamHandle asked,
             const std::vector<std::uintptr_t>& ready) {
    if (batch->pieces.empty()) return {};
    auto kept = std::make_unique<KeptBatch>(batch);
    const GilReleased release;
    const StreamHandle ordered = unwrap(joined(*batch->session, asked, ready));
    std::shared_ptr<CopyHandle> begun = unwrap(batch->session->copy_batch_async(
        batch->pieces.batch(), batch->sides(), ordered, keep_until_released(std::move(kept))));
    for (const auto& memory : batch->memories) memory->note(begun);
    return {std::move(begun), {}};
}

// Python's isthmus.Batch.
struct BatchHandle {
    std::shared_ptr<const BatchOfArrays> arrays;

    // The streams of the arrays' producers at this moment. Raises UsageError where `check` shows that an array moved.
    std::vector<std::uintptr_t> ready(StreamHandle asked, bool check) const {
        std::vector<std::uintptr_t> streams;
        CurrentStreams current;
        const Unmoved& destination = *arrays->destination.unmoved;
        const Unmoved& source = *arrays->source.unmoved;
        // Else they are looked at one by one, to name what moved.
        const bool checks = check && !Unmoved::are_still(destination, source);
        destination.look(asked, checks, current, streams);
        source.look(asked, checks, current, streams);
        return streams;
    }
};

BatchHandle batch(nb::handle destinations, nb::handle sources, nb::handle session) {
    end_kept();
    return {std::make_shared<const BatchOfArrays>(destinations, sources, std::nullopt, session, Keep::memory,
                                                  Uses::repeated)};
}

void copy_again(const BatchHandle& self, nb::handle stream, bool check) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    perform(*self.arrays, asked, self.ready(asked, check));
}

Future copy_again_async(const BatchHandle& self, nb::handle stream, bool check) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    return begin(self.arrays, asked, self.ready(asked, check));
}

}  // namespace

void copy_batch(nb::handle destinations, nb::handle sources, nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    const BatchOfArrays batch(destinations, sources, asked, session, Keep::object);
    perform(batch, asked, batch.ready);
}

Future copy_batch_async(nb::handle destinations, nb::handle sources, nb::handle stream, nb::handle session) {
    end_kept();
    const StreamHandle asked = stream_of(stream);
    const auto batch = std::make_shared<const BatchOfArrays>(destinations, sources, asked, session, Keep::memory);
    return begin(batch, asked, batch->ready);
}

nb::dict explain_batch(nb::handle destinations, nb::handle sources, nb::handle session) {
    const BatchOfArrays batch(destinations, sources, std::nullopt, session, Keep::object);
    if (batch.session == nullptr) return dict_of(Explanation::nothing("the batch is empty"), nullptr);
    return dict_of(
        unwrap(without_gil([&] { return batch.session->explain_batch(batch.pieces.batch(), batch.sides()); })),
        batch.session.get());
}

void bind_session_batch(nb::class_<SessionHandle>& session) {
    session.def("batch", as_method(&batch), ISTHMUS_DESCRIBED(Session_batch), nb::arg("dsts").none(),
                nb::arg("srcs").none());
}

void bind_batch(nb::module_& module) {
    nb::class_<BatchHandle>(module, "Batch", described::Batch.text)
        .def("copy", &copy_again, ISTHMUS_DESCRIBED(Batch_copy), nb::kw_only(), nb::arg("stream") = nb::none(),
             nb::arg("check") = true)
        .def("copy_async", &copy_again_async, ISTHMUS_DESCRIBED(Batch_copy_async), nb::kw_only(),
             nb::arg("stream") = nb::none(), nb::arg("check") = true)
        .def(
            "__len__", [](const BatchHandle& self) { return self.arrays->count(); }, ISTHMUS_DESCRIBED(Batch_len));
    module.def("batch", &batch, ISTHMUS_DESCRIBED(batch), nb::arg("dsts").none(), nb::arg("srcs").none(), nb::kw_only(),
               nb::arg("session") = nb::none());
}

}  // namespace isthmus::bindings
