import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  abortForm,
  damaged,
  nothingLeft,
  statusOfForm,
  wholeForm,
} from '../support/clients/brokenForms.ts'
import { createClient } from '../support/clients/client.ts'
import { editBody, inputImage } from '../support/clients/requestBodies.ts'
import { assertLedgerVerifies } from '../support/database/money.ts'
import { paddedPng } from '../support/images.ts'
import { createSeeded } from '../support/seeded.ts'
import { mebibyte, openDescriptors } from '../support/service/processUsage.ts'
import { startTestService } from '../support/service/testService.ts'
import { runParallel, until } from '../support/timing.ts'

const service = await startTestService()
// Without credits a valid form is refused with 403 after it was read, so that no task is made.
const poor = createClient(service.url, (await service.account(0)).secret)
afterAll(() => service.stop())
afterEach(async () => {
  await nothingLeft(service, 20_000)
  await assertLedgerVerifies(service.pool)
})

const parallel = 16
const form = wholeForm()

async function noTask(): Promise<void> {
  const { rowCount } = await service.pool.query('select 1 from task')
  expect(rowCount).toBe(0)
}

describe('an edits form', () => {
  it('returns 400 wherever it is cut; the whole form is refused only for its balance [sync-8]', async () => {
    const statuses = new Map<number, number>()
    // Every eighth byte, and each of the last. Tests of the route cut a form at every byte.
    const lengths = Array.from({ length: form.length + 1 }, (_, bytes) => bytes)
    const cuts = lengths.filter((bytes) => bytes % 8 === 0 || bytes > form.length - 12)
    await runParallel(cuts.length, parallel, async (n) => {
      const bytes = cuts[n] ?? 0
      statuses.set(bytes, await statusOfForm(poor, form.subarray(0, bytes)))
    })
    const cut = [...statuses].filter(([bytes]) => bytes < form.length - 2)
    expect(cut.filter(([, status]) => status !== 400)).toEqual([])
    // The line end after the closing boundary is optional, so this form is complete.
    expect(statuses.get(form.length - 2)).toBe(403)
    expect(statuses.get(form.length)).toBe(403)
    await noTask()
  })

  it('is refused and never returns a 5xx when it is damaged in 250 ways', async () => {
    const chance = createSeeded(20_261_121)
    const counts = new Map<number, number>()
    await runParallel(250, parallel, async () => {
      const status = await statusOfForm(poor, damaged(form, chance))
      counts.set(status, (counts.get(status) ?? 0) + 1)
    })
    console.log(Object.fromEntries(counts))
    expect([...counts.keys()].filter((status) => status !== 400 && status !== 403)).toEqual([])
    expect(counts.get(400)).toBeGreaterThan(125)
    await noTask()
  })

  it('leaves no file descriptor, file or row when it is aborted midway 80 times [sync-8]', async () => {
    const pid = service.apis[0]?.pid ?? 0
    const large = wholeForm(paddedPng(200_000, 1))
    await abortForm(poor, large, large.length / 2)
    const before = openDescriptors(pid)
    const chance = createSeeded(7)
    await runParallel(80, parallel, () =>
      abortForm(poor, large, chance.between(0, large.length - 1)),
    )
    // The connection pool may have opened one PostgreSQL connection per concurrent upload.
    const most = before + parallel
    await until('closed descriptors', () => (openDescriptors(pid) <= most ? true : undefined))
    await noTask()
    const { rowCount } = await service.pool.query(`select 1 from ledger where kind <> 'deposit'`)
    expect(rowCount).toBe(0)
  })
})

describe('a JSON body whose connection breaks midway', () => {
  it('leaves no task, no hold, no upload and no file [sync-8]', async () => {
    const { accountId, secret } = await service.account()
    const body = JSON.stringify(
      editBody({ input_images: [inputImage(), inputImage(paddedPng(2 * mebibyte, 1))] }),
    )
    const head = [
      'POST /v1/images/tasks HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${secret}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    const sent = new Promise((resolve) => socket.write(body.slice(0, -1000), resolve))
    await sent
    await sleep(200)
    // Nothing is stored before the whole body has been read and checked.
    expect((await service.pool.query('select 1 from upload')).rowCount).toBe(0)
    socket.destroy()
    await once(socket, 'close')
    await nothingLeft(service, 20_000)
    await noTask()
    const { rowCount } = await service.pool.query(
      `select 1 from ledger where account_id = $1 and kind <> 'deposit'`,
      [accountId],
    )
    expect(rowCount).toBe(0)
  })
})
