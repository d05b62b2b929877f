/**
 * How long a worker may be late before the reconciler looks after its task. The lease of a call ends this long after
 * the timeout of the call. The check of a waiting task comes this long after the end of its wait, and the check of a
 * task whose call has ended comes this long after the call.
 */
export const overdueAfterMs = 30_000
/**
 * The same for a waiting task without a run, and after a call of such a task. Shorter, because nobody except its
 * worker continues such a task before the check.
 */
const offerOverdueAfterMs = 3_000

/** How long the worker of a row of `task` may be late, in milliseconds. */
export const overdueMsSql = `case when started_at is null then ${offerOverdueAfterMs}::float8
      else ${overdueAfterMs}::float8 end`

/** Limit for the time without a check of a waiting task, whose run somebody may have terminated. */
const uncheckedMsMax = 120_000

/** When to check a row of `task` that waits for `delayMs`, an SQL expression, and whose worker does not ask again. */
export function checkAfterWaitSql(delayMs: string): string {
  return `least(deadline_at,
    now() + interval '1 millisecond' * least(${delayMs} + ${overdueMsSql}, ${uncheckedMsMax}))`
}
