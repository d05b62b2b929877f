import { afterAll, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate, generateMany } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies } from '../support/database/money.ts'
import { endFirst } from '../support/service/endProcess.ts'
import { startTestService } from '../support/service/testService.ts'
import { until } from '../support/timing.ts'

// More synchronous callers than their channel has places.

const places = 4
const service = await startTestService({ channel: { concurrencyMax: places } })
afterAll(() => service.stop())

const newClient = async () => createClient(service.url, (await service.account()).secret)

async function countRuns(): Promise<number> {
  const text = `select count(*)::int as runs from task where started_at is not null and route = 'images.generations'`
  const { rows } = await service.pool.query<{ runs: number }>(text)
  return rows[0]?.runs ?? NaN
}

it('an asynchronous task of one account ends while 30 callers of another take every place again and again, and no call of theirs gets a run', async () => {
  const [many, one] = [await newClient(), await newClient()]
  const over = new AbortController()
  const statuses = new Set<number>()
  const callers = Array.from({ length: 30 }, async () => {
    while (!over.signal.aborted) {
      const answer = await generate(many, { prompt: 'Flood [sim:delay ms=1000]' })
      await answer.arrayBuffer()
      statuses.add(answer.status)
    }
  })
  await service.simulator.waitForCalls(3 * places, { prompt: 'Flood' })
  const { task_id: taskId } = await one.accepted(generateBody({ prompt: 'One' }))
  expect(await one.ended(taskId)).toMatchObject({ status: 'succeeded' })
  over.abort()
  await Promise.all(callers)
  expect([...statuses]).toEqual([200])
  expect(await countRuns()).toBe(0)
  await assertLedgerVerifies(service.pool)
})

it('a worker that starts while another one stops takes over the callers in its line, with one call each', async () => {
  const prompt = 'Rolling [sim:delay ms=300]'
  const client = await newClient()
  const held = generateMany(client, places, 'Holding [sim:hold]')
  await service.simulator.waitForCalls(places, { prompt: 'Holding' })
  const waiting = generateMany(client, 20, prompt)
  const accepted = `select from task where status = 'queued' and route = 'images.generations'`
  await until('callers in line', async () =>
    (await service.pool.query(accepted)).rowCount === 20 ? true : undefined,
  )
  const stopped = endFirst(service.workers, 'SIGTERM')
  await service.startWorker()
  await service.simulator.release({ prompt: 'Holding' })
  expect(await stopped).toBe(0)
  const answers = await Promise.all([held, waiting])
  expect(answers.flat().map((answer) => answer?.status)).toEqual(Array(places + 20).fill(200))
  expect(await service.simulator.calls({ prompt: 'Rolling' })).toHaveLength(20)
  expect(await countRuns()).toBe(0)
  await assertLedgerVerifies(service.pool)
})
