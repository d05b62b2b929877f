import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import { required } from '../config.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import * as accounts from '../operations/accounts.ts'
import { listAudit } from '../operations/audit.ts'
import * as channels from '../operations/channels.ts'
import * as keys from '../operations/keys.ts'
import { find } from '../operations/find.ts'
import { verifyLedger } from '../operations/ledger.ts'
import { exportLedger, listLedger } from '../operations/ledgerEntries.ts'
import * as manyTasks from '../operations/manyTasks.ts'
import type { Actor } from '../operations/operation.ts'
import { showOverview } from '../operations/overview.ts'
import { showQueue } from '../operations/queue.ts'
import * as contents from '../operations/taskContents.ts'
import * as tasks from '../operations/tasks.ts'
import type { UsageInput } from '../operations/usage.ts'
import { countUsage } from '../operations/usage.ts'
import * as webhooks from '../operations/webhooks.ts'
import type { OperationParts } from './operationParts.ts'

/** What an operation gets, besides what it works with. */
type Input<Operation extends (deps: never, input: never) => unknown> = Parameters<Operation>[1]

/** Creates what an operator does, for the CLI and the admin API. `parts` may be shared by many of these. */
export function createOperations(config: Config, pool: Pool, actor: Actor, parts: OperationParts) {
  const pepper = () => required(config.keyPeppers?.[0], 'KEY_PEPPER')
  const deps = { ...parts, pool, actor, randomBytes, pepper, lifetimes: config }
  return {
    accounts: {
      create: (input: accounts.NewAccount) => accounts.createAccount(deps, input),
      topUp: (input: accounts.Topup) => accounts.topUpAccount(deps, input),
      setModels: (input: Input<typeof accounts.setAccountModels>) =>
        accounts.setAccountModels(deps, input),
      setLimits: (input: Input<typeof accounts.setAccountLimits>) =>
        accounts.setAccountLimits(deps, input),
      change: (input: Input<typeof accounts.changeAccount>) => accounts.changeAccount(deps, input),
      show: (name: string) => accounts.showAccount(deps, name),
      list: (input: Input<typeof accounts.listAccounts>) => accounts.listAccounts(deps, input),
    },
    keys: {
      create: (input: keys.NewKey) => keys.issueKey(deps, input),
      list: (input: Input<typeof keys.listAccountKeys>) => keys.listAccountKeys(deps, input),
      setBudget: (input: Input<typeof keys.setKeyBudget>) => keys.setKeyBudget(deps, input),
      revoke: (keyId: string) => keys.revokeApiKey(deps, keyId),
    },
    tasks: {
      list: (input: Input<typeof tasks.listTasks>) => tasks.listTasks(deps, input),
      show: (taskId: string) => tasks.showTask(deps, taskId),
      cancel: (taskId: string) => tasks.cancelTask(deps, taskId),
      cancelMany: (input: Input<typeof manyTasks.cancelTasks>) =>
        manyTasks.cancelTasks(deps, input),
      retry: (taskId: string) => tasks.retryTask(deps, taskId),
      retryMany: (input: Input<typeof manyTasks.retryTasks>) => manyTasks.retryTasks(deps, input),
    },
    channels: {
      list: () => channels.listChannels(deps),
      pause: (input: channels.Pause) => channels.pauseChannel(deps, input),
      resume: (name: string) => channels.resumeChannel(deps, name),
      check: (name: string) => channels.checkChannel(deps, name),
    },
    webhooks: {
      list: (input: Input<typeof webhooks.listWebhooks>) => webhooks.listWebhooks(deps, input),
      deliveries: (input: Input<typeof webhooks.listWebhookDeliveries>) =>
        webhooks.listWebhookDeliveries(deps, input),
      redeliver: (deliveryId: string) => webhooks.redeliver(deps, deliveryId),
      redeliverFailed: (input: webhooks.RedeliverMany) => webhooks.redeliverFailed(deps, input),
      disable: (webhookId: string) => webhooks.disableWebhook(deps, webhookId),
      delete: (webhookId: string) => webhooks.deleteWebhook(deps, webhookId),
    },
    ledger: {
      verify: () => verifyLedger(deps),
      list: (input: Input<typeof listLedger>) => listLedger(deps, input),
      export: (input: Input<typeof exportLedger>) => exportLedger(deps, input),
    },
    usage: (input: UsageInput) => countUsage(deps, input),
    overview: () => showOverview(deps),
    queue: () => showQueue(deps),
    find: (id: string) => find(deps, id),
    audit: { list: (input: Input<typeof listAudit>) => listAudit(deps, input) },
  }
}

/** Creates what an operator sees of prompts and images. Only the admin process has it. */
export function createContentOperations(pool: Pool, actor: Actor, blobs: BlobStore) {
  const deps = { pool, actor, blobs }
  return {
    request: (taskId: string) => contents.showRequest(deps, taskId),
    sourceImage: (input: Input<typeof contents.openSourceImage>) =>
      contents.openSourceImage(deps, input),
    image: (taskId: string) => contents.openTaskImage(deps, taskId),
  }
}

export type ContentOperations = ReturnType<typeof createContentOperations>

export type Operations = Readonly<ReturnType<typeof createOperations>>
