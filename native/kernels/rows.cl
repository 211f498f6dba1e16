// Rows that lists of numbers name, for CUDA and OpenCL as kernels.cl is; table.hpp states the contract.

// Where row 0 of a layer lies on each side, and the bytes from one row to the next.
typedef struct {
    u64 destination, destination_pitch;
    u64 source, source_pitch;
} layer_places;

// Four units; all loads are sent before one is waited for.
#define MOVE_LONG(unit)                                                \
    do {                                                               \
        if (i + 3 * lanes < width) {                                   \
            const unit a = ((const GLOBAL unit*)from)[i];              \
            const unit b = ((const GLOBAL unit*)from)[i + lanes];      \
            const unit c = ((const GLOBAL unit*)from)[i + 2 * lanes];  \
            const unit d = ((const GLOBAL unit*)from)[i + 3 * lanes];  \
            ((GLOBAL unit*)to)[i] = a;                                 \
            ((GLOBAL unit*)to)[i + lanes] = b;                         \
            ((GLOBAL unit*)to)[i + 2 * lanes] = c;                     \
            ((GLOBAL unit*)to)[i + 3 * lanes] = d;                     \
        } else {                                                       \
            for (u64 j = i; j < width; j += lanes) {                   \
                ((GLOBAL unit*)to)[j] = ((const GLOBAL unit*)from)[j]; \
            }                                                          \
        }                                                              \
    } while (0)

#define MOVE_SHORT(unit)                                            \
    do {                                                            \
        unit held[2];                                               \
        for (u32 k = 0; k < 2; ++k) {                               \
            if (to[k] != 0) held[k] = *(const GLOBAL unit*)from[k]; \
        }                                                           \
        for (u32 k = 0; k < 2; ++k) {                               \
            if (to[k] != 0) *(GLOBAL unit*)to[k] = held[k];         \
        }                                                           \
    } while (0)

// By units of 16, 4 or 1 bytes.
#define MOVE(how, unit_bytes)           \
    do {                                \
        if ((unit_bytes) == 16) {       \
            how(u32x4);                 \
        } else if ((unit_bytes) == 4) { \
            how(u32);                   \
        } else {                        \
            how(u8);                    \
        }                               \
    } while (0)

// Threads that work side by side (LANES) take a tile of four units each at a time: few blocks keep a link full. Rows
// that are longer than a tile are cut into tiles. The numbers of the next one's row are on their way while this one's
// units are. Places are added as numbers, since they may count from address 0.
DEVICE void copy_long_rows(address destination, address source, const GLOBAL layer_places* layers,
                           const GLOBAL u32* to_rows, const GLOBAL u32* from_rows, u32 unit, u64 width, u64 rows,
                           u64 all_rows) {
    const u64 lanes = LANES;
    const u64 in_row = width / (4 * lanes) + (width % (4 * lanes) != 0);
    const u64 tiles = all_rows * in_row;
    const u64 end = END(tiles);
    u64 tile = FIRST(tiles) / lanes;
    if (tile >= end) return;
    u64 row = tile / in_row;
    u64 layer = row / rows;
    u32 to_row = to_rows[row - layer * rows];
    u32 from_row = from_rows[row - layer * rows];
    while (tile < end) {
        const GLOBAL layer_places* const places = layers + layer;
        const address to = destination + places->destination + to_row * places->destination_pitch;
        const address from = source + places->source + from_row * places->source_pitch;
        const u64 i = (tile - row * in_row) * 4 * lanes + GLOBAL_ID % lanes;
        tile += STEP / lanes;
        if (tile < end) {
            row = tile / in_row;
            layer = row / rows;
            to_row = to_rows[row - layer * rows];
            from_row = from_rows[row - layer * rows];
        }
        MOVE(MOVE_LONG, unit);
    }
}

// Several rows that are shorter make a tile. Which unit of which of them a thread takes is the same in every tile.
DEVICE void copy_short_rows(address destination, address source, const GLOBAL layer_places* layers,
                            const GLOBAL u32* to_rows, const GLOBAL u32* from_rows, u32 unit, u32 width, u32 rows,
                            u64 all_rows) {
    const u32 lanes = (u32)LANES;
    const u32 in_tile = 4 * lanes / width;
    u32 row_of[4];
    u32 within[4];
    for (u32 k = 0; k < 4; ++k) {
        const u32 i = (u32)(GLOBAL_ID % lanes) + k * lanes;
        row_of[k] = i / width;
        within[k] = (i - row_of[k] * width) * unit;
    }
    const u32 in_layer = rows / in_tile + (rows % in_tile != 0);
    const u64 tiles = all_rows / rows * in_layer;
    for (u64 tile = FIRST(tiles) / lanes; tile < END(tiles); tile += STEP / lanes) {
        const u32 layer = (u32)(tile / in_layer);
        const GLOBAL layer_places* const places = layers + layer;
        const u32 first = (u32)(tile - (u64)layer * in_layer) * in_tile;
        // Two at a time: with more of them, places and units take more registers than threads of such blocks have.
        for (u32 pair = 0; pair < 4; pair += 2) {
            address to[2];
            address from[2];
            for (u32 k = 0; k < 2; ++k) {
                const u32 row = first + row_of[pair + k];
                to[k] = 0;
                if (row_of[pair + k] >= in_tile || row >= rows) continue;
                to[k] = destination + places->destination + to_rows[row] * places->destination_pitch + within[pair + k];
                from[k] = source + places->source + from_rows[row] * places->source_pitch + within[pair + k];
            }
            MOVE(MOVE_SHORT, unit);
        }
    }
}

COPY_KERNEL isthmus_copy_rows(GLOBAL u8* destination, u64 destination_offset, const GLOBAL u8* source,
                              u64 source_offset, const GLOBAL u8* table, u64 table_offset, const GLOBAL u8* verdict,
                              u64 verdict_offset, u32 unit, u64 row_bytes, u64 rows, u64 layers, u64 count) {
    if (verdict != 0 && *(const GLOBAL u32*)(verdict + verdict_offset) != 0) return;
    const u64 all = count * unit / row_bytes;
    if (all == 0) return;
    const address to = (address)destination + destination_offset;
    const address from = (address)source + source_offset;
    const GLOBAL layer_places* const places = (const GLOBAL layer_places*)(table + table_offset);
    const GLOBAL u32* const to_rows = (const GLOBAL u32*)(places + layers);
    const u64 width = row_bytes / unit;
    if (width >= 4 * LANES) {
        copy_long_rows(to, from, places, to_rows, to_rows + rows, unit, width, rows, all);
    } else {
        copy_short_rows(to, from, places, to_rows, to_rows + rows, unit, (u32)width, (u32)rows, all);
    }
}

// Nobody reads what a list says before it was looked at here: what is wrong is taken for row 0.
KERNEL isthmus_check_rows(const GLOBAL u8* list, u64 list_offset, u32 index_bytes, u64 stride, u64 count, u64 rows,
                          GLOBAL u32* seen, u64 seen_offset, u32 marks, u32 side, GLOBAL u32* checked,
                          u64 checked_offset, GLOBAL u32* verdict, u64 verdict_offset) {
    GLOBAL u32* const bits = (GLOBAL u32*)((GLOBAL u8*)seen + seen_offset);
    GLOBAL u32* const to = (GLOBAL u32*)((GLOBAL u8*)checked + checked_offset);
    GLOBAL u32* const found = (GLOBAL u32*)((GLOBAL u8*)verdict + verdict_offset);
    for (u64 i = FIRST(count); i < END(count); i += STEP) {
        const GLOBAL u8* const at = list + (list_offset + i * stride);
        // A negative number is one that is too large.
        const u64 row = index_bytes == 8 ? *(const GLOBAL u64*)at : (u64)(long)(int)*(const GLOBAL u32*)at;
        const bool is_there = row < rows;
        to[i] = is_there ? (u32)row : 0;
        if (!is_there) {
            ATOMIC_ADD(found, 1u);
            ATOMIC_MIN(found + 1 + 2 * side, (u32)i);
            continue;
        }
        if (marks == 0) continue;
        const u32 bit = 1u << (u32)(row % 32);
        const u32 before = marks == 1 ? ATOMIC_OR(bits + row / 32, bit) : bits[row / 32];
        if ((before & bit) != 0) {
            ATOMIC_ADD(found, 1u);
            ATOMIC_MIN(found + 2 + 2 * side, (u32)i);
        }
    }
}
