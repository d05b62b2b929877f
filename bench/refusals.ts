/**
 * 200 synchronous calls a second for a model whose upstream answers every call with 429 and a Retry-After of 30 s,
 * beside calls of the other family: every caller is told so within 200 ms, nothing of it reaches Temporal, and the
 * other family's calls all succeed. (For a Retry-After of at most five seconds, a call would wait.)
 */
import { loadAtRate, loadOf, shoot } from './support/load.ts'
import { percentile, runBench } from './support/runBench.ts'
import { verifyLedger } from '../src/store/accounts/verifyLedger.ts'
import { createClient } from '../test/support/clients/client.ts'
import { content } from '../test/support/clients/syncCalls.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { timed } from '../test/support/timing.ts'

const perSecond = 200
const seconds = 20
const toldMsMax = 200
const refusedModel = 'familyb-image-2-vip'

await runBench(async ({ check }) => {
  const service = await startTestService({ simulator: { latency: 20, image: 'tiny' } })
  try {
    const owner = await service.account(1_000_000)
    const client = createClient(service.url, owner.secret)
    const headers = { authorization: client.authorization, 'content-type': 'application/json' }
    const call = (prompt: string, status: number) => async (agent: Parameters<typeof shoot>[0]) => {
      const body = JSON.stringify({ model: refusedModel, prompt })
      const url = `${service.url}/v1/images/generations`
      await shoot(agent, url, { method: 'POST', headers, body, status })
    }
    await loadOf(400, 20, call('Warm', 200))
    const before = await othersDuring(client, () => new Promise((done) => setTimeout(done, 5_000)))
    const refused = call('Refused [sim:429 retry-after=30]', 429)
    const load = Promise.withResolvers<Awaited<ReturnType<typeof loadAtRate>>>()
    const during = await othersDuring(client, async () => {
      load.resolve(await loadAtRate(perSecond, seconds, refused))
    })
    const told = await load.promise
    const calls = (await service.simulator.calls({ prompt: 'Refused' })).length
    const { rows } = await service.pool.query<{ tasks: number; runs: number }>(
      `select count(*)::int as tasks, count(started_at)::int as runs from task
       where model = $1 and status = 'failed'`,
      [refusedModel],
    )
    const { tasks = 0, runs = NaN } = rows[0] ?? {}
    process.stdout.write(
      `other family p50 ${percentile(before, 0.5).toFixed(0)} ms before, ${percentile(during, 0.5).toFixed(0)} ms ` +
        `during; p99 ${percentile(before, 0.99).toFixed(0)} and ${percentile(during, 0.99).toFixed(0)} ms\n`,
    )
    check(
      `told after ${told.p99Ms.toFixed(0)} ms (p99), at most ${toldMsMax}`,
      told.p99Ms <= toldMsMax,
    )
    check(
      `${tasks} calls of ${perSecond * seconds} refused, ${runs} runs in Temporal`,
      tasks === perSecond * seconds && runs === 0,
    )
    check(`${calls} of them reached the upstream, at most 100`, calls <= 100)
    const violations = await verifyLedger(service.pool)
    check(`${violations.length} violations in the ledger`, violations.length === 0)
  } finally {
    await service.stop()
  }
})

/** Calls the other family one at a time until the work is done. Returns the milliseconds of each call. */
async function othersDuring(
  client: Parameters<typeof content>[0],
  work: () => Promise<unknown>,
): Promise<readonly number[]> {
  const done = new AbortController()
  const finished = work().finally(() => done.abort())
  const tookMs: number[] = []
  while (!done.signal.aborted) {
    const body = { contents: [{ parts: [{ text: 'Not held back' }] }] }
    tookMs.push(
      await timed(async () => {
        const answer = await content(client, 'generateContent', body)
        await answer.arrayBuffer()
        if (answer.status !== 200) throw new Error(`the other family got ${answer.status}`)
      }),
    )
  }
  await finished
  return tookMs
}
