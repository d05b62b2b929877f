import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { withProgress } from '../../src/cli/progress.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Runs work that takes `ms`, and returns what was written. */
async function writtenIn(ms: number, isTerminal: boolean): Promise<readonly string[]> {
  const written: string[] = []
  const stream = { isTerminal, err: (text: string) => void written.push(text) }
  const result = await withProgress(
    stream,
    (seconds) => `at ${seconds} s`,
    async () => {
      await vi.advanceTimersByTimeAsync(ms)
      return 'done'
    },
  )
  expect(result).toBe('done')
  const before = written.length
  await vi.advanceTimersByTimeAsync(60_000)
  expect(written).toHaveLength(before)
  return written
}

describe('the progress of a command', () => {
  it('is one line on a terminal, which is cleared at the end', async () => {
    const clear = '\r\u001B[2K'
    expect(await writtenIn(1_100, true)).toEqual([`${clear}at 1 s`, `${clear}at 1 s`, clear])
  })

  it('is a plain line each ten seconds elsewhere', async () => {
    expect(await writtenIn(25_000, false)).toEqual(['at 10 s\n', 'at 20 s\n'])
  })
})
