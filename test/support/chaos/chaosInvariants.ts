import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import sharp from 'sharp'
import type { PricedRequest } from '../../../src/domain/models/prices.ts'
import { smallerPrices } from '../../../src/domain/models/smallerPrices.ts'
import type { SimulatorCall } from '../../../src/dev/simulator/calls.ts'
import { readUsage } from '../../../src/store/accounts/readUsage.ts'
import { isTerminal, lookup } from './chaosClient.ts'
import type { Answer, ChaosRequest } from './chaosRequest.ts'
import type { TaskRecord } from '../clients/client.ts'
import type { TestService } from '../service/testService.ts'
import { modelOf } from '../models.ts'

type TaskRow = {
  readonly taskId: string
  readonly request: PricedRequest & { readonly model: string }
  readonly held: number
  /** The settlement, if there is one, and what else ended the hold. */
  readonly charged: number
  readonly returned: number
  readonly keyDigest: string
  readonly status: string
  readonly createdAtMs: number
  readonly completedAtMs: number | null
  readonly attempts: number
  readonly lastOpenedAtMs: number | null
}

/** At most so many calls of a task may have done work. */
const workingCallsMax = 3

/** Checks the invariants once all faults are over and all tasks have ended. Returns one line per violation. */
export async function brokenInvariants(
  service: TestService,
  requests: readonly ChaosRequest[],
): Promise<readonly string[]> {
  const byDigest = Map.groupBy(await taskRows(service.pool), ({ keyDigest }) => keyDigest)
  const calls = await service.simulator.calls()
  const broken: string[] = []
  for (const request of requests) {
    const digest = createHash('sha256').update(request.key).digest('hex')
    const tasks = byDigest.get(digest) ?? []
    const own = calls.filter(({ prompt }) => prompt?.startsWith(request.tag) === true)
    broken.push(
      ...tasksOf(request, tasks),
      ...chargesOf(request, tasks),
      ...(request.isSync ? await imagesOf(request, tasks) : answersOf(request, tasks)),
      ...historyOf(request),
      ...callsOf(request, tasks, own),
      ...(await publishedOf(service, request, tasks)),
    )
  }
  return [...broken, ...(await usageOf(service.pool))]
}

/**
 * Every task has ended. One key makes one task; of a synchronous request several, because a task that ended without
 * work, or with a 429, frees its key, but at most one image.
 */
function* tasksOf({ tag, isSync }: ChaosRequest, tasks: readonly TaskRow[]): Generator<string> {
  const succeeded = tasks.filter(({ status }) => status === 'succeeded').length
  for (const { status } of tasks) {
    if (!['succeeded', 'failed'].includes(status)) yield `${tag} has not ended: ${status}`
  }
  if (!isSync && tasks.length > 1) yield `${tag} has ${tasks.length} tasks`
  if (succeeded > 1) yield `${tag} has ${succeeded} tasks with an image`
}

/**
 * An image is charged as the smallest size of its model, because every image is tiny, unless that costs more than the
 * hold. The rest of the hold goes back. A synchronous answer says the same.
 */
function* chargesOf({ tag, answers }: ChaosRequest, tasks: readonly TaskRow[]): Generator<string> {
  for (const { status, request, held, charged, returned } of tasks) {
    const [smallest] = smallerPrices(modelOf(request.model), request)
    const expected = status === 'succeeded' ? (smallest?.credits ?? held) : 0
    if (charged !== expected) yield `${tag} was charged ${charged} and not ${expected} of ${held}`
    if (charged + returned !== held) yield `${tag} held ${held}, and got ${returned} back`
    const told = answered(answers)
      .filter((answer) => status === 'succeeded' && answer.status === 200)
      .map(({ headers }) => headers.get('x-credits-charged'))
    for (const credits of told) {
      if (credits !== String(charged)) yield `${tag} was told ${credits} credits, not ${charged}`
    }
  }
}

const answered = (answers: readonly (Answer | 'none')[]): readonly Answer[] =>
  answers.flatMap((answer) => (answer === 'none' ? [] : [answer]))

/** An accepted task exists; a refused request made none; a changed request gets 409. */
function* answersOf(request: ChaosRequest, tasks: readonly TaskRow[]): Generator<string> {
  const { tag } = request
  const answers = answered(request.answers)
  const accepted = answers.filter(({ status }) => status === 202)
  const fresh = accepted.filter(({ headers }) => headers.get('idempotent-replayed') === 'false')
  const unanswered = request.answers.length - answers.length
  const failed = answers.filter(({ status }) => status >= 500).length
  if (new Set(accepted.map(({ text }) => text)).size > 1) yield `${tag} was accepted as two tasks`
  if (fresh.length > 1) yield `${tag} was accepted as a new task ${fresh.length} times`
  if (accepted.length > 0 && fresh.length === 0 && unanswered + failed === 0) {
    yield `${tag} was only ever accepted as a replay`
  }
  if (accepted.length > 0 && tasks[0]?.taskId !== request.taskId) {
    yield `${tag} was accepted and its task is lost`
  }
  const mayHaveBeenAccepted = accepted.length + unanswered + failed > 0
  if (tasks.length > 0 && !mayHaveBeenAccepted) yield `${tag} was refused and has a task`
  for (const { status } of answered(request.conflictAnswers)) {
    if (status < 500 && status !== 409) {
      yield `${tag} with a changed body got ${status} instead of 409`
    }
  }
}

/** All answers with an image have the same one, which decodes, and which no final refusal follows. */
async function imagesOf(
  { tag, answers }: ChaosRequest,
  tasks: readonly TaskRow[],
): Promise<readonly string[]> {
  const broken: string[] = []
  const hasImage = tasks.some(({ status }) => status === 'succeeded')
  const images = answered(answers).flatMap(
    ({ status, text }) => (status === 200 && /"(?:data|b64_json)":"([^"]+)"/.exec(text)?.[1]) || [],
  )
  const [image] = images
  if (new Set(images).size > 1) broken.push(`${tag} got different images`)
  if (image !== undefined && !hasImage) broken.push(`${tag} got an image, and no task has one`)
  if (image !== undefined && !(await decodes(Buffer.from(image, 'base64')))) {
    broken.push(`the image of ${tag} does not decode`)
  }
  const last = answers.at(-1)
  const isRefused = last !== undefined && last !== 'none' && last.status >= 400 && last.status < 500
  if (isRefused && last.status !== 429 && hasImage) {
    broken.push(`${tag} got ${last.status} at last, and has an image`)
  }
  return broken
}

function decodes(image: ArrayBuffer | Buffer): Promise<boolean> {
  return sharp(image)
    .stats()
    .then(Boolean, () => false)
}

/** Status and progress only move forward, and the record of an ended task does not change. */
function* historyOf({ tag, seen }: ChaosRequest): Generator<string> {
  const order = ['queued', 'processing', 'succeeded', 'failed']
  for (const [i, record] of seen.entries()) {
    const before = seen[i - 1]
    if (before === undefined) continue
    const [from, to] = [order.indexOf(before.status), order.indexOf(record.status)]
    if (to < from) yield `${tag} went from ${before.status} to ${record.status}`
    if (record.progress < before.progress) yield `the progress of ${tag} fell`
    if (isTerminal(before)) yield* sameEnd(tag, before, record)
  }
}

function* sameEnd(tag: string, before: TaskRecord, after: TaskRecord): Generator<string> {
  const [was, is] = [JSON.stringify(before), JSON.stringify(after)]
  if (was !== is) yield `the ended record of ${tag} changed from ${was} to ${is}`
}

/** At most three calls of a task may have done work, and each call belongs to an attempt that the gate opened. */
function* callsOf(
  { tag }: ChaosRequest,
  tasks: readonly TaskRow[],
  calls: readonly SimulatorCall[],
): Generator<string> {
  const working = calls.filter(({ fault }) => !['429', '503', 'quota'].includes(fault ?? ''))
  const attempts = tasks.reduce((sum, task) => sum + task.attempts, 0)
  if (working.length > workingCallsMax * tasks.length) {
    yield `${tag} had ${working.length} calls that may have done work in ${tasks.length} tasks`
  }
  if (calls.length > attempts) yield `${tag} has ${calls.length} calls and ${attempts} attempts`
  const firstAtMs = Math.min(...tasks.map(({ createdAtMs }) => createdAtMs))
  if (calls.some(({ at }) => at < firstAtMs - 1)) yield `${tag} had a call before its task existed`
  if (tasks.some((task) => (task.lastOpenedAtMs ?? 0) > (task.completedAtMs ?? Infinity))) {
    yield `${tag} has an attempt after its end`
  }
}

/** A task has an image exactly when it succeeded, and the image decodes. The record still matches the last one read. */
async function publishedOf(
  service: TestService,
  request: ChaosRequest,
  [task]: readonly TaskRow[],
): Promise<readonly string[]> {
  const { tag, taskId } = request
  if (taskId === undefined || task === undefined) return []
  const record = await lookup(service.apis[0]?.url ?? '', request, taskId)
  if (record === undefined) return [`${tag} cannot be read`]
  const last = request.seen.at(-1)
  const broken = last !== undefined && isTerminal(last) ? [...sameEnd(tag, last, record)] : []
  if (record.status !== task.status) {
    broken.push(`${tag} reads ${record.status}, but its row is ${task.status}`)
  }
  const url = record.output?.assets[0]?.url
  if ((url !== undefined) !== (task.status === 'succeeded')) {
    broken.push(`${tag} is ${task.status}, and the address of its image is ${url}`)
  }
  if (url === undefined) return broken
  // Every API serves the image. The URL may point to one that was killed, so ask the first API.
  const { pathname, search } = new URL(url)
  const answer = await fetch((service.apis[0]?.url ?? '') + pathname + search)
  if (!(await decodes(await answer.arrayBuffer()))) {
    broken.push(`the image of ${tag} does not decode`)
  }
  return broken
}

/** The usage of each account is what its balance has spent, and counts each of its tasks once. */
async function usageOf(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ accountId: string; spent: number; ended: object }>(
    `select account_id as "accountId", spent, (
       select json_build_object('succeeded', count(*) filter (where status = 'succeeded'),
         'failed', count(*) filter (where status = 'failed')) from task t
       where t.account_id = balance.account_id) as ended
     from account_balance as balance`,
  )
  const broken: string[] = []
  for (const { accountId, spent, ended } of rows) {
    const period = { startTime: '1970-01-01T00:00:00Z', endTime: '9999-01-01T00:00:00Z' }
    const usage = await readUsage(pool, accountId, { ...period, groupBy: [] })
    const seen = JSON.stringify(usage === 'too_many_rows' ? usage : usage.data)
    const expected = JSON.stringify([{ tasks: ended, credits: spent }])
    if (seen !== expected) broken.push(`the usage of ${accountId} is ${seen}, not ${expected}`)
  }
  return broken
}

async function taskRows(pool: Pool): Promise<readonly TaskRow[]> {
  const { rows } = await pool.query<TaskRow>(
    `select task_id as "taskId", credits as held,
       json_strip_nulls(json_build_object('model', model, 'size', size, 'quality', quality, 'action', action,
         'inputImages', case action when 'edit' then 1 else 0 end)) as request,
       (select coalesce(sum(l.credits), 0)::int from ledger l
        where l.task_id = task.task_id and kind = 'settle') as charged,
       (select coalesce(sum(l.credits), 0)::int from ledger l
        where l.task_id = task.task_id and kind in ('refund', 'release')) as returned,
       encode(key_digest, 'hex') as "keyDigest", status,
       (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
       (extract(epoch from completed_at) * 1000)::float8 as "completedAtMs",
       (select count(*)::int from attempt where attempt.task_id = task.task_id) as attempts,
       (select (extract(epoch from max(opened_at)) * 1000)::float8 from attempt
        where attempt.task_id = task.task_id) as "lastOpenedAtMs"
     from task where key_digest is not null order by created_at`,
  )
  return rows
}
