import { within } from './within.ts'

/**
 * `within`, for a store that may hang: a question that was given up goes on and, where it is of a file,
 * holds one of the few threads that the whole process has for files, names and compression. So nothing
 * more is asked before that question has come to its end: it is an error at once.
 */
export function createSparingWithin(): typeof within {
  let givenUp = 0
  return async (limitMs, ask) => {
    if (givenUp > 0) throw new Error('not asked during a silence')
    let ended = false
    const question = ask().finally(() => {
      ended = true
    })
    try {
      return await within(limitMs, () => question)
    } finally {
      if (!ended) {
        givenUp += 1
        const onEnd = () => void (givenUp -= 1)
        question.then(onEnd, onEnd)
      }
    }
  }
}
