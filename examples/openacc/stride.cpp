// The device adds 1 to one double in every stride of an array; the CPU fills all of it before, and sums all of it
// after.
#include "sums.hpp"

namespace {

using programs::Phases;

void add_explicit(double* a, std::int64_t count, std::int64_t step, Phases& phases) {
#pragma acc data copy(a [0:count])
    {
#pragma acc parallel loop present(a [0:count])
        for (std::int64_t i = 0; i < count; i += step) a[i] += 1;
        phases.computed();
    }
}

void add_automatic(double* a, std::int64_t count, std::int64_t step, Phases& phases) {
#pragma acc parallel loop REACHES(a)
    for (std::int64_t i = 0; i < count; i += step) a[i] += 1;
    phases.computed();
}

}  // namespace

int main(int count, char** words) {
    const programs::Options options(
        count, words, {{"way", "explicit"}, {"bytes", "1073741824"}, {"stride", "4096"}, {"repeats", "3"}});
    const programs::Way way = programs::way_of(options);
    const std::int64_t stride = options.whole("stride", 8, std::int64_t{1} << 40);
    if (stride % 8 != 0) programs::fail(programs::kUsage, "--stride: expected a multiple of 8 bytes");
    const std::int64_t step = stride / 8;
    const std::int64_t elements = options.whole("bytes", 8, std::int64_t{1} << 40) / 8;
    const std::int64_t part = (elements + 15) / 16;
    const auto touched = [=](std::int64_t of) { return (of + step - 1) / step; };
    const std::string device = programs::require_device();
    programs::Line line;
    line.add("program", std::string("stride")).add("way", options.text("way")).add("stride_bytes", stride);
    return programs::run_sums(options, line, touched(part), touched(elements), part, device,
                              [&](double* a, std::int64_t of, Phases& phases) {
                                  if (way == programs::Way::kExplicit) return add_explicit(a, of, step, phases);
                                  add_automatic(a, of, step, phases);
                              });
}
