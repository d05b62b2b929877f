import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generate, taskIdOf } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies, moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import type { DarkroomProcess } from '../support/service/darkroomProcess.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

// What happens to synchronous calls in flight when a process ends.

const inFlight = 50

let service: TestService
let account: TestAccount
beforeAll(async () => {
  service = await startTestService()
  account = await service.account()
}, stackStartMsMax)
afterAll(async () => {
  await assertLedgerVerifies(service.pool)
  await service.stop()
})

/** Makes the same calls, each with a key of its own. Returns the status and task of each answer. */
function callAll(prompt: string, directive: string) {
  const client = createClient(service.apis.at(-1)?.url ?? '', account.secret)
  return Promise.all(
    Array.from({ length: inFlight }, async (_, n) => {
      const headers = { 'idempotency-key': `${prompt} ${n}` }
      const answer = await generate(client, { prompt: `${prompt} ${n} ${directive}` }, headers)
      await answer.arrayBuffer()
      return { status: answer.status, taskId: taskIdOf(answer) }
    }).map((call) => call.catch(() => undefined)),
  )
}

/** Ends the only process of a kind during the calls, and starts another. Returns what the process ended with. */
async function endDuring(
  prompt: string,
  processes: DarkroomProcess[],
  signal: 'SIGTERM' | 'SIGKILL',
  start: () => Promise<unknown>,
) {
  await service.simulator.waitForCalls(inFlight, { prompt })
  const [process] = processes.splice(0)
  process?.signal(signal)
  const end = await process?.ended
  await start()
  return end
}

const calls = (prompt: string) => service.simulator.calls({ prompt })
const allSucceeded = Array(inFlight).fill(200)

describe('kill -9 of the API during synchronous calls', () => {
  it('repeats no call: each repeat with the same key gets its image [sync-10]', async () => {
    const prompt = 'Api killed'
    const lost = callAll(prompt, '[sim:hold]')
    await endDuring(prompt, service.apis, 'SIGKILL', service.startApi)
    expect(await lost).toEqual(Array(inFlight).fill(undefined))
    await service.simulator.release({ prompt })
    const repeated = await callAll(prompt, '[sim:hold]')
    expect(repeated.map((answer) => answer?.status)).toEqual(allSucceeded)
    expect(await calls(prompt)).toHaveLength(inFlight)
    for (const answer of repeated) {
      expect(await moneyOf(service.pool, answer?.taskId ?? '')).toEqual(['hold', 'settle'])
    }
  })
})

describe('SIGTERM during synchronous calls', () => {
  it.each(['api', 'worker'] as const)(
    'answers each of them without a second call: %s [sync-10]',
    async (name) => {
      const prompt = `Stopped ${name}`
      const answers = callAll(prompt, '[sim:delay ms=1500]')
      const [processes, start] =
        name === 'api' ? [service.apis, service.startApi] : [service.workers, service.startWorker]
      expect(await endDuring(prompt, processes, 'SIGTERM', start)).toBe(0)
      expect((await answers).map((answer) => answer?.status)).toEqual(allSucceeded)
      expect(await calls(prompt)).toHaveLength(inFlight)
    },
  )
})

describe('kill -9 of the worker during synchronous calls', () => {
  it('answers each of them within 30 s, with at most one more call each [sync-10]', async () => {
    const prompt = 'Worker killed'
    const answers = callAll(prompt, '[sim:delay ms=60000 times=1]')
    await endDuring(prompt, service.workers, 'SIGKILL', service.startWorker)
    const killedAtMs = performance.now()
    const ended = await answers
    expect(performance.now() - killedAtMs).toBeLessThan(30_000)
    expect(ended.map((answer) => answer?.status)).toEqual(allSucceeded)
    expect(await calls(prompt)).toHaveLength(2 * inFlight)
    for (const answer of ended) {
      expect(await outcomesOf(service.pool, answer?.taskId ?? '')).toEqual([
        'unknown worker_lost',
        'succeeded image',
      ])
    }
  }, 60_000)
})
