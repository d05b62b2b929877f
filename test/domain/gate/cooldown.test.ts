import { expect, it } from 'vitest'
import { cooldownAfter } from '../../../src/domain/gate/cooldown.ts'

const minute = 60_000

it.each([
  ['refused', 'rate_limited', 7_000, { everyModel: false, fault: false, namedMs: 7_000 }],
  [
    'refused',
    'rate_limited',
    86_400_000,
    { everyModel: false, fault: false, namedMs: 15 * minute },
  ],
  ['refused', 'overloaded', undefined, { everyModel: false, fault: false, firstMs: 1_000 }],
  ['operator_fault', 'credential', undefined, { everyModel: true, fault: true, firstMs: minute }],
  ['operator_fault', 'forbidden', undefined, { everyModel: true, fault: true }],
  ['operator_fault', 'model_not_found', undefined, { everyModel: false, fault: true }],
  ['refused', 'not_called', 7_000, undefined],
  ['refused', 'inputs_unreadable', undefined, undefined],
  ['unknown', 'server_error', 7_000, undefined],
  ['refused', 'server_error', 7_000, undefined],
  ['exhausted', 'quota_exhausted', 7_000, undefined],
  ['declined', 'forbidden', 7_000, undefined],
  ['rejected', 'content_policy', undefined, undefined],
  ['succeeded', 'image', undefined, undefined],
] as const)('after %s %s with Retry-After %s the cooldown is %j', (...row) => {
  const [outcome, reason, retryAfterMs, expected] = row
  const cooldown = cooldownAfter({ class: outcome, reason, retryAfterMs })
  expect(cooldown ?? {}).toMatchObject(expected ?? {})
  expect(cooldown === undefined).toBe(expected === undefined)
})

it.each([
  [1, 1],
  [2, 1],
  [5, 2],
  [200, 100],
])('of %i places %i are kept after the first cooldown', (concurrencyMax, firstMax) => {
  const outcome = { class: 'refused', reason: 'rate_limited', concurrencyMax } as const
  expect(cooldownAfter(outcome)).toMatchObject({ firstMax })
})
