import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../../domain/defined.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Recorders } from '../../telemetry/metrics.ts'

/** Limit for one execution of a step. After this time the step finishes its current item and stops. */
const runTimeoutMs = 30_000
/** How long a stopping process waits for its steps. A step may hang in one item. */
const stepsEndTimeoutMs = 5_000

/**
 * Creates the reconciler of one worker, which repairs what crashes and outages leave behind. Every worker has one, and
 * all of them work at the same time: each claims its work by a statement that gives it to nobody else. Each step has
 * its own loop, so a step that hangs does not delay the others.
 */
export function createReconciler(
  { log, metrics }: { readonly log: Logger; readonly metrics: Recorders },
  steps: readonly ReconcileStep[],
) {
  const stopping = new AbortController()
  let loops: readonly Promise<void>[] = []

  async function repeat({ name: step, everyMs, run }: ReconcileStep): Promise<void> {
    const report: ReportFinding = ({ found, count, taskId }) => {
      if (count === 0) return
      metrics.finding(found, count)
      log.info(`reconciler: ${found}`, { step, count, ...defined({ taskId }) })
    }
    while (!stopping.signal.aborted) {
      const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(runTimeoutMs)])
      // A step that throws runs again after its pause.
      await run(signal, report).catch((error: unknown) =>
        log.warn('reconciler step failed', { step, error }),
      )
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  return {
    start: (): void => {
      loops = steps.map(repeat)
    },
    /** Lets each step finish the item that it works on. */
    stop: async (): Promise<void> => {
      stopping.abort()
      await Promise.race([Promise.all(loops), sleep(stepsEndTimeoutMs, undefined, { ref: false })])
    },
  }
}

/** One kind of repair. */
export type ReconcileStep = {
  readonly name: 'lose' | 'line' | 'start' | 'check' | 'excess' | 'sweep' | 'purge' | 'webhook'
  /** Pause between two executions of the step. */
  readonly everyMs: number
  /**
   * Executes the step once, with a limit on its time. When `signal` aborts, the step stops after the current
   * item.
   */
  readonly run: (signal: AbortSignal, report: ReportFinding) => Promise<void>
}

/** What a step did, for metrics and the log. `taskId` is present when the finding is about one task. */
export type Finding = {
  readonly found:
    | 'lost'
    | 'started'
    | 'start_failed'
    | 'taken_over'
    | 'restarted'
    | 'unreachable'
    | 'settled'
    | 'failed'
    | 'cancelled'
    | 'excess'
    | 'swept'
    | 'forgotten'
    | 'purged'
  readonly count: number
  readonly taskId?: string
}

/** Reports what a step did. With a count of 0 it did nothing, and nothing is reported. */
export type ReportFinding = (finding: Finding) => void
