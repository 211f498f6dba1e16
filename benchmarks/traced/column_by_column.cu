// A panel of a matrix that is stored by columns goes to the device each step, column by column.
#include "program.hpp"

constexpr std::size_t COLUMNS = 1024, COLUMN_VALUES = 8192, PANEL_ROWS = 1024;
constexpr long PANELS = COLUMN_VALUES / PANEL_ROWS;
constexpr std::size_t PANEL_BYTES = PANEL_ROWS * sizeof(std::uint32_t);
constexpr std::size_t PANEL_VALUES = COLUMNS * PANEL_ROWS;

__global__ void accumulate(const std::uint32_t* panel, std::uint32_t* sums) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < PANEL_VALUES) sums[at] += panel[at];
}

int main(int argc, char** argv) {
    const long steps = argument(argc, argv, 1, 400);
    const auto matrix = pinned<std::uint32_t>(COLUMNS * COLUMN_VALUES);
    const auto sums = pinned<std::uint32_t>(PANEL_VALUES);
    const auto device_panel = on_device<std::uint32_t>(PANEL_VALUES);
    const auto device_sums = on_device<std::uint32_t>(PANEL_VALUES);
    for (std::size_t at = 0; at < COLUMNS * COLUMN_VALUES; ++at) matrix[at] = static_cast<std::uint32_t>(at);

    const auto advance = [&](long number) {
        std::uint32_t* const panel = matrix.get() + number % PANELS * PANEL_ROWS;
        panel[0] = static_cast<std::uint32_t>(number);
        for (std::size_t column = 0; column < COLUMNS; ++column) {
            copy_async(device_panel.get() + column * PANEL_ROWS, panel + column * COLUMN_VALUES, PANEL_BYTES,
                       cudaMemcpyHostToDevice);
        }
        accumulate<<<blocks(PANEL_VALUES), THREADS>>>(device_panel.get(), device_sums.get());
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(nullptr));
    };
    advance(0);

    const Clock clock;
    for (long number = 1; number <= steps; ++number) advance(number);
    const double seconds = clock.seconds();

    copy(sums.get(), device_sums.get(), COLUMNS * PANEL_BYTES, cudaMemcpyDeviceToHost);
    expect(sums[0] == static_cast<std::uint32_t>(steps * (steps + 1) / 2), "the sum of the values that change");
    std::uint64_t checksum = sums[0];
    for (std::size_t at = 1; at < PANEL_VALUES; ++at) {
        std::uint32_t expected = 0;
        for (long panel = 0; panel < PANELS; ++panel) {
            const long visits = (steps - panel + PANELS) / PANELS;
            const std::size_t place = panel * PANEL_ROWS + at / PANEL_ROWS * COLUMN_VALUES + at % PANEL_ROWS;
            expected += static_cast<std::uint32_t>(visits) * matrix[place];
        }
        expect(sums[at] == expected, "the sums of values that stay");
        checksum += sums[at];
    }
    report("column_by_column", seconds, checksum);
}
