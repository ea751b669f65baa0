/*
 * Lets Criterion run under ThreadSanitizer. Criterion looks for a free range by mincore() at random
 * addresses and maps the arena that it shares with its test processes there; nearly all of those
 * addresses are ThreadSanitizer's own. This moves both calls to a range that ThreadSanitizer leaves
 * to programs (its middle range on x86-64, below where executables are loaded). Criterion takes the
 * address that it gets. Linked into the test executables of ThreadSanitizer builds only.
 *
 * These functions are called before ThreadSanitizer has started, so they are not instrumented.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OWN_CODE __attribute__((no_sanitize("thread"), visibility("default")))

#define DRAWN_BEGIN ((uintptr_t)0x200000000000)
#define DRAWN_END ((uintptr_t)0x600000000000)
#define PROGRAM_BEGIN ((uintptr_t)0x550000000000)
#define PROGRAM_MASK ((uintptr_t)0x003fffffffff)

__attribute__((no_sanitize("thread"))) static void *move_address(void *address)
{
    uintptr_t drawn = (uintptr_t)address;
    if (drawn < DRAWN_BEGIN || drawn >= DRAWN_END)
        return address;
    return (void *)(PROGRAM_BEGIN | (drawn & PROGRAM_MASK));
}

OWN_CODE int mincore(void *address, size_t bytes, unsigned char *pages)
{
    return (int)syscall(SYS_mincore, move_address(address), bytes, pages);
}

/* Criterion is built for large files; on x86-64 mmap() is the same function. */
OWN_CODE void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if ((flags & (MAP_FIXED | MAP_SHARED)) == (MAP_FIXED | MAP_SHARED))
        address = move_address(address);
    return mmap(address, bytes, protection, flags, fd, offset);
}
