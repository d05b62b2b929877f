import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { defined } from '../../src/domain/defined.ts'
import { createSimulatorClient } from '../../test/support/simulatorClient.ts'
import { runParallel } from '../../test/support/timing.ts'
import type { Entry } from './history.ts'
import { digestOf } from './history.ts'
import type { Owner, World } from './owner.ts'
import { actAs, markerOf, retryMs } from './owner.ts'

/** How rows become entries of the history. `ms(…)` is a time in milliseconds. */
const rowsSql = [
  `select 'taskRow' as type, task_id as task, account_id as account, encode(key_digest, 'hex') as key, route, model,
     action, size, quality, status, failure_code as code, credits, ms(created_at) as "createdAt",
     ms(completed_at) as "completedAt", left(asset_sha256, 16) as image from task where account_id = any($1)`,
  `select 'ledgerRow' as type, entry_id as entry, account_id as account, task_id as task, kind, credits,
     ms(created_at) as at from ledger where account_id = any($1)`,
  `select 'attemptRow' as type, task_id as task, n, channel, model, ms(opened_at) as "openedAt",
     ms(closed_at) as "closedAt", class, upstream_request_id as call from attempt
     where task_id in (select task_id from task where account_id = any($1))`,
]

const [readsAtOnce, triesMax] = [8, 20]

/** Writes into the history what remains when all is over, by SQL, by the public API, and of the bucket and the upstream. */
export async function takeSnapshot(
  pool: Pool,
  world: World,
  {
    owners,
    upstreamUrl,
    bucketFolder,
  }: {
    readonly owners: readonly Owner[]
    readonly upstreamUrl: string
    readonly bucketFolder: string
  },
): Promise<void> {
  const { add } = world
  const tasks: { task: string; account: string }[] = []
  for (const sql of rowsSql) {
    const timed = sql.replace(/ms\((\w+)\)/g, 'extract(epoch from $1) * 1000')
    const text = `select json_strip_nulls(to_json(one)) as entry from (${timed}) one`
    const { rows } = await pool.query<{ entry: Entry }>(text, [
      owners.map(({ account }) => account),
    ])
    for (const { entry } of rows) {
      add(entry)
      if (entry.type === 'taskRow') tasks.push(entry)
    }
  }
  const byAccount = new Map(owners.map((owner) => [owner.account, actAs(owner, world)]))
  await runParallel(tasks.length, readsAtOnce, async (n) => {
    const { task, account } = tasks[n] ?? { task: '', account: '' }
    const client = byAccount.get(account)
    const record = await answerOf(async () => client?.look(task, 'end'))
    const url = record?.output?.assets[0]?.url
    if (url !== undefined) await answerOf(async () => client?.download(task, url, 'given'))
  })
  for (const client of byAccount.values()) await answerOf(() => client.readBooks('end'))
  const { data } = (await byAccount.values().next().value?.ask('/v1/models'))?.json() ?? {}
  for (const { id, family, sizes, prices } of data)
    add({ type: 'model', model: id, family, sizes, prices })
  for (const call of await createSimulatorClient(upstreamUrl).calls()) {
    const {
      id,
      at: from,
      prompt,
      idempotencyKey,
      model,
      apiKeyDigest,
      status,
      retryAfter,
      billed: paid,
      clientAborted: cut,
    } = call
    add({
      type: 'call',
      from,
      at: call.endedAt ?? from,
      id,
      model: model ?? '',
      channel: apiKeyDigest ?? '',
      paid,
      cut,
      ...defined({
        marker: prompt === null ? undefined : markerOf(prompt),
        key: idempotencyKey === null ? undefined : digestOf(idempotencyKey),
        status: status ?? undefined,
        retryAfterMs: retryAfter === null ? undefined : Number(retryAfter) * 1000,
      }),
    })
  }
  // Where the bucket is elsewhere, there is no folder.
  const files = existsSync(bucketFolder)
    ? readdirSync(bucketFolder, { recursive: true, encoding: 'utf8' })
    : []
  for (const file of files) {
    const bytes = bytesOf(join(bucketFolder, file))
    if (bytes !== undefined) {
      add({ type: 'blob', name: file, bytes: bytes.length, digest: digestOf(bytes) })
    }
  }
}

/** Asks again while no answer comes in time: the machine may be busy. */
async function answerOf<Answer>(
  ask: () => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  for (let tries = 1; ; tries += 1) {
    const answer = await ask()
    if (answer !== undefined || tries >= triesMax) return answer
    await sleep(retryMs)
  }
}

/** Reads a file. A folder has no bytes, and the sweep may have deleted a file meanwhile. */
function bytesOf(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}
