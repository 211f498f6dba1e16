// Runs the device code on the host, thread after thread of a grid, and compares it with the host's own pattern
// functions.
//
// One body serves CUDA and OpenCL, so its arithmetic can be tested where there is neither: every small size, at every
// alignment, for launches from one thread to more threads than there is work.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <vector>

#include "../../host_kernels.hpp"
#include "base/pattern.hpp"
#include "kernels/kernels.hpp"

namespace device {

void launch(u64 threads, const std::function<void()>& kernel) {
    global_size = threads;
    // Backwards, so that nothing can rely on an order that a device does not keep.
    for (global_id = threads; global_id-- > 0;) kernel();
}

}  // namespace device

namespace {

using isthmus::Mismatch;
using isthmus::VerifyResult;

constexpr std::uint64_t seed = 20240229;
constexpr std::uint64_t first_word = (std::uint64_t{1} << 33) + 5;  // needs more than 32 bits
constexpr std::size_t alignments = 17;
constexpr std::uint64_t grids[] = {1, 3, 64, 1000};

std::vector<std::size_t> small_sizes_and(std::initializer_list<std::size_t> larger) {
    std::vector<std::size_t> sizes(101);
    std::iota(sizes.begin(), sizes.end(), 0);
    sizes.insert(sizes.end(), larger);
    return sizes;
}

// `bytes` of memory that start `alignment` bytes after a 64-byte boundary, with poison before and after.
class Region {
  public:
    Region(std::size_t bytes, std::size_t alignment, std::byte poison = std::byte{0xA5})
        : poison_(poison),
          memory_(margin + 64 + alignment + bytes + margin, poison),
          bytes_(bytes),
          alignment_(alignment) {}

    // The kernels are given the boundary and the distance from it, as an OpenCL host would give a cl_mem and an offset.
    std::uint8_t* base() { return reinterpret_cast<std::uint8_t*>(begin()) - alignment_; }
    std::size_t offset() const { return alignment_; }

    std::byte* begin() {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data() + margin);
        return memory_.data() + margin + (64 - address % 64) + alignment_;
    }
    std::byte& operator[](std::size_t i) { return begin()[i]; }

    bool surroundings_intact() {
        const auto is_poison = [this](std::byte b) { return b == poison_; };
        return std::all_of(memory_.data(), begin(), is_poison) &&
               std::all_of(begin() + bytes_, memory_.data() + memory_.size(), is_poison);
    }

  private:
    static constexpr std::size_t margin = 32;
    std::byte poison_;
    std::vector<std::byte> memory_;
    std::size_t bytes_;
    std::size_t alignment_;
};

struct Case {
    std::size_t bytes, alignment;
    std::uint64_t threads;

    void expect(bool condition, const char* claim) const {
        if (condition) return;
        std::printf("not so: %s; %zu bytes at alignment %zu, %zu threads\n", claim, bytes, alignment,
                    static_cast<std::size_t>(threads));
        std::exit(1);
    }
};

void check_fill(const Case& c) {
    Region filled(c.bytes, c.alignment);
    Region expected(c.bytes, c.alignment);
    device::launch(c.threads, [&] { device::isthmus_fill(filled.base(), filled.offset(), c.bytes, seed, first_word); });
    isthmus::fill_pattern(expected.begin(), c.bytes, seed, first_word);
    c.expect(std::equal(filled.begin(), filled.begin() + c.bytes, expected.begin()), "fill writes the host's pattern");
    c.expect(filled.surroundings_intact(), "fill writes nothing else");
}

// Verifies on the "device" and on the host, and requires that they agree.
Mismatch verified(const Case& c, Region& region) {
    VerifyResult results[2];  // the first stays untouched: result_offset skips it
    device::launch(c.threads, [&] {
        device::isthmus_verify(region.base(), region.offset(), c.bytes, seed, first_word, &results[0].words,
                               sizeof(VerifyResult));
    });
    c.expect(results[0].words == 0 && results[0].first_word == VerifyResult::none, "verify honours result_offset");
    const VerifyResult found = results[1];
    const Mismatch mismatch = isthmus::verify_pattern(region.begin(), c.bytes, seed, first_word);
    c.expect(found.words == mismatch.words, "verify counts as the host does");
    c.expect(mismatch ? found.first_word + first_word == mismatch.first_word : found.first_word == VerifyResult::none,
             "verify finds the same first word as the host");
    return mismatch;
}

void check_verify(const Case& c) {
    Region region(c.bytes, c.alignment);
    isthmus::fill_pattern(region.begin(), c.bytes, seed, first_word);
    c.expect(!verified(c, region), "verify accepts the pattern");

    const std::size_t step = c.bytes <= 100 ? 1 : c.bytes / 13;
    for (std::size_t i = 0; i < c.bytes; i += step) {
        region[i] ^= std::byte{1};
        c.expect(verified(c, region) == Mismatch{1, first_word + i / 8}, "verify places a single wrong byte");
        region[i] ^= std::byte{1};
    }
    for (std::size_t i = 0; i < c.bytes; ++i) region[i] ^= std::byte{0x80};
    if (c.bytes > 0) {
        c.expect(verified(c, region) == Mismatch{(c.bytes + 7) / 8, first_word}, "verify counts every word");
    }
}

void check_copy(const Case& c, std::size_t source_alignment) {
    Region destination(c.bytes, c.alignment);
    Region source(c.bytes, source_alignment, std::byte{0x5A});  // its own poison, so that copied poison shows
    isthmus::fill_pattern(source.begin(), c.bytes, seed, first_word);
    device::launch(c.threads, [&] {
        device::isthmus_copy(destination.base(), destination.offset(), source.base(), source.offset(), c.bytes);
    });
    c.expect(std::equal(source.begin(), source.begin() + c.bytes, destination.begin()), "copy copies every byte");
    c.expect(destination.surroundings_intact(), "copy writes nothing else");
}

// Pieces of which one side is regular and the other scattered, in parts, as a pipeline launches them.
void check_copy_pieces(std::uint64_t threads, std::uint32_t unit, std::size_t width, std::size_t rows,
                       std::size_t slices, bool to_table, bool from_table) {
    const std::size_t pieces = rows * slices;
    const std::size_t pitch = width + 2 * unit;
    const std::size_t slice_pitch = rows * pitch + unit;
    const std::size_t bytes = slices * slice_pitch;
    const Case c{bytes, 0, threads};
    std::vector<std::uint64_t> table;
    const auto regular = [&](std::size_t i) { return i / rows * slice_pitch + i % rows * pitch; };
    const auto shuffled = [&](std::size_t i) { return (i * 7 + 3) % pieces * pitch; };  // 7 divides no number of pieces
    for (const bool scattered : {to_table, from_table}) {
        for (std::size_t i = 0; scattered && i < pieces; ++i) table.push_back(shuffled(i));
    }
    Region destination(bytes, 0);
    Region expected(bytes, 0);
    Region source(bytes, 0, std::byte{0x5A});
    isthmus::fill_pattern(source.begin(), bytes, seed, first_word);
    for (std::size_t i = 0; i < pieces; ++i) {
        std::copy_n(source.begin() + (from_table ? shuffled(i) : regular(i)), width,
                    expected.begin() + (to_table ? shuffled(i) : regular(i)));
    }
    const std::uint64_t units = pieces * width / unit;
    const std::uint64_t cut = units / 3;
    for (const auto& [first, count] : {std::pair{std::uint64_t{0}, cut}, {cut, units - cut}}) {
        device::launch(threads, [&, first = first, count = count] {
            device::isthmus_copy_pieces(destination.base(), 0, pitch, slice_pitch, source.base(), 0, pitch, slice_pitch,
                                        table.data(), 0, (to_table ? 1U : 0U) | (from_table ? 2U : 0U), unit, width,
                                        rows, pieces, first, count);
        });
    }
    c.expect(std::equal(expected.begin(), expected.begin() + bytes, destination.begin()),
             "pieces arrive, and nothing between them changes");
    c.expect(destination.surroundings_intact(), "copying pieces writes nothing else");

    // The last part once more, from a buffer that holds nothing else: its offset counts from before its start.
    Region part((units - cut) * unit, 0, std::byte{0x5A});
    isthmus::fill_pattern(part.begin(), (units - cut) * unit, seed + 1, first_word);
    device::launch(threads, [&] {
        device::isthmus_copy_pieces(destination.base(), 0, pitch, slice_pitch, part.base(), 0 - cut * unit, width,
                                    rows * width, table.data(), 0, to_table ? 1U : 0U, unit, width, rows, pieces, cut,
                                    units - cut);
    });
    for (std::size_t i = cut * unit; i < units * unit; ++i) {
        const std::size_t to = (to_table ? shuffled(i / width) : regular(i / width)) + i % width;
        c.expect(destination[to] == part[i - cut * unit], "a part of the pieces comes from a smaller buffer");
    }
}

void check_all_pieces(std::uint64_t threads) {
    for (const std::uint32_t unit : {1U, 2U, 4U, 8U, 16U}) {
        for (const std::size_t units : {1, 3, 9}) {
            for (const std::size_t rows : {1, 4, 10}) {
                for (const std::size_t slices : {1, 3}) {
                    for (const int tables : {0, 1, 2, 3}) {
                        check_copy_pieces(threads, unit, units * unit, rows, slices, tables % 2 != 0, tables / 2 != 0);
                    }
                }
            }
        }
    }
}

// Rows of two layers on either side, of which the destination's lie backwards, by places that count from address 0.
void check_copy_rows(std::uint64_t threads, std::uint32_t unit, std::size_t row_bytes, std::uint32_t rows) {
    const std::size_t pitch = row_bytes + unit;
    const std::size_t layer_bytes = 2 * rows * pitch;
    const std::size_t bytes = 2 * layer_bytes;
    const Case c{bytes, 0, threads};
    Region destination(bytes, 0);
    Region expected(bytes, 0);
    Region source(bytes, 0, std::byte{0x5A});
    isthmus::fill_pattern(source.begin(), bytes, seed, first_word);
    const auto to = [&](std::uint32_t i) { return (i * 7 + 3) % rows; };  // 7 divides no number of rows
    const auto from = [&](std::uint32_t i) { return i * i % (2 * rows); };
    const auto address = [](Region& region) { return reinterpret_cast<std::uint64_t>(region.begin()); };
    std::vector<std::uint64_t> table(8 + rows);
    auto* const lists = reinterpret_cast<std::uint32_t*>(table.data() + 8);
    for (std::uint32_t i = 0; i < rows; ++i) {
        lists[i] = to(i);
        lists[rows + i] = from(i);
    }
    for (std::size_t layer = 0; layer < 2; ++layer) {
        const std::uint64_t last = layer * layer_bytes + (rows - 1) * pitch;
        std::uint64_t* const places = table.data() + 4 * layer;
        places[0] = address(destination) + last;
        places[1] = 0 - std::uint64_t{pitch};
        places[2] = address(source) + layer * layer_bytes;
        places[3] = pitch;
        for (std::uint32_t i = 0; i < rows; ++i) {
            std::copy_n(source.begin() + layer * layer_bytes + from(i) * pitch, row_bytes,
                        expected.begin() + last - to(i) * pitch);
        }
    }
    const auto* const read = reinterpret_cast<const std::uint8_t*>(table.data());
    std::uint32_t verdict[2] = {0, 1};
    const auto launch = [&](std::size_t verdict_at) {
        device::launch(threads, [&] {
            device::isthmus_copy_rows(nullptr, 0, nullptr, 0, read, 0, reinterpret_cast<std::uint8_t*>(verdict),
                                      verdict_at, unit, row_bytes, rows, 2, 2 * rows * row_bytes / unit);
        });
    };
    launch(sizeof verdict[0]);
    c.expect(destination[0] == std::byte{0xA5} && destination[bytes - 1] == std::byte{0xA5},
             "no row is copied where a list is wrong");
    launch(0);
    c.expect(std::equal(expected.begin(), expected.begin() + bytes, destination.begin()),
             "rows arrive, and nothing between them changes");
    c.expect(destination.surroundings_intact(), "copying rows writes nothing else");
}

void check_all_rows(std::uint64_t threads) {
    for (const std::uint32_t unit : {1U, 4U, 16U}) {
        // Shorter than a tile of 4 or 128 units, as long, and longer, with and without a rest.
        for (const std::size_t units : {1, 3, 4, 5, 8, 33, 127, 128, 129, 300}) {
            for (const std::uint32_t rows : {1U, 4U, 10U, 45U}) check_copy_rows(threads, unit, units * unit, rows);
        }
    }
}

template <typename Index>
void check_list(std::uint64_t threads, const std::vector<Index>& list, std::uint64_t rows) {
    const Case c{list.size(), 0, threads};
    std::vector<std::uint32_t> seen(rows / 32 + 1);
    std::vector<std::uint32_t> checked(list.size(), 77);
    constexpr std::uint32_t none = UINT32_MAX;
    const auto check = [&](std::uint32_t marks, std::uint32_t side, std::vector<std::uint32_t>& verdict) {
        device::launch(threads, [&] {
            device::isthmus_check_rows(reinterpret_cast<const std::uint8_t*>(list.data()), 0, sizeof(Index),
                                       sizeof(Index), list.size(), rows, seen.data(), 0, marks, side, checked.data(), 0,
                                       verdict.data(), 0);
        });
    };
    const auto is_there = [&](Index row) { return row >= 0 && static_cast<std::uint64_t>(row) < rows; };
    const auto outside = std::find_if_not(list.begin(), list.end(), is_there);
    std::vector<Index> sorted;
    std::copy_if(list.begin(), list.end(), std::back_inserter(sorted), is_there);
    std::sort(sorted.begin(), sorted.end());
    const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    std::vector<std::uint32_t> verdict{0, none, none, none, none};
    check(1, 0, verdict);
    c.expect((verdict[0] == 0) == (outside == list.end() && !repeats), "a list is wrong where it is");
    c.expect(verdict[1] == (outside == list.end() ? none : outside - list.begin()), "the first row that is not there");
    c.expect((verdict[2] == none) == !repeats, "rows that are there twice");
    for (std::size_t i = 0; i < list.size(); ++i) {
        c.expect(checked[i] == (is_there(list[i]) ? static_cast<std::uint32_t>(list[i]) : 0), "rows as they are read");
    }
    // All rows of the destination are there a second time as the source's.
    verdict = {0, none, none, none, none};
    check(2, 1, verdict);
    c.expect((verdict[4] == none) == sorted.empty(), "rows of a source that are written to");
    c.expect(verdict[1] == none && verdict[2] == none, "the other side is left alone");
}

void check_lists(std::uint64_t threads) {
    check_list<std::int64_t>(threads, {}, 5);
    check_list<std::int64_t>(threads, {0, 4, 2}, 5);
    check_list<std::int64_t>(threads, {4, 5, -1, 2}, 5);
    check_list<std::int64_t>(threads, {64, 33, 64, 31}, 65);
    check_list<std::int64_t>(threads, {std::int64_t{1} << 40, INT64_MIN}, 65);
    check_list<std::int32_t>(threads, {0, 4, 2, INT32_MIN, -1}, 5);
    check_list<std::int32_t>(threads, {INT32_MAX, 3}, std::uint64_t{1} << 31);
}

void check_work(const Case& c) {
    constexpr std::uint32_t rounds = 3;
    const std::size_t words = c.bytes / 4;
    Region region(4 * words, c.alignment);
    isthmus::fill_pattern(region.begin(), 4 * words, seed, first_word);
    auto* const begin = reinterpret_cast<std::uint32_t*>(region.begin());
    const std::vector<std::uint32_t> before(begin, begin + words);
    device::launch(c.threads, [&] { device::isthmus_work(region.base(), region.offset(), words, rounds); });
    const auto is_worked_on = [](std::uint32_t was, std::uint32_t is) {
        for (std::uint32_t i = 0; i < rounds; ++i) was = was * 1664525U + 1013904223U;
        return was == is;
    };
    c.expect(std::equal(before.begin(), before.end(), begin, is_worked_on), "work runs every word's generator on");
    c.expect(region.surroundings_intact(), "work writes nothing else");
}

// Words of 32 bits, to which the region must be aligned.
void check_add_and_sum(const Case& c) {
    constexpr std::uint32_t value = 0x89ABCDEF;
    const std::size_t words = c.bytes / 4;
    Region region(4 * words, c.alignment);
    isthmus::fill_pattern(region.begin(), 4 * words, seed, first_word);
    auto* const begin = reinterpret_cast<std::uint32_t*>(region.begin());
    const std::vector<std::uint32_t> before(begin, begin + words);
    device::launch(c.threads, [&] { device::isthmus_add(region.base(), region.offset(), words, value); });
    const auto is_more = [](std::uint32_t was, std::uint32_t is) { return was + value == is; };
    c.expect(std::equal(before.begin(), before.end(), begin, is_more), "add adds to every word, modulo 2^32");
    c.expect(region.surroundings_intact(), "add writes nothing else");

    std::uint32_t results[2] = {7, 0};  // the first stays untouched: result_offset skips it
    device::launch(c.threads,
                   [&] { device::isthmus_sum(region.base(), region.offset(), words, results, sizeof results[0]); });
    c.expect(results[0] == 7, "sum honours result_offset");
    c.expect(results[1] == std::accumulate(begin, begin + words, 0U), "sum adds up every word, modulo 2^32");
}

// Words and 64-bit floats, some of every stride.
void check_strides(std::uint64_t threads, std::size_t count, std::size_t stride) {
    const Case c{count * stride, 0, threads};
    Region words(c.bytes, 0, std::byte{0});
    device::launch(threads, [&] { device::isthmus_touch_in_turn(words.base(), 0, count, stride, 0); });
    Region doubles(c.bytes, 0, std::byte{0});
    device::launch(threads, [&] { device::isthmus_add_doubles(doubles.base(), 0, count, stride, 2.5); });
    for (std::size_t i = 0; i < c.bytes; i += 4) {
        std::uint32_t word = 0;
        std::memcpy(&word, words.begin() + i, sizeof word);
        c.expect(word == (i % stride == 0 ? 1U : 0U), "one word of every stride is touched once");
    }
    for (std::size_t i = 0; i < c.bytes; i += 8) {
        double value = 0;
        std::memcpy(&value, doubles.begin() + i, sizeof value);
        c.expect(value == (i % stride == 0 ? 2.5 : 0.0), "one float of every stride is added to");
    }
    c.expect(words.surroundings_intact() || count == 0, "nothing else is touched");
}

void check_laplacian(std::uint64_t threads, std::size_t rows, std::size_t columns, std::size_t halo) {
    const std::size_t side = columns + 3;
    const Case c{rows * columns * 8, 0, threads};
    std::vector<double> from(rows * columns);
    std::vector<double> to(rows * columns, -1);
    auto* const source = reinterpret_cast<std::uint8_t*>(from.data());
    auto* const result = reinterpret_cast<std::uint8_t*>(to.data());
    device::launch(threads, [&] { device::isthmus_ramp(source, 0, rows, columns, 5, side); });
    device::launch(threads, [&] { device::isthmus_laplacian(result, 0, source, 0, rows, columns, halo); });
    const auto point = [&](std::size_t i, std::size_t j) { return from[i % rows * columns + j]; };
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            c.expect(point(i, j) == static_cast<double>((i + (5 + j) % side) % 3343), "a ramp wraps around its side");
            const bool is_inner = j >= halo && j < columns - halo;
            const double expected =
                is_inner ? (point(i + rows - 1, j) + point(i + 1, j) + point(i, j - 1) + point(i, j + 1)) * 0.25 : -1;
            c.expect(to[i * columns + j] == expected, "a point is the mean of its neighbours, and halos stay");
        }
    }
}

}  // namespace

int main() {
    for (const std::uint64_t threads : grids) {
        for (const std::size_t stride : {8, 24, 4096}) {
            for (const std::size_t count : {0, 1, 5, 300}) check_strides(threads, count, stride);
        }
        for (const std::size_t halo : {1, 2, 4}) {
            for (const std::size_t rows : {1, 2, 37}) check_laplacian(threads, rows, 2 * halo + 11, halo);
        }
        check_all_pieces(threads);
        check_all_rows(threads);
        check_lists(threads);
        for (std::size_t alignment = 0; alignment < alignments; ++alignment) {
            for (const std::size_t bytes : small_sizes_and({4095, 4096, 70001})) {
                check_fill({bytes, alignment, threads});
                check_verify({bytes, alignment, threads});
                if (alignment % 4 == 0) check_add_and_sum({bytes, alignment, threads});
                if (alignment % 4 == 0) check_work({bytes, alignment, threads});
            }
            for (std::size_t source_alignment = 0; source_alignment < alignments; ++source_alignment) {
                for (const std::size_t bytes : small_sizes_and({1023, 4099})) {
                    check_copy({bytes, alignment, threads}, source_alignment);
                }
            }
        }
    }
    std::puts("all agree");
}
