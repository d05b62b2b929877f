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
export const s3Bucket = 'darkroom'

/** The command of the service `s3` in docker-compose.yml. The tests run what production runs. */
function composeCommand(): string {
  const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8')
  const [, service = ''] = compose.split(/^  s3:\n/m)
  const [, command] = /^    command:\n      - \|\n((?: {8}.*\n)+)/m.exec(service) ?? []
  if (command === undefined) throw new Error('docker-compose.yml has no command for s3')
  return command
}

/** Returns what runs a real S3 server on a folder. Throws when it cannot be built, so that no test is skipped. */
export async function s3Program(folder: string, address: string) {
  const { show } = createTerminal(process.stderr)
  const built = await buildGoTools(versitygwTool, show)
  if (built.kind === 'failed') throw new Error(`No S3 server to test against: ${built.why}`)
  const script = composeCommand()
    .replaceAll('/data/', `${folder}/`)
    .replace(' :7070 ', ` ${address} `)
  const env = {
    PATH: `${built.binDir}:${process.env['PATH']}`,
    ROOT_ACCESS_KEY: 'access',
    ROOT_SECRET_KEY: 'secret',
  }
  return { file: 'sh', args: ['-ec', script], env, cwd: folder }
}

/** The environment variables with which the AWS SDK reaches the server. */
export function s3Environment(address: string) {
  return {
    AWS_ENDPOINT_URL_S3: `http://${address}`,
    AWS_ACCESS_KEY_ID: 'access',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_REGION: 'us-east-1',
  }
}

/** Starts a real S3 server on a folder of its own. */
export async function startS3Server() {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-s3-'))
  const address = `127.0.0.1:${await freePort()}`
  const { file, args, env } = await s3Program(folder, address)
  const start = () => spawn(file, args, { env, stdio: 'ignore', cwd: folder })
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
    environment: s3Environment(address),
    bucket: s3Bucket,
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
