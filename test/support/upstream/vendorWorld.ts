import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { newUploadId } from '../../../src/domain/ids.ts'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import type { Family } from '../../../src/domain/models/models.ts'
import type { ImageRequest, Route } from '../../../src/domain/tasks/imageRequest.ts'
import { answerImageKey } from '../../../src/domain/upstream/answerMeta.ts'
import type { Channel } from '../../../src/domain/upstream/channel.ts'
import { createUpstreamCaller } from '../../../src/upstream/callUpstream.ts'
import { createUpstreamConnections } from '../../../src/upstream/upstreamConnections.ts'
import { createMemoryBlobs } from '../blobs/memoryBlobs.ts'
import { collect } from '../byteStreams.ts'
import type { AttemptWorld } from '../database/attemptWorld.ts'
import { insertTask } from '../database/insertTask.ts'
import { moneyOf } from '../database/money.ts'
import { createTestAttempts, outcomesOf, testChannel } from '../database/testAttempts.ts'
import { createTestProduceImage } from '../database/testProduceImage.ts'
import { paddedPng, redPixelPng } from '../images.ts'
import { tempFolder } from '../tempFolder.ts'
import { listen } from './testServers.ts'

/** An answer of a vendor. `image`: a good one. `reset`: none, after the request was read. */
export type Answer =
  | 'image'
  | 'reset'
  | {
      readonly status: number
      readonly body: string | Buffer
      readonly headers?: Readonly<Record<string, string>>
      readonly afterMs?: number
    }

export type Play = {
  readonly family: Family
  /** What the first channel answers, one call after the other. The last answer repeats. */
  readonly one: readonly Answer[]
  /** The same for the second channel. Absent: there is only one channel. */
  readonly two?: readonly Answer[]
  readonly sync?: boolean
  readonly action?: 'generate' | 'edit'
  readonly channel?: Partial<Channel>
  /** Whether only pauses between calls are waited for, and no cooldown. */
  readonly pausesAlone?: boolean
}

export type SeenCall = {
  readonly channel: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

const models = { A: 'familya-3-pro-image', B: 'familyb-image-2-vip' } as const

const data = redPixelPng.toString('base64')
const images = {
  A: JSON.stringify({
    candidates: [
      {
        content: { parts: [{ inlineData: { mimeType: 'image/png', data } }] },
        finishReason: 'STOP',
      },
    ],
  }),
  B: JSON.stringify({ created: 1, data: [{ b64_json: data }] }),
}

let worlds = 0

/**
 * Carries out one task of a client against vendors that answer as told, over real HTTP and with a real database. Waits are
 * not waited for: what is known of the task and its channels becomes older instead.
 */
export async function playTask({ pool }: Pick<AttemptWorld, 'pool'>, play: Play) {
  const { family, sync = false, action = 'generate' } = play
  worlds += 1
  const calls: SeenCall[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await collect(request)
    const channel = request.url?.startsWith('/one/') === true ? 'one' : 'two'
    const answers = (channel === 'one' ? play.one : play.two) ?? ['image']
    const before = calls.filter((call) => call.channel === channel).length
    calls.push({ channel, headers: request.headers, body })
    const answer = answers[Math.min(before, answers.length - 1)] ?? 'image'
    if (answer === 'reset') response.socket?.resetAndDestroy()
    else if (answer === 'image') response.end(images[family])
    else {
      await sleep(answer.afterMs ?? 0)
      response.writeHead(answer.status, answer.headers).end(answer.body)
    }
  }
  const url = await listen((request, response) => void serve(request, response).catch(() => {}))
  const channels = ['one', ...(play.two === undefined ? [] : ['two'])].map((name) =>
    testChannel({
      name: `${name}-${worlds}`,
      family,
      baseUrl: `${url}/${name}`,
      timeoutMs: 40_000,
      ...play.channel,
    }),
  )
  const attempts = await createTestAttempts(pool, channels)
  const dispatcher = createUpstreamConnections()
  onTestFinished(() => dispatcher.destroy())
  const blobs = createMemoryBlobs()
  const produce = createTestProduceImage({
    attempts,
    blobs,
    channels,
    callUpstream: createUpstreamCaller({
      blobs,
      models: createModelTable(),
      tempDir: tempFolder(),
      dispatcher,
      safetySecret: 'secret',
    }),
  })
  const route: Route = sync
    ? action === 'edit'
      ? 'images.edits'
      : 'images.generations'
    : 'images.tasks'
  const { taskId } = await insertTask(pool, { route })
  const inputs = await Promise.all(
    (action === 'edit' ? [1, 2] : []).map(async (salt) => {
      const blobKey = `${newUploadId('input')}/0`
      await blobs.put([blobKey, paddedPng(4_000 + salt, salt)])
      return { blobKey, mimeType: 'image/png', bytes: 4_000 + salt, sha256: '' } as const
    }),
  )
  const request: ImageRequest = {
    route,
    family,
    model: models[family],
    action,
    body: { kind: 'prompt', prompt: 'a lighthouse' },
    inputs,
  }
  await pool.query(
    'update task set family = $2, model = $3, action = $4, request = $5 where task_id = $1',
    [taskId, family, request.model, action, JSON.stringify(request)],
  )
  const waits: string[] = []
  const names = channels.map(({ name }) => name)
  let result = await produce({ taskId })
  const goesOn = (reason: string) => play.pausesAlone !== true || reason === 'backoff'
  while (result.kind === 'wait' && waits.length < 60 && goesOn(result.reason)) {
    waits.push(`${result.reason} ${Math.round(result.delayMs / 1000)}`)
    await pool.query(
      `with older as (
         update attempt set opened_at = opened_at - $2 * interval '1 ms', closed_at = closed_at - $2 * interval '1 ms'
         where task_id = $1)
       update cooldown set until_at = until_at - $2 * interval '1 ms' where channel = any($3)`,
      [taskId, result.delayMs, names],
    )
    result = await produce({ taskId })
  }
  const { rows } = await pool.query<{ model: string; fault: boolean; seconds: number }>(
    `select model, fault, length_ms::float8 / 1000 as seconds from cooldown where channel = $1`,
    [names[0]],
  )
  const { rows: stored } = await pool.query<{ answer: string | null }>(
    'select answer_id as answer from task where task_id = $1',
    [taskId],
  )
  const answerId = stored[0]?.answer ?? undefined
  const kept = answerId === undefined ? undefined : await blobs.read(answerImageKey(answerId))
  const [, ending] = await moneyOf(pool, taskId)
  return {
    taskId,
    names,
    calls,
    waits,
    channelsCalled: calls.map(({ channel }) => channel).join(' '),
    outcomes: await outcomesOf(pool, taskId),
    end: result.kind === 'failed' ? result.failure.code : result.kind,
    cause: result.kind === 'failed' ? result.failure.cause : undefined,
    charge: ending,
    image: kept && (await collect(kept.content)),
    cooldown: rows[0],
  }
}

/** The page of an edge or a proxy. */
export function page(status: number): Answer {
  const body = `<html><head><title>${status}</title></head></html>`
  return { status, body, headers: { 'content-type': 'text/html' } }
}

type ErrorFields = {
  readonly code?: string | number | null
  readonly type?: string
  readonly param?: string
  readonly message?: string
}

/** An error in OpenAI's form. */
export function openAi(status: number, fields: ErrorFields = {}): Answer {
  const error = {
    message: 'No.',
    type: 'invalid_request_error',
    param: null,
    code: null,
    ...fields,
  }
  return { status, body: JSON.stringify({ error }) }
}

/** An error in Google's form, sent after `afterMs`. */
export function google(
  status: number,
  name: string,
  reason?: string,
  given: { readonly message?: string; readonly afterMs?: number } = {},
): Answer {
  const { message = 'No.', afterMs = 0 } = given
  const details = reason === undefined ? [] : [{ '@type': 'ErrorInfo', reason }]
  return {
    status,
    afterMs,
    body: JSON.stringify({ error: { code: status, message, status: name, details } }),
  }
}

/** A 200 of family A without an image. */
export function finished(finishReason: string): Answer {
  return { status: 200, body: JSON.stringify({ candidates: [{ finishReason, index: 0 }] }) }
}
