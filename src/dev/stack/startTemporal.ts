import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { logTail, partLogPath } from './partLog.ts'
import { startPart, type PartCommand, type PartProcess } from './partProcess.ts'
import type { PidRecord } from './pidRecord.ts'
import { startFailure } from './startFailure.ts'
import { awaitTemporal, embeddedNamespace } from './temporalReady.ts'
import { prepareTemporalDatabases } from './temporalSchema.ts'
import { dynamicConfigArgs, dynamicConfigFile } from './temporalSettings.ts'

const readyTimeoutMs = 120_000
const stopGraceMs = 10_000
/** Fixed for the life of the databases (research/temporal.md section 3). */
const historyShards = 512

/** The ports of the real server's four services. */
export const temporalInnerPorts = [
  'frontendHttp',
  'frontendMembership',
  'historyGrpc',
  'historyMembership',
  'matchingGrpc',
  'matchingMembership',
  'workerGrpc',
  'workerMembership',
] as const

/** One of them. */
export type TemporalInnerPort = (typeof temporalInnerPorts)[number]

/** What the real server needs. */
export type TemporalServerOptions = {
  dataDir: string
  binDir: string
  key: string
  /** The frontend's port, which clients call. */
  port: number
  innerPort: (name: TemporalInnerPort) => number
  postgres: { url: (database: string) => string; port: number; user: string; password: string }
  env: Record<string, string>
  pids: PidRecord
}

/**
 * Starts the real Temporal server on PostgreSQL: databases, schema, server, namespace. Resolves when
 * it serves; throws a start failure with the end of its log when it does not.
 */
export const startTemporalServer = async (options: TemporalServerOptions): Promise<PartProcess> => {
  const { dataDir, binDir, port, pids } = options
  await prepareTemporalDatabases(options)
  const dynamicConfigPath = join(dataDir, 'temporal-dynamic-config.yaml')
  await writeFile(dynamicConfigPath, dynamicConfigFile())
  return startReady(
    {
      file: join(binDir, 'temporal-server'),
      args: ['start'],
      env: serverEnvironment(options, dynamicConfigPath),
    },
    { dataDir, port, pids },
  )
}

const serverEnvironment = (
  { env, innerPort, port, postgres }: TemporalServerOptions,
  dynamicConfigPath: string,
): Record<string, string> => ({
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
  FRONTEND_HTTP_PORT: String(innerPort('frontendHttp')),
  FRONTEND_MEMBERSHIP_PORT: String(innerPort('frontendMembership')),
  HISTORY_GRPC_PORT: String(innerPort('historyGrpc')),
  HISTORY_MEMBERSHIP_PORT: String(innerPort('historyMembership')),
  MATCHING_GRPC_PORT: String(innerPort('matchingGrpc')),
  MATCHING_MEMBERSHIP_PORT: String(innerPort('matchingMembership')),
  WORKER_GRPC_PORT: String(innerPort('workerGrpc')),
  WORKER_MEMBERSHIP_PORT: String(innerPort('workerMembership')),
})

/** What the development server needs. */
export type TemporalDevServerOptions = {
  dataDir: string
  file: string
  port: number
  /** Undefined: no web interface. */
  uiPort: number | undefined
  innerPort: (name: 'frontendHttp') => number
  env: Record<string, string>
  pids: PidRecord
}

/** Starts Temporal's development server on a database file in DATA_DIR. Otherwise as above. */
export const startTemporalDevServer = (options: TemporalDevServerOptions): Promise<PartProcess> => {
  const { dataDir, file, port, uiPort, innerPort, env, pids } = options
  const ui = uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]
  const ports = ['--port', String(port), '--http-port', String(innerPort('frontendHttp')), ...ui]
  const database = ['--db-filename', join(dataDir, 'temporal.db')]
  return startReady(
    {
      file,
      args: [
        'server',
        'start-dev',
        '--ip=127.0.0.1',
        `--namespace=${embeddedNamespace}`,
        '--log-level=warn',
        ...ports,
        ...database,
        ...dynamicConfigArgs(),
      ],
      env,
    },
    { dataDir, port, pids },
  )
}

const startReady = async (
  command: Pick<PartCommand, 'file' | 'args' | 'env'>,
  { dataDir, port, pids }: { dataDir: string; port: number; pids: PidRecord },
): Promise<PartProcess> => {
  const logPath = partLogPath(dataDir, 'temporal-server')
  const part: PartCommand = {
    ...command,
    name: 'temporal-server',
    cwd: dataDir,
    logPath,
    stopSignal: 'SIGTERM',
    lostSignal: 'SIGKILL',
    stopGraceMs,
  }
  const process = await startPart(part, pids)
  const giveUpAt = Date.now() + readyTimeoutMs
  const isOver = (): boolean => process.hasEnded() || Date.now() > giveUpAt
  const reason = await awaitTemporal(`127.0.0.1:${port}`, isOver)
  if (reason === undefined) return process
  const what = process.hasEnded()
    ? `Temporal ended at start (${await process.ended})`
    : `Temporal did not serve within ${readyTimeoutMs / 1000} s (${reason})`
  await process.stop()
  throw startFailure(`${what}. The end of ${logPath}:\n${logTail(logPath)}`)
}
