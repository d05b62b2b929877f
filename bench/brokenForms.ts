/**
 * Sends multipart forms cut at every byte and damaged in 1,000 ways, and aborts 10,000 uploads midway. The API
 * returns no 5xx, leaves no file descriptor, file or row behind, and its heap does not grow.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/ports.ts'
import { runBench } from './support/runBench.ts'
import {
  abortForm,
  damaged,
  nothingLeft,
  statusOfForm,
  wholeForm,
} from '../test/support/clients/brokenForms.ts'
import type { Client } from '../test/support/clients/client.ts'
import { createClient } from '../test/support/clients/client.ts'
import { paddedPng } from '../test/support/images.ts'
import { createSeeded } from '../test/support/seeded.ts'
import { openDescriptors } from '../test/support/service/processUsage.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { runParallel } from '../test/support/timing.ts'

const mutations = 1_000
const aborts = 10_000
const parallel = 16
const mebibyte = 1024 * 1024
const restMs = 80_000
const heapGrowthMax = 20 * mebibyte

await runBench(async ({ check }) => {
  const internal = await freePort()
  const service = await startTestService({ environment: { INTERNAL_PORT: String(internal) } })
  // Without credits a valid form is refused with 403 after it was read, so that no task is made.
  const poor = createClient(service.url, (await service.account(0)).secret)
  const pid = service.apis[0]?.pid ?? 0
  const statuses = new Map<number, number>()
  const send = async (form: Uint8Array) => {
    const status = await statusOfForm(poor, form)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  const large = wholeForm(paddedPng(200_000, 1))
  const chance = createSeeded(20_261_121)
  const abortSome = (times: number) =>
    runParallel(times, parallel, () => abortForm(poor, large, chance.between(0, large.length - 1)))

  await abortSome(500)
  const heapBefore = await leastHeap(poor, internal)
  const openBefore = await restingDescriptors(pid)

  const small = wholeForm()
  await runParallel(small.length + 1, parallel, (bytes) => send(small.subarray(0, bytes)))
  await runParallel(mutations, parallel, () => send(damaged(small, chance)))
  await abortSome(aborts)

  const heapGrowth = (await leastHeap(poor, internal)) - heapBefore
  const opened = (await restingDescriptors(pid)) - openBefore
  const { rowCount: tasks } = await service.pool.query('select 1 from task')
  await nothingLeft(service, 60_000)
  await service.stop()

  process.stdout.write(`answers by status: ${JSON.stringify(Object.fromEntries(statuses))}\n`)
  const wrong = [...statuses.keys()].filter((status) => status >= 500)
  check(`${small.length + 1} cut and ${mutations} damaged forms, no 5xx`, wrong.length === 0)
  check(`${aborts} uploads aborted: ${tasks} tasks, no file, no row`, tasks === 0)
  check(`${opened} more file descriptors than before, at most 2`, opened <= 2)
  const grown = (heapGrowth / mebibyte).toFixed(1)
  check(`heap grew by ${grown} MiB, at most 20 MiB`, heapGrowth <= heapGrowthMax)
})

/** Counts file descriptors once idle connections of clients and to PostgreSQL have been closed. */
async function restingDescriptors(pid: number): Promise<number> {
  await sleep(restMs)
  return openDescriptors(pid)
}

/** Returns the smallest heap size seen while small requests cause garbage collections. */
async function leastHeap(client: Client, internal: number): Promise<number> {
  await sleep(2_000)
  let least = Number.POSITIVE_INFINITY
  const form = wholeForm()
  for (let round = 0; round < 20; round += 1) {
    await runParallel(100, parallel, () => statusOfForm(client, form))
    const text = await (await fetch(`http://127.0.0.1:${internal}/metrics`)).text()
    const [, bytes] = /^nodejs_heap_size_used_bytes(?:\{[^}]*\})? (\S+)$/m.exec(text) ?? []
    if (bytes === undefined) throw new Error('no heap size among the metrics')
    least = Math.min(least, Number(bytes))
  }
  return least
}
