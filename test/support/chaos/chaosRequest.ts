import { modelIds } from '../../../src/domain/models.ts'
import type { TaskRecord } from '../clients/client.ts'
import { paddedPng } from '../images.ts'
import { generateBody, inputImage } from '../clients/requestBodies.ts'
import type { Seeded } from '../seeded.ts'
import type { TestAccount } from '../service/testService.ts'

/** One answer to a submit; `none`: the connection broke or the time was over, so it may have counted. */
export type ChaosAnswer =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly replayed: string | null
      readonly text: string
    }

/** One thing that a client wants done, under one key, with all that it was told. */
export type ChaosRequest = {
  /** In the prompt, so that the simulator's log tells whose a call was. */
  readonly tag: string
  readonly account: TestAccount
  readonly key: string
  readonly body: Readonly<Record<string, unknown>>
  /** Sent so many times at once. */
  readonly copies: number
  /** Once accepted, another body is sent under the same key. */
  readonly conflicts: boolean
  readonly answers: ChaosAnswer[]
  readonly conflictAnswers: ChaosAnswer[]
  taskId: string | undefined
  /** Every record that was read, in the order of reading. */
  readonly seen: TaskRecord[]
}

/** What an upstream may do; most calls go well. Waits and timeouts are short, so that all heals soon. */
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

export function chaosRequest(
  index: number,
  accounts: readonly TestAccount[],
  chance: Seeded,
): ChaosRequest {
  const tag = `chaos ${index};`
  const fault = chance.chance(faultShare) ? ` [sim:${chance.pick(upstreamFaults)}]` : ''
  const body = { model: chance.pick(modelIds), prompt: tag + fault }
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
