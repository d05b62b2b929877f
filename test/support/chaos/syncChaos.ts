import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import sharp from 'sharp'
import type { SimulatorCall } from '../../../src/dev/simulator/callLog.ts'
import type { ChaosClientDeps } from './chaosClient.ts'
import { upstreamFault } from './chaosRequest.ts'
import type { Seeded } from '../seeded.ts'
import type { TestAccount } from '../service/testAccount.ts'

/** A synchronous call that its client repeats under one idempotency key until the answer is final. */
export type SyncChaosRequest = {
  /** The start of the prompt, by which the call log of the simulator identifies the request. */
  readonly tag: string
  readonly account: TestAccount
  readonly key: string
  readonly prompt: string
  /** The status of each answer, in order. `none`: no answer arrived. */
  readonly answers: (number | 'none')[]
  /** The images of all answers with an image, in base64. */
  readonly images: Set<string>
}

/** After this time a client breaks its connection, and repeats the call. */
const callMsMax = 15_000
const retryMs = 300
/** After so many answers a client gives up. The upstream refuses some prompts each time. */
const triesMax = 20
/** At most so many calls of a task may have done work. */
const workingCallsMax = 3

/** Chooses a synchronous request at random. Half of the requests carry an upstream fault. */
export function syncChaosRequest(
  index: number,
  accounts: readonly TestAccount[],
  chance: Seeded,
): SyncChaosRequest {
  const tag = `sync chaos ${index};`
  return {
    tag,
    account: chance.pick(accounts),
    key: `sync-key-${index}`,
    prompt: tag + upstreamFault(chance),
    answers: [],
    images: new Set(),
  }
}

/** Repeats the call until it gets an answer that another try cannot change, or gives up. */
export async function runSyncChaosClient(
  { url, over }: Pick<ChaosClientDeps, 'url' | 'over'>,
  request: SyncChaosRequest,
): Promise<void> {
  while (!over.aborted && request.answers.length < triesMax) {
    const answer = await callOnce(url(), request)
    request.answers.push(answer === 'none' ? 'none' : answer.status)
    if (answer !== 'none' && isFinal(answer)) return
    await sleep(retryMs)
  }
}

type Answer = {
  readonly status: number
  readonly body: {
    readonly data?: readonly { readonly b64_json: string }[]
    readonly error?: { readonly code: string }
  }
}

async function callOnce(url: string, request: SyncChaosRequest): Promise<Answer | 'none'> {
  const { account, key, prompt } = request
  try {
    const answer = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${account.secret}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ model: 'familyb-image-2-vip', prompt }),
      signal: AbortSignal.timeout(callMsMax),
    })
    const body: Answer['body'] = JSON.parse(await answer.text())
    const image = body.data?.[0]?.b64_json
    if (image !== undefined) request.images.add(image)
    return { status: answer.status, body }
  } catch {
    return 'none'
  }
}

/** A 429 asks for another try. The other two codes say nothing about the task. */
function isFinal({ status, body }: Answer): boolean {
  const code = body.error?.code ?? ''
  return status !== 429 && !['generation_timeout', 'internal_error', 'cancelled'].includes(code)
}

type KeyRow = {
  readonly keyDigest: string
  readonly tasks: number
  readonly live: number
  readonly succeeded: number
  readonly attempts: number
}

/**
 * Checks the synchronous requests once all tasks have ended. A key may have had several tasks, because a task that
 * ended without work, or with a 429, frees its key, but at most one image.
 */
export async function brokenSyncInvariants(
  pool: Pool,
  requests: readonly SyncChaosRequest[],
  calls: readonly SimulatorCall[],
): Promise<readonly string[]> {
  const rows = new Map((await keyRows(pool)).map((row) => [row.keyDigest, row]))
  const broken: string[] = []
  for (const request of requests) {
    const row = rows.get(createHash('sha256').update(request.key).digest('hex'))
    const own = calls.filter(({ prompt }) => prompt?.startsWith(request.tag) === true)
    broken.push(...brokenOf(request, row, own))
    for (const image of request.images) {
      const decodes = await sharp(Buffer.from(image, 'base64'))
        .stats()
        .then(Boolean, () => false)
      if (!decodes) broken.push(`the image of ${request.tag} does not decode`)
    }
  }
  return broken
}

function* brokenOf(
  { tag, answers, images }: SyncChaosRequest,
  row: KeyRow | undefined,
  calls: readonly SimulatorCall[],
): Generator<string> {
  const { tasks = 0, live = 0, succeeded = 0, attempts = 0 } = row ?? {}
  if (live > 0) yield `${tag} has not ended`
  if (succeeded > 1) yield `${tag} has ${succeeded} tasks with an image`
  if (images.size > 1) yield `${tag} got ${images.size} different images`
  if (images.size === 1 && succeeded !== 1) yield `${tag} got an image, and no task has one`
  const last = answers.at(-1)
  if (last !== 200 && last !== undefined && succeeded === 1 && isFinalFailure(last)) {
    yield `${tag} got ${last} at last, and has an image`
  }
  const working = calls.filter(({ fault }) => !['429', '503', 'quota'].includes(fault ?? ''))
  if (working.length > workingCallsMax * tasks) {
    yield `${tag} had ${working.length} calls that may have done work in ${tasks} tasks`
  }
  if (calls.length > attempts) yield `${tag} has ${calls.length} calls and ${attempts} attempts`
}

function isFinalFailure(status: number | 'none'): boolean {
  return status !== 'none' && status >= 400 && status < 500 && status !== 429
}

async function keyRows(pool: Pool): Promise<readonly KeyRow[]> {
  const { rows } = await pool.query<KeyRow>(
    `select encode(key_digest, 'hex') as "keyDigest", count(*)::int as tasks,
       count(*) filter (where completed_at is null)::int as live,
       count(*) filter (where status = 'succeeded')::int as succeeded,
       sum((select count(*) from attempt where attempt.task_id = task.task_id))::int as attempts
     from task where route <> 'images.tasks' group by key_digest`,
  )
  return rows
}
