import DataLoader from 'dataloader'

/** Limit for the questions of one statement. Beyond it the statement saves little, and its answers may be large. */
const questionsMax = 32

/**
 * Returns a function that asks one question. While a statement is under way, the questions of one turn of the event
 * loop go to PostgreSQL together, in one further statement. So a busy process sends fewer statements for each
 * question, and a quiet one does not wait. `ask` returns the answers in the order of the questions. A statement is
 * sent only after all of its questions were asked, so an answer is never older than its question. Nothing is kept.
 * When a statement fails, each of its questions fails.
 */
export function joinQueries<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  let underWay = 0
  async function counted(questions: readonly Question[]): Promise<readonly Answer[]> {
    underWay += 1
    try {
      return await ask(questions)
    } finally {
      underWay -= 1
    }
  }
  const loader = new DataLoader<Question, Answer>(counted, {
    cache: false,
    maxBatchSize: questionsMax,
    // An immediate runs after all requests that arrived at the same time were read.
    batchScheduleFn: (send) => (underWay === 0 ? queueMicrotask(send) : void setImmediate(send)),
  })
  return (question) => loader.load(question)
}
