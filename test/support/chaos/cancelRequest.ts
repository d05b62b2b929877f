import type { Client } from '../clients/client.ts'
import { editBody, generateBody } from '../clients/requestBodies.ts'
import * as call from '../clients/syncCalls.ts'
import type { Seeded } from '../seeded.ts'

/** One answer of Darkroom. `credits` and `retry` are headers. */
export type SeenAnswer = {
  readonly status: number
  readonly body: unknown
  readonly credits: string | null
  readonly retry: string | null
}

/** One request under one key, the cancels of its task, and what every caller got. */
export type CancelRequest = {
  readonly prompt: string
  readonly key: string
  readonly kind: CancelKind
  /** Synchronous calls that wait for the task at the same time. */
  readonly waiters: number
  /** When the cancels are sent, counted from the moment when the task exists. */
  readonly cancelsAtMs: readonly number[]
  /** The run is cancelled in Temporal as well, at this time. */
  readonly runCancelAtMs: number | undefined
  taskId: string | undefined
  readonly cancels: SeenAnswer[]
  readonly waited: SeenAnswer[]
}

const asyncKinds = ['generate', 'edit', 'asyncGenerateContent'] as const
const syncKinds = ['generations', 'edits', 'generateContent'] as const
type CancelKind = (typeof asyncKinds)[number] | (typeof syncKinds)[number]

/** What the upstream does. Most calls wait or are refused first, so that many cancels find no call under way. */
const faults = [
  'ok',
  'delay ms=400',
  '429 retry-after=1 times=1',
  '429 retry-after=1 times=2',
  '500 times=1',
  'reset times=1',
  'moderation',
  'bad-base64 times=1',
] as const

/** Chooses a request at random: its kind, its upstream, its waiters and the moments of its cancels. */
export function cancelRequest(index: number, chance: Seeded, cancelMsMax: number): CancelRequest {
  const isSync = chance.chance(0.5)
  const cancels = chance.chance(0.15) ? 0 : chance.between(1, 3)
  return {
    prompt: `cancel ${index}; [sim:${chance.pick(faults)}]`,
    key: `cancel-${index}`,
    kind: chance.pick(isSync ? syncKinds : asyncKinds),
    waiters: isSync ? chance.between(1, 3) : 0,
    cancelsAtMs: Array.from({ length: cancels }, () => chance.between(0, cancelMsMax)),
    runCancelAtMs: chance.chance(0.1) ? chance.between(0, cancelMsMax) : undefined,
    taskId: undefined,
    cancels: [],
    waited: [],
  }
}

/** Sends the request once. Resolves with the answer, for a synchronous call at the end of its task. */
export function sendRequest(
  client: Client,
  { kind, prompt, key }: CancelRequest,
): Promise<Response> {
  const headers = { 'idempotency-key': key }
  const contents = { contents: [{ parts: [{ text: prompt }] }] }
  switch (kind) {
    case 'generate':
      return client.submit(generateBody({ prompt }), headers)
    case 'edit':
      return client.submit(editBody({ prompt }), headers)
    case 'generations':
      return call.generate(client, { prompt }, headers)
    case 'edits':
      return call.edit(client, { prompt }, undefined, headers)
    case 'asyncGenerateContent':
    case 'generateContent':
      return call.content(client, kind, contents, undefined, headers)
    default:
      throw new Error(kind satisfies never)
  }
}

/** Reads what a caller sees of an answer. Images in the body are left out. */
export async function seenAnswer(response: Response): Promise<SeenAnswer> {
  const text = await response.text()
  return {
    status: response.status,
    body: text.length > 10_000 ? undefined : JSON.parse(text),
    credits: response.headers.get('x-credits-charged'),
    retry: response.headers.get('x-should-retry'),
  }
}
