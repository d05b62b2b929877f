import { readFile, readdir } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ReplayHistory } from '../../src/temporal/worker/replay.ts'
import { replayHistories } from '../../src/temporal/worker/replay.ts'
import { testBundle } from '../support/temporal/temporalWorld.ts'

const folder = new URL('../histories/', import.meta.url)

/** Every path of the workflow. A history is never recorded anew, and none may vanish. */
const paths = [
  'cancelRefused',
  'cancelRefusedThenFailed',
  'cancelUnseenRefused',
  'cancelled',
  'cancelledUnseen',
  'cancelledUnseenUnpatched',
  'failed',
  'failedWithRetryAfter',
  'over',
  'succeeded',
  'succeededAfterToldWait',
  'succeededAfterWaits',
  'succeededWhileFailing',
]

let recorded: readonly (ReplayHistory & { readonly text: string })[]

beforeAll(async () => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
  recorded = await Promise.all(
    names.toSorted().map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8')
      const history: unknown = JSON.parse(text)
      return { workflowId: name.slice(0, -'.json'.length), history, text }
    }),
  )
})

describe('runs that older code has begun', () => {
  it('are recorded for every path of the workflow', () => {
    expect(recorded.map(({ workflowId }) => workflowId)).toEqual(expect.arrayContaining(paths))
  })

  it('go on under the code of this checkout', async () => {
    const results = await replayHistories(await testBundle(), recorded)
    expect(results).toEqual(recorded.map(({ workflowId }) => ({ workflowId })))
  })

  it('would be noticed when the code took another way', async () => {
    const failed = recorded.find(({ workflowId }) => workflowId === 'failed')
    const history: unknown = JSON.parse(
      (failed?.text ?? '').replaceAll('"recordFailure"', '"recordSomethingElse"'),
    )
    const [result] = await replayHistories(await testBundle(), [{ workflowId: 'other', history }])
    expect(result?.error).toContain('recordSomethingElse')
  })
})
