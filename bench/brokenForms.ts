/**
 * Multipart forms cut at every byte, injured in 1,000 ways, and 10,000 uploads aborted midway: no 5xx, no
 * descriptor, no file and no row is left behind, and the API's heap is what it was.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../src/dev/stack/freePort.ts'
import {
  abortForm,
  injured,
  nothingLeft,
  numbersFrom,
  statusOfForm,
  wholeForm,
} from '../test/support/clients/brokenForms.ts'
import { openDescriptors } from '../test/support/service/processUsage.ts'
import type { Client } from '../test/support/clients/client.ts'
import { createClient } from '../test/support/clients/client.ts'
import { paddedPng } from '../test/support/images.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { inTurns } from '../test/support/timing.ts'
import { runBench } from './support/runBench.ts'

const mutations = 1_000
const aborts = 10_000
const parallel = 16
const mebibyte = 1024 * 1024
const restMs = 80_000
const heapGrowthMax = 20 * mebibyte

await runBench(
  async ({ check }) => {
    const internal = await freePort()
    const service = await startTestService({ environment: { INTERNAL_PORT: String(internal) } })
    // Whatever is legal after all ends at the balance, behind everything that reads the form.
    const poor = createClient(service.url, (await service.account(0)).secret)
    const pid = service.apis[0]?.pid ?? 0
    const statuses = new Map<number, number>()
    const send = async (form: Uint8Array) => {
      const status = await statusOfForm(poor, form)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    const large = wholeForm(paddedPng(200_000, 1))
    const number = numbersFrom(20_261_121)
    const abortSome = (times: number) =>
      inTurns(times, parallel, () => abortForm(poor, large, number(large.length)))

    await abortSome(500)
    const heapBefore = await leastHeap(poor, internal)
    const openBefore = await restingDescriptors(pid)

    const small = wholeForm()
    await inTurns(small.length + 1, parallel, (bytes) => send(small.subarray(0, bytes)))
    await inTurns(mutations, parallel, () => send(injured(small, number)))
    await abortSome(aborts)

    const heapGrowth = (await leastHeap(poor, internal)) - heapBefore
    const opened = (await restingDescriptors(pid)) - openBefore
    const { rowCount: tasks } = await service.pool.query('select 1 from task')
    await nothingLeft(service, 60_000)
    await service.stop()

    process.stdout.write(`answers by status: ${JSON.stringify(Object.fromEntries(statuses))}\n`)
    const wrong = [...statuses.keys()].filter((status) => status >= 500)
    check(`${small.length + 1} cuts and ${mutations} injuries, no 5xx`, wrong.length === 0)
    check(`${aborts} uploads aborted: ${tasks} tasks, no file, no row`, tasks === 0)
    check(`${opened} descriptors more than before`, opened <= 2)
    const grown = (heapGrowth / mebibyte).toFixed(1)
    check(`heap ${grown} MiB more than before, at most 20`, heapGrowth <= heapGrowthMax)
  },
  { durable: false },
)

/** Once kept-alive connections, of clients and to PostgreSQL, had the time to end. */
async function restingDescriptors(pid: number): Promise<number> {
  await sleep(restMs)
  return openDescriptors(pid)
}

/** The least heap seen while small requests make the collector run: what is really held. */
async function leastHeap(client: Client, internal: number): Promise<number> {
  await sleep(2_000)
  let least = Number.POSITIVE_INFINITY
  const form = wholeForm()
  for (let round = 0; round < 20; round += 1) {
    await inTurns(100, parallel, () => statusOfForm(client, form))
    const text = await (await fetch(`http://127.0.0.1:${internal}/metrics`)).text()
    const [, bytes] = /^nodejs_heap_size_used_bytes(?:\{[^}]*\})? (\S+)$/m.exec(text) ?? []
    if (bytes === undefined) throw new Error('no heap size among the metrics')
    least = Math.min(least, Number(bytes))
  }
  return least
}
