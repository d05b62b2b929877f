import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { CancelTask, Parts } from '../cli/context.ts'
import type { CliStreams } from '../cli/runCli.ts'
import { runCli } from '../cli/runCli.ts'
import { createCliDatabase } from './cliDatabase.ts'
import { cancelWorkflowOf, fetchHistoryOf, migrateTemporal } from './cliTemporal.ts'
import type { Config, Environment } from '../config.ts'
import type { OperatorSettings } from '../config/operatorSettings.ts'
import { defined } from '../domain/defined.ts'
import type { Family } from '../domain/models/models.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { AnnounceEnd } from '../store/tasks/announceEnd.ts'

/** Runs one command and returns its exit code. Opens only the parts that this command uses. */
export async function operate(args: readonly string[], streams: CliStreams): Promise<number> {
  const environment = lazily(async () => {
    const { inheritedEnvironment } = await import('../config.ts')
    const { withRuntimeFile } = await import('../config/runtimeFile.ts')
    return withRuntimeFile(inheritedEnvironment())
  })
  const config = lazily(async () => {
    const { readConfig } = await import('../config.ts')
    return readConfig(await environment())
  })
  const database = createCliDatabase(config)
  try {
    return await runCli(args, createParts({ environment, config }, database), streams)
  } finally {
    await database.close()
  }
}

type Settings = {
  readonly environment: () => Promise<Environment>
  readonly config: () => Promise<Config>
}

/**
 * Creates the parts of all commands. Each part imports its libraries when a command first uses it, so that a
 * command answers in well under a second.
 */
function createParts(
  { environment, config }: Settings,
  database: ReturnType<typeof createCliDatabase>,
): Parts {
  const tasks = async () =>
    (await import('../store/tasks/taskStore.ts')).createTaskAdmin(await database.pool())
  const accounts = async () =>
    (await import('../store/accounts/accountStore.ts')).createAccountStore(await database.pool())
  return {
    tasks,
    accounts,
    migrate: async () => {
      const { applied } = await database.migrate()
      const temporal = await migrateTemporal(await config())
      return { applied, ...defined({ temporal }) }
    },
    issueKey: async () => {
      const { required } = await import('../config.ts')
      const { createIssueKey } = await import('../tasks/apiKeys.ts')
      const pepper = required((await config()).keyPeppers?.[0], 'KEY_PEPPER')
      return createIssueKey({ accounts: await accounts(), pepper, randomBytes })
    },
    setBudget: async (keyId, budget) =>
      (await import('../store/accounts/budgets.ts')).setBudget(
        await database.ledgerPool(),
        keyId,
        budget,
      ),
    verifyLedger: async () =>
      (await import('../store/accounts/verifyLedger.ts')).verifyLedger(await database.ledgerPool()),
    retryTask: async () => {
      const { createRetryTask } = await import('../tasks/retryTask.ts')
      return createRetryTask({
        admin: await tasks(),
        randomBytes,
        ...(await retryTerms(await config())),
      })
    },
    cancelTask: async () =>
      cancelTaskBy(await config(), {
        pool: await database.pool(),
        announceEnd: await database.announceEnd(),
      }),
    capabilities: async () => {
      const { operatorFilePath } = await config()
      if (operatorFilePath === undefined) {
        return (await import('../domain/models/capabilities.ts')).builtInCapabilities
      }
      return (await settingsAt(operatorFilePath)).capabilities
    },
    channels: async () => (await import('./stores.ts')).createChannelAdmin(await database.pool()),
    webhooks: async () =>
      (await import('../store/webhooks/webhookStore.ts')).createWebhookAdmin(await database.pool()),
    checkChannel: async (name) => {
      const { required } = await import('../config.ts')
      const path = required((await config()).operatorFilePath, 'DARKROOM_CONFIG')
      const { channels } = await settingsAt(path, await environment())
      const channel = channels.find((each) => each.name === name)
      const { checkChannel } = await import('../upstream/checkChannel.ts')
      return channel === undefined ? undefined : checkChannel(channel)
    },
    assetUrl: async () => assetUrlBy(await config()),
    fetchHistory: async () => fetchHistoryOf(await config()),
    replayTask: async () => (await import('./cliReplay.ts')).openReplay(),
    workflowUrl: async (taskId) => {
      const { workflowIdOf } = await import('../domain/ids.ts')
      const { temporalUiUrl, temporalNamespace } = await config()
      if (temporalUiUrl === undefined) return undefined
      const workflowId = encodeURIComponent(workflowIdOf(taskId))
      const base = temporalUiUrl.replace(/\/+$/, '')
      return `${base}/namespaces/${temporalNamespace}/workflows/${workflowId}`
    },
  }
}

/**
 * Returns the function that makes the URL of a task's image. Without SIGNING_KEYS or PUBLIC_URL it makes none. The
 * default of PUBLIC_URL is not used, because HOST and PORT of the API process may be different from those here.
 */
async function assetUrlBy({
  signingKeys,
  publicUrlGiven,
}: Config): Promise<(task: TaskView) => string | undefined> {
  const [first, ...others] = signingKeys ?? []
  if (first === undefined || publicUrlGiven === undefined) return () => undefined
  const { assetUrl } = await import('../http/assetUrl.ts')
  return (task) => assetUrl(task, publicUrlGiven, [first, ...others])
}

async function cancelTaskBy(
  config: Config,
  ends: { readonly pool: Pool; readonly announceEnd: AnnounceEnd },
): Promise<CancelTask> {
  const { cancelTask } = await import('../store/tasks/cancelTask.ts')
  const { retentionSeconds, tombstoneSeconds, inputRetentionSeconds } = config
  const lifetimes = { retentionSeconds, tombstoneSeconds, inputRetentionSeconds }
  return async (taskId) => {
    const result = await cancelTask({ ...ends, ...lifetimes }, taskId, 'asked')
    if (result === 'cancelled') await cancelWorkflowOf(config, taskId)
    return result
  }
}

/**
 * Returns the price list and the time limits that the API process would use. Reads prices and timeouts from the
 * operator's file, so the CLI needs this file too.
 */
async function retryTerms(config: Config) {
  const { required } = await import('../config.ts')
  const { priceList } = await import('../domain/models/prices.ts')
  const { channelsOf, longestTimeoutMs } = await import('../domain/upstream/channel.ts')
  const path = required(config.operatorFilePath, 'DARKROOM_CONFIG')
  const { channels, prices } = await settingsAt(path)
  return {
    prices: priceList(prices),
    taskDeadlineMs: config.taskDeadlineSeconds * 1_000,
    longestTimeoutMs: (family: Family) => longestTimeoutMs(channelsOf(channels, family)),
  }
}

async function settingsAt(path: string, environment: Environment = {}): Promise<OperatorSettings> {
  const { readOperatorSettings } = await import('../config/operatorSettings.ts')
  return readOperatorSettings(path, { withKeys: false }, environment)
}

/** Returns a function that runs `make` at its first call and returns the same promise at every later call. */
function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () => (made ??= make())
}
