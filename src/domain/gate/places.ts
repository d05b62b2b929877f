/** Who waits: tasks of the same account that are alike synchronous or not stand in one lane. */
export type Waiter = {
  readonly accountId: string
  readonly sync: boolean
  readonly model: string
  /** The channels on which the task can get a place. */
  readonly channels: readonly string[]
}

export type Places = ReturnType<typeof createPlaces>

/** How often the first in line asks while nothing happens. */
const askEveryMs = 250

/** Node's timers count to 2^31 - 1 ms. */
const timerMsMax = 2 ** 31 - 1

type Line = {
  readonly model: string
  readonly channels: readonly string[]
  /** By account and kind. The first lane is the next. */
  readonly lanes: Map<string, readonly Asking[]>
  wake: () => void
}

/** Lets one task ask. Resolves to whether the task has left the line. */
type Asking = () => Promise<boolean>

/**
 * Creates the lines of the tasks of this process that wait for places on full channels. For the same channels and model
 * one task asks at a time: the first of the lane whose turn it is. A task that leaves gives the turn to the next lane,
 * which asks at once, so an account with many tasks and one with a single task take turns.
 *
 * When a call of this process ends, the next one asks at a random moment within a quarter of a second. If it asked at
 * once, a process whose calls end on a channel would always get the places there, and others never.
 */
export function createPlaces(random: () => number) {
  const lines = new Map<string, Line>()

  async function serve(key: string, line: Line): Promise<void> {
    while (line.lanes.size > 0) {
      await wakeOrTimer(line)
      while (await askFirst(line));
    }
    lines.delete(key)
  }

  function lineOf({ channels, model }: Waiter): Line {
    const key = `${model} ${channels.toSorted().join(' ')}`
    const known = lines.get(key)
    if (known !== undefined) return known
    const line: Line = { model, channels, lanes: new Map(), wake: () => {} }
    lines.set(key, line)
    // The line is served once the caller has joined it.
    queueMicrotask(() => void serve(key, line))
    return line
  }

  return {
    /**
     * Stands in line until `ask` returns a value, and returns it. `ask` returns `undefined` when there is no place yet.
     * Returns `undefined` after `limitMs`, and when the signal aborts. Rejects when `ask` does.
     */
    wait: <Value>(
      waiter: Waiter,
      ask: () => Promise<Value | undefined>,
      { limitMs, signal }: { readonly limitMs: number; readonly signal?: AbortSignal | undefined },
    ): Promise<Value | undefined> => {
      const line = lineOf(waiter)
      const { accountId, sync } = waiter
      return join(
        line,
        `${accountId} ${sync}`,
        ask,
        AbortSignal.any([
          AbortSignal.timeout(Math.ceil(Math.max(0, Math.min(limitMs, timerMsMax)))),
          ...(signal === undefined ? [] : [signal]),
        ]),
      )
    },
    /** Whether a task of this process waits for a place of the model on the channel. */
    isAwaited: (channel: string, model: string) =>
      [...lines.values()].some(
        (line) => line.model === model && line.lanes.size > 0 && line.channels.includes(channel),
      ),
    /** Tells that a call of this process on the channel has ended. */
    callEnded: (channel: string): void => {
      for (const line of lines.values()) {
        if (line.channels.includes(channel)) setTimeout(() => line.wake(), random() * askEveryMs)
      }
    },
  }
}

function wakeOrTimer(line: Line): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, askEveryMs)
    line.wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

/** Lets the first task in line ask. Returns whether it has left the line, so that the next one may ask. */
async function askFirst({ lanes }: Line): Promise<boolean> {
  const [name = '', [asking] = []] = lanes.entries().next().value ?? []
  if (asking === undefined || !(await asking())) return false
  const lane = lanes.get(name)
  if (lane !== undefined) {
    lanes.delete(name)
    lanes.set(name, lane)
  }
  return true
}

/** Puts a task at the end of its lane, until it has a value or the signal aborts. */
function join<Value>(
  { lanes }: Line,
  name: string,
  ask: () => Promise<Value | undefined>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    let isAsking = false
    const leave = () => {
      signal.removeEventListener('abort', onAbort)
      const others = (lanes.get(name) ?? []).filter((each) => each !== asking)
      if (others.length > 0) lanes.set(name, others)
      else lanes.delete(name)
    }
    // An answer that is on its way may be a place, and a place must not be lost.
    const onAbort = () => {
      if (isAsking) return
      leave()
      resolve(undefined)
    }
    const asking: Asking = async () => {
      isAsking = true
      try {
        const value = await ask()
        if (value === undefined && !signal.aborted) return false
        resolve(value)
      } catch (error) {
        reject(error)
      } finally {
        isAsking = false
      }
      leave()
      return true
    }
    lanes.set(name, [...(lanes.get(name) ?? []), asking])
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
}
