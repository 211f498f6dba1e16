// Four-point Laplacian on a periodic field whose edge columns pass through host memory after every iteration.
//
// The field is the tall half of a square, as each process of the paper has one: this is one process, its own neighbour
// on either side, so that all of the movement between host and device is there without MPI.
#include "common.hpp"

namespace {

using programs::now;
using programs::Way;

constexpr std::int64_t kValues = 3343;

// Rows of `columns` doubles, of which `halo` on either side belong to the neighbours.
struct Field {
    std::int64_t rows = 0, columns = 0, halo = 0;
    Way way = Way::kExplicit;
    bool packs_on_device = false;
    double *a = nullptr, *next = nullptr;
    // Edge columns to send, left ones first, and halo columns as received; `by_mpi` is what MPI would read and fill.
    double *send = nullptr, *received = nullptr;
    std::vector<double> by_mpi;

    std::int64_t points() const { return rows * columns; }
    std::int64_t edge() const { return rows * halo; }
};

// Seconds of each phase over all iterations; the exchange within host memory is in none, as MPI is in none of the
// paper's.
struct Phases {
    double compute = 0, pack = 0, copy = 0, unpack = 0;
    double total() const { return compute + pack + copy + unpack; }
};

void fill(Field& field) {
    const std::int64_t real = field.columns - 2 * field.halo;
    for (std::int64_t i = 0; i < field.rows; ++i) {
        for (std::int64_t j = 0; j < field.columns; ++j) {
            // Halos are narrower than the field, so that one step leads back into it.
            std::int64_t column = j - field.halo;
            column += column < 0 ? real : column >= real ? -real : 0;
            field.a[i * field.columns + j] = static_cast<double>((i + column) % kValues);
        }
    }
}

void compute_explicit(Field& field) {
    const std::int64_t rows = field.rows, columns = field.columns, halo = field.halo, points = field.points();
    double *a = field.a, *next = field.next;
#pragma acc parallel loop present(a [0:points], next [0:points])
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t up = (i == 0 ? rows - 1 : i - 1) * columns, down = (i + 1 == rows ? 0 : i + 1) * columns;
#pragma acc loop
        for (std::int64_t j = halo; j < columns - halo; ++j) {
            next[i * columns + j] = (a[up + j] + a[down + j] + a[i * columns + j - 1] + a[i * columns + j + 1]) * 0.25;
        }
    }
#pragma acc parallel loop present(a [0:points], next [0:points])
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma acc loop
        for (std::int64_t j = halo; j < columns - halo; ++j) a[i * columns + j] = next[i * columns + j];
    }
}

void compute_automatic(Field& field) {
    const std::int64_t rows = field.rows, columns = field.columns, halo = field.halo;
    double *a = field.a, *next = field.next;
#pragma acc parallel loop REACHES(a, next)
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t up = (i == 0 ? rows - 1 : i - 1) * columns, down = (i + 1 == rows ? 0 : i + 1) * columns;
#pragma acc loop
        for (std::int64_t j = halo; j < columns - halo; ++j) {
            next[i * columns + j] = (a[up + j] + a[down + j] + a[i * columns + j - 1] + a[i * columns + j + 1]) * 0.25;
        }
    }
#pragma acc parallel loop REACHES(a, next)
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma acc loop
        for (std::int64_t j = halo; j < columns - halo; ++j) a[i * columns + j] = next[i * columns + j];
    }
}

// By the CPU: one row after the other, `halo` columns of either side.
void pack(const Field& field) {
    const std::int64_t columns = field.columns, halo = field.halo, edge = field.edge();
    for (std::int64_t i = 0; i < field.rows; ++i) {
        for (std::int64_t h = 0; h < halo; ++h) {
            field.send[i * halo + h] = field.a[i * columns + halo + h];
            field.send[edge + i * halo + h] = field.a[(i + 1) * columns - 2 * halo + h];
        }
    }
}

void unpack(const Field& field) {
    const std::int64_t columns = field.columns, halo = field.halo, edge = field.edge();
    for (std::int64_t i = 0; i < field.rows; ++i) {
        for (std::int64_t h = 0; h < halo; ++h) {
            field.a[i * columns + h] = field.received[i * halo + h];
            field.a[(i + 1) * columns - halo + h] = field.received[edge + i * halo + h];
        }
    }
}

// What MPI would do between two processes, with one as its own neighbour: the right edge becomes the left halo.
void exchange(const double* sent, double* received, std::int64_t edge) {
    const std::size_t bytes = static_cast<std::size_t>(edge) * sizeof(double);
    std::memcpy(received, sent + edge, bytes);
    std::memcpy(received + edge, sent, bytes);
}

void halo_by_cpu_explicit(Field& field, Phases& phases) {
    [[maybe_unused]] const std::int64_t points = field.points();
    [[maybe_unused]] double* a = field.a;
    const double begin = now();
#pragma acc exit data copyout(a [0:points])
    const double copied = now();
    pack(field);
    const double packed = now();
    exchange(field.send, field.received, field.edge());
    const double exchanged = now();
    unpack(field);
    const double unpacked = now();
#pragma acc enter data copyin(a [0:points])
    phases.pack += packed - copied;
    phases.unpack += unpacked - exchanged;
    phases.copy += (copied - begin) + (now() - unpacked);
}

void halo_by_cpu_automatic(Field& field, Phases& phases) {
    const double begin = now();
    pack(field);
    const double packed = now();
    exchange(field.send, field.received, field.edge());
    const double exchanged = now();
    unpack(field);
    phases.pack += packed - begin;
    phases.unpack += now() - exchanged;
}

void halo_by_device_explicit(Field& field, Phases& phases) {
    const std::int64_t rows = field.rows, columns = field.columns, halo = field.halo, edge = field.edge();
    const std::int64_t points = field.points();
    double *a = field.a, *send = field.send, *received = field.received;
    const double begin = now();
#pragma acc parallel loop present(a [0:points], send [0:2 * edge])
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t h = 0; h < halo; ++h) {
            send[i * halo + h] = a[i * columns + halo + h];
            send[edge + i * halo + h] = a[(i + 1) * columns - 2 * halo + h];
        }
    }
    const double packed = now();
#pragma acc update self(send [0:2 * edge])
    const double copied_out = now();
    exchange(send, received, edge);
    const double exchanged = now();
#pragma acc update device(received [0:2 * edge])
    const double copied_in = now();
#pragma acc parallel loop present(a [0:points], received [0:2 * edge])
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t h = 0; h < halo; ++h) {
            a[i * columns + h] = received[i * halo + h];
            a[(i + 1) * columns - halo + h] = received[edge + i * halo + h];
        }
    }
    phases.pack += packed - begin;
    phases.copy += (copied_out - packed) + (copied_in - exchanged);
    phases.unpack += now() - copied_in;
}

// The CPU moves what was packed to ordinary memory and back, so that the pages' migration is timed and not MPI's.
void halo_by_device_automatic(Field& field, Phases& phases) {
    const std::int64_t rows = field.rows, columns = field.columns, halo = field.halo, edge = field.edge();
    const std::size_t bytes = static_cast<std::size_t>(2 * edge) * sizeof(double);
    double *a = field.a, *send = field.send, *received = field.received;
    double *sent = field.by_mpi.data(), *filled = sent + 2 * edge;
    const double begin = now();
#pragma acc parallel loop REACHES(a, send)
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t h = 0; h < halo; ++h) {
            send[i * halo + h] = a[i * columns + halo + h];
            send[edge + i * halo + h] = a[(i + 1) * columns - 2 * halo + h];
        }
    }
    const double packed = now();
    std::memcpy(sent, send, bytes);
    const double copied_out = now();
    exchange(sent, filled, edge);
    const double exchanged = now();
    std::memcpy(received, filled, bytes);
    const double copied_in = now();
#pragma acc parallel loop REACHES(a, received)
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t h = 0; h < halo; ++h) {
            a[i * columns + h] = received[i * halo + h];
            a[(i + 1) * columns - halo + h] = received[edge + i * halo + h];
        }
    }
    phases.pack += packed - begin;
    phases.copy += (copied_out - packed) + (copied_in - exchanged);
    phases.unpack += now() - copied_in;
}

Phases iterate(Field& field, std::int64_t iterations) {
    // Named in directives alone, which not every compiler counts as a use.
    [[maybe_unused]] const std::int64_t points = field.points(), edge = field.edge();
    [[maybe_unused]] double *a = field.a, *next = field.next, *send = field.send, *received = field.received;
    const bool is_explicit = field.way == Way::kExplicit;
    if (is_explicit) {
#pragma acc enter data copyin(a [0:points]) create(next [0:points], send [0:2 * edge], received [0:2 * edge])
    } else {
        // As that does, so that both begin with the field on the device.
#pragma acc parallel loop REACHES(a, next)
        for (std::int64_t i = 0; i < points; ++i) next[i] = a[i];
    }
    Phases phases;
    for (std::int64_t k = 0; k < iterations; ++k) {
        const double begin = now();
        if (is_explicit) {
            compute_explicit(field);
        } else {
            compute_automatic(field);
        }
        phases.compute += now() - begin;
        if (field.packs_on_device) {
            is_explicit ? halo_by_device_explicit(field, phases) : halo_by_device_automatic(field, phases);
        } else {
            is_explicit ? halo_by_cpu_explicit(field, phases) : halo_by_cpu_automatic(field, phases);
        }
    }
    if (is_explicit) {
#pragma acc exit data copyout(a [0:points]) delete (next [0:points], send [0:2 * edge], received [0:2 * edge])
    }
    return phases;
}

// Values are multiples of 4^-iterations below 2^12, so that up to 20 iterations lose no bit of a double: their sum
// times 4^iterations, modulo 2^64, is exact, and averaging over a periodic field must not change it.
std::uint64_t scaled_sum(const Field& field, std::int64_t iterations) {
    double scale = 1;
    for (std::int64_t k = 0; k < iterations; ++k) scale *= 4;
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < field.rows; ++i) {
        for (std::int64_t j = field.halo; j < field.columns - field.halo; ++j) {
            sum += static_cast<std::uint64_t>(field.a[i * field.columns + j] * scale);
        }
    }
    return sum;
}

// Fields small enough are compared point by point with what the CPU computes, without halos and exchanges.
constexpr std::int64_t kMostCompared = std::int64_t{1} << 20;

std::vector<double> computed_by_cpu(const Field& field, std::int64_t iterations) {
    const std::int64_t rows = field.rows, real = field.columns - 2 * field.halo;
    std::vector<double> now_values(static_cast<std::size_t>(rows * real)), next(now_values.size());
    const auto at = [&](std::int64_t i, std::int64_t j) {
        return static_cast<std::size_t>((i + rows) % rows * real + (j + real) % real);
    };
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < real; ++j) now_values[at(i, j)] = static_cast<double>((i + j) % kValues);
    }
    for (std::int64_t k = 0; k < iterations; ++k) {
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < real; ++j) {
                next[at(i, j)] = (now_values[at(i - 1, j)] + now_values[at(i + 1, j)] + now_values[at(i, j - 1)] +
                                  now_values[at(i, j + 1)]) *
                                 0.25;
            }
        }
        now_values.swap(next);
    }
    return now_values;
}

bool is_right(const Field& field, std::uint64_t expected, const std::vector<double>& reference,
              std::int64_t iterations) {
    const std::int64_t real = field.columns - 2 * field.halo;
    for (std::size_t point = 0; point < reference.size(); ++point) {
        const auto index = static_cast<std::int64_t>(point);
        if (field.a[index / real * field.columns + field.halo + index % real] != reference[point]) return false;
    }
    return scaled_sum(field, iterations) == expected;
}

}  // namespace

int main(int count, char** words) {
    const programs::Options options(count, words,
                                    {{"way", "explicit"},
                                     {"pack", "cpu"},
                                     {"side", "4096"},
                                     {"halo", "1"},
                                     {"iterations", "20"},
                                     {"repeats", "3"}});
    Field field;
    field.way = programs::way_of(options);
    field.packs_on_device = options.text("pack") == "gpu";
    if (!field.packs_on_device && options.text("pack") != "cpu") programs::fail(programs::kUsage, "--pack: cpu or gpu");
    const std::int64_t side = options.whole("side", 2, 1 << 20);
    field.halo = options.whole("halo", 1, 1024);
    field.rows = side;
    field.columns = side / 2 + 2 * field.halo;
    if (side % 2 != 0) programs::fail(programs::kUsage, "--side: expected an even number, to be cut into halves");
    if (side / 2 < 2 * field.halo) programs::fail(programs::kUsage, "--halo: wider than the half of the field's half");
    const std::int64_t iterations = options.whole("iterations", 1, 20), repeats = options.whole("repeats", 1, 1000);
    const std::string device = programs::require_device();

    field.a = programs::new_array(field.way, field.points());
    field.next = programs::new_array(field.way, field.points());
    field.send = programs::new_array(field.way, 2 * field.edge());
    field.received = programs::new_array(field.way, 2 * field.edge());
    field.by_mpi.resize(static_cast<std::size_t>(4 * field.edge()));
    std::vector<double> reference;
    if (field.points() <= kMostCompared) reference = computed_by_cpu(field, iterations);

    fill(field);
    iterate(field, 1);
    std::vector<double> total, compute, packing, copy, unpacking;
    bool right = true;
    for (std::int64_t pass = 0; pass < repeats; ++pass) {
        fill(field);
        std::uint64_t expected = scaled_sum(field, 0);
        for (std::int64_t k = 0; k < iterations; ++k) expected *= 4;
        const Phases phases = iterate(field, iterations);
        right = is_right(field, expected, reference, iterations) && right;
        total.push_back(phases.total());
        compute.push_back(phases.compute);
        packing.push_back(phases.pack);
        copy.push_back(phases.copy);
        unpacking.push_back(phases.unpack);
    }
    programs::Line line;
    line.add("program", std::string("stencil")).add("way", options.text("way")).add("pack", options.text("pack"));
    line.add("bytes", field.points() * 8).add("side", side).add("halo", field.halo).add("iterations", iterations);
    line.add("host_seconds", total).add("compute_seconds", compute).add("pack_seconds", packing);
    line.add("copy_seconds", copy).add("unpack_seconds", unpacking).add("right", right);
    line.add("device", device).add("compiler", programs::compiler_name()).print();
    return right ? programs::kRight : programs::kWrong;
}
