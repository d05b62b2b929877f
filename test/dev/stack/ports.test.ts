import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { choosePorts, freePort } from '../../../src/dev/stack/ports.ts'
import { tempFolder } from '../../support/tempFolder.ts'

async function occupy(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
}

it('names the variable of a port that is in use', async () => {
  const port = await freePort()
  await occupy(port)
  const wishes = [{ name: 'postgres', port, variable: 'POSTGRES_PORT' }]
  await expect(choosePorts(tempFolder(), wishes)).rejects.toThrow(
    `POSTGRES_PORT ${port} is in use by another program`,
  )
})

it('chooses the same free ports again at the next start', async () => {
  const folder = tempFolder()
  const wishes = [
    { name: 'one', port: 0 },
    { name: 'two', port: 0 },
  ] as const
  const first = await choosePorts(folder, wishes)
  const second = await choosePorts(folder, wishes)
  expect([second('one'), second('two')]).toEqual([first('one'), first('two')])
  expect(first('one')).not.toBe(first('two'))
})

it('chooses another port when another program now uses the kept one', async () => {
  const folder = tempFolder()
  const wishes = [{ name: 'one', port: 0 }] as const
  const first = await choosePorts(folder, wishes)
  await occupy(first('one'))
  const second = await choosePorts(folder, wishes)
  expect(second('one')).not.toBe(first('one'))
})
