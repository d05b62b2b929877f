import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openMessages } from '../../src/store/connection/messages.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { timed } from '../support/timing.ts'

const database = useTestDatabase()

it('the connection for messages closes within seconds when PostgreSQL takes bytes and answers nothing', async () => {
  const sockets: Socket[] = []
  let isFrozen = false
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(Number(new URL(database.databaseUrl).port), '127.0.0.1')
    sockets.push(client, upstream)
    client.on('error', () => {}).on('data', (bytes) => void (isFrozen || upstream.write(bytes)))
    upstream.on('error', () => {}).on('data', (bytes) => void (isFrozen || client.write(bytes)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(database.databaseUrl)
  url.host = `127.0.0.1:${Object(server.address()).port}`
  const messages = await openMessages({
    databaseUrl: url.href,
    hears: 'task_end',
    onError: () => {},
  })
  isFrozen = true
  expect(await timed(() => messages.close())).toBeLessThan(8_000)
})
