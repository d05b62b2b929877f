import type { Queue } from './queue.ts'
import { waitIn } from './queue.ts'

type Lane = {
  readonly queue: Queue
  /** When somebody left the lane last, on the monotonic clock. */
  leftAtMs: number
}

/**
 * Creates lanes that take turns. Who waits in a lane is called in the order of arrival, and the first lane in which
 * somebody waits is served first. A lane that nobody comes back to within `keptMs` loses its position.
 */
export function createRotation(keptMs: number) {
  const lanes = new Map<string, Lane>()

  /** Returns the lane of this name, which begins at the end. */
  function enter(name: string): Lane {
    const lane = lanes.get(name) ?? { queue: [], leftAtMs: 0 }
    lanes.set(name, lane)
    return lane
  }

  return {
    enter,
    /** Waits in a lane. Resolves to true when called, and to false when the signal aborts. */
    wait: (name: string, signal: AbortSignal) => waitIn(enter(name).queue, signal),
    /** Leaves a lane, which goes to the end if it was served. */
    leave: (name: string, isServed: boolean): void => {
      const lane = enter(name)
      lane.leftAtMs = performance.now()
      if (!isServed) return
      lanes.delete(name)
      lanes.set(name, lane)
    },
    /** Calls who waits first in the first lane. Forgets the lanes before it that have lost their position. */
    callNext: (): boolean => {
      for (const [name, { queue, leftAtMs }] of lanes) {
        const next = queue.shift()
        if (next !== undefined) {
          next()
          return true
        }
        if (performance.now() - leftAtMs > keptMs) lanes.delete(name)
      }
      return false
    },
  }
}
