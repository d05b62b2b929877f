import { modelIds } from '../../../src/domain/models/models.ts'
import type { TaskRecord } from '../clients/client.ts'
import { generateBody, inputImage } from '../clients/requestBodies.ts'
import { paddedPng } from '../images.ts'
import type { Seeded } from '../seeded.ts'
import type { TestAccount } from '../service/testAccount.ts'

/** One answer to a submit. `none`: no answer arrived, so the submit may or may not have been accepted. */
export type ChaosAnswer =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly replayed: string | null
      readonly text: string
    }

/** One request under one idempotency key, with every answer that its client got. */
export type ChaosRequest = {
  /** The start of the prompt, by which the call log of the simulator identifies the request. */
  readonly tag: string
  readonly account: TestAccount
  readonly key: string
  readonly body: Readonly<Record<string, unknown>>
  /** How many copies are sent at once. */
  readonly copies: number
  /** Once accepted, another body is sent under the same key. */
  readonly conflicts: boolean
  readonly answers: ChaosAnswer[]
  readonly conflictAnswers: ChaosAnswer[]
  taskId: string | undefined
  /** Every record that the client read, in order. */
  readonly seen: TaskRecord[]
}

/** Faults of the upstream. Their waits are short, so that all tasks end soon. */
const upstreamFaults = [
  '429 retry-after=1 times=1',
  '429 form=none times=2',
  '503 times=1',
  '500 times=1',
  '500 times=2',
  '500',
  '502 times=1',
  'reset times=1',
  'hang times=1',
  'truncated times=1',
  'html times=1',
  'bad-base64 times=1',
  'moderation',
  '400',
  'zero',
  'quota',
  'delay ms=1500',
  'delay ms=3000',
  'slow chunks=5 interval=100',
] as const
const faultShare = 0.5

/** Returns a fault for the end of a prompt in half of all cases, and otherwise nothing. */
export function upstreamFault(chance: Seeded): string {
  return chance.chance(faultShare) ? ` [sim:${chance.pick(upstreamFaults)}]` : ''
}

/** Chooses a request at random. Half of the requests carry an upstream fault. */
export function chaosRequest(
  index: number,
  accounts: readonly TestAccount[],
  chance: Seeded,
): ChaosRequest {
  const tag = `chaos ${index};`
  const body = { model: chance.pick(modelIds), prompt: tag + upstreamFault(chance) }
  const images = Array.from({ length: chance.between(1, 3) }, (_, i) =>
    inputImage(paddedPng(2_000 + 1_000 * i, i)),
  )
  const edit = chance.chance(0.3) ? { action: 'edit', input_images: images } : {}
  return {
    tag,
    account: chance.pick(accounts),
    key: `key-${index}`,
    body: generateBody({ ...body, ...edit }),
    copies: chance.chance(0.25) ? 3 : 1,
    conflicts: chance.chance(0.2),
    answers: [],
    conflictAnswers: [],
    taskId: undefined,
    seen: [],
  }
}
