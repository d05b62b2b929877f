import { readFile, readdir } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ReplayHistory } from '../../src/temporal/worker/replay.ts'
import { replayHistories } from '../../src/temporal/worker/replay.ts'
import { testBundle } from '../support/temporal/temporalWorld.ts'

const folder = new URL('../histories/', import.meta.url)

/** Every path of the workflow. A history is recorded once, and none may disappear. */
const paths = [
  'cancelRefused',
  'cancelRefusedThenFailed',
  'cancelUnseenRefused',
  'cancelled',
  'cancelledUnseen',
  'failed',
  'failedWithRetryAfter',
  'over',
  'succeeded',
  'succeededAfterWaits',
  'givenUp',
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

describe('runs that older code started', () => {
  it('are recorded for every path of the workflow', () => {
    expect(recorded.map(({ workflowId }) => workflowId)).toEqual(expect.arrayContaining(paths))
  })

  it('continue with the code of this checkout', async () => {
    const results = await replayHistories(await testBundle(), recorded)
    expect(results).toEqual(recorded.map(({ workflowId }) => ({ workflowId })))
  })

  it('fail to replay when the code takes another path', async () => {
    const failed = recorded.find(({ workflowId }) => workflowId === 'failed')
    const history: unknown = JSON.parse(
      (failed?.text ?? '').replaceAll('"produceImage"', '"produceSomethingElse"'),
    )
    const [result] = await replayHistories(await testBundle(), [{ workflowId: 'other', history }])
    expect(result?.error).toContain('produceSomethingElse')
  })
})
