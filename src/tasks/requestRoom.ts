import type { BeginResult } from '../domain/ports/attemptStore.ts'
import type { ByteBudget, ByteRoom } from '../streams/byteBudget.ts'
import { createByteBudget } from '../streams/byteBudget.ts'

/**
 * Limit for the texts of all large requests that one worker reads and sends at the same time, in bytes of their
 * stored text. While a request is read and sent, it takes up to twelve times these bytes of memory. Once it is sent,
 * it takes none. One account gets at most half of the limit. The largest request fits into the other half, so a
 * single account cannot keep out another one.
 */
const requestBytesUnderWayMax = 32 * 1024 * 1024

/** A request takes no room up to this size. So a request with only a prompt never waits behind large ones. */
const freeBytes = 256 * 1024

/**
 * How fast the tasks of one account that found no room come back and try again, in bytes of their requests per
 * millisecond.
 */
const retriedBytesPerMs = (16 * 1024 * 1024) / 1_000

type NeedsRoom = Extract<BeginResult, { kind: 'needs_room' }>

/** The room that one task takes in the memory of its worker before its request is read. */
export type RequestRoom = {
  /**
   * Returns the size of the largest request that may be read with the room that is taken now. Small requests need no
   * room.
   */
  readonly bytesMax: () => number
  /**
   * Takes room for one request, in place of the room that was taken before. Resolves to false when there is not
   * enough room now.
   */
  readonly cover: (needed: NeedsRoom) => Promise<boolean>
  /** Gives the room back. Room can be taken again afterwards. */
  readonly end: () => void
}

export type RequestRooms = {
  /** Runs the work of one task. Gives its room back at the end. */
  readonly during: <Value>(work: (room: RequestRoom) => Promise<Value>) => Promise<Value>
  /** Returns how long a task that found no room waits before it tries again, in milliseconds. */
  readonly retryDelayMs: (needed: NeedsRoom) => number
}

/**
 * Creates the rooms of one worker. A task that finds no room does not wait for it in its slot of the worker, because
 * the tasks of one account could then fill all slots and keep the tasks of other accounts out. It leaves the slot and
 * tries again later. The tasks of one account try again one after the other, at a fixed pace, so that they come back
 * in their order and not all at once.
 */
export function createRequestRooms(
  options: { readonly bytesMax?: number; readonly monotonicMs?: () => number } = {},
): RequestRooms {
  const { bytesMax = requestBytesUnderWayMax, monotonicMs = () => performance.now() } = options
  const budget = createByteBudget({ bytesMax, freeBytes })
  const lastTurnAtMs = new Map<string, number>()

  function retryDelayMs({ accountId, bytes }: NeedsRoom): number {
    const nowMs = monotonicMs()
    for (const [each, atMs] of lastTurnAtMs) if (atMs < nowMs) lastTurnAtMs.delete(each)
    const turnAtMs = (lastTurnAtMs.get(accountId) ?? nowMs) + bytes / retriedBytesPerMs
    lastTurnAtMs.set(accountId, turnAtMs)
    return turnAtMs - nowMs
  }

  return {
    during: async (work) => {
      const room = createRequestRoom(budget)
      try {
        return await work(room)
      } finally {
        room.end()
      }
    },
    retryDelayMs,
  }
}

function createRequestRoom(budget: ByteBudget): RequestRoom {
  let room: ByteRoom | undefined
  let bytesMax = freeBytes

  function end(): void {
    room?.end()
    room = undefined
    bytesMax = freeBytes
  }

  return {
    bytesMax: () => bytesMax,
    cover: async ({ accountId, bytes }) => {
      end()
      room = budget.open(accountId)
      const covered = await room.cover(bytes, 0)
      if (covered) bytesMax = bytes
      return covered
    },
    end,
  }
}
