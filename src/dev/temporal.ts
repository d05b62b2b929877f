import { Connection, isGrpcServiceError } from '@temporalio/client'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assertNever } from '../domain/assertNever.ts'
import type { Launch, Part } from './child.ts'
import { basicEnvironment, startChild } from './child.ts'
import type { EmbeddedParts } from './environment.ts'
import type { Postgres } from './postgres.ts'
import { prepareDatabases } from './temporalDatabases.ts'
import type { TemporalPrograms } from './temporalPrograms.ts'

export type TemporalOptions = Launch & {
  /** The port that clients call. The server's own services use the seven ports after it. */
  readonly port: number
  readonly uiPort: number
  /** Darkroom's namespace, which the UI shows first. */
  readonly namespace: string
}

/** Dynamic configuration of the embedded Temporal: the real server and the development server get the same one. */
const dynamicConfigPath = fileURLToPath(
  new URL('../../tools/temporal/embedded.yaml', import.meta.url),
)

/** How many ports after its own the real server needs. */
export const innerPortCount = 7
/**
 * Each shard looks for work of its own, also while there is none: with 512 of them, Temporal and PostgreSQL took a
 * tenth of a core without a task, with 64 they take less than half of that. Temporal cannot change the number in an
 * existing database: it keeps the old one, and warns.
 */
const historyShards = 64

const readyTimeoutMs = 120_000
const uiReadyTimeoutMs = 20_000
const callTimeoutMs = 3_000
const uiCallTimeoutMs = 1_000
const stopGraceMs = 10_000
const uiStopGraceMs = 3_000
const grpcNotFound = 5

/** Starts Temporal and its UI, unless Temporal is the operator's, and waits until it serves. */
export async function startTemporal(
  programs: TemporalPrograms,
  postgres: Postgres | undefined,
  options: TemporalOptions,
): Promise<Omit<EmbeddedParts, 'databaseUrl'>> {
  const { port, uiPort } = options
  const started = {
    temporalAddress: `127.0.0.1:${port}`,
    temporalUiUrl: `http://127.0.0.1:${uiPort}`,
  }
  switch (programs.kind) {
    case 'given':
      return { temporalAddress: programs.address, temporalUiUrl: undefined }
    case 'dev-server':
      await startServer(options, { file: programs.file, args: devServerArgs(options) })
      return started
    case 'server':
      if (postgres === undefined) throw new Error('Bug: the real Temporal server needs PostgreSQL')
      await prepareDatabases(programs, postgres, options)
      await startServer(options, {
        file: join(programs.binDir, 'temporal-server'),
        args: ['start'],
        env: serverVariables(port, postgres),
      })
      await startUi(programs.binDir, options)
      return started
    default:
      return assertNever(programs)
  }
}

/** The environment of the real server. It needs a port for each of its four services and for their membership. */
function serverVariables(port: number, postgres: Postgres): Readonly<Record<string, string>> {
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

function devServerArgs({ dataDir, port, uiPort, namespace }: TemporalOptions): readonly string[] {
  const settings = readFileSync(dynamicConfigPath, 'utf8').matchAll(
    /^([\w.]+):\n  - value: (.*)$/gm,
  )
  return [
    'server',
    'start-dev',
    '--ip=127.0.0.1',
    `--port=${port}`,
    `--ui-port=${uiPort}`,
    `--namespace=${namespace}`,
    '--log-level=warn',
    `--db-filename=${join(dataDir, 'temporal.db')}`,
    ...[...settings].flatMap(([, key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
  ]
}

async function startServer(
  options: TemporalOptions,
  program: Pick<Part, 'file' | 'args'> & { readonly env?: Readonly<Record<string, string>> },
): Promise<void> {
  const { dataDir, port, env } = options
  const server = startChild(
    {
      ...program,
      name: 'Temporal',
      env: { ...basicEnvironment(env), ...program.env },
      cwd: dataDir,
      log: 'temporal-server',
      stopSignal: 'SIGTERM',
      lostSignal: 'SIGKILL',
      stopGraceMs,
    },
    options,
  )
  await server.ready(() => serverFault(`127.0.0.1:${port}`), readyTimeoutMs)
}

/**
 * Makes one call to the history service and one to the matching service. Returns why one of them does not answer. A
 * call to the frontend alone would not do, because the frontend answers before the services behind it do. The history
 * service looks up a run that does not exist. The matching service describes a task queue that nobody uses.
 */
async function serverFault(address: string): Promise<string | undefined> {
  const namespace = 'temporal-system'
  const execution = { workflowId: 'readiness-probe' }
  const taskQueue = { name: 'readiness-probe' }
  try {
    const connection = await Connection.connect({ address, connectTimeout: callTimeoutMs })
    const { workflowService } = connection
    try {
      await connection.withDeadline(Date.now() + callTimeoutMs, async () => {
        const described = workflowService.describeWorkflowExecution({ namespace, execution })
        await described.catch((error: unknown) => {
          if (!isNotFound(error)) throw error
        })
        await workflowService.describeTaskQueue({ namespace, taskQueue })
      })
    } finally {
      await connection.close()
    }
    return undefined
  } catch (error) {
    return String(error)
  }
}

function isNotFound(error: unknown): boolean {
  if (!isGrpcServiceError(error)) return false
  const code: number = error.code
  return code === grpcNotFound
}

/** Starts the UI of the real server. The development server has its UI in the same process. */
async function startUi(binDir: string, options: TemporalOptions): Promise<void> {
  const { dataDir, port, uiPort, namespace, env, say } = options
  const root = join(dataDir, 'temporal-ui')
  const url = `http://127.0.0.1:${uiPort}`
  const config = {
    temporalGrpcAddress: `127.0.0.1:${port}`,
    host: '127.0.0.1',
    port: uiPort,
    enableUi: true,
    defaultNamespace: namespace,
    // Without this, the UI would load Temporal's news from the internet.
    disableNewsFetch: true,
    cors: { allowOrigins: [url, `http://localhost:${uiPort}`] },
  }
  await mkdir(join(root, 'config'), { recursive: true })
  // JSON is valid YAML.
  await writeFile(join(root, 'config/development.yaml'), `${JSON.stringify(config, null, 2)}\n`)
  const ui = startChild(
    {
      name: "Temporal's UI",
      file: join(binDir, 'temporal-ui'),
      args: ['--root', root, 'start'],
      env: basicEnvironment(env),
      log: 'temporal-ui',
      stopSignal: 'SIGTERM',
      lostSignal: 'SIGKILL',
      stopGraceMs: uiStopGraceMs,
    },
    options,
  )
  const fault = async () => {
    const answer = fetch(url, { signal: AbortSignal.timeout(uiCallTimeoutMs) })
    return answer.then(({ ok }) => (ok ? undefined : 'not ok'), String)
  }
  // Darkroom works without the UI.
  await ui.ready(fault, uiReadyTimeoutMs).catch((error: unknown) => say(String(error)))
}
