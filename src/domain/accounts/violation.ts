/** What `ledger verify` can find wrong: first with an account, then with a task. */
const accountViolations = [
  'account_without_balance',
  'balance_without_account',
  'negative_balance',
  'available_differs',
  'held_differs',
  'spent_differs',
  'deposits_differ',
] as const
const taskViolations = [
  'hold_missing',
  'hold_twice',
  'credits_differ',
  'account_differs',
  'key_differs',
  'model_differs',
  'end_time_differs',
  'end_twice',
  'end_without_hold',
  'live_task_ended',
  'succeeded_not_settled',
  'failed_not_released',
  'held_without_task',
] as const

export type Violation =
  | { readonly kind: (typeof accountViolations)[number]; readonly accountId: string }
  | {
      readonly kind: (typeof taskViolations)[number]
      readonly accountId: string
      readonly taskId: string
    }
