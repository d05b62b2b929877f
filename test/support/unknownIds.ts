/** An id of each kind in the right form that nothing has, by the name of the parameter. */
export const unknownIds: Readonly<Record<string, string>> = {
  account_id: `acct_${'0'.repeat(16)}`,
  key_id: `key_${'0'.repeat(16)}`,
  task_id: `task_${'0'.repeat(32)}`,
  webhook_id: `wh_${'0'.repeat(24)}`,
  delivery_id: `whd_${'0'.repeat(32)}`,
}
