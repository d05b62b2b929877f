import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSimulator } from '../../../src/dev/simulator/startSimulator.ts'
import { freePort, freeStartPorts } from '../ports.ts'
import type { TestProcess } from '../service/testProcess.ts'
import { startTestProcess } from '../service/testProcess.ts'
import { adminKeys } from '../service/adminClient.ts'
import { simulatorFile, upstreamCredentials, writeOperatorFile } from '../service/simulatorFile.ts'
import { memoryFolder, spawnStart } from './spawnStart.ts'

export type RunningCalm = Awaited<ReturnType<typeof startCalm>>
/** Where the calm service runs. The files are in its DATA_DIR. */
export type CalmAddresses = RunningCalm['addresses']

const startMsMax = 120_000
const stopMsMax = 20_000

/**
 * Starts the calm service as an operator would, with `npm start` on a folder in memory and free ports, and
 * beside it a simulator and a second API. None of them outlives this process, and neither does the folder.
 */
export async function startCalm(say: (line: string) => void) {
  const dataDir = await mkdtemp(join(await dataParent(), 'darkroom-calm-'))
  const processes: TestProcess[] = []
  let simulator: Awaited<ReturnType<typeof startSimulator>> | undefined
  const stop = async (): Promise<void> => {
    // Tests have left calls behind that hang, so the processes are not given the time to finish them.
    for (const started of processes.toReversed()) await started.stop(stopMsMax)
    await simulator?.close()
    await rm(dataDir, { recursive: true, force: true })
  }
  // Ctrl-C ends a run without its teardown.
  process.once('exit', () => {
    for (const started of processes) started.signal('SIGKILL')
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 })
  })
  try {
    const ports = await freeStartPorts()
    const at = (port: string) => `http://127.0.0.1:${port}`
    simulator = await startSimulator({ port: 0, latency: 50, image: 'tiny' })
    const logFolder = join(dataDir, 'logs')
    await mkdir(logFolder)
    const logPath = (name: string) => join(logFolder, `test-${name}.log`)
    const operatorFile = await writeOperatorFile(
      join(dataDir, 'config.json'),
      simulatorFile(simulator.url, { concurrencyMax: 200, timeoutSeconds: 60 }),
    )
    const url = at(ports.PORT)
    const sdkPort = String(await freePort())
    const startedAtMs = performance.now()
    const given = {
      ...upstreamCredentials,
      DARKROOM_CONFIG: operatorFile,
      LOG_LEVEL: 'debug',
      ADMIN_KEYS: adminKeys,
      TEMPORAL_METRICS_ADDRESS: `127.0.0.1:${sdkPort}`,
    }
    const start = await spawnStart(dataDir, logPath('start'), { ...given, ...ports })
    processes.push(start)
    const environment = await start.ready(startMsMax)
    const [second, secondInternal] = [String(await freePort()), String(await freePort())]
    const own = { LOG_LEVEL: 'debug', PORT: second, INTERNAL_PORT: secondInternal }
    processes.push(
      await startTestProcess({
        name: 'second API',
        script: 'src/api.ts',
        args: ['--exit-with-parent'],
        environment: { ...environment, ...own },
        logPath: logPath('second-api'),
        readyUrl: `${at(second)}/readyz`,
      }),
    )
    say(`the calm service is ready after ${Math.round(performance.now() - startedAtMs)} ms`)
    return {
      addresses: {
        /** The variables of its processes, as `npm start` wrote them into runtime.json. */
        environment,
        /** The base URLs of its two APIs. */
        urls: [url, at(second)] as const,
        /** The addresses of the pages for operators: `/metrics`, `/healthz`, `/readyz`. */
        internalUrls: [at(ports.INTERNAL_PORT), at(secondInternal)] as const,
        workerUrl: at(ports.WORKER_INTERNAL_PORT),
        /** Where the worker serves the metrics of Temporal's SDK. */
        sdkUrl: at(sdkPort),
        simulatorUrl: simulator.url,
        /** The files that receive what its processes print. */
        logPaths: [logPath('start'), logPath('second-api')] as const,
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The databases of a run take less than 3 GiB, most of it write-ahead log. */
const memoryBytesMin = 8 * 1024 ** 3

/**
 * Returns the folder for the data: in memory where there is plenty. On a disk, making the
 * hundreds of files of each test's database takes half of PostgreSQL's CPU.
 */
export async function dataParent(): Promise<string> {
  const found = await statfs(memoryFolder).catch(() => undefined)
  return (found?.bavail ?? 0) * (found?.bsize ?? 0) > memoryBytesMin ? memoryFolder : tmpdir()
}
