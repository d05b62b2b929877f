import type { ModelId } from './models.ts'

/** Who asks: the account behind a valid key. The key itself goes no further than authentication. */
export type Caller = {
  readonly accountId: string
  readonly keyId: string
  /** Models this account and key may use; absent: all. */
  readonly models?: readonly ModelId[]
}
