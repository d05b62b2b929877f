import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildGoTools } from '../../../src/dev/goTools.ts'
import { createTerminal } from '../../../src/dev/terminal.ts'
import { freePort } from '../ports.ts'
import { versitygwTool } from './versitygw.ts'
import { until } from '../timing.ts'

export type S3Server = Awaited<ReturnType<typeof startS3Server>>

/** The first run builds the server, which takes about a minute. Later runs use the user's cache. */
export const s3ServerStartMsMax = 10 * 60_000
const readyMsMax = 10_000
const bucket = 'darkroom'

/** The command of the service `s3` in docker-compose.yml. The tests run what production runs. */
function composeCommand(): string {
  const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8')
  const [, service = ''] = compose.split(/^  s3:\n/m)
  const [, command] = /^    command:\n      - \|\n((?: {8}.*\n)+)/m.exec(service) ?? []
  if (command === undefined) throw new Error('docker-compose.yml has no command for s3')
  return command
}

/** Starts a real S3 server on its own folder. Throws when the server cannot be built, so that no test is skipped. */
export async function startS3Server() {
  const { show } = createTerminal(process.stderr)
  const built = await buildGoTools(versitygwTool, show)
  if (built.kind === 'failed') throw new Error(`No S3 server to test against: ${built.why}`)
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-s3-'))
  const address = `127.0.0.1:${await freePort()}`
  const script = composeCommand()
    .replaceAll('/data/', `${folder}/`)
    .replace(' :7070 ', ` ${address} `)
  const env = {
    PATH: `${built.binDir}:${process.env['PATH']}`,
    ROOT_ACCESS_KEY: 'access',
    ROOT_SECRET_KEY: 'secret',
  }
  const start = () => spawn('sh', ['-ec', script], { env, stdio: 'ignore', cwd: folder })
  let child: ChildProcess | undefined = start()
  const kill = async (): Promise<void> => {
    const killed = child
    child = undefined
    if (killed === undefined || killed.exitCode !== null) return
    const exited = once(killed, 'exit')
    killed.kill('SIGKILL')
    await exited
  }
  const stop = async (): Promise<void> => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }
  const isUp = () =>
    fetch(`http://${address}/healthz`).then(
      ({ ok }) => (ok ? true : undefined),
      () => undefined,
    )
  const ready = () => until('an answer of the S3 server', isUp, readyMsMax)
  await ready().catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return {
    /** The environment variables with which the AWS SDK reaches the server. */
    environment: {
      AWS_ENDPOINT_URL_S3: `http://${address}`,
      AWS_ACCESS_KEY_ID: 'access',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_REGION: 'us-east-1',
    },
    bucket,
    /** Signals the process of the server. Does nothing while no process runs. */
    signal: (name: NodeJS.Signals): void => void child?.kill(name),
    /** Kills the server, and starts it on the same folder and port after `downMs`. Does nothing while it is down. */
    restart: async (downMs: number): Promise<void> => {
      if (child === undefined) return
      await kill()
      await sleep(downMs)
      child = start()
      await ready()
    },
    stop,
  }
}
