import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Launch } from './child.ts'
import { httpFault, startChild } from './child.ts'
import { basicEnvironment } from './command.ts'

const readyTimeoutMs = 20_000
const stopGraceMs = 3_000
const callTimeoutMs = 3_000

/** Starts the UI of the real server. The development server has its UI in the same process. */
export async function startTemporalUi(
  binDir: string,
  given: Config,
  launch: Launch,
): Promise<void> {
  const { temporalPort, temporalUiPort: port, temporalNamespace: defaultNamespace } = given
  const { dataDir, env, say } = launch
  const root = join(dataDir, 'temporal-ui')
  const url = `http://127.0.0.1:${port}`
  const config = {
    temporalGrpcAddress: `127.0.0.1:${temporalPort}`,
    host: '127.0.0.1',
    port,
    enableUi: true,
    defaultNamespace,
    // Without this, the UI would load Temporal's news from the internet.
    disableNewsFetch: true,
    cors: { allowOrigins: [url, `http://localhost:${port}`] },
  }
  await mkdir(join(root, 'config'), { recursive: true })
  // JSON is valid YAML.
  await writeFile(join(root, 'config/development.yaml'), `${JSON.stringify(config, null, 2)}\n`)
  const started = startChild(
    {
      name: "Temporal's UI",
      file: join(binDir, 'temporal-ui'),
      args: ['--root', root, 'start'],
      env: basicEnvironment(env),
      log: 'temporal-ui',
      stopSignal: 'SIGTERM',
      lostSignal: 'SIGKILL',
      stopGraceMs: stopGraceMs,
      faultOf: () => httpFault(url, callTimeoutMs),
      readyTimeoutMs: readyTimeoutMs,
    },
    launch,
  )
  // Darkroom works without the UI.
  await started.catch((error: unknown) => say(String(error)))
}
