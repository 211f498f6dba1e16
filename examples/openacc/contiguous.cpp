// The device adds 1 to the leading part of an array of doubles; the CPU fills all of it before, and sums all of it
// after.
#include "sums.hpp"

namespace {

using programs::Phases;

void add_explicit(double* a, std::int64_t count, std::int64_t touched, Phases& phases) {
#pragma acc data copy(a [0:count])
    {
#pragma acc parallel loop present(a [0:count])
        for (std::int64_t i = 0; i < touched; ++i) a[i] += 1;
        phases.computed();
    }
}

void add_automatic(double* a, std::int64_t touched, Phases& phases) {
#pragma acc parallel loop REACHES(a)
    for (std::int64_t i = 0; i < touched; ++i) a[i] += 1;
    phases.computed();
}

}  // namespace

int main(int count, char** words) {
    const programs::Options options(
        count, words, {{"way", "explicit"}, {"bytes", "1073741824"}, {"fraction", "1"}, {"repeats", "3"}});
    const programs::Way way = programs::way_of(options);
    const double fraction = options.real("fraction", 0, 1);
    const std::int64_t elements = options.whole("bytes", 8, std::int64_t{1} << 40) / 8;
    const std::int64_t part = (elements + 15) / 16;
    const auto touched = [=](std::int64_t of) { return static_cast<std::int64_t>(fraction * static_cast<double>(of)); };
    const std::string device = programs::require_device();
    programs::Line line;
    line.add("program", std::string("contiguous")).add("way", options.text("way")).add("fraction", fraction);
    return programs::run_sums(options, line, touched(part), touched(elements), part, device,
                              [&](double* a, std::int64_t of, Phases& phases) {
                                  if (way == programs::Way::kExplicit) return add_explicit(a, of, touched(of), phases);
                                  add_automatic(a, touched(of), phases);
                              });
}
