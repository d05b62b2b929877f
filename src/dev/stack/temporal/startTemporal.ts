import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment } from '../../../config.ts'
import type { TemporalPrograms } from './findTemporal.ts'
import type { KeptPart } from '../keepRunning.ts'
import { keepRunning } from '../keepRunning.ts'
import type { PartProcess } from '../partProcess.ts'
import { partLogPath, startPart } from '../partProcess.ts'
import type { PidRecord } from '../pidRecord.ts'
import type { Postgres } from '../postgres/startPostgres.ts'
import { basicEnvironment } from '../runCommand.ts'
import type { Say } from '../startError.ts'
import type { TemporalInnerPort } from './temporalServer.ts'
import { startTemporalDevServer, startTemporalServer } from './temporalServer.ts'

export type TemporalOptions = {
  readonly dataDir: string
  readonly programs: TemporalPrograms
  /** The embedded PostgreSQL. The real server requires it. */
  readonly postgres: Postgres | undefined
  readonly port: (name: 'temporal' | 'temporalUi' | TemporalInnerPort) => number
  readonly withUi: boolean
  /** Darkroom's namespace, which the UI shows first. */
  readonly namespace: string
  readonly env: Environment
  readonly pids: PidRecord
  readonly say: Say
}

type UiOptions = {
  readonly dataDir: string
  readonly binDir: string
  readonly port: number
  readonly temporalAddress: string
  readonly namespace: string
  readonly env: Readonly<Record<string, string>>
  readonly pids: PidRecord
}

const uiReadyTimeoutMs = 20_000
const uiPollMs = 100
const uiCallTimeoutMs = 1_000
const uiStopGraceMs = 3_000

/**
 * Starts the Temporal server that `programs` names. Starts it again whenever it ends without being asked to.
 */
export function startTemporal(options: TemporalOptions): Promise<KeptPart> {
  const { dataDir, programs, postgres, port, withUi, namespace, pids, say } = options
  const env = basicEnvironment(options.env)
  const shared = { dataDir, port: port('temporal'), env, pids }
  if (programs.kind === 'dev-server') {
    const uiPort = withUi ? port('temporalUi') : undefined
    const { file } = programs
    const start = () => startTemporalDevServer({ ...shared, file, namespace, uiPort })
    return keepRunning('Temporal', start, say)
  }
  if (postgres === undefined) throw new Error('Bug: the real Temporal server needs PostgreSQL')
  const { binDir, key } = programs
  const start = () => startTemporalServer({ ...shared, innerPort: port, binDir, key, postgres })
  return keepRunning('Temporal', start, say)
}

/**
 * Starts the UI of the real Temporal server. Starts it again whenever it ends without being asked to. Not
 * needed for the development server, which has its UI in the same process.
 */
export function startTemporalUi(
  { dataDir, port, namespace, env, pids, say }: TemporalOptions,
  binDir: string,
): Promise<KeptPart> {
  const temporalAddress = `127.0.0.1:${port('temporal')}`
  const shared = { dataDir, binDir, namespace, env: basicEnvironment(env), pids }
  const start = () => startUiProcess({ ...shared, port: port('temporalUi'), temporalAddress })
  return keepRunning("Temporal's UI", start, say)
}

/**
 * Starts the UI's process and waits until it answers. If the UI does not answer in time, the start succeeds
 * nevertheless, because Darkroom works without the UI.
 */
async function startUiProcess(options: UiOptions): Promise<PartProcess> {
  const { dataDir, binDir, port, temporalAddress, namespace, env, pids } = options
  const root = join(dataDir, 'temporal-ui')
  const config = {
    temporalGrpcAddress: temporalAddress,
    host: '127.0.0.1',
    port,
    enableUi: true,
    defaultNamespace: namespace,
    // Without this, the UI would load Temporal's news from the internet.
    disableNewsFetch: true,
    cors: { allowOrigins: [`http://127.0.0.1:${port}`, `http://localhost:${port}`] },
  }
  await mkdir(join(root, 'config'), { recursive: true })
  // JSON is valid YAML.
  await writeFile(join(root, 'config/development.yaml'), `${JSON.stringify(config, null, 2)}\n`)
  const process = await startPart(
    {
      name: 'temporal-ui',
      file: join(binDir, 'temporal-ui'),
      args: ['--root', root, 'start'],
      env,
      logPath: partLogPath(dataDir, 'temporal-ui'),
      stopSignal: 'SIGTERM',
      lostSignal: 'SIGKILL',
      stopGraceMs: uiStopGraceMs,
    },
    pids,
  )
  const endsAtMs = Date.now() + uiReadyTimeoutMs
  while (!process.hasEnded() && Date.now() < endsAtMs && !(await isAnswering(port))) {
    await sleep(uiPollMs)
  }
  return process
}

async function isAnswering(port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(uiCallTimeoutMs)
    const response = await fetch(`http://127.0.0.1:${port}/`, { signal })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
