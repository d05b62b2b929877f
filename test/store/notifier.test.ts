import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Notifier } from '../../src/store/connection/notifier.ts'
import { createNotifier, messagesOf } from '../../src/store/connection/notifier.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

function openNotifier(databaseUrl = database.databaseUrl) {
  const errors: Error[] = []
  const notifier = createNotifier({ databaseUrl, onError: (error) => errors.push(error) })
  return { notifier, errors }
}

/** Listens on the channels, and collects the payloads of each. */
async function listenTo(...channels: readonly string[]): Promise<Record<string, string[]>> {
  const client = new Client({ connectionString: database.databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const heard = Object.fromEntries(channels.map((channel): [string, string[]] => [channel, []]))
  client.on('notification', ({ channel, payload }) => heard[channel]?.push(payload ?? ''))
  for (const channel of channels) await client.query(`listen ${channel}`)
  return heard
}

const manyIds = Array.from({ length: 3_000 }, (_, n) => `task_${String(n).padStart(32, '0')}`)

function sendAll(notifier: Notifier, channel: string): void {
  for (const id of manyIds) notifier.send(channel, id)
}

describe('createNotifier', () => {
  it('sends all messages of each channel, many in one payload', async () => {
    const heard = await listenTo('one', 'other')
    const { notifier, errors } = openNotifier()
    notifier.send('one', 'first')
    sendAll(notifier, 'one')
    notifier.send('other', 'alone')
    await notifier.close()
    await expect.poll(() => heard['one']?.flatMap(messagesOf)).toEqual(['first', ...manyIds])
    expect(heard['other']).toEqual(['alone'])
    const sizes = heard['one']?.map((payload) => payload.length) ?? []
    expect(Math.max(...sizes)).toBeLessThan(8_000)
    expect(sizes.length).toBeLessThan(20)
    expect(errors).toEqual([])
  })

  it('drops messages while PostgreSQL does not answer, and sends again afterwards', async () => {
    const { notifier, errors } = openNotifier('postgresql://nobody@127.0.0.1:9/none')
    for (let time = 0; time < 5; time += 1) sendAll(notifier, 'one')
    await expect.poll(() => errors.length).toBe(1)
    notifier.send('one', 'later')
    await notifier.close()
    expect(errors).toHaveLength(2)
  })

  it('replaces a lost connection', async () => {
    const heard = await listenTo('one')
    const { notifier } = openNotifier()
    notifier.send('one', 'before')
    await expect.poll(() => heard['one']).toEqual(['before'])
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'darkroom-notify' and datname = current_database()`,
    )
    await expect
      .poll(() => {
        notifier.send('one', 'after')
        return heard['one']?.at(-1)
      })
      .toBe('after')
    await notifier.close()
  })
})
