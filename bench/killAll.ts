/**
 * Kills a whole `npm start` with 20 live tasks at once (kill -9): API, worker, PostgreSQL, Temporal and watchdog.
 * After a second start all 20 tasks succeed: none is lost, none is charged twice, none has more than three
 * upstream calls. The upstream is a separate process that records every call.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { ownSimulator, ownStart } from './support/ownStart.ts'
import { checkPromises } from './support/runBench.ts'
import { createClient } from '../test/support/clients/client.ts'
import { darkroomJson } from '../test/support/service/darkroomCli.ts'
import { until } from '../test/support/timing.ts'

const tasks = 20
const latencyMs = '2000-9000'
const callsMax = 3
const limitMs = 180_000
const callsAnswer = z.object({
  calls: z.array(z.object({ promptSha256: z.string().nullable(), billed: z.boolean() })),
})

await checkPromises(async (check) => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-bench-'))
  const simulator = await ownSimulator(latencyMs)
  const channel = { family: 'B', baseUrl: `${simulator.url}/v1`, apiKeyEnv: 'FAMILYB_API_KEY' }
  const environment = { DARKROOM_CONFIG: join(folder, 'config.json'), FAMILYB_API_KEY: 'bench' }
  await writeFile(
    environment.DARKROOM_CONFIG,
    JSON.stringify({ channels: [{ name: 'b-main', ...channel }] }),
  )
  const dataDir = join(folder, 'data')

  let service = await ownStart(dataDir, environment)
  let client = createClient(service.url, service.key)
  const ids: string[] = []
  for (let i = 0; i < tasks; i += 1) ids.push((await client.accepted(bodyOf(i), keyOf(i))).task_id)
  await until(
    'a call of every task',
    async () => ((await callsByPrompt(simulator.url)).size === tasks ? true : undefined),
    60_000,
  )
  const before = await Promise.all(
    ids.map(async (id) => Object(await (await client.lookup(id)).json()).status),
  )
  const killed = await service.killAll()
  process.stdout.write(
    `killed ${killed} processes with ${before.filter((status) => status === 'processing').length} tasks under way, ` +
      `${before.filter((status) => status === 'succeeded').length} succeeded\n`,
  )

  const startedAt = performance.now()
  service = await ownStart(dataDir, environment)
  client = createClient(service.url, service.key)
  process.stdout.write(
    `ready again after ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`,
  )
  try {
    const records = await Promise.all(ids.map((id) => client.ended(id, { limitMs, everyMs: 500 })))
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
    const succeeded = records.filter(({ status }) => status === 'succeeded').length
    check(
      `${succeeded} of ${tasks} succeed, ${seconds} s after the second start`,
      succeeded === tasks,
    )
    const counts = await callsByPrompt(simulator.url)
    const calls = ids.map(
      (_, i) => counts.get(createHash('sha256').update(promptOf(i)).digest('hex')) ?? 0,
    )
    process.stdout.write(`calls per task: ${calls.join(' ')}\n`)
    check(
      `1 to ${callsMax} calls per task`,
      Math.max(...calls) <= callsMax && Math.min(...calls) >= 1,
    )
    const replays = await Promise.all(ids.map((_, i) => client.accepted(bodyOf(i), keyOf(i))))
    check(
      'every idempotency key still returns its task',
      replays.every(({ task_id }, i) => task_id === ids[i]),
    )
    const darkroom = { ...service.environment, DATA_DIR: dataDir }
    const account = await darkroomJson<{ spent: number; held: number }>(
      ['account', 'show', 'demo'],
      darkroom,
    )
    check(
      `${account.spent} credits spent, expected ${tasks} × 211; ${account.held} held`,
      account.spent === tasks * 211 && account.held === 0,
    )
    const ledger = await darkroomJson<{ ok: boolean }>(['ledger', 'verify'], darkroom)
    check('darkroom ledger verify reports no violation', ledger.ok)
  } finally {
    await service.stop()
    simulator.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

/** Returns the number of upstream calls per SHA-256 of the prompt. */
async function callsByPrompt(simulatorUrl: string): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch(`${simulatorUrl}/__simulator/calls`)
  const counts = new Map<string, number>()
  for (const { promptSha256 } of callsAnswer.parse(await answer.json()).calls) {
    counts.set(promptSha256 ?? '', (counts.get(promptSha256 ?? '') ?? 0) + 1)
  }
  return counts
}

function promptOf(i: number): string {
  return `Lighthouse number ${i}`
}

function bodyOf(i: number) {
  return {
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: promptOf(i),
  }
}

function keyOf(i: number) {
  return { 'idempotency-key': `kill-all-${i}` }
}
