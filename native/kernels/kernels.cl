// Fill, verify, copy, add and sum: one body for CUDA and OpenCL C 1.2; a preamble put before it spells the words in
// capitals.
//
// kernels.hpp states the contract. Devices are little-endian, as are all hosts that have one.

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
