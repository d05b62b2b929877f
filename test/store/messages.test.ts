import { expect, it, onTestFinished } from 'vitest'
import { openMessages } from '../../src/store/connection/messages.ts'
import { openLossyWay } from '../support/database/lossyWay.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { freePort } from '../support/ports.ts'
import { timed } from '../support/timing.ts'

const database = useTestDatabase()

const open = (hears: 'task_end' | 'sync_task', databaseUrl = database.databaseUrl) =>
  openMessages({ databaseUrl, hears, onError: () => {} })

it('a process that closes first sends all its messages, and each is heard only by those it is for', async () => {
  const [ends, tasks] = await Promise.all([open('task_end'), open('sync_task')])
  onTestFinished(ends.close)
  onTestFinished(tasks.close)
  const heard = { ends: 0, tasks: 0 }
  ends.hear(() => (heard.ends += 1))
  tasks.hear(() => (heard.tasks += 1))
  const sender = await open('sync_task')
  for (let n = 0; n < 200; n += 1) sender.announceEnd(`task_${n}`)
  await sender.close()
  await expect.poll(() => heard).toEqual({ ends: 200, tasks: 0 })
})

it('the first connection for messages must succeed', async () => {
  const nowhere = `postgres://nobody:nothing@127.0.0.1:${await freePort()}/none`
  await expect(open('task_end', nowhere)).rejects.toThrow('ECONNREFUSED')
})

it('the connection for messages closes within seconds when PostgreSQL takes bytes and answers nothing', async () => {
  const way = await openLossyWay(database.databaseUrl)
  const messages = await open('task_end', way.url)
  way.lose(true)
  expect(await timed(() => messages.close())).toBeLessThan(8_000)
})
