import { randomBytes } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import type { Pool } from 'pg'
import { CommandError } from '../cli/answer.ts'
import type { Config } from '../config.ts'
import { inheritedEnvironment, readConfig, required } from '../config.ts'
import type { OperatorSettings } from '../config/operatorSettings.ts'
import { withRuntimeFile } from '../config/runtimeFile.ts'
import { databasesOf, reached } from './databases.ts'
import type { Budget } from '../domain/accounts/budget.ts'
import { workflowIdOf } from '../domain/ids.ts'
import { builtInCapabilities } from '../domain/models/capabilities.ts'
import type { Family } from '../domain/models/models.ts'
import { priceList } from '../domain/models/prices.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import { channelsOf, longestTimeoutMs } from '../domain/upstream/channel.ts'
import { assetUrl } from '../http/assetUrl.ts'
import type { Actor } from '../operations/operation.ts'
import { createOperations } from './operations.ts'
import { createChannelAdmin } from '../store/channels/channelAdmin.ts'
import { createAccountStore } from '../store/accounts/accountStore.ts'
import { createTaskAdmin } from '../store/tasks/taskStore.ts'
import { createWebhookAdmin } from '../store/webhooks/webhookStore.ts'
import { setBudget } from '../store/accounts/budgets.ts'
import { verifyLedger } from '../store/accounts/verifyLedger.ts'
import { createPool } from '../store/connection/pool.ts'
import { migrate, requireSchema } from '../store/schema/migrate.ts'
import { cancelTask } from '../store/tasks/ends.ts'
import { createIssueKey } from '../tasks/apiKeys.ts'
import { createRetryTask } from '../tasks/retryTask.ts'
import type { HistoryEvents } from '../temporal/worker/replay.ts'

/** Limit for connecting. Short, because the CLI must report an unreachable database within 5 s. */
const connectTimeoutMs = 2_000
const connectionsMax = 4
/** Limit for one statement. Long, because `ledger verify` and `key budget` read much of the ledger. */
const statementTimeoutMs = 600_000

export type CliService = ReturnType<typeof createCliService>
export type CliDatabase = Awaited<ReturnType<CliService['database']>>

/** Returns who runs the command, for the audit. A user of a container may have no name. */
function cliActor(): Actor {
  let user
  try {
    user = userInfo().username
  } catch {
    user = `uid ${process.getuid?.()}`
  }
  return `cli:${user}@${hostname()}`
}

/**
 * Creates what the operator's commands work with. It connects when a command asks for something, and the error of a
 * part that cannot be reached names the variable with its address. Temporal, calls upstream and the operator's file
 * are loaded only by the commands that use them, because that takes time.
 */
export function createCliService() {
  const environment = withRuntimeFile(inheritedEnvironment())
  const config = readConfig(environment)
  const operatorFile = async (path: string) => {
    const { readOperatorSettings } = await import('../config/operatorSettings.ts')
    return readOperatorSettings(path, { withKeys: false }, environment)
  }
  let connected: Promise<Pool> | undefined
  const pool = () => (connected ??= connect(config))
  return {
    database: async () => createCliDatabase(config, await pool(), operatorFile),
    operations: async () => createOperations(config, await pool(), cliActor()),
    /** Updates the schema, and Temporal unless TEMPORAL_ADDRESS is not set. */
    migrate: async () => {
      const session = sessionOf(config)
      const { applied } = await reached(session, () =>
        migrate({ databaseUrl: session.url }).catch(namingRole(session)),
      )
      if (config.temporalAddress === undefined) return { applied, temporal: undefined }
      const { migrateTemporal } = await import('./cliTemporal.ts')
      return { applied, temporal: await migrateTemporal(config) }
    },
    capabilities: async () => {
      const path = config.operatorFilePath
      return path === undefined ? builtInCapabilities : (await operatorFile(path)).capabilities
    },
    /** Makes a free call on a channel of the operator's file. Returns `undefined` for a name not in the file. */
    checkChannel: async (name: string) => {
      const { channels } = await operatorFile(required(config.operatorFilePath, 'DARKROOM_CONFIG'))
      const channel = channels.find((each) => each.name === name)
      if (channel === undefined) return undefined
      return (await import('../upstream/checkChannel.ts')).checkChannel(channel)
    },
    /**
     * Returns the signed URL of a task's image, as the API does. Returns `undefined` without SIGNING_KEYS or
     * PUBLIC_URL: its default is not used, because HOST and PORT of the API may be different from those here.
     */
    assetUrl: (task: TaskView) => {
      const { signingKeys, publicUrlGiven } = config
      return signingKeys && publicUrlGiven && assetUrl(task, publicUrlGiven, signingKeys)
    },
    /** Returns the address of a run's page in Temporal's UI, or `undefined` without TEMPORAL_UI_URL. */
    workflowUrl: (taskId: string) => {
      const base = config.temporalUiUrl?.replace(/\/+$/, '')
      const path = `workflows/${encodeURIComponent(workflowIdOf(taskId))}`
      return base && `${base}/namespaces/${config.temporalNamespace}/${path}`
    },
    /** Returns the history of a task's newest run in Temporal's JSON, or `undefined` when there is no run. */
    fetchHistory: async (taskId: string) =>
      (await import('./cliTemporal.ts')).readHistory(config, taskId),
    /** Returns how this checkout's workflow code differs from a history, or `undefined` when it does not. */
    replayTask: async (events: HistoryEvents) =>
      (await import('../temporal/worker/replay.ts')).replayTask(events),
    close: async () => (await connected)?.end(),
  }
}

/** Connects to PostgreSQL. Throws what to do when it cannot be reached or has the schema of another version. */
async function connect(config: Config): Promise<Pool> {
  const session = sessionOf(config)
  const pool = createPool({
    databaseUrl: session.url,
    applicationName: 'darkroom-cli',
    connectionsMax,
    connectTimeoutMs,
    statementTimeoutMs,
    onConnectionError: () => {},
  })
  try {
    await reached(session, () => requireSchema(pool))
  } catch (error) {
    await pool.end()
    throw error
  }
  return pool
}

function createCliDatabase(
  config: Config,
  pool: Pool,
  operatorFile: (path: string) => Promise<OperatorSettings>,
) {
  const accounts = createAccountStore(pool)
  const tasks = createTaskAdmin(pool)
  return {
    accounts,
    tasks,
    channels: createChannelAdmin(pool),
    webhooks: createWebhookAdmin(pool),
    issueKey: (...given: Parameters<ReturnType<typeof createIssueKey>>) => {
      const pepper = required(config.keyPeppers?.[0], 'KEY_PEPPER')
      return createIssueKey({ accounts, pepper, randomBytes })(...given)
    },
    setBudget: (keyId: string, budget: Budget | undefined) => setBudget(pool, keyId, budget),
    verifyLedger: () => verifyLedger(pool),
    /** Reads prices and timeouts from the operator's file, as the API process does. */
    createRetryTask: async () => {
      const path = required(config.operatorFilePath, 'DARKROOM_CONFIG')
      const { channels, prices } = await operatorFile(path)
      return createRetryTask({
        admin: tasks,
        randomBytes,
        prices: priceList(prices),
        taskDeadlineMs: config.taskDeadlineSeconds * 1_000,
        longestTimeoutMs: (family: Family) => longestTimeoutMs(channelsOf(channels, family)),
      })
    },
    /** Cancels the task in PostgreSQL, and then asks its run to end, which it would do later by itself. */
    cancelTask: async (taskId: string) => {
      // No process is told: those that wait for the end of the task read its row each second.
      const deps = { ...config, pool, announceEnd: () => {} }
      const result = await cancelTask(deps, taskId, 'asked')
      if (result === 'cancelled' && config.temporalAddress !== undefined) {
        await (await import('./cliTemporal.ts')).cancelRun(config, taskId)
      }
      return result
    },
  }
}

/**
 * Returns the way to PostgreSQL itself: commands run long statements and take locks, so they do not go through a
 * pooler in transaction mode. Throws `CommandError` when DATABASE_URL is not set.
 */
function sessionOf(config: Config) {
  const session = databasesOf(config)?.session
  if (session !== undefined) return session
  throw new CommandError(
    `DATABASE_URL is not set, and no \`npm start\` is running on DATA_DIR ${config.dataDir}.`,
  )
}

/** SQLSTATE: the role may not do this. */
const insufficientPrivilege = '42501'

/**
 * Returns a function that throws the error again. When the role may not change the schema, the new error names the
 * role and its variable. An operator who sets DATABASE_URL to the owner of the schema may not know that a
 * DATABASE_SESSION_URL of another role is used instead.
 */
function namingRole({ url, variable }: ReturnType<typeof sessionOf>): (error: unknown) => never {
  return (error) => {
    const refused =
      error instanceof Error && 'code' in error && error.code === insufficientPrivilege
    if (!refused) throw error
    const role = decodeURIComponent(new URL(url).username)
    throw new CommandError(
      `${error.message}, as ${role} (${variable}). Migrate as the role that owns the schema.`,
    )
  }
}
