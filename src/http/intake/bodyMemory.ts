import { freeMemory } from '../../streams/freeMemory.ts'

/** The memory of one body. */
export type BodyMemory = {
  readonly allocate: (bytes: number) => Buffer
  /** Frees all of it. Nothing may use it any more: the buffers are empty from now on. */
  readonly free: () => void
}

/**
 * Creates the memory of a body, which is freed as soon as its request is accepted. If it waited for V8 to collect it,
 * the next large bodies would come first and take as much again.
 */
export function createBodyMemory(): BodyMemory {
  const buffers: Buffer[] = []
  return {
    allocate: (bytes) => {
      const buffer = Buffer.allocUnsafeSlow(bytes)
      buffers.push(buffer)
      return buffer
    },
    free: () => {
      for (const buffer of buffers.splice(0)) freeMemory(buffer)
    },
  }
}
