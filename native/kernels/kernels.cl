// Fill, verify, copy and the rest of table.hpp: one body for CUDA and OpenCL C 1.2; a preamble put before it spells the
// words in capitals.
//
// table.hpp states the contract. Devices are little-endian, as are all hosts that have one.

// splitmix64; native/base/pattern.hpp has its source and the reasons for it.
DEVICE u64 pattern_word(u64 seed, u64 index) {
    u64 z = seed + (index + 1) * 0x9E3779B97F4A7C15ul;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ul;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBul;
    return z ^ (z >> 31);
}

// The size of the word at `index`: 8, or less for the last one of a region that ends within it.
DEVICE u64 word_bytes(u64 bytes, u64 index) {
    return bytes - 8 * index < 8 ? bytes - 8 * index : 8;
}

DEVICE u64 low_bytes(u64 word, u64 bytes) {
    return bytes == 8 ? word : word & (((u64)1 << (8 * bytes)) - 1);
}

DEVICE u64 load_word(const GLOBAL u8* from, u64 bytes, bool aligned) {
    if (aligned && bytes == 8) return *(const GLOBAL u64*)from;
    u64 word = 0;
    for (u64 i = 0; i < bytes; ++i) word |= (u64)from[i] << (8 * i);
    return word;
}

DEVICE void store_word(GLOBAL u8* to, u64 word, u64 bytes, bool aligned) {
    // Wider stores would gain nothing: those of neighbouring threads join into whole lines.
    if (aligned && bytes == 8) {
        *(GLOBAL u64*)to = word;
        return;
    }
    for (u64 i = 0; i < bytes; ++i) to[i] = (u8)(word >> (8 * i));
}

KERNEL isthmus_fill(GLOBAL u8* region, u64 region_offset, u64 bytes, u64 seed, u64 first_word) {
    GLOBAL u8* const to = region + region_offset;
    const bool aligned = (address)to % 8 == 0;
    const u64 words = bytes / 8 + (bytes % 8 != 0);
    for (u64 i = FIRST(words); i < END(words); i += STEP) {
        store_word(to + 8 * i, pattern_word(seed, first_word + i), word_bytes(bytes, i), aligned);
    }
}

KERNEL isthmus_verify(const GLOBAL u8* region, u64 region_offset, u64 bytes, u64 seed, u64 first_word,
                      GLOBAL u32* result, u64 result_offset) {
    const GLOBAL u8* const from = region + region_offset;
    const bool aligned = (address)from % 8 == 0;
    const u64 words = bytes / 8 + (bytes % 8 != 0);
    // Counted per thread first, so that a wholly wrong buffer costs two atomics per thread instead of two per word.
    u32 wrong = 0;
    u32 first = 0xFFFFFFFFu;
    for (u64 i = FIRST(words); i < END(words); i += STEP) {
        const u64 size = word_bytes(bytes, i);
        if (load_word(from + 8 * i, size, aligned) != low_bytes(pattern_word(seed, first_word + i), size)) {
            if (wrong == 0) first = (u32)i;
            ++wrong;
        }
    }
    if (wrong != 0) {
        GLOBAL u32* const found = (GLOBAL u32*)((GLOBAL u8*)result + result_offset);
        ATOMIC_ADD(found, wrong);
        ATOMIC_MIN(found + 1, first);
    }
}

// A load from host memory takes a microsecond or two. Threads that work side by side (LANES) take a tile of four units
// each at a time, all of whose loads are sent before one is waited for, and which is 2 KiB long where units are the
// widest: few blocks keep the link full. The pointers must be congruent modulo the size of `unit`; what lies before the
// first aligned unit and after the last is copied by bytes.
#define DEFINE_COPY(name, unit)                                                                    \
    DEVICE void name(GLOBAL u8* to_bytes, const GLOBAL u8* from_bytes, u64 bytes) {                \
        const u64 to_aligned = (0 - (u64)(address)to_bytes) % sizeof(unit);                        \
        const u64 head = to_aligned < bytes ? to_aligned : bytes;                                  \
        const u64 count = (bytes - head) / sizeof(unit);                                           \
        const u32 lanes = (u32)LANES;                                                              \
        const u64 tiles = count / (4 * lanes) + (count % (4 * lanes) != 0);                        \
        const u64 end = 4 * lanes * END(tiles) < count ? 4 * lanes * END(tiles) : count;           \
        const u64 step = 4 * lanes * (STEP / lanes);                                               \
        GLOBAL unit* const to = (GLOBAL unit*)(to_bytes + head);                                   \
        const GLOBAL unit* const from = (const GLOBAL unit*)(from_bytes + head);                   \
        for (u64 i = 4 * lanes * (FIRST(tiles) / lanes) + GLOBAL_ID % lanes; i < end; i += step) { \
            if (i + 3 * lanes < count) {                                                           \
                const unit a = from[i];                                                            \
                const unit b = from[i + lanes];                                                    \
                const unit c = from[i + 2 * lanes];                                                \
                const unit d = from[i + 3 * lanes];                                                \
                to[i] = a;                                                                         \
                to[i + lanes] = b;                                                                 \
                to[i + 2 * lanes] = c;                                                             \
                to[i + 3 * lanes] = d;                                                             \
            } else {                                                                               \
                for (u64 j = i; j < count; j += lanes) to[j] = from[j];                            \
            }                                                                                      \
        }                                                                                          \
        for (u64 j = GLOBAL_ID; j < head; j += GLOBAL_SIZE) {                                      \
            to_bytes[j] = from_bytes[j];                                                           \
        }                                                                                          \
        for (u64 j = head + count * sizeof(unit) + GLOBAL_ID; j < bytes; j += GLOBAL_SIZE) {       \
            to_bytes[j] = from_bytes[j];                                                           \
        }                                                                                          \
    }

DEFINE_COPY(copy_by_1, u8)
DEFINE_COPY(copy_by_4, u32)
DEFINE_COPY(copy_by_8, u64)
DEFINE_COPY(copy_by_16, u32x4)

COPY_KERNEL isthmus_copy(GLOBAL u8* destination, u64 destination_offset, const GLOBAL u8* source, u64 source_offset,
                         u64 bytes) {
    GLOBAL u8* const to = destination + destination_offset;
    const GLOBAL u8* const from = source + source_offset;
    const address apart = (address)to ^ (address)from;
    if (apart % 16 == 0) {
        copy_by_16(to, from, bytes);
    } else if (apart % 8 == 0) {
        copy_by_8(to, from, bytes);
    } else if (apart % 4 == 0) {
        copy_by_4(to, from, bytes);
    } else {
        copy_by_1(to, from, bytes);
    }
}

// Where a piece begins on one side: from a table of offsets, or from the pitches.
DEVICE u64 piece_at(const GLOBAL u64* table, bool scattered, u64 piece, u64 slice, u64 rows, u64 pitch,
                    u64 slice_pitch) {
    return scattered ? table[piece] : slice * slice_pitch + (piece - slice * rows) * pitch;
}

// Four units, all of which are read before one is written, or the first few of them.
#define MOVE_UNIT(unit, k) *(GLOBAL unit*)(destination + to[k]) = *(const GLOBAL unit*)(source + from[k])
#define MOVE_UNITS(unit)                                        \
    if (there == 4) {                                           \
        const unit a = *(const GLOBAL unit*)(source + from[0]); \
        const unit b = *(const GLOBAL unit*)(source + from[1]); \
        const unit c = *(const GLOBAL unit*)(source + from[2]); \
        const unit d = *(const GLOBAL unit*)(source + from[3]); \
        *(GLOBAL unit*)(destination + to[0]) = a;               \
        *(GLOBAL unit*)(destination + to[1]) = b;               \
        *(GLOBAL unit*)(destination + to[2]) = c;               \
        *(GLOBAL unit*)(destination + to[3]) = d;               \
    } else {                                                    \
        MOVE_UNIT(unit, 0);                                     \
        if (there > 1) MOVE_UNIT(unit, 1);                      \
        if (there > 2) MOVE_UNIT(unit, 2);                      \
    }

// Neighbouring threads move neighbouring units of a piece, so that accesses join on either side as far as pieces allow.
// Tiles are those of copy. The divisions for each unit hide behind the link.
COPY_KERNEL isthmus_copy_pieces(GLOBAL u8* destination, u64 destination_offset, u64 destination_pitch,
                                u64 destination_slice, const GLOBAL u8* source, u64 source_offset, u64 source_pitch,
                                u64 source_slice, const GLOBAL u64* table, u64 table_offset, u32 scattered, u32 unit,
                                u64 width, u64 rows, u64 pieces, u64 first, u64 count) {
    const u64 in_piece = width / unit;
    const bool to_table = (scattered & 1) != 0;
    const bool from_table = (scattered & 2) != 0;
    const GLOBAL u64* const offsets = (const GLOBAL u64*)((const GLOBAL u8*)table + table_offset);
    const GLOBAL u64* const sources = offsets + (to_table ? pieces : 0);
    const u32 lanes = (u32)LANES;
    const u64 tiles = count / (4 * lanes) + (count % (4 * lanes) != 0);
    const u64 end = 4 * lanes * END(tiles) < count ? 4 * lanes * END(tiles) : count;
    const u64 step = 4 * lanes * (STEP / lanes);
    for (u64 i = 4 * lanes * (FIRST(tiles) / lanes) + GLOBAL_ID % lanes; i < end; i += step) {
        const u32 there = 1 + (i + lanes < count) + (i + 2 * lanes < count) + (i + 3 * lanes < count);
        u64 from[4], to[4];
        for (u32 k = 0; k < 4; ++k) {
            // Beyond the last unit the first one again, which is not moved twice.
            const u64 at = first + i + (k < there ? k : 0) * lanes;
            const u64 piece = at / in_piece;
            const u64 within = (at - piece * in_piece) * unit;
            // A division costs as much as all else here, and most pieces lie in one slice.
            const u64 slice = piece < rows ? 0 : piece / rows;
            from[k] =
                source_offset + within + piece_at(sources, from_table, piece, slice, rows, source_pitch, source_slice);
            to[k] = destination_offset + within +
                    piece_at(offsets, to_table, piece, slice, rows, destination_pitch, destination_slice);
        }
        if (unit == 16) {
            MOVE_UNITS(u32x4)
        } else if (unit == 8) {
            MOVE_UNITS(u64)
        } else if (unit == 4) {
            MOVE_UNITS(u32)
        } else if (unit == 2) {
            MOVE_UNITS(u16)
        } else {
            MOVE_UNITS(u8)
        }
    }
}

KERNEL isthmus_add(GLOBAL u8* region, u64 region_offset, u64 words, u32 value) {
    GLOBAL u32* const word = (GLOBAL u32*)(region + region_offset);
    for (u64 i = FIRST(words); i < END(words); i += STEP) word[i] += value;
}

KERNEL isthmus_sum(const GLOBAL u8* region, u64 region_offset, u64 words, GLOBAL u32* result, u64 result_offset) {
    LOCAL u32 parts[MOST_THREADS];
    const GLOBAL u32* const word = (const GLOBAL u32*)(region + region_offset);
    u32 part = 0;
    for (u64 i = FIRST(words); i < END(words); i += STEP) part += word[i];
    parts[LOCAL_ID] = part;
    // Halves are added until one is left: the group's size is a power of two.
    for (u32 left = LOCAL_SIZE / 2; left > 0; left /= 2) {
        BARRIER();
        if (LOCAL_ID < left) parts[LOCAL_ID] += parts[LOCAL_ID + left];
    }
    if (LOCAL_ID == 0) ATOMIC_ADD((GLOBAL u32*)((GLOBAL u8*)result + result_offset), parts[0]);
}

// A linear congruential generator (Numerical Recipes' "quick and dirty" one) run on from every word: arithmetic alone,
// as long as one likes, and a result that the host can tell without repeating it.
KERNEL isthmus_work(GLOBAL u8* region, u64 region_offset, u64 words, u32 rounds) {
    GLOBAL u32* const word = (GLOBAL u32*)(region + region_offset);
    for (u64 i = FIRST(words); i < END(words); i += STEP) {
        u32 value = word[i];
        for (u32 round = 0; round < rounds; ++round) value = value * 1664525u + 1013904223u;
        word[i] = value;
    }
}

// So that a launch can be timed.
KERNEL isthmus_nothing(void) {}

// One thread, whose load is sent when the one before has arrived. Volatile, so that no cache of a multiprocessor
// answers in place of the memory.
KERNEL isthmus_chase(const GLOBAL u8* chain, u64 chain_offset, u64 start, u64 hops, GLOBAL u8* result,
                     u64 result_offset) {
    if (GLOBAL_ID != 0) return;
    const GLOBAL u8* const first = chain + chain_offset;
    u64 at = start;
    for (u64 i = 0; i < hops; ++i) at = *(const volatile GLOBAL u64*)(first + at);
    *(GLOBAL u64*)(result + result_offset) = at;
}

// One thread, for which every access is the first that is under way: where the next word is follows from the last one
// read. `none` is 0, which the compiler does not know.
KERNEL isthmus_touch_in_turn(GLOBAL u8* region, u64 region_offset, u64 count, u64 stride, u32 none) {
    if (GLOBAL_ID != 0) return;
    GLOBAL u8* at = region + region_offset;
    for (u64 i = 0; i < count; ++i) {
        const u32 value = *(GLOBAL u32*)at + 1;
        *(GLOBAL u32*)at = value;
        at += stride + (value & none);
    }
}
