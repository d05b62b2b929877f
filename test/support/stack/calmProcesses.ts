import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, freePortRow } from '../ports.ts'
import type { TestProcess } from '../service/testProcess.ts'
import { startTestProcess } from '../service/testProcess.ts'
import { simulatorFile, upstreamCredentials, writeOperatorFile } from '../service/simulatorFile.ts'

/** Where the calm service runs. The files are in its DATA_DIR. */
export type CalmAddresses = {
  /** The variables of its processes, as `npm start` wrote them into runtime.json. */
  readonly environment: Readonly<Record<string, string>>
  /** The base URLs of its two APIs. */
  readonly urls: readonly [string, string]
  /** The addresses of the pages for operators: `/metrics`, `/healthz`, `/readyz`. */
  readonly internalUrls: readonly [string, string]
  readonly workerUrl: string
  readonly simulatorUrl: string
  /** The files that receive what its processes print. */
  readonly logPaths: readonly string[]
}

export type RunningCalm = {
  readonly addresses: CalmAddresses
  readonly stop: () => Promise<void>
}

const startMsMax = 120_000
const stopMsMax = 20_000
/** Temporal's server takes the seven ports that follow TEMPORAL_PORT. */
const portsInRow = 20

/**
 * Starts the calm service as an operator would, with `npm start` on a folder in memory and free ports, and
 * beside it a simulator and a second API.
 */
export async function startCalm(say: (line: string) => void): Promise<RunningCalm> {
  const dataDir = await mkdtemp(join(await dataParent(), 'darkroom-calm-'))
  const processes: TestProcess[] = []
  const stop = async (): Promise<void> => {
    // Tests have left calls behind that hang, so the processes are not given the time to finish them.
    for (const process of processes.toReversed()) await process.stop(stopMsMax)
    await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const port = await freePortRow(portsInRow)
    const simulatorUrl = `http://127.0.0.1:${port + 15}`
    const logFolder = join(dataDir, 'logs')
    await mkdir(logFolder)
    const logPath = (name: string) => join(logFolder, `test-${name}.log`)
    processes.push(
      await startTestProcess({
        name: 'simulator',
        script: 'src/dev/simulator/main.ts',
        args: ['--port', String(port + 15), '--latency', '50-50', '--tiny'],
        environment: {},
        logPath: logPath('simulator'),
        readyUrl: `${simulatorUrl}/__simulator/calls?prompt=none`,
        startMsMax,
      }),
    )
    const operatorFile = await writeOperatorFile(
      join(dataDir, 'config.json'),
      simulatorFile(simulatorUrl, { concurrencyMax: 200, timeoutSeconds: 60 }),
    )
    const url = `http://127.0.0.1:${port + 10}`
    const startedAtMs = performance.now()
    processes.push(
      await startTestProcess({
        name: 'npm start',
        script: 'src/dev/main.ts',
        environment: {
          ...upstreamCredentials,
          DATA_DIR: dataDir,
          DARKROOM_CONFIG: operatorFile,
          LOG_LEVEL: 'debug',
          TEMPORAL_PORT: String(port),
          TEMPORAL_UI_PORT: String(port + 8),
          POSTGRES_PORT: String(port + 9),
          PORT: String(port + 10),
          INTERNAL_PORT: String(port + 11),
          WORKER_INTERNAL_PORT: String(port + 12),
        },
        logPath: logPath('start'),
        readyUrl: `${url}/readyz`,
        startMsMax,
      }),
    )
    const { environment } = readRuntime(join(dataDir, 'runtime.json'))
    const [second, secondInternal] = [await freePort(), await freePort()]
    const secondUrl = `http://127.0.0.1:${second}`
    processes.push(
      await startTestProcess({
        name: 'second API',
        script: 'src/api.ts',
        environment: {
          ...environment,
          LOG_LEVEL: 'debug',
          PORT: String(second),
          INTERNAL_PORT: String(secondInternal),
        },
        logPath: logPath('second-api'),
        readyUrl: `${secondUrl}/readyz`,
        startMsMax,
      }),
    )
    say(`the calm service is ready after ${Math.round(performance.now() - startedAtMs)} ms`)
    return {
      addresses: {
        environment,
        urls: [url, secondUrl],
        internalUrls: [`http://127.0.0.1:${port + 11}`, `http://127.0.0.1:${secondInternal}`],
        workerUrl: `http://127.0.0.1:${port + 12}`,
        simulatorUrl,
        logPaths: [logPath('start'), logPath('second-api')],
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

type Runtime = { readonly environment: Readonly<Record<string, string>> }

function readRuntime(path: string): Runtime {
  const runtime: Runtime = JSON.parse(readFileSync(path, 'utf8'))
  return runtime
}

const memoryFolder = '/dev/shm'
/** The databases of a run take less than 3 GiB, most of it write-ahead log. */
const memoryBytesMin = 8 * 1024 ** 3

/**
 * Returns the folder for the data: in memory where there is plenty. On a disk, making and dropping the
 * hundreds of files of each test's database takes half of PostgreSQL's CPU.
 */
async function dataParent(): Promise<string> {
  const found = await statfs(memoryFolder).catch(() => undefined)
  return (found?.bavail ?? 0) * (found?.bsize ?? 0) > memoryBytesMin ? memoryFolder : tmpdir()
}
