export const reconcileSteps = ['start', 'check', 'killed', 'end', 'sweep', 'purge'] as const
export type ReconcileStepName = (typeof reconcileSteps)[number]

/** What a step did, for metrics and the log. */
export type Finding = {
  readonly step: ReconcileStepName
  readonly found:
    | 'started'
    | 'start_failed'
    | 'restarted'
    | 'unreachable'
    | 'settled'
    | 'failed'
    | 'cancelled'
    | 'hastened'
    | 'swept'
    | 'purged'
  readonly count: number
  readonly taskId?: string
}

/** One bounded piece of reconciling. `signal` aborts when its time is over: it stops between two items. */
export type ReconcileStep = {
  readonly name: ReconcileStepName
  /** Pause between two runs. */
  readonly everyMs: number
  readonly run: (
    signal: AbortSignal,
    tell: (finding: Omit<Finding, 'step'>) => void,
  ) => Promise<void>
}
