import { Connection, isGrpcServiceError } from '@temporalio/client'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PartCommand, PartProcess } from '../partProcess.ts'
import { logTail, partLogPath, startPart } from '../partProcess.ts'
import type { PidRecord } from '../pidRecord.ts'
import { StartError } from '../startError.ts'
import type { SchemaOptions } from './temporalSchema.ts'
import { prepareTemporalDatabases } from './temporalSchema.ts'
import { dynamicConfigArgs, dynamicConfigFile } from './temporalSettings.ts'

/** The ports of the real server's four services. The port that clients call is not among them. */
export const temporalInnerPorts = [
  'frontendMembership',
  'historyGrpc',
  'historyMembership',
  'matchingGrpc',
  'matchingMembership',
  'workerGrpc',
  'workerMembership',
] as const

export type TemporalInnerPort = (typeof temporalInnerPorts)[number]

type ServerOptions = {
  readonly dataDir: string
  /** The port that clients call. */
  readonly port: number
  readonly env: Readonly<Record<string, string>>
  readonly pids: PidRecord
}

export type TemporalServerOptions = ServerOptions &
  SchemaOptions & { readonly innerPort: (name: TemporalInnerPort) => number }

export type TemporalDevServerOptions = ServerOptions & {
  /** The path of the Temporal CLI. */
  readonly file: string
  /** The namespace that the server creates. Temporal's UI opens with the workflows of this namespace. */
  readonly namespace: string
  /** The port of the UI. `undefined` starts no UI. */
  readonly uiPort: number | undefined
}

const readyTimeoutMs = 120_000
const stopGraceMs = 10_000
const callTimeoutMs = 3_000
const pollMs = 100
/**
 * The number of shards of Temporal's database. Each shard looks for work of its own, also while there is none: with 512
 * of them, Temporal and PostgreSQL took a tenth of a core without a task, with 64 they take less than half of that. The
 * rate of workflows does not depend on it, as far as two noisy comparisons show. Temporal cannot change it in an existing database: it keeps the old number, and warns.
 */
const historyShards = 64
/** Temporal's own namespace, which every server has. */
const systemNamespace = 'temporal-system'
const grpcNotFound = 5

/**
 * Creates or updates the databases, and starts the real Temporal server on PostgreSQL. Resolves when Temporal
 * is ready. When Temporal does not get ready, throws `StartError` with the last lines of its log.
 */
export async function startTemporalServer(options: TemporalServerOptions): Promise<PartProcess> {
  const { dataDir, binDir, env, innerPort, port, postgres } = options
  await prepareTemporalDatabases(options)
  const dynamicConfigPath = join(dataDir, 'temporal-dynamic-config.yaml')
  await writeFile(dynamicConfigPath, dynamicConfigFile())
  return startUntilReady(options, {
    file: join(binDir, 'temporal-server'),
    args: ['start'],
    env: {
      ...env,
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
      FRONTEND_MEMBERSHIP_PORT: String(innerPort('frontendMembership')),
      HISTORY_GRPC_PORT: String(innerPort('historyGrpc')),
      HISTORY_MEMBERSHIP_PORT: String(innerPort('historyMembership')),
      MATCHING_GRPC_PORT: String(innerPort('matchingGrpc')),
      MATCHING_MEMBERSHIP_PORT: String(innerPort('matchingMembership')),
      WORKER_GRPC_PORT: String(innerPort('workerGrpc')),
      WORKER_MEMBERSHIP_PORT: String(innerPort('workerMembership')),
    },
  })
}

/**
 * Starts Temporal's development server on a database file in DATA_DIR. Resolves and throws like
 * `startTemporalServer`.
 */
export function startTemporalDevServer(options: TemporalDevServerOptions): Promise<PartProcess> {
  const { dataDir, file, port, namespace, uiPort, env } = options
  return startUntilReady(options, {
    file,
    args: [
      'server',
      'start-dev',
      '--ip=127.0.0.1',
      `--namespace=${namespace}`,
      '--log-level=warn',
      `--port=${port}`,
      uiPort === undefined ? '--headless' : `--ui-port=${uiPort}`,
      `--db-filename=${join(dataDir, 'temporal.db')}`,
      ...dynamicConfigArgs(),
    ],
    env,
  })
}

async function startUntilReady(
  { dataDir, port, pids }: ServerOptions,
  command: Pick<PartCommand, 'file' | 'args' | 'env'>,
): Promise<PartProcess> {
  const logPath = partLogPath(dataDir, 'temporal-server')
  const process = await startPart(
    {
      ...command,
      name: 'temporal-server',
      cwd: dataDir,
      logPath,
      stopSignal: 'SIGTERM',
      lostSignal: 'SIGKILL',
      stopGraceMs,
    },
    pids,
  )
  const endsAtMs = Date.now() + readyTimeoutMs
  const isOver = () => process.hasEnded() || Date.now() > endsAtMs
  const reason = await awaitTemporal(`127.0.0.1:${port}`, isOver)
  if (reason === undefined) return process
  const what = process.hasEnded()
    ? `Temporal ended at start (${await process.ended})`
    : `Temporal did not serve within ${readyTimeoutMs / 1000} s (${reason})`
  await process.stop()
  throw new StartError(`${what}. The end of ${logPath}:\n${logTail(logPath)}`)
}

/**
 * Asks Temporal again and again until it is ready, or until `isOver` returns true. Returns `undefined` when
 * Temporal is ready, otherwise the last reason why it is not.
 */
async function awaitTemporal(address: string, isOver: () => boolean): Promise<string | undefined> {
  let reason = 'it was never asked'
  while (!isOver()) {
    try {
      await askInnerServices(address)
      return undefined
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error)
      await sleep(pollMs)
    }
  }
  return reason
}

/**
 * Makes one call to the history service and one to the matching service. Throws when one of them does not answer. A
 * call to the frontend alone would not do, because the frontend answers before the services behind it do. The history
 * service looks up a run that does not exist. The matching service describes a task queue that nobody uses.
 */
async function askInnerServices(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: callTimeoutMs })
  const { workflowService } = connection
  const namespace = systemNamespace
  try {
    await connection.withDeadline(Date.now() + callTimeoutMs, async () => {
      try {
        const execution = { workflowId: 'readiness-probe' }
        await workflowService.describeWorkflowExecution({ namespace, execution })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
      await workflowService.describeTaskQueue({ namespace, taskQueue: { name: 'readiness-probe' } })
    })
  } finally {
    await connection.close()
  }
}

function isNotFound(error: unknown): boolean {
  if (!isGrpcServiceError(error)) return false
  const code: number = error.code
  return code === grpcNotFound
}
