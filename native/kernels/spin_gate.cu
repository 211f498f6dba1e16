// Spin gate, for CUDA alone: OpenCL holds a queue back with a user event.

DEVICE u64 nanoseconds_now() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));  // volatile: each turn of the loop needs a new reading
    return now;
}

// No nanosleep between the looks, as it needs sm_70; one thread's reads are no load for the link.
KERNEL isthmus_spin(const volatile u32* flag, u64 flag_offset, u64 limit_ns, u32* timed_out, u64 timed_out_offset) {
    if (GLOBAL_ID != 0) return;
    // A volatile load has system scope (PTX ISA, memory consistency model), so it sees what the CPU stores.
    const volatile u32* const gate = (const volatile u32*)((const volatile u8*)flag + flag_offset);
    // The timer follows the wall clock. Should that be set back, the unsigned difference is huge: the gate opens early.
    const u64 begin = nanoseconds_now();
    while (*gate == 0) {
        if (nanoseconds_now() - begin >= limit_ns) {
            *(volatile u32*)((u8*)timed_out + timed_out_offset) = 1;
            return;
        }
    }
}
