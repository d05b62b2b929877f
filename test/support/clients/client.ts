import { setTimeout as sleep } from 'node:timers/promises'

/** A task record as clients see it. Fields that do not apply are absent. */
export type TaskRecord = {
  readonly task_id: string
  readonly model: string
  readonly status: 'queued' | 'processing' | 'succeeded' | 'failed' | 'expired'
  readonly created_at: string
  readonly progress: number
  readonly completed_at?: string
  readonly output?: { readonly assets: readonly { type: string; url: string; mime_type: string }[] }
  readonly error?: { readonly code: string; readonly message: string }
  readonly result?: unknown
}

/** The body of a 202. `created_at` is in epoch seconds. */
export type Submitted = {
  readonly task_id: string
  readonly status: string
  readonly created_at: number
}

/** The longest wait that the API allows in a lookup. */
const waitSecondsMax = 60

/** A client of the HTTP API that sends one API key. */
export function createClient(url: string, secret: string) {
  const authorization = `Bearer ${secret}`

  async function submit(
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return fetch(`${url}/v1/images/tasks`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  /** Submits and returns the body of the 202. Throws for any other status. */
  async function accepted(
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Submitted> {
    const answer = await submit(body, headers)
    const text = await answer.text()
    if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${text}`)
    const submitted: Submitted = JSON.parse(text)
    return submitted
  }

  async function lookup(taskId: string, waitSeconds?: number): Promise<Response> {
    const prefer = waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` }
    return fetch(`${url}/v1/tasks/${taskId}`, { headers: { authorization, ...prefer } })
  }

  /**
   * Waits until the task ends. With `everyMs` it polls, which takes much more CPU, and adds every record to
   * `seen`. Throws after `limitMs`.
   */
  async function ended(
    taskId: string,
    options: {
      readonly limitMs?: number
      readonly everyMs?: number
      readonly seen?: TaskRecord[]
    } = {},
  ): Promise<TaskRecord> {
    const { limitMs = 60_000, everyMs, seen } = options
    const endsAtMs = performance.now() + limitMs
    for (;;) {
      const leftSeconds = Math.ceil((endsAtMs - performance.now()) / 1_000)
      const waitSeconds = Math.min(waitSecondsMax, Math.max(1, leftSeconds))
      const answer = await lookup(taskId, everyMs === undefined ? waitSeconds : undefined)
      if (answer.status !== 200) throw new Error(`lookup: ${answer.status} ${await answer.text()}`)
      const record: TaskRecord = JSON.parse(await answer.text())
      seen?.push(record)
      if (record.status !== 'queued' && record.status !== 'processing') return record
      if (performance.now() > endsAtMs)
        throw new Error(`${taskId} is ${record.status} after ${limitMs} ms`)
      await sleep(everyMs ?? 0)
    }
  }

  return { url, authorization, submit, accepted, lookup, ended }
}

export type Client = ReturnType<typeof createClient>

/** Returns the `error` of an answer with the error envelope. */
export async function errorOf(answer: Response): Promise<Record<string, unknown>> {
  const body: unknown = await answer.json()
  return Object(body).error
}
