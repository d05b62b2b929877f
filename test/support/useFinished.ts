import { afterAll } from 'vitest'

/** Takes what ends something that a test has begun: `onTestFinished`, or in its place what `useFinished` returns. */
export type Finished = (end: () => Promise<void> | void) => void

/** For a file whose tests run at the same time: they cannot share `onTestFinished`. Ends all after the last one. */
export function useFinished(): Finished {
  const ends: Parameters<Finished>[0][] = []
  afterAll(async () => {
    await Promise.all(ends.map(async (end) => end()))
  })
  return (end) => void ends.push(end)
}
