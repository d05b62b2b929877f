import { createRotation } from '../rotation.ts'

/** Who waits: tasks of the same account that are alike synchronous or not stand in one lane. */
export type Waiter = {
  readonly accountId: string
  readonly sync: boolean
  readonly model: string
  /** The channels on which the task can get a place. */
  readonly channels: readonly string[]
}

export type Places = ReturnType<typeof createPlaces>

/** How often the task whose turn it is asks while nothing happens. */
const askEveryMs = 250

/** A lane keeps its position for this long after its last task has left. Temporal keeps the wait of a task for seconds. */
const laneKeptMs = 15_000

/** Node's timers count to 2^31 - 1 ms. */
const timerMsMax = 2 ** 31 - 1

type Line = {
  readonly model: string
  readonly channels: readonly string[]
  /** By account and kind. The turn goes to the first lane in which a task waits. */
  readonly lanes: ReturnType<typeof createRotation>
  /** How many tasks stand in line, the one that has the turn among them. */
  length: number
  /** Whether a task has the turn. */
  isTaken: boolean
  /** How many calls have ended here for which the line has not asked yet. */
  due: number
  /** Whether the last question found a place of which nobody here had heard. There may be more. */
  findsPlaces: boolean
  wake: () => void
}

/**
 * Creates the lines of the tasks of this process that wait for places on full channels. For the same channels and model
 * one task asks at a time: the one whose turn it is. When it has its answer, its lane goes to the end and the next lane
 * has the turn, so an account with many tasks and one with a single task take turns. A lane whose tasks leave without an
 * answer keeps its position for a while: a task that comes back from Temporal would else never reach the front beside
 * many lanes.
 *
 * For each call of this process that ends, the line asks once, at a random moment within a quarter of a second. If it
 * asked at once, or for all places that it finds, a process whose calls end on a channel would always get the places
 * there, and others never. A line that has heard of no end for a quarter of a second asks too, and then for all places.
 */
export function createPlaces(random: () => number) {
  const lines = new Map<string, Line>()

  function lineOf(key: string, { model, channels }: Waiter): Line {
    const known = lines.get(key)
    if (known !== undefined) return known
    const rest = { length: 0, isTaken: false, due: 0, findsPlaces: false, wake: () => {} }
    const line = { model, channels, lanes: createRotation(laneKeptMs), ...rest }
    lines.set(key, line)
    return line
  }

  return {
    /**
     * Stands in line until `ask` returns a value, and returns it. `ask` returns `undefined` when there is no place yet.
     * Returns `undefined` after `limitMs`, and when the signal aborts. Rejects when `ask` does.
     */
    wait: async <Value>(
      waiter: Waiter,
      ask: () => Promise<Value | undefined>,
      { limitMs, signal }: { readonly limitMs: number; readonly signal?: AbortSignal | undefined },
    ): Promise<Value | undefined> => {
      const over = AbortSignal.any([
        AbortSignal.timeout(Math.ceil(Math.max(0, Math.min(limitMs, timerMsMax)))),
        ...(signal === undefined ? [] : [signal]),
      ])
      const key = `${waiter.model} ${waiter.channels.toSorted().join(' ')}`
      const name = `${waiter.accountId} ${waiter.sync}`
      const line = lineOf(key, waiter)
      line.lanes.enter(name)
      line.length += 1
      const isFirst = !line.isTaken
      line.isTaken = true
      const hasTurn = isFirst || (await line.lanes.wait(name, over))
      let isServed = true
      try {
        const value = hasTurn ? await askInTurn(line, ask, over) : undefined
        isServed = value !== undefined
        return value
      } finally {
        line.length -= 1
        if (line.length === 0) lines.delete(key)
        line.lanes.leave(name, isServed)
        if (hasTurn) line.isTaken = line.lanes.callNext()
      }
    },
    /** Whether a task of this process waits for a place of the model, or of any model, on the channel. */
    isAwaited: (channel: string, model?: string) =>
      [...lines.values()].some(
        (line) => (model ?? line.model) === line.model && line.channels.includes(channel),
      ),
    /** Tells that a call of this process on the channel has ended. */
    callEnded: (channel: string): void => {
      for (const line of lines.values()) {
        if (!line.channels.includes(channel)) continue
        setTimeout(() => {
          line.due += 1
          line.wake()
        }, random() * askEveryMs)
      }
    },
  }
}

async function askInTurn<Value>(
  line: Line,
  ask: () => Promise<Value | undefined>,
  over: AbortSignal,
): Promise<Value | undefined> {
  for (;;) {
    await nextQuestion(line, over)
    if (over.aborted) return undefined
    const value = await ask()
    if (value !== undefined) return value
    line.due = 0
    line.findsPlaces = false
  }
}

/** Waits for the moment of the next question: at once while one is due, and otherwise up to a quarter of a second. */
async function nextQuestion(line: Line, over: AbortSignal): Promise<void> {
  if (line.due === 0 && !line.findsPlaces) {
    await wakeOrTimer(line, over)
    line.findsPlaces = line.due === 0
  }
  line.due = Math.max(0, line.due - 1)
}

function wakeOrTimer(line: Line, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer)
      over.removeEventListener('abort', wake)
      resolve()
    }
    const timer = setTimeout(wake, askEveryMs)
    line.wake = wake
    over.addEventListener('abort', wake, { once: true })
    if (over.aborted) wake()
  })
}
