/**
 * 2,000 waiters on one API, half of them lookups with `Prefer: wait`, half of them event streams, each for a
 * task of its own. The tasks end at about 100 per second by cancels, without a worker, so that only the way from
 * the commit to the client is measured. Then submits run while 2,000 waiters wait.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createNotifier } from '../src/store/connection/notifier.ts'
import { cancelTask } from '../src/store/tasks/cancelTask.ts'
import { taskEndChannel } from '../src/store/tasks/announceEnd.ts'
import { describeMs, percentile, runBench } from './support/runBench.ts'
import { createClient } from '../test/support/clients/client.ts'
import { openEvents, readEvents } from '../test/support/clients/eventStream.ts'
import { generateBody } from '../test/support/clients/requestBodies.ts'
import { insertTask } from '../test/support/database/insertTask.ts'
import { peakMiB } from '../test/support/service/processUsage.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { runParallel } from '../test/support/timing.ts'

const waiters = 2_000
const endsPerSecond = 100
const submits = 400
const submitClients = 4
const toldMsMax = 50
const apiMebibytesMax = 400

await runBench(async ({ check }) => {
  const service = await startTestService({ workers: 0, environment: { LOG_LEVEL: 'warn' } })
  const notifier = createNotifier({ databaseUrl: service.databaseUrl, onError: () => {} })
  try {
    const account = await service.account()
    const client = createClient(service.url, account.secret)
    const pid = service.apis[0]?.pid ?? 0
    const committedAtMs = new Map<string, number>()
    const toldMs: number[] = []

    async function waitOnce(taskId: string, n: number): Promise<void> {
      if (n % 2 === 0) {
        await readEvents(await openEvents(client, taskId), ({ id }) => {
          if (id === 1_000) told(taskId)
        })
        return
      }
      const headers = { authorization: client.authorization, prefer: 'wait=60' }
      for (;;) {
        const answer = await fetch(`${service.url}/v1/tasks/${taskId}`, { headers })
        if (Object(await answer.json()).status === 'failed') return told(taskId)
      }
    }

    function told(taskId: string): void {
      toldMs.push(performance.now() - (committedAtMs.get(taskId) ?? Number.NaN))
    }

    async function submitAll(): Promise<readonly number[]> {
      const ms: number[] = []
      await runParallel(submits, submitClients, async () => {
        const sentAtMs = performance.now()
        await client.accepted(generateBody())
        ms.push(performance.now() - sentAtMs)
      })
      return ms
    }

    await submitAll()
    const alone = await submitAll()
    const { accountId } = account
    const tasks: string[] = []
    await runParallel(waiters, 8, async () => {
      tasks.push((await insertTask(service.pool, { accountId })).taskId)
    })
    const waiting = tasks.map((taskId, n) => waitOnce(taskId, n))
    await sleep(5_000)
    const beside = await submitAll()
    const { rows } = await service.pool.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and application_name = 'darkroom-listen'`,
    )
    const deps = {
      pool: service.pool,
      retentionSeconds: 3_600,
      tombstoneSeconds: 3_600,
      inputRetentionSeconds: 0,
      announceEnd: (taskId: string) => {
        committedAtMs.set(taskId, performance.now())
        notifier.send(taskEndChannel, taskId)
      },
    }
    for (const taskId of tasks) {
      void cancelTask(deps, taskId, 'asked')
      await sleep(1_000 / endsPerSecond)
    }
    const size = peakMiB(pid)
    await Promise.all(waiting)

    process.stdout.write(`${describeMs('told after the commit', toldMs)}\n`)
    process.stdout.write(`${describeMs('submit without waiters', alone)}\n`)
    process.stdout.write(`${describeMs(`submit beside ${waiters} waiters`, beside)}\n`)
    check(`${toldMs.length} of ${waiters} ends told`, toldMs.length === waiters)
    const p99 = percentile(toldMs, 0.99)
    check(`told p99 ${p99.toFixed(0)} ms, at most ${toldMsMax} ms`, p99 <= toldMsMax)
    check(`API ${size.toFixed(0)} MiB, below ${apiMebibytesMax} MiB`, size < apiMebibytesMax)
    check(`${rows[0]?.count} listening connection`, rows[0]?.count === 1)
    const [before, with2000] = [percentile(alone, 0.99), percentile(beside, 0.99)]
    check(
      `submit p99 ${with2000.toFixed(0)} ms, at most 1.5 times ${before.toFixed(0)} ms`,
      with2000 <= Math.max(1.5 * before, before + 10),
    )
  } finally {
    await notifier.close()
    await service.stop()
  }
})
