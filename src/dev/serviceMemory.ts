/**
 * Flags of Node for an API or a worker. Young objects get at most 12 MiB, and not the 48 MiB or more that Node
 * takes under load: the bytes of images are garbage soon, and their memory is freed with these objects. The
 * Dockerfile sets the same.
 */
export const serviceNodeFlags = ['--max-semi-space-size=4'] as const

/**
 * Variables for glibc's allocator. Each thread of the pool would otherwise keep freed memory for itself. Measured
 * under 20 calls of 1 MiB, with the flags above: a worker of 500 MiB takes 360, an API of 310 takes 200.
 */
export const serviceAllocator = { MALLOC_ARENA_MAX: '2' } as const
