/** Memory for the bodies of requests, which is used again when they are over. */
export type BodyBuffers = {
  /** Returns the memory of one request. */
  readonly open: () => RequestBuffers
}

export type RequestBuffers = {
  /** Returns a buffer with at least this many bytes, which may hold bytes of an earlier body. */
  readonly allocate: (bytes: number) => Buffer
  /** Ends the use of all buffers of the request. Nothing may read or write them any more. */
  readonly end: () => void
}

/** An image of four megapixels in base64. Larger bodies are too rare to keep memory for them. */
const keptBytesMax = 8 * 1024 * 1024
/** Together 32 MiB at most. */
const keptMax = 4

/**
 * Creates the memory for bodies. V8 collects its whole heap for every 64 MiB or so of new buffers, and new memory must
 * be mapped page by page. For a body of some megabytes both take longer than everything else that is done with it.
 */
export function createBodyBuffers(): BodyBuffers {
  const kept: Buffer[] = []

  function allocate(bytes: number): Buffer {
    const at = kept.findIndex((buffer) => buffer.length >= bytes)
    const [buffer] = at === -1 ? [] : kept.splice(at, 1)
    return buffer ?? Buffer.allocUnsafeSlow(bytes > keptBytesMax ? bytes : roundedUp(bytes))
  }

  return {
    open: () => {
      const used: Buffer[] = []
      return {
        allocate: (bytes) => {
          const buffer = allocate(bytes)
          used.push(buffer)
          return buffer
        },
        end: () => {
          for (const buffer of used.splice(0)) {
            if (buffer.length <= keptBytesMax && kept.length < keptMax) kept.push(buffer)
          }
          kept.sort((a, b) => a.length - b.length)
        },
      }
    },
  }
}

/** Returns a power of two, so that the buffer also fits bodies that are somewhat larger. */
function roundedUp(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(bytes, 1)))
}
