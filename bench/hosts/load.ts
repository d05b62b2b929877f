import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { spawnBound } from '../../src/dev/command.ts'
import { createSeeded } from '../../test/support/seeded.ts'
import type { createAccounts } from '../../test/support/service/testAccount.ts'
import { ownCheckout } from '../../test/support/service/testProcess.ts'
import { until } from '../../test/support/timing.ts'
import type { ClientsOptions } from './clients.ts'
import type { Recorder } from './history.ts'
import { openRecorder } from './history.ts'
import { takeSnapshot } from './snapshot.ts'

const poorCredits = 700
const [pauseMs, readyMsMax, overMsMax] = [1_000, 60_000, 120_000]

/**
 * Lets clients work on an installation until `meanwhile` and all tasks and deliveries are over, at most `drainMsMax` later, and
 * takes the snapshot. Then the history is whole. Returns the milliseconds from the end of the load until all was quiet.
 */
export async function runLoad(
  load: Omit<ClientsOptions, 'owners'>,
  options: {
    readonly account: ReturnType<typeof createAccounts>
    readonly pool: Pool
    readonly upstreamUrl: string
    readonly bucketFolder: string
    readonly drainMsMax: number
    /** Words before the command of the clients, which put them on a host of their own. */
    readonly within?: readonly string[]
    /** It fails when it did not try all and reach all. Default: no. */
    readonly long?: boolean
    readonly meanwhile?: (add: Recorder['add']) => Promise<void>
  },
): Promise<number> {
  const { account, pool, drainMsMax, within = [], long = false, meanwhile } = options
  const { history, seed, apis, receiver } = load
  const { add, close } = openRecorder(history)
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ownCheckout, encoding: 'utf8' })
  const promised = { callsMax: 3, slackMs: 1_000, long }
  add({ type: 'run', at: Date.now(), seed, commit: commit.trim(), ...promised })
  const made = [await account(), await account(), await account(), await account(poorCredits)]
  const owners = made.map(({ accountId, secret }) => ({ account: accountId, secret }))
  const clients: ClientsOptions = { ...load, owners }
  const args = [join(ownCheckout, 'bench/hosts/clients.ts'), JSON.stringify(clients)]
  const program = { file: process.execPath, args, env: process.env, within }
  const running = spawnBound(program, { stdio: ['pipe', 'pipe', 'inherit'] })
  if (running.child.stdout === null) throw new Error('Bug: the output of the clients is no pipe')
  let said = ''
  running.child.stdout.on('data', (text) => (said += text))
  await until('clients', () => said.includes('ready') || undefined, readyMsMax)
  const tell = (what: string) => fetch(`http://${receiver}/${what}`, { method: 'POST' })
  await Promise.all([meanwhile?.(add), sleep(1000 * load.seconds)])
  await tell('heal')
  const startedAt = performance.now()
  const drainedMs = () => Math.round(performance.now() - startedAt)
  const accounts = made.map(({ accountId }) => accountId)
  const isDone = async () => said.includes('done') && (await isQuiet(pool, accounts))
  while (drainedMs() < drainMsMax && !(await isDone())) await sleep(pauseMs)
  const took = drainedMs()
  await tell('over')
  await until('the end of the clients', () => said.includes('done') || undefined, overMsMax)
  running.kill('SIGTERM')
  await running.ended
  const world = { apis, chance: createSeeded(seed), add, over: new AbortController().signal }
  await takeSnapshot(pool, world, { owners, ...options })
  close()
  return took
}

/** Makes deliveries of some accounts that wait for their next try due, and reports whether nothing of theirs is under way. */
async function isQuiet(pool: Pool, accounts: readonly string[]): Promise<boolean> {
  const due = `update webhook_delivery set next_attempt_at = least(next_attempt_at, now()),
    claimed_until = least(claimed_until, now() + interval '3 seconds') from webhook
    where webhook_delivery.webhook_id = webhook.webhook_id and account_id = any($1)
      and webhook.status = 'active' and webhook_delivery.status = 'pending'`
  const live = `select from task where completed_at is null and account_id = any($1)`
  const counts = [due, live].map(async (sql) => (await pool.query(sql, [accounts])).rowCount)
  return Promise.all(counts).then(
    (left) => left.every((count) => count === 0),
    () => false,
  )
}
