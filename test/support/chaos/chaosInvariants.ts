import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import sharp from 'sharp'
import type { SimulatorCall } from '../../../src/dev/simulator/calls.ts'
import { readUsage } from '../../../src/store/accounts/readUsage.ts'
import { isTerminal, lookup } from './chaosClient.ts'
import type { ChaosRequest } from './chaosRequest.ts'
import type { TaskRecord } from '../clients/client.ts'
import type { TestService } from '../service/testService.ts'

type TaskRow = {
  readonly taskId: string
  readonly keyDigest: string
  readonly status: string
  readonly createdAtMs: number
  readonly completedAtMs: number | null
  readonly attempts: number
  readonly lastOpenedAtMs: number | null
}

/**
 * Checks the invariants once all faults are over and all tasks have ended. `broken` has one line per violation.
 * `recovered` counts tasks whose client never got the 202.
 */
export async function brokenInvariants(
  service: TestService,
  requests: readonly ChaosRequest[],
): Promise<{ readonly broken: readonly string[]; readonly recovered: number }> {
  const rows = await taskRows(service.pool)
  const broken: string[] = []
  const byDigest = new Map(rows.map((row) => [row.keyDigest, row]))
  const calls = await service.simulator.calls()
  let recovered = 0
  for (const request of requests) {
    const row = byDigest.get(createHash('sha256').update(request.key).digest('hex'))
    if (row !== undefined && request.taskId === undefined) recovered += 1
    broken.push(
      ...answersOf(request, row),
      ...historyOf(request),
      ...callsOf(request, row, calls),
      ...(await publishedOf(service, request, row)),
    )
  }
  if (rows.length !== byDigest.size)
    broken.push(`${rows.length} tasks for ${byDigest.size} idempotency keys`)
  broken.push(...(await usageOf(service.pool)))
  return { broken, recovered }
}

/** One key makes one task; an accepted task exists; a refused request made none; a changed request gets 409. */
function* answersOf(request: ChaosRequest, row: TaskRow | undefined): Generator<string> {
  const { tag } = request
  const answers = request.answers.flatMap((answer) => (answer.kind === 'answer' ? [answer] : []))
  const accepted = answers.filter(({ status }) => status === 202)
  const fresh = accepted.filter(({ replayed }) => replayed === 'false')
  const unanswered = request.answers.length - answers.length
  const failed = answers.filter(({ status }) => status >= 500).length
  if (new Set(accepted.map(({ text }) => text)).size > 1) yield `${tag} was accepted as two tasks`
  if (fresh.length > 1) yield `${tag} was accepted as a new task ${fresh.length} times`
  if (accepted.length > 0 && fresh.length === 0 && unanswered + failed === 0) {
    yield `${tag} was only ever accepted as a replay`
  }
  if (accepted.length > 0 && row?.taskId !== request.taskId)
    yield `${tag} was accepted and its task is lost`
  if (row !== undefined && !['succeeded', 'failed'].includes(row.status)) {
    yield `${tag} has not ended: ${row.status}`
  }
  const mayHaveBeenAccepted = accepted.length + unanswered + failed > 0
  if (row !== undefined && !mayHaveBeenAccepted) yield `${tag} was refused and has a task`
  for (const answer of request.conflictAnswers) {
    if (answer.kind === 'answer' && answer.status < 500 && answer.status !== 409) {
      yield `${tag} with a changed body got ${answer.status} instead of 409`
    }
  }
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

/** At most three calls may have done work, and each call belongs to an attempt that the gate opened. */
function* callsOf(
  { tag }: ChaosRequest,
  row: TaskRow | undefined,
  all: readonly SimulatorCall[],
): Generator<string> {
  const calls = all.filter(({ prompt }) => prompt?.startsWith(tag) === true)
  const working = calls.filter(({ fault }) => fault !== '429' && fault !== '503')
  if (working.length > 3) yield `${tag} had ${working.length} calls that may have done work`
  if (row === undefined) {
    if (calls.length > 0) yield `${tag} has upstream calls and no task`
    return
  }
  if (calls.length > row.attempts)
    yield `${tag} has ${calls.length} calls and only ${row.attempts} attempts`
  if (calls.some(({ at }) => at < row.createdAtMs - 1))
    yield `${tag} had a call before its task existed`
  const { lastOpenedAtMs, completedAtMs } = row
  if ((lastOpenedAtMs ?? 0) > (completedAtMs ?? Infinity))
    yield `${tag} has an attempt after its end`
}

/** A task has an image exactly when it succeeded, and the image decodes. The record still matches the last one read. */
async function publishedOf(
  service: TestService,
  request: ChaosRequest,
  row: TaskRow | undefined,
): Promise<readonly string[]> {
  const { tag, taskId } = request
  if (taskId === undefined || row === undefined) return []
  const record = await lookup(service.apis[0]?.url ?? '', request, taskId)
  if (record === undefined) return [`${tag} cannot be read`]
  const last = request.seen.at(-1)
  const broken = last !== undefined && isTerminal(last) ? [...sameEnd(tag, last, record)] : []
  if (record.status !== row.status)
    broken.push(`${tag} reads ${record.status}, but its row is ${row.status}`)
  const url = record.output?.assets[0]?.url
  if ((url !== undefined) !== (row.status === 'succeeded'))
    broken.push(
      `${tag} is ${row.status} and ${url === undefined ? 'has no image' : 'has an image'}`,
    )
  if (url === undefined) return broken
  try {
    // Every API serves the image. The URL may point to one that was killed, so ask the first API.
    const { pathname, search } = new URL(url)
    const answer = await fetch((service.apis[0]?.url ?? '') + pathname + search)
    await sharp(await answer.arrayBuffer()).stats()
  } catch {
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
    const seen = JSON.stringify(usage === 'too_many_rows' ? usage : usage.rows)
    const expected = JSON.stringify([{ ...ended, credits: spent }])
    if (seen !== expected) broken.push(`the usage of ${accountId} is ${seen}, not ${expected}`)
  }
  return broken
}

async function taskRows(pool: Pool): Promise<readonly TaskRow[]> {
  const { rows } = await pool.query<TaskRow>(
    `select task_id as "taskId", encode(key_digest, 'hex') as "keyDigest", status,
       (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
       (extract(epoch from completed_at) * 1000)::float8 as "completedAtMs",
       (select count(*)::int from attempt where attempt.task_id = task.task_id) as attempts,
       (select (extract(epoch from max(opened_at)) * 1000)::float8 from attempt
        where attempt.task_id = task.task_id) as "lastOpenedAtMs"
     from task where route = 'images.tasks' and key_digest is not null`,
  )
  return rows
}
