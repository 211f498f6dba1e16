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

// A load from host memory takes a microsecond or two. Four that do not wait for one another, on every thread of a
// launch, are far more than the link needs to stay full. The pointers must be congruent modulo the size of `unit`; what
// lies before the first aligned unit and after the last is copied by bytes.
#define DEFINE_COPY(name, unit)                                                              \
    DEVICE void name(GLOBAL u8* to_bytes, const GLOBAL u8* from_bytes, u64 bytes) {          \
        const u64 to_aligned = (0 - (u64)(address)to_bytes) % sizeof(unit);                  \
        const u64 head = to_aligned < bytes ? to_aligned : bytes;                            \
        const u64 count = (bytes - head) / sizeof(unit);                                     \
        const u64 step = STEP;                                                               \
        const u64 end = END(count);                                                          \
        GLOBAL unit* const to = (GLOBAL unit*)(to_bytes + head);                             \
        const GLOBAL unit* const from = (const GLOBAL unit*)(from_bytes + head);             \
        u64 i = FIRST(count);                                                                \
        for (; i + 3 * step < end; i += 4 * step) {                                          \
            const unit a = from[i];                                                          \
            const unit b = from[i + step];                                                   \
            const unit c = from[i + 2 * step];                                               \
            const unit d = from[i + 3 * step];                                               \
            to[i] = a;                                                                       \
            to[i + step] = b;                                                                \
            to[i + 2 * step] = c;                                                            \
            to[i + 3 * step] = d;                                                            \
        }                                                                                    \
        for (; i < end; i += step) {                                                         \
            to[i] = from[i];                                                                 \
        }                                                                                    \
        for (u64 j = GLOBAL_ID; j < head; j += GLOBAL_SIZE) {                                \
            to_bytes[j] = from_bytes[j];                                                     \
        }                                                                                    \
        for (u64 j = head + count * sizeof(unit) + GLOBAL_ID; j < bytes; j += GLOBAL_SIZE) { \
            to_bytes[j] = from_bytes[j];                                                     \
        }                                                                                    \
    }

DEFINE_COPY(copy_by_1, u8)
DEFINE_COPY(copy_by_4, u32)
DEFINE_COPY(copy_by_8, u64)
DEFINE_COPY(copy_by_16, u32x4)

KERNEL isthmus_copy(GLOBAL u8* destination, u64 destination_offset, const GLOBAL u8* source, u64 source_offset,
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
DEVICE u64 piece_at(const GLOBAL u64* table, bool scattered, u64 piece, u64 rows, u64 pitch, u64 slice_pitch) {
    if (scattered) return table[piece];
    if (piece < rows) return piece * pitch;
    return piece / rows * slice_pitch + piece % rows * pitch;
}

// Neighbouring threads move neighbouring units of a piece, so that accesses join on either side as far as pieces allow.
// Loads in flight come from the number of threads here: the division for each unit hides behind the link.
#define DEFINE_COPY_PIECES(name, unit)                                                                                \
    DEVICE void name(GLOBAL u8* destination, u64 destination_offset, u64 destination_pitch, u64 destination_slice,    \
                     const GLOBAL u8* source, u64 source_offset, u64 source_pitch, u64 source_slice,                  \
                     const GLOBAL u64* table, u32 scattered, u64 width, u64 rows, u64 pieces, u64 first, u64 count) { \
        const u64 in_piece = width / sizeof(unit);                                                                    \
        const bool to_table = (scattered & 1) != 0;                                                                   \
        const bool from_table = (scattered & 2) != 0;                                                                 \
        const GLOBAL u64* const sources = table + (to_table ? pieces : 0);                                            \
        for (u64 i = FIRST(count); i < END(count); i += STEP) {                                                       \
            const u64 piece = (first + i) / in_piece;                                                                 \
            const u64 within = (first + i - piece * in_piece) * sizeof(unit);                                         \
            const u64 to = piece_at(table, to_table, piece, rows, destination_pitch, destination_slice);              \
            const u64 from = piece_at(sources, from_table, piece, rows, source_pitch, source_slice);                  \
            *(GLOBAL unit*)(destination + (destination_offset + to + within)) =                                       \
                *(const GLOBAL unit*)(source + (source_offset + from + within));                                      \
        }                                                                                                             \
    }

DEFINE_COPY_PIECES(copy_pieces_by_1, u8)
DEFINE_COPY_PIECES(copy_pieces_by_2, u16)
DEFINE_COPY_PIECES(copy_pieces_by_4, u32)
DEFINE_COPY_PIECES(copy_pieces_by_8, u64)
DEFINE_COPY_PIECES(copy_pieces_by_16, u32x4)

#define COPY_PIECES(name)                                                                                            \
    name(destination, destination_offset, destination_pitch, destination_slice, source, source_offset, source_pitch, \
         source_slice, (const GLOBAL u64*)((const GLOBAL u8*)table + table_offset), scattered, width, rows, pieces,  \
         first, count)

KERNEL isthmus_copy_pieces(GLOBAL u8* destination, u64 destination_offset, u64 destination_pitch, u64 destination_slice,
                           const GLOBAL u8* source, u64 source_offset, u64 source_pitch, u64 source_slice,
                           const GLOBAL u64* table, u64 table_offset, u32 scattered, u32 unit, u64 width, u64 rows,
                           u64 pieces, u64 first, u64 count) {
    if (unit == 16) {
        COPY_PIECES(copy_pieces_by_16);
    } else if (unit == 8) {
        COPY_PIECES(copy_pieces_by_8);
    } else if (unit == 4) {
        COPY_PIECES(copy_pieces_by_4);
    } else if (unit == 2) {
        COPY_PIECES(copy_pieces_by_2);
    } else {
        COPY_PIECES(copy_pieces_by_1);
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
