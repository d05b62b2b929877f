import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { choosePorts, freePort, listenFault } from '../../../src/dev/stack/ports.ts'
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

it('does not choose a port that another process has chosen, although nothing listens on it yet', async () => {
  const folder = tempFolder()
  const wishes = [{ name: 'one', port: 0 }] as const
  const ports = fileURLToPath(new URL('../../../src/dev/stack/ports.ts', import.meta.url))
  const script = `
    import { choosePorts } from ${JSON.stringify(ports)}
    const port = await choosePorts(${JSON.stringify(folder)}, ${JSON.stringify(wishes)})
    console.log(port('one'))
    setInterval(() => {}, 1_000)`
  const other = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void other.kill('SIGKILL'))
  const [printed] = await once(other.stdout, 'data')
  const kept = Number(String(printed))
  expect((await choosePorts(folder, wishes))('one')).not.toBe(kept)
  expect(await listenFault(kept, '127.0.0.1')).toBeUndefined()
})
