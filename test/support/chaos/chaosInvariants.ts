import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import sharp from 'sharp'
import type { SimulatorCall } from '../../../src/dev/simulator/callLog.ts'
import type { TaskRecord } from '../clients/client.ts'
import type { TestService } from '../service/testService.ts'
import { isTerminal, lookup } from './chaosClient.ts'
import type { ChaosRequest } from './chaosRequest.ts'

type TaskRow = {
  readonly taskId: string
  readonly keyDigest: string
  readonly status: string
  readonly createdAtMs: number
  readonly completedAtMs: number | null
  readonly attempts: number
  readonly lastOpenedAtMs: number | null
}

/** Of research reliability.md section 2, after everything has healed and ended. Empty: all kept. */
export async function brokenInvariants(
  service: TestService,
  requests: readonly ChaosRequest[],
): Promise<{ readonly broken: readonly string[]; readonly recovered: number }> {
  const rows = await taskRows(service.pool)
  const broken: string[] = []
  const byDigest = new Map(rows.map((row) => [row.keyDigest, row]))
  const calls = service.simulator.calls()
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
    broken.push(`I1: ${rows.length} tasks of ${byDigest.size} keys`)
  return { broken, recovered }
}

/** I1, I2, D1, D2: what a client was told holds. */
function* answersOf(request: ChaosRequest, row: TaskRow | undefined): Generator<string> {
  const { tag } = request
  const answers = request.answers.flatMap((answer) => (answer.kind === 'answer' ? [answer] : []))
  const accepted = answers.filter(({ status }) => status === 202)
  const fresh = accepted.filter(({ replayed }) => replayed === 'false')
  const unanswered = request.answers.length - answers.length
  const failed = answers.filter(({ status }) => status >= 500).length
  if (new Set(accepted.map(({ text }) => text)).size > 1) yield `I1: ${tag} accepted as two tasks`
  if (fresh.length > 1) yield `I1: ${tag} was new ${fresh.length} times`
  if (accepted.length > 0 && fresh.length === 0 && unanswered + failed === 0) {
    yield `I1: ${tag} was never new`
  }
  if (accepted.length > 0 && row?.taskId !== request.taskId) yield `D1: ${tag} is lost`
  if (row !== undefined && !['succeeded', 'failed'].includes(row.status)) {
    yield `D3: ${tag} is ${row.status}`
  }
  const couldBe = accepted.length + unanswered + failed > 0
  if (row !== undefined && !couldBe) yield `D2: ${tag} was refused and has a task`
  for (const answer of request.conflictAnswers) {
    if (answer.kind === 'answer' && answer.status < 500 && answer.status !== 409) {
      yield `I2: ${tag} changed is ${answer.status}`
    }
  }
}

/** D4: forward only, and an end is an end. */
function* historyOf({ tag, seen }: ChaosRequest): Generator<string> {
  const order = ['queued', 'processing', 'succeeded', 'failed']
  for (const [i, record] of seen.entries()) {
    const before = seen[i - 1]
    if (before === undefined) continue
    const [from, to] = [order.indexOf(before.status), order.indexOf(record.status)]
    if (to < from) yield `D4: ${tag} from ${before.status} to ${record.status}`
    if (record.progress < before.progress) yield `D4: ${tag} progress fell`
    if (isTerminal(before)) yield* sameEnd(tag, before, record)
  }
}

function* sameEnd(tag: string, before: TaskRecord, after: TaskRecord): Generator<string> {
  const [was, is] = [JSON.stringify(before), JSON.stringify(after)]
  if (was !== is) yield `D4: the end of ${tag} changed from ${was} to ${is}`
}

/** U1, U2: no more calls than allowed, each within an attempt that the gate let through. */
function* callsOf(
  { tag }: ChaosRequest,
  row: TaskRow | undefined,
  all: readonly SimulatorCall[],
): Generator<string> {
  const calls = all.filter(({ prompt }) => prompt?.startsWith(tag) === true)
  const working = calls.filter(({ fault }) => fault !== '429' && fault !== '503')
  if (working.length > 3) yield `U1: ${tag} was called for ${working.length} times`
  if (row === undefined) {
    if (calls.length > 0) yield `U2: ${tag} has calls and no task`
    return
  }
  if (calls.length > row.attempts)
    yield `U2: ${tag} has ${calls.length} calls, ${row.attempts} attempts`
  if (calls.some(({ at }) => at < row.createdAtMs - 1)) yield `U2: ${tag} was called for too early`
  const { lastOpenedAtMs, completedAtMs } = row
  if ((lastOpenedAtMs ?? 0) > (completedAtMs ?? Infinity))
    yield `U2: ${tag} has an attempt after its end`
}

/** M4, M5, A3: an image exactly where the task succeeded, and it decodes; the last reading is the end. */
async function publishedOf(
  service: TestService,
  request: ChaosRequest,
  row: TaskRow | undefined,
): Promise<readonly string[]> {
  const { tag, taskId } = request
  if (taskId === undefined || row === undefined) return []
  const record = await lookup(service.apis[0]?.url ?? '', request, taskId)
  if (record === undefined) return [`D1: ${tag} cannot be read`]
  const last = request.seen.at(-1)
  const broken = last !== undefined && isTerminal(last) ? [...sameEnd(tag, last, record)] : []
  if (record.status !== row.status)
    broken.push(`D4: ${tag} reads ${record.status}, is ${row.status}`)
  const url = record.output?.assets[0]?.url
  if ((url !== undefined) !== (row.status === 'succeeded'))
    broken.push(`M5: ${tag} publishes wrongly`)
  if (url === undefined) return broken
  try {
    // The address names the API that accepted; any other serves it too, and that one may be gone.
    const { pathname, search } = new URL(url)
    const answer = await fetch((service.apis[0]?.url ?? '') + pathname + search)
    await sharp(await answer.arrayBuffer()).stats()
  } catch {
    broken.push(`A3: the image of ${tag} does not decode`)
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
     from task`,
  )
  return rows
}
