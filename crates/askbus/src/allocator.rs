//! Where memory comes from. What reads a long log takes it on one thread and gives it back on another
//! with every message; the allocator of the C library then spends more time on finding room than
//! anything else takes. Huge pages are left out: a program that mostly waits would hold megabytes that
//! it never uses.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
