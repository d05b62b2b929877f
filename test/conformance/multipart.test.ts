import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { inTurns, until } from '../support/timing.ts'
import { booksAgree } from '../support/database/money.ts'
import {
  abortForm,
  injured,
  nothingLeft,
  numbersFrom,
  statusOfForm,
  wholeForm,
} from '../support/clients/brokenForms.ts'
import { openDescriptors } from '../support/service/processUsage.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { paddedPng } from '../support/images.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'

let service: TestService
let poor: Client
beforeAll(async () => {
  service = await startTestService()
  // What is legal after all ends at the balance, behind everything that reads the form.
  poor = createClient(service.url, (await service.account(0)).secret)
}, stackStartMsMax)
afterAll(() => service.stop())
afterEach(async () => {
  await nothingLeft(service, 20_000)
  await booksAgree(service.pool)
})

const parallel = 16
const form = wholeForm()

async function noTask(): Promise<void> {
  const { rowCount } = await service.pool.query('select 1 from task')
  expect(rowCount).toBe(0)
}

describe('an edits form', () => {
  it('returns 400 wherever it is cut; the whole form is refused only for its balance', async () => {
    const statuses = new Map<number, number>()
    await inTurns(form.length + 1, parallel, async (bytes) => {
      statuses.set(bytes, await statusOfForm(poor, form.subarray(0, bytes)))
    })
    const cut = [...statuses].filter(([bytes]) => bytes < form.length - 2)
    expect(cut.filter(([, status]) => status !== 400)).toEqual([])
    // Without the last line end the closing boundary is whole.
    expect(statuses.get(form.length - 2)).toBe(403)
    expect(statuses.get(form.length)).toBe(403)
    await noTask()
  })

  it('is refused and never returns a 5xx when it is damaged in 1,000 ways', async () => {
    const number = numbersFrom(20_261_121)
    const counts = new Map<number, number>()
    await inTurns(1_000, parallel, async () => {
      const status = await statusOfForm(poor, injured(form, number))
      counts.set(status, (counts.get(status) ?? 0) + 1)
    })
    console.log(Object.fromEntries(counts))
    expect([...counts.keys()].filter((status) => status !== 400 && status !== 403)).toEqual([])
    expect(counts.get(400)).toBeGreaterThan(500)
    await noTask()
  })

  it('leaves no file descriptor, file or row when it is aborted midway 300 times', async () => {
    const pid = service.apis[0]?.pid ?? 0
    const large = wholeForm(paddedPng(200_000, 1))
    await abortForm(poor, large, large.length / 2)
    const before = openDescriptors(pid)
    const number = numbersFrom(7)
    await inTurns(300, parallel, () => abortForm(poor, large, number(large.length)))
    // The pool may have grown to as many connections to PostgreSQL as there were uploads at once.
    const most = before + parallel
    await until('closed descriptors', () => (openDescriptors(pid) <= most ? true : undefined))
    await noTask()
    const { rowCount } = await service.pool.query(`select 1 from ledger where kind <> 'deposit'`)
    expect(rowCount).toBe(0)
  })
})
