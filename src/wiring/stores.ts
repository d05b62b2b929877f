import type { Pool } from 'pg'
import type { AccountReads } from '../domain/ports/accountReads.ts'
import type { AccountStore } from '../domain/ports/accountStore.ts'
import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import type { ChannelAdmin } from '../domain/ports/channelAdmin.ts'
import type { TaskAdmin } from '../domain/ports/taskAdmin.ts'
import type { TaskStore } from '../domain/ports/taskStore.ts'
import type { WebhookAdmin } from '../domain/ports/webhookAdmin.ts'
import type { DeliveryStore, WebhookStore } from '../domain/ports/webhookStore.ts'
import {
  createAccount,
  findAccount,
  listAccounts,
  readAccount,
  topUp,
} from '../store/accounts/accounts.ts'
import { createKey, findCaller, listKeys, revokeKey } from '../store/accounts/apiKeys.ts'
import { readUsage } from '../store/accounts/readUsage.ts'
import type { BeginAttemptDeps } from '../store/attempts/beginAttempt.ts'
import { beginAttempt } from '../store/attempts/beginAttempt.ts'
import { abandonAttempt, closeAttempt } from '../store/attempts/closeAttempt.ts'
import { createBeginFirstCall } from '../store/attempts/beginFirstCall.ts'
import { createQueuedLooks } from '../store/attempts/queuedLooks.ts'
import { answerIdsOf, createSettleTask } from '../store/attempts/settleTask.ts'
import { listChannels, pauseChannel, resumeChannel } from '../store/channels/channelAdmin.ts'
import { discardUpload, openUpload } from '../store/reconcile/uploads.ts'
import type { Lifetimes } from '../store/tasks/lifetimes.ts'
import type { AnnounceEnd } from '../store/tasks/announceEnd.ts'
import { cancelTask } from '../store/tasks/cancelTask.ts'
import { createFailTask } from '../store/tasks/failTask.ts'
import { findKeyedTask, freeKey } from '../store/tasks/idempotencyKey.ts'
import { insertTask } from '../store/tasks/insertTask.ts'
import { listOwnTasks, listTasks } from '../store/tasks/listTasks.ts'
import { readNativeRejection, readTask, readTaskOfImage } from '../store/tasks/readTask.ts'
import { readTaskDetail } from '../store/tasks/readTaskDetail.ts'
import { retryTask } from '../store/tasks/retryTask.ts'
import { claimDue } from '../store/webhooks/claimDue.ts'
import {
  insertTestDelivery,
  listDeliveries,
  readDelivery,
  redeliver,
} from '../store/webhooks/deliveries.ts'
import { hasWebhook, listAllWebhooks, redeliverAny } from '../store/webhooks/webhookAdmin.ts'
import { recordTry } from '../store/webhooks/recordTry.ts'
import {
  enableWebhook,
  endPending,
  endWebhook,
  forgetWebhooks,
  insertWebhook,
  listWebhooks,
  readWebhook,
  rotateSecret,
} from '../store/webhooks/webhooks.ts'

// The functions of `src/store/` take the pool, or other dependencies, as their first argument. The ports of
// `src/domain/ports/` do not have this argument. Each function below binds it.

/** For the HTTP routes that accept, look up and show tasks. */
export function createTaskStore(pool: Pool): TaskStore {
  return bindFirst(pool, {
    findCaller,
    findKeyedTask,
    freeKey,
    insertTask,
    readTask,
    readTaskOfImage,
    readNativeRejection,
    openUpload,
    discardUpload,
  })
}

/** For the worker and the reconciler: the gate, the ends of attempts, and the ends of tasks. */
export function createAttemptStore(
  deps: BeginAttemptDeps & Lifetimes & { readonly announceEnd: AnnounceEnd },
): AttemptStore {
  const looks = createQueuedLooks(deps)
  const gate = { ...deps, ...looks, beginFirstCall: createBeginFirstCall(deps) }
  return {
    ...bindFirst(gate, { beginAttempt }),
    endOfFirstCall: looks.endOfFirstCall,
    settleTask: createSettleTask(deps),
    failTask: createFailTask(deps),
    ...bindFirst(deps, { closeAttempt, abandonAttempt, cancelTask }),
    ...bindFirst(deps.pool, { answerIdsOf }),
  }
}

/** For the operator's commands on accounts, API keys and deposits. */
export function createAccountStore(pool: Pool): AccountStore {
  return bindFirst(pool, {
    createAccount,
    topUp,
    findAccount,
    listAccounts,
    createKey,
    listKeys,
    revokeKey,
  })
}

/** For the HTTP routes by which clients read about their own account. */
export function createAccountReads(pool: Pool): AccountReads {
  return bindFirst(pool, { readAccount, listOwnTasks, readUsage })
}

/** For the HTTP routes by which clients manage their webhooks. */
export function createWebhookStore(pool: Pool): WebhookStore {
  return bindFirst(pool, {
    insertWebhook,
    listWebhooks,
    readWebhook,
    endWebhook,
    enableWebhook,
    rotateSecret,
    insertTestDelivery,
    listDeliveries,
    readDelivery,
    redeliver,
  })
}

/** For the workers, which send the deliveries of webhooks. */
export function createDeliveryStore(pool: Pool): DeliveryStore {
  return bindFirst(pool, {
    claimDue,
    recordTry,
    endPending,
    forgetWebhooks,
  })
}

/** For the operator's commands that list, show and retry tasks. */
export function createTaskAdmin(pool: Pool): TaskAdmin {
  return bindFirst(pool, { listTasks, readTaskDetail, retryTask })
}

/** For the operator's commands on webhooks: listing, disabling and sending deliveries again. */
export function createWebhookAdmin(pool: Pool): WebhookAdmin {
  return bindFirst(pool, {
    listAllWebhooks,
    hasWebhook,
    endWebhook,
    listDeliveries,
    redeliverAny,
  })
}

/** For the operator's commands that list, pause and resume channels. */
export function createChannelAdmin(pool: Pool): ChannelAdmin {
  return bindFirst(pool, { listChannels, pauseChannel, resumeChannel })
}

/** The same functions without their first parameter. */
type WithoutFirst<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (
    first: never,
    ...rest: infer Rest
  ) => infer Result
    ? (...rest: Rest) => Result
    : never
}

type Functions<First> = {
  readonly [name: string]: (first: First, ...rest: never[]) => unknown
}

/** Binds the first argument of each function. */
function bindFirst<First, Given extends Functions<First>>(
  first: First,
  functions: Given,
): WithoutFirst<Given>
function bindFirst(
  first: unknown,
  functions: Readonly<Record<string, (...given: unknown[]) => unknown>>,
): object {
  return Object.fromEntries(
    Object.entries(functions).map(([name, run]) => [
      name,
      (...rest: unknown[]) => run(first, ...rest),
    ]),
  )
}
