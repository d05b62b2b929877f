/**
 * How long an image is kept (`retentionSeconds`), and how much longer its task's record is kept
 * (`tombstoneSeconds`). The record of a failed task is kept for the sum of both, and its inputs for
 * `inputRetentionSeconds`. With 0, the inputs and the prompt are deleted at once.
 */
export type Lifetimes = {
  readonly retentionSeconds: number
  readonly tombstoneSeconds: number
  readonly inputRetentionSeconds: number
}

/**
 * How long the bytes of a published image are kept after the image has expired, so that a download that began
 * before that is not cut off.
 */
export const downloadGraceSql = `interval '15 minutes'`

/**
 * How long after the hard end of a task its unpublished answers are kept. By then the calls of the task have stored
 * their answers. A worker that stood still for longer makes the upload of its answer due again (`closeAttempt`).
 */
export const unusedAnswerKeptSql = `interval '1 hour'`

/**
 * The answer that a row of `task` has published. Null once its image has expired: a worker that then stores the answer
 * again, because it never learned that it was stored, has it swept like any other answer that came too late.
 */
export const publishedSql = `case when expires_at > clock_timestamp() then answer_id end`
