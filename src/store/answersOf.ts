import type { Pool } from 'pg'

/** Answer ids of a live task's attempts that may have stored one, newest first. */
export function createAnswersOf(deps: { readonly pool: Pool }) {
  return async (taskId: string): Promise<readonly string[]> => {
    const { rows } = await deps.pool.query<{ answerId: string }>({
      name: 'answers-of',
      text: `select attempt.answer_id as "answerId" from attempt
        join task using (task_id)
        where task_id = $1 and task.status in ('queued', 'processing')
          and (class is null or class in ('unknown', 'succeeded'))
        order by n desc`,
      values: [taskId],
    })
    return rows.map((row) => row.answerId)
  }
}
