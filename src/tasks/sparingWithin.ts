import { within } from './within.ts'

/** How long whoever gave no answer in time is left alone, at least. */
const restMs = 5_000

/**
 * `within`, for a store that may hang: a question that was given up goes on and, where it is of a file,
 * holds one of the few threads that the whole process has for files, names and compression. So nothing
 * more is asked for some seconds, nor before that question has come to its end: it is an error at once.
 */
export function createSparingWithin(
  monotonicMs: () => number = () => performance.now(),
): typeof within {
  let givenUp = 0
  let restUntilMs = 0
  return async (limitMs, ask) => {
    if (givenUp > 0 || monotonicMs() < restUntilMs) throw new Error('not asked after a silence')
    let ended = false
    const question = ask().finally(() => {
      ended = true
    })
    try {
      return await within(limitMs, () => question)
    } finally {
      if (!ended) {
        givenUp += 1
        restUntilMs = monotonicMs() + restMs
        const onEnd = () => void (givenUp -= 1)
        question.then(onEnd, onEnd)
      }
    }
  }
}
