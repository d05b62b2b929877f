import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { partLogPath } from './partLog.ts'
import { startPart, type PartProcess } from './partProcess.ts'
import type { PidRecord } from './pidRecord.ts'
import { embeddedNamespace } from './temporalReady.ts'

const readyTimeoutMs = 20_000
const pollMs = 100
const stopGraceMs = 3_000

/** What Temporal's web interface needs. */
export type TemporalUiOptions = {
  dataDir: string
  binDir: string
  port: number
  temporalAddress: string
  env: Record<string, string>
  pids: PidRecord
}

/** Starts Temporal's web interface on 127.0.0.1 and waits until it answers, or gives up waiting. */
export const startTemporalUi = async (options: TemporalUiOptions): Promise<PartProcess> => {
  const { dataDir, binDir, port, temporalAddress, env, pids } = options
  const root = join(dataDir, 'temporal-ui')
  const config = {
    temporalGrpcAddress: temporalAddress,
    host: '127.0.0.1',
    port,
    enableUi: true,
    defaultNamespace: embeddedNamespace,
    // Nothing of the embedded stack calls out.
    disableNewsFetch: true,
    cors: { allowOrigins: [`http://127.0.0.1:${port}`, `http://localhost:${port}`] },
  }
  await mkdir(join(root, 'config'), { recursive: true })
  // JSON is YAML.
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
      stopGraceMs,
    },
    pids,
  )
  const giveUpAt = Date.now() + readyTimeoutMs
  while (!process.hasEnded() && Date.now() < giveUpAt && !(await answers(port))) await sleep(pollMs)
  return process
}

const answers = async (port: number): Promise<boolean> => {
  try {
    const signal = AbortSignal.timeout(1_000)
    const response = await fetch(`http://127.0.0.1:${port}/`, { signal })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
