import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import type { NewAccount, Topup } from '../operations/accounts.ts'
import {
  createAccount,
  listAccounts,
  setAccountModels,
  showAccount,
  topUpAccount,
} from '../operations/accounts.ts'
import { listAudit } from '../operations/audit.ts'
import type { Actor } from '../operations/operation.ts'

/** What an operation gets, besides what it works with. */
type Input<Operation extends (deps: never, input: never) => unknown> = Parameters<Operation>[1]

/** Creates what an operator does, for the CLI and the admin API. */
export function createOperations(_config: Config, pool: Pool, actor: Actor) {
  const deps = { pool, actor, randomBytes }
  return {
    accounts: {
      create: (input: NewAccount) => createAccount(deps, input),
      topUp: (input: Topup) => topUpAccount(deps, input),
      setModels: (input: Input<typeof setAccountModels>) => setAccountModels(deps, input),
      show: (name: string) => showAccount(deps, name),
      list: (input: Input<typeof listAccounts>) => listAccounts(deps, input),
    },
    audit: { list: (input: Input<typeof listAudit>) => listAudit(deps, input) },
  }
}

export type Operations = Readonly<ReturnType<typeof createOperations>>
