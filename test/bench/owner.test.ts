import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Entry } from '../../bench/hosts/history.ts'
import { actAs } from '../../bench/hosts/owner.ts'
import { createSeeded } from '../support/seeded.ts'
import { listen } from '../support/upstream/testServers.ts'

it('takes an event of a stream for as old as the stream may have held it', async () => {
  const tell = async (response: ServerResponse) => {
    for (const [id, status] of ['queued', 'processing', 'succeeded'].entries()) {
      response.write(`event: task\nid: ${id}\ndata: {"status":"${status}"}\n\n`)
      await sleep(20)
    }
    response.end()
  }
  const url = await listen((_request, response) => void tell(response))
  const entries: Entry[] = []
  const add = (entry: Entry) => void entries.push(entry)
  const over = new AbortController().signal
  const owner = actAs(
    { account: 'a', secret: 's' },
    { apis: [url], chance: createSeeded(1), add, over },
  )
  const startedAt = Date.now()
  await owner.listen('task_1', 'listener')
  const reads = entries.filter((entry) => entry.type === 'read')
  expect(reads.map(({ record }) => record?.status)).toEqual(['queued', 'processing', 'succeeded'])
  const firstAt = Math.min(...reads.map(({ at }) => at))
  expect(reads.every(({ from }) => startedAt <= from && from <= firstAt)).toBe(true)
  expect(new Set(reads.map(({ from }) => from)).size).toBe(1)
})
