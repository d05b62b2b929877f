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

/** Node's timers count to 2^31 - 1 ms. */
const timerMsMax = 2 ** 31 - 1

type Line = {
  readonly model: string
  readonly channels: readonly string[]
  /** Who waits for the turn, by account and kind. The first lane has the turn, and only that one may be empty. */
  readonly lanes: Map<string, (() => void)[]>
  /** How many calls have ended here for which the line has not asked yet. */
  due: number
  /** Whether the last question found a place of which nobody here had heard. There may be more. */
  findsPlaces: boolean
  wake: () => void
}

/**
 * Creates the lines of the tasks of this process that wait for places on full channels. For the same channels and model
 * one task asks at a time: the one whose turn it is. When it leaves, it passes the turn to the next lane, so an account
 * with many tasks and one with a single task take turns.
 *
 * For each call of this process that ends, the line asks once, at a random moment within a quarter of a second. If it
 * asked at once, or for all places that it finds, a process whose calls end on a channel would always get the places
 * there, and others never. A line that has heard of no end for a quarter of a second asks too, and then for all places.
 */
export function createPlaces(random: () => number) {
  const lines = new Map<string, Line>()

  function passTurn(key: string, { lanes }: Line): void {
    const [[name, waiting] = ['', []]] = lanes
    lanes.delete(name)
    if (waiting.length > 0) lanes.set(name, waiting)
    const [next] = lanes.values()
    if (next === undefined) lines.delete(key)
    next?.shift()?.()
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
      const lane = `${waiter.accountId} ${waiter.sync}`
      const known = lines.get(key)
      const line = known ?? {
        model: waiter.model,
        channels: waiter.channels,
        lanes: new Map([[lane, []]]),
        due: 0,
        findsPlaces: false,
        wake: () => {},
      }
      lines.set(key, line)
      if (known !== undefined && !(await hasTurn(known, lane, over))) return undefined
      try {
        for (;;) {
          await nextQuestion(line, over)
          if (over.aborted) return undefined
          const value = await ask()
          if (value !== undefined) return value
          line.due = 0
          line.findsPlaces = false
        }
      } finally {
        passTurn(key, line)
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

/** Waits at the end of a lane. Resolves to true when it is the caller's turn, and to false when the signal aborts. */
function hasTurn({ lanes }: Line, lane: string, over: AbortSignal): Promise<boolean> {
  const waiting = lanes.get(lane) ?? []
  lanes.set(lane, waiting)
  return new Promise((resolve) => {
    const take = () => {
      over.removeEventListener('abort', leave)
      resolve(true)
    }
    const leave = () => {
      waiting.splice(waiting.indexOf(take), 1)
      const [first] = lanes.keys()
      if (waiting.length === 0 && lane !== first) lanes.delete(lane)
      resolve(false)
    }
    waiting.push(take)
    over.addEventListener('abort', leave, { once: true })
    if (over.aborted) leave()
  })
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
  })
}
