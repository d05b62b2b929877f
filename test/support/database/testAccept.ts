import type { Pool } from 'pg'
import type { Caller } from '../../../src/domain/accounts/account.ts'
import { newAccountId } from '../../../src/domain/accounts/account.ts'
import type { RequestFailure } from '../../../src/domain/failure.ts'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import type { GivenModels } from '../../../src/domain/models/modelTable.ts'
import type { ModelId } from '../../../src/domain/models/models.ts'
import type { Result } from '../../../src/domain/result.ts'
import type { ImageRequest } from '../../../src/domain/tasks/imageRequest.ts'
import type { TaskStart } from '../../../src/domain/tasks/taskStart.ts'
import { createAccount } from '../../../src/store/accounts/accountRows.ts'
import type { Accepted, AcceptInput, AcceptTaskDeps } from '../../../src/tasks/acceptTask.ts'
import { acceptTask, answerWithoutTask } from '../../../src/tasks/acceptTask.ts'
import { createRefusedModels } from '../../../src/tasks/refusedModels.ts'
import { testChannel } from './testAttempts.ts'

/** The price of a generation in tests. An edit costs 2 credits more per source image. */
export const testCredits = 10

const testPrices = ['familyb-image-2-vip', 'familya-3-pro-image'].map((model) => ({
  model,
  credits: testCredits,
  creditsPerInputImage: 2,
}))

/** Creates `accept` on a real task store. `started` collects what would go to the start queue. */
export function createTestAccept(
  pool: Pool,
  { prices = testPrices, ...given }: Partial<AcceptTaskDeps> & GivenModels = {},
) {
  const started: TaskStart[] = []
  const channels = [testChannel({ timeoutMs: 300_000 })]
  const deps: AcceptTaskDeps = {
    pool,
    models: createModelTable({ prices }),
    taskDeadlineMs: 600_000,
    channels,
    refusedModels: createRefusedModels({ pool, channels }),
    onAccepted: (start) => void started.push(start),
    ...given,
  }
  return {
    accept: (input: AcceptInput) => acceptTask(deps, input),
    answerWithoutTask: (input: AcceptInput) => answerWithoutTask(deps, input),
    started,
  }
}

/** Creates an account and returns it as a caller with a valid API key. */
export async function createTestCaller(
  pool: Pool,
  credits: number,
  models?: readonly ModelId[],
): Promise<Caller & { readonly name: string }> {
  const accountId = newAccountId()
  const only = models === undefined ? {} : { models }
  await createAccount(pool, { accountId, name: accountId, credits, ...only })
  return { accountId, keyId: 'key_test', name: accountId, ...only }
}

/** A generation for family B, with the given fields replaced. */
export function generateRequest(given: Partial<ImageRequest> = {}): ImageRequest {
  return {
    route: 'images.tasks',
    family: 'B',
    model: 'familyb-image-2-vip',
    action: 'generate',
    body: { kind: 'prompt', prompt: 'a lighthouse' },
    inputs: [],
    ...given,
  }
}

/** The bytes of an idempotency key, as the HTTP layer passes them. */
export function keyBytes(key: string): Uint8Array {
  return Buffer.from(key, 'latin1')
}

/** Returns what `accept` accepted. Throws when it refused. */
export function accepted(answer: Result<Accepted, RequestFailure>): Accepted {
  if (!answer.ok) throw new Error(`refused: ${answer.failure.tag}`)
  return answer.value
}

/** Returns why `accept` refused, or `accepted`. */
export function refusal(answer: Result<Accepted, RequestFailure>): string {
  return answer.ok ? 'accepted' : answer.failure.tag
}

/** Counts the rows that `accept` wrote for an account; of the ledger only the holds. */
export async function rowCountOf(
  pool: Pool,
  table: 'task' | 'ledger' | 'idempotency_key',
  accountId: string,
): Promise<number | undefined> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int as count from ${table} where account_id = $1
       ${table === 'ledger' ? `and kind = 'hold'` : ''}`,
    [accountId],
  )
  return rows[0]?.count
}
