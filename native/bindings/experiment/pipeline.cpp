// Python's view of pipelines of copies and work.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "experiment/pipeline.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

using namespace experiment;

namespace {

constexpr const char* stage_names[] = {"in", "work", "out"};

bool takes_place(const std::vector<std::string>& stages, const char* name) {
    return std::find(stages.begin(), stages.end(), name) != stages.end();
}

std::unique_ptr<Pipeline> create_pipeline(const std::shared_ptr<Buffer>& source, const std::shared_ptr<Buffer>& work,
                                          const std::shared_ptr<Buffer>& results,
                                          const std::shared_ptr<Staging>& staging, std::size_t bytes,
                                          std::size_t chunks, std::size_t streams, std::uint32_t rounds,
                                          const std::vector<std::string>& stages) {
    for (const std::string& name : stages) {
        if (std::find(std::begin(stage_names), std::end(stage_names), name) == std::end(stage_names)) {
            raise({Code::invalid_argument, "no stage '" + name + "'; there are in, work and out"});
        }
    }
    const PipelinePlan plan{bytes,
                            chunks,
                            streams,
                            rounds,
                            takes_place(stages, "in"),
                            takes_place(stages, "work"),
                            takes_place(stages, "out")};
    return unwrap(Pipeline::create(plan, source, work, results, staging));
}

std::vector<double> run_pipeline(Pipeline& self, std::size_t warmups, std::size_t least, std::size_t most,
                                 double seconds) {
    return unwrap(self.run(warmups, {least, most, seconds}));
}

std::vector<std::tuple<std::string, std::size_t, double, double>> trace(Pipeline& self) {
    std::vector<std::tuple<std::string, std::size_t, double, double>> spans;
    for (const StageSpan& span : unwrap(self.trace())) {
        spans.emplace_back(stage_names[static_cast<int>(span.stage)], span.chunk, span.begin_seconds, span.end_seconds);
    }
    return spans;
}

}  // namespace

void bind_pipeline(nb::module_& module) {
    nb::class_<Pipeline>(module, "Pipeline")
        .def(
            "poison", [](Pipeline& self) { check(self.poison()); }, ReleaseGil())
        .def("run", &run_pipeline, nb::arg("warmups"), nb::arg("least"), nb::arg("most"), nb::arg("seconds"),
             ReleaseGil())
        .def("trace", &trace, ReleaseGil())
        .def(
            "verify", [](Pipeline& self) { return unwrap(self.verify()); }, ReleaseGil());
    module.def("create_pipeline", &create_pipeline, nb::arg("source"), nb::arg("work"), nb::arg("results"),
               nb::arg("staging").none(), nb::arg("bytes"), nb::arg("chunks"), nb::arg("streams"), nb::arg("rounds"),
               nb::arg("stages"), ReleaseGil());
}

}  // namespace isthmus::bindings
