/** The memory of one body. */
export type BodyMemory = {
  readonly allocate: (bytes: number) => Buffer
  /** Frees all of it. Nothing may use it any more: the buffers are empty from now on. */
  readonly free: () => void
}

/**
 * Creates the memory of a body, which is freed as soon as its request is accepted. Memory that waits for V8 to collect
 * it counts twice: the next large bodies come before, and for every 64 MiB of it V8 collects its whole heap, which
 * takes longer than all other work on bodies of some megabytes.
 */
export function createBodyMemory(): BodyMemory {
  const buffers: Buffer<ArrayBuffer>[] = []
  return {
    allocate: (bytes) => {
      const buffer = Buffer.allocUnsafeSlow(bytes)
      buffers.push(buffer)
      return buffer
    },
    free: () => {
      for (const { buffer } of buffers.splice(0)) buffer.transfer(0)
    },
  }
}
