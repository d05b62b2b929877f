import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startTestProcess } from '../../test/support/service/testProcess.ts'

/** A running `npm start`. */
export type NpmStart = {
  readonly pid: number
  readonly url: string
  /** The variables that it gave its processes, from its runtime.json. */
  readonly environment: Readonly<Record<string, string>>
  readonly stop: () => Promise<void>
}

/** Long enough for a machine on which Temporal's programs must be built. */
const startMsMax = 15 * 60_000
const stopMsMax = 60_000
/** The ports that one start takes. Temporal's server takes the seven that follow TEMPORAL_PORT. */
export const portsOfStart = 14

/**
 * Runs `npm start` with its data in `folder` and on the ports from `firstPort` on, and resolves when it is ready.
 * A second start with the same folder and ports finds what the first one left. `given`: further variables.
 */
export async function npmStart(
  folder: string,
  firstPort: number,
  given: Readonly<Record<string, string>> = {},
): Promise<NpmStart> {
  const port = (offset: number) => String(firstPort + offset)
  const dataDir = join(folder, 'data')
  const url = `http://127.0.0.1:${port(9)}`
  const { pid, stop } = await startTestProcess({
    name: 'npm start',
    script: 'src/dev/main.ts',
    environment: {
      LOG_LEVEL: 'warn',
      DATA_DIR: dataDir,
      TEMPORAL_PORT: port(0),
      TEMPORAL_UI_PORT: port(8),
      PORT: port(9),
      INTERNAL_PORT: port(10),
      WORKER_INTERNAL_PORT: port(11),
      POSTGRES_PORT: port(12),
      SIMULATOR_PORT: port(13),
      ...given,
    },
    logPath: join(folder, 'start.log'),
    readyUrl: `${url}/readyz`,
    startMsMax,
  })
  const runtime: Pick<NpmStart, 'environment'> = JSON.parse(
    await readFile(join(dataDir, 'runtime.json'), 'utf8'),
  )
  return { pid, url, environment: runtime.environment, stop: () => stop(stopMsMax) }
}
