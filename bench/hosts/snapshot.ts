import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { defined } from '../../src/domain/defined.ts'
import { createSimulatorClient } from '../../test/support/simulatorClient.ts'
import { runParallel } from '../../test/support/timing.ts'
import type { Entry } from './history.ts'
import { digestOf } from './history.ts'
import type { Owner, World } from './owner.ts'
import { actAs, markerOf } from './owner.ts'

/** How rows become entries of the history. `ms(…)` is a time in milliseconds. */
const rowsSql = [
  `select 'taskRow' as type, task_id as task, account_id as account, encode(key_digest, 'hex') as key, route, model,
     action, size, quality, status, failure_code as code, credits, ms(created_at) as "createdAt",
     ms(completed_at) as "completedAt", left(asset_sha256, 16) as image from task`,
  `select 'ledgerRow' as type, entry_id as entry, account_id as account, task_id as task, kind, credits,
     ms(created_at) as at from ledger`,
  `select 'attemptRow' as type, task_id as task, n, channel, model, ms(opened_at) as "openedAt",
     ms(closed_at) as "closedAt", class, upstream_request_id as call from attempt`,
]

const readsAtOnce = 8

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
    for (const { entry } of (await pool.query<{ entry: Entry }>(text)).rows) {
      add(entry)
      if (entry.type === 'taskRow') tasks.push(entry)
    }
  }
  const byAccount = new Map(owners.map((owner) => [owner.account, actAs(owner, world)]))
  await runParallel(tasks.length, readsAtOnce, async (n) => {
    const { task, account } = tasks[n] ?? { task: '', account: '' }
    const client = byAccount.get(account)
    const url = (await client?.look(task, 'end'))?.output?.assets[0]?.url
    if (url !== undefined) await client?.download(task, url, 'given')
  })
  for (const client of byAccount.values()) await client.readBooks('end')
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
  for (const file of readdirSync(bucketFolder, { recursive: true, encoding: 'utf8' })) {
    const path = join(bucketFolder, file)
    if (statSync(path).isFile()) {
      const bytes = readFileSync(path)
      add({ type: 'blob', name: file, bytes: bytes.length, digest: digestOf(bytes) })
    }
  }
}
