import { Pool } from 'pg'
import { beatGapMsMax, beatTimeoutMs, silentMs } from '../../domain/limits.ts'

/** An open attempt whose call is lost. */
export type LostCall = { readonly taskId: string; readonly n: number }

export type BeatStore = ReturnType<typeof createBeatStore>

/**
 * Creates the beats of one process. They have a connection of their own, so that none waits for a free one. `sessionUrl`
 * leads to PostgreSQL itself.
 */
export function createBeatStore(deps: { readonly processId: string; readonly sessionUrl: string }) {
  const { processId } = deps
  const own = new Pool({
    connectionString: deps.sessionUrl,
    application_name: 'darkroom-beats',
    max: 1,
    connectionTimeoutMillis: beatTimeoutMs,
    query_timeout: beatTimeoutMs,
    statement_timeout: beatTimeoutMs,
    idleTimeoutMillis: 0,
    keepAlive: true,
  })
  // Without this listener, a lost connection would end the process. The next beat opens another one.
  own.on('error', () => {})
  return {
    /** Records that this process runs. */
    beat: async (): Promise<void> => {
      await own.query({ name: 'beat', text: beatSql, values: [processId] })
    },
    /** Deletes the row of this process. Call this when it makes no more calls. */
    leave: async (): Promise<void> => {
      await own.query('delete from worker_process where process_id = $1', [processId])
    },
    close: (): Promise<void> => own.end(),
  }
}

/** Returns lost calls, oldest first. Returns none while the process `witness` is not steady. */
export async function lostCalls(
  pool: Pool,
  witness: string,
  limit: number,
): Promise<readonly LostCall[]> {
  const values = [witness, limit]
  const { rows } = await pool.query<LostCall>({ name: 'lost-calls', text: listSql, values })
  return rows
}

/** Also deletes the rows of processes that have been silent for an hour: without a row, they are silent too. */
const beatSql = `
  with gone as (
    delete from worker_process where seen_at < clock_timestamp() - interval '1 hour' and process_id <> $1
  )
  insert into worker_process as own (process_id) values ($1)
  on conflict (process_id) do update set seen_at = clock_timestamp(),
    steady_since = case when own.seen_at < clock_timestamp() - interval '${beatGapMsMax} milliseconds'
      then clock_timestamp() else own.steady_since end`

/**
 * Returns a condition: the process was steady for so long that a living process would have sent a beat meanwhile.
 * `process` is an SQL expression.
 */
export function steadySql(process: string): string {
  return `exists (
    select from worker_process own where own.process_id = ${process}
      and own.seen_at > clock_timestamp() - interval '${beatGapMsMax} milliseconds'
      and own.steady_since <= clock_timestamp() - interval '${silentMs} milliseconds')`
}

/** A condition on a row of `attempt`: its call is lost. A process without a row is silent. */
export const lostSql = `attempt.closed_at is null and (attempt.lease_until <= clock_timestamp() or not exists (
    select from worker_process p where p.process_id = attempt.process_id
      and p.seen_at > clock_timestamp() - interval '${silentMs} milliseconds'))`

const listSql = `
  select task_id as "taskId", n from attempt where ${lostSql} and ${steadySql('$1')}
  order by opened_at limit $2`
