import type { Deadline } from './deadline.ts'
import { openDeadline } from './deadline.ts'
import type { Call, Repeating, Transport, Try } from './transport.ts'
import { readJson } from './transport.ts'

/** What every call takes as its last argument. What is absent is as the client was made. */
export type CallOptions = {
  /** Stops the call. A task that was made goes on: `tasks.cancel` ends it, at no charge where that is possible. */
  readonly signal?: AbortSignal | undefined
  /** How long the call may take, repeats and waiting included. */
  readonly timeoutMs?: number | undefined
  /** How often a request is repeated at most. Waiting for a task that exists goes on until the deadline. */
  readonly retriesMax?: number | undefined
  /** Is told of each HTTP request with its answer. It must not throw. */
  readonly onTry?: ((seen: Try) => void) | undefined
}

export type CallDefaults = {
  readonly timeoutMs: number
  readonly retriesMax: number
  readonly onTry?: ((seen: Try) => void) | undefined
}

/** Makes calls for the parts of the client. */
export type Caller = ReturnType<typeof createCaller>

/** Joins the transport with the options that the client was made with. */
export function createCaller(transport: Transport, defaults: CallDefaults) {
  /** Begins a call: its deadline holds for all requests that it makes. */
  function begin(options: CallOptions): Repeating {
    const { signal, timeoutMs = defaults.timeoutMs } = options
    return within(options, openDeadline({ signal, timeoutMs }))
  }

  function within(options: CallOptions, deadline: Deadline): Repeating {
    const { retriesMax = defaults.retriesMax, onTry = defaults.onTry } = options
    return { deadline, retriesMax, onTry }
  }

  return {
    transport,
    begin,
    /** Makes a call of one request, and returns the body of its answer. */
    async json<Body>(call: Call, options: CallOptions): Promise<Body> {
      return (await transport.send(call, begin(options), readJson<Body>)).body
    },
  }
}

/** Returns a path with a query of the fields that are given. */
export function pathWith(path: string, query: object): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value))
  }
  const text = given.toString()
  return text === '' ? path : `${path}?${text}`
}

/** Returns the path of a task. */
export function taskPath(taskId: string, more = ''): string {
  return `/v1/tasks/${encodeURIComponent(taskId)}${more}`
}
