import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { migrateTemporal, readHistory } from '../wiring/operateTemporal.ts'
import type { Launch, Part } from './child.ts'
import { httpFault, startChild } from './child.ts'
import { basicEnvironment } from './command.ts'
import type { EmbeddedParts } from './serviceEnvironment.ts'
import type { Postgres } from './postgres.ts'
import { startPostgres } from './postgres.ts'
import { prepareDatabases } from './temporalDatabases.ts'
import type { TemporalPrograms } from './temporalPrograms.ts'
import { findTemporal } from './temporalPrograms.ts'
import type { Say } from './terminal.ts'
import type { StartConfig } from './variables.ts'

/**
 * Dynamic configuration of the embedded Temporal: the real server and the development server get the same
 * one.
 */
const dynamicConfigPath = fileURLToPath(
  new URL('../../tools/temporal/embedded.yaml', import.meta.url),
)

/** How many ports after its own the real server needs. */
export const innerPortCount = 7
/**
 * Each shard looks for work of its own, also while there is none: with 512 of them, Temporal and PostgreSQL
 * took a tenth of a core without a task, with 64 they take less than half of that. Temporal cannot change the
 * number in an existing database: it keeps the old one, and warns.
 */
const historyShards = 64

const callTimeoutMs = 3_000
const givenPauseMs = 2_000

/** Where Temporal and its UI serve, or will serve. */
export function temporalAddresses(config: StartConfig): Omit<EmbeddedParts, 'databaseUrl'> {
  const { temporalAddress, temporalPort, temporalUiPort } = config
  if (temporalAddress !== undefined) return { temporalAddress, temporalUiUrl: undefined }
  return {
    temporalAddress: `127.0.0.1:${temporalPort}`,
    temporalUiUrl: `http://127.0.0.1:${temporalUiPort}`,
  }
}

/**
 * Provides Temporal while the service already runs. Waits for the operator's Temporal if there is one. Otherwise finds,
 * fetches or builds the programs, and starts the server and its UI. Until then the workers make all images themselves.
 * Throws `StartError` when there is no Temporal to run.
 */
export async function provideTemporal(
  config: StartConfig,
  postgres: Postgres | undefined,
  launch: Launch,
): Promise<void> {
  const { temporalAddress, temporalUiUrl } = temporalAddresses(config)
  const { say, show } = launch
  if (temporalUiUrl === undefined) {
    await awaitGiven(config, say)
    say(`Temporal is ready at ${temporalAddress}.`)
    return
  }
  const programs = await findTemporal(launch)
  show("Starting Temporal's server")
  await startChild(
    {
      ...(await serverProgram(programs, config, postgres, launch)),
      name: 'Temporal',
      cwd: config.dataDir,
      log: 'temporal-server',
      faultOf: () => faultOf(config),
    },
    launch,
  )
  const isReal = programs.kind === 'server'
  if (isReal) await startUi(programs.binDir, config, launch)
  launch.stopping.throwIfAborted()
  const kind = isReal ? 'real server, on PostgreSQL' : "development server of Temporal's SDK"
  say(`Temporal is ready: the ${kind}. Its UI: ${temporalUiUrl}`)
}

/** Returns the program of the server, for which the real one gets its databases. */
async function serverProgram(
  programs: TemporalPrograms,
  config: StartConfig,
  postgres: Postgres | undefined,
  launch: Launch,
): Promise<Pick<Part, 'file' | 'args' | 'env'>> {
  const env = basicEnvironment()
  if (programs.kind === 'dev-server') {
    return { file: programs.file, args: devServerArgs(config), env }
  }
  // The real server needs an embedded PostgreSQL also where Darkroom has one of its own.
  const own = postgres ?? (await startPostgres(config.postgresPort, launch))
  await prepareDatabases(programs.binDir, own)
  const file = join(programs.binDir, 'temporal-server')
  return { file, args: ['start'], env: { ...env, ...serverVariables(config.temporalPort, own) } }
}

/** Waits until the operator's Temporal is ready. */
async function awaitGiven(config: StartConfig, say: Say): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const fault = await faultOf(config)
    if (fault === undefined) return
    if (isFirst) say(`${fault}. The worker makes images without it, and tries again.`)
    await sleep(givenPauseMs, undefined, { ref: false })
  }
}

/**
 * Registers Darkroom's namespace and search attributes, and looks up a run that does not exist. Returns why one of
 * these fails. The lookup goes to the history service, which starts runs and is ready later than the frontend.
 */
async function faultOf(config: StartConfig): Promise<string | undefined> {
  const reached = { ...config, ...temporalAddresses(config) }
  try {
    await migrateTemporal(reached)
    await readHistory(reached, 'readiness-probe')
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * The environment of the real server. It needs a port for each of its four services and for their membership.
 */
export function serverVariables(
  port: number,
  postgres: Pick<Postgres, 'port' | 'user' | 'password'>,
): Readonly<Record<string, string>> {
  return {
    DB: 'postgres12_pgx',
    POSTGRES_SEEDS: '127.0.0.1',
    DB_PORT: String(postgres.port),
    POSTGRES_USER: postgres.user,
    POSTGRES_PWD: postgres.password,
    DBNAME: 'temporal',
    VISIBILITY_DBNAME: 'temporal_visibility',
    NUM_HISTORY_SHARDS: String(historyShards),
    BIND_ON_IP: '127.0.0.1',
    TEMPORAL_BROADCAST_ADDRESS: '127.0.0.1',
    DYNAMIC_CONFIG_FILE_PATH: dynamicConfigPath,
    LOG_LEVEL: 'warn',
    FRONTEND_GRPC_PORT: String(port),
    // 0 does not open the HTTP API, which nothing here uses and which accepts calls from pages in a browser.
    FRONTEND_HTTP_PORT: '0',
    HISTORY_GRPC_PORT: String(port + 1),
    MATCHING_GRPC_PORT: String(port + 2),
    WORKER_GRPC_PORT: String(port + 3),
    FRONTEND_MEMBERSHIP_PORT: String(port + 4),
    HISTORY_MEMBERSHIP_PORT: String(port + 5),
    MATCHING_MEMBERSHIP_PORT: String(port + 6),
    WORKER_MEMBERSHIP_PORT: String(port + 7),
  }
}

function devServerArgs(config: StartConfig): readonly string[] {
  const settings = readFileSync(dynamicConfigPath, 'utf8').matchAll(
    /^([\w.]+):\n  - value: (.*)$/gm,
  )
  return [
    'server',
    'start-dev',
    '--ip=127.0.0.1',
    `--port=${config.temporalPort}`,
    `--ui-port=${config.temporalUiPort}`,
    `--namespace=${config.temporalNamespace}`,
    '--log-level=warn',
    `--db-filename=${join(config.dataDir, 'temporal.db')}`,
    ...[...settings].flatMap(([, key, value]) => [
      '--dynamic-config-value',
      `${key}=${value?.replaceAll("'", '"')}`,
    ]),
  ]
}

/** Starts the UI of the real server. The development server has its UI in the same process. */
async function startUi(binDir: string, given: StartConfig, launch: Launch): Promise<void> {
  const { temporalPort, temporalUiPort: port, temporalNamespace: defaultNamespace } = given
  const { dataDir, say, stopping } = launch
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
      env: basicEnvironment(),
      log: 'temporal-ui',
      faultOf: () => httpFault(url, callTimeoutMs),
    },
    launch,
  )
  // Darkroom works without the UI.
  await started.catch((error: unknown) => {
    if (!stopping.aborted) say(String(error))
  })
}
