import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import { defined } from '../../src/domain/defined.ts'
import type { Answer, KeyedRequest } from '../../test/support/chaos/chaosRequest.ts'
import { codeOf, sendRequest } from '../../test/support/chaos/chaosRequest.ts'
import type { TaskRecord } from '../../test/support/clients/client.ts'
import { readEvents } from '../../test/support/clients/eventStream.ts'
import type { Seeded } from '../../test/support/seeded.ts'
import type { Entry, EntryOf } from './history.ts'
import { digestOf } from './history.ts'

/** An account, as its owner knows it. */
export type Owner = { readonly account: string; readonly secret: string }

/** What all owners share. Each request goes to any of the APIs. */
export type World = {
  readonly apis: readonly string[]
  readonly chance: Seeded
  readonly add: (entry: Entry) => void
  /** Aborts when the run is over. */
  readonly over: AbortSignal
}

const [answerMsMax, imageMsMax] = [5_000, 20_000]
export const retryMs = 300

type Sent = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Returns what an owner does. Each request and its answer go into the history. None of them throws. */
export function actAs({ account, secret }: Owner, { apis, chance, add, over }: World) {
  const authorization = `Bearer ${secret}`

  /** Sends a request until its answer is final. Returns the task, if an answer named it. */
  async function buy(request: KeyedRequest, triesMax: number): Promise<string | undefined> {
    let task: string | undefined
    for (let tries = 0; !over.aborted && tries < triesMax; tries += 1) {
      const from = Date.now()
      const limitMs = request.isSync ? imageMsMax : answerMsMax
      const answer = await sendRequest({ url: chance.pick(apis), authorization }, request, limitMs)
      const submit = submitOf(request, answer)
      add({ type: 'submit', from, at: Date.now(), account, ...submit })
      task = submit.task ?? task
      if (isFinal(submit)) break
      await sleep(retryMs)
    }
    return task
  }

  async function ask(path: string, init: Sent = {}, waitMs = 0) {
    const from = Date.now()
    const headers = { authorization, ...init.headers }
    const signal = AbortSignal.timeout(answerMsMax + waitMs)
    const answer = await fetch(chance.pick(apis) + path, { ...init, headers, signal }).catch(
      () => undefined,
    )
    const bytes = await answer?.bytes().catch(() => undefined)
    const status = bytes && answer?.status
    const charged = numberOf(answer?.headers.get('x-credits-charged') ?? undefined)
    const json = () => Object(JSON.parse(Buffer.from(bytes ?? []).toString() || '{}'))
    return {
      bytes,
      json,
      told: { from, at: Date.now(), ...defined({ status }) },
      ...defined({ charged }),
    }
  }

  async function look(task: string, observer: string, wait = 0): Promise<TaskRecord | undefined> {
    const init = wait > 0 ? { headers: { prefer: `wait=${wait}` } } : {}
    const { json, told, charged } = await ask(`/v1/tasks/${task}`, init, wait * 1000)
    const record: TaskRecord | undefined = told.status === 200 ? json() : undefined
    const seen = defined({ charged, record: record && seenOf(record) })
    add({ type: 'read', ...told, account, observer, task, ...seen })
    return record
  }

  /** Reads the events of a task until its end. */
  async function listen(task: string, observer: string): Promise<void> {
    let [last, isOver] = ['', false]
    const isDone = () => isOver || over.aborted
    // An event may have been on its way for long: it can tell what was at any moment since this one.
    const from = Date.now()
    while (!isDone()) {
      const signal = AbortSignal.any([over, AbortSignal.timeout(imageMsMax)])
      const headers = { authorization, ...(last && { 'last-event-id': last }) }
      const response = fetch(`${chance.pick(apis)}/v1/tasks/${task}/events`, { headers, signal })
      const read = response.then((answer) =>
        readEvents(answer, ({ id, record }) => {
          last = String(id)
          isOver ||= isEnded(record)
          const told = { from, at: Date.now(), status: 200, record: seenOf(record) }
          add({ type: 'read', account, observer, task, ...told })
        }),
      )
      await read.catch(() => undefined)
      await sleep(retryMs)
    }
  }

  async function cancel(task: string): Promise<void> {
    const { json, told, charged } = await ask(`/v1/tasks/${task}/cancel`, { method: 'POST' })
    const code = told.status === 200 ? undefined : json().error?.code
    add({ type: 'cancel', ...told, account, task, ...defined({ code, charged }) })
  }

  /** Deletes a task. Returns whether that was confirmed. */
  async function remove(task: string): Promise<boolean> {
    const { told } = await ask(`/v1/tasks/${task}`, { method: 'DELETE' })
    add({ type: 'deletion', ...told, account, task })
    return told.status === 200
  }

  /** Downloads the image at the address of a record. Returns the status of the answer. */
  async function download(
    task: string,
    url: string,
    address: EntryOf<'image'>['address'],
  ): Promise<number | undefined> {
    const { pathname, search } = new URL(url)
    const changed = { given: '', variant: '&width=128', forged: 'x' }[address]
    const { bytes, told } = await ask(pathname + search + changed)
    const image = told.status === 200 && bytes ? bytes : undefined
    const seen = image && { image: digestOf(image), pixels: await pixelsOf(image) }
    add({ type: 'image', ...told, task, address, ...defined({ ...seen }) })
    return told.status
  }

  /** Reads what the account has, and has used since ever. Returns whether both were answered. */
  async function readBooks(observer: string): Promise<true | undefined> {
    const period = 'start_time=1970-01-01T00:00:00Z&end_time=2999-01-01T00:00:00Z'
    const own = await ask('/v1/account')
    const { total } = (await ask(`/v1/usage?${period}`)).json()
    const { available, held, spent } = own.json().credits ?? {}
    if (available === undefined || total === undefined) return undefined
    const usage = { credits: total.credits, ...total.tasks }
    add({ type: 'books', ...own.told, account, observer, available, held, spent, usage })
    return true
  }

  return { ask, buy, look, listen, cancel, remove, download, readBooks }
}

type Submit = Omit<EntryOf<'submit'>, 'type' | 'from' | 'at' | 'account'>

function submitOf(request: KeyedRequest, answer: Answer | 'none'): Submit {
  const { isSync, stream = false, kind, model, size = '', prompt, key } = request
  const asked = {
    marker: markerOf(prompt),
    key: createHash('sha256').update(key).digest('hex'),
    door: isSync ? (stream ? 'stream' : 'sync') : 'async',
    model,
    body: digestOf(JSON.stringify([kind, size, prompt])),
  } as const
  if (answer === 'none') return asked
  const { status, headers, text } = answer
  const header = (name: string) => headers.get(name) ?? undefined
  const [, image] = /"(?:data|b64_json)":"([^"]+)"/.exec(text) ?? []
  const isError = status === 200 && isSync && image === undefined
  const [, streamed] = (isError && /"(?:code|reason)":"([a-z_]+)"/.exec(text)) || []
  const accepted = status === 202 ? String(Object(JSON.parse(text)).task_id) : undefined
  return {
    ...asked,
    status,
    ...defined({
      task: accepted ?? header('x-task-id'),
      code: streamed ?? codeOf(answer),
      replayed: yesOf(header('idempotent-replayed')),
      held: numberOf(header('x-credits-held')),
      charged: numberOf(header('x-credits-charged')),
      retryAfter: header('retry-after'),
      shouldRetry: yesOf(header('x-should-retry')),
      image: image && digestOf(Buffer.from(image, 'base64')),
    }),
  }
}

/** A stream that has neither an image nor an error is a lost answer. */
function isFinal({ door, status, code = '', image, shouldRetry }: Submit): boolean {
  if (status === undefined) return false
  if (shouldRetry === false) return true
  if ([408, 429, 503].includes(status)) return false
  if (door === 'stream' && status === 200 && image === undefined && code === '') return false
  const passing = ['generation_timeout', 'internal_error', 'rate_limit_exceeded', 'cancelled']
  return !passing.includes(code)
}

/** The start of a prompt, which no other task has. */
export function markerOf(prompt: string): string {
  return prompt.split(';')[0] ?? ''
}

/** What a history says of a record. A webhook's has no `result`. */
export function seenOf({ result: _result, ...record }: TaskRecord) {
  const { status, progress, error } = record
  const digest = digestOf(JSON.stringify(record))
  return { status, progress, digest, ...defined({ code: error?.code }) }
}

export function isEnded({ status }: TaskRecord): boolean {
  return status !== 'queued' && status !== 'processing'
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}

function yesOf(text: string | undefined): boolean | undefined {
  return text === undefined ? undefined : text === 'true'
}

async function pixelsOf(image: Uint8Array): Promise<number | undefined> {
  const read = sharp(image).raw().toBuffer({ resolveWithObject: true })
  return read.then(
    ({ info }) => info.width * info.height,
    () => undefined,
  )
}
