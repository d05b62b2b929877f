import { setTimeout as sleep } from 'node:timers/promises'

type ReconcilerDeps = {
  /**
   * Takes the reconciler's lock, or checks that this process still has it. Returns whether this process has
   * the lock. Never throws.
   */
  readonly hold: () => Promise<boolean>
  readonly release: () => Promise<void>
  readonly steps: readonly ReconcileStep[]
  readonly onFinding: (finding: Finding) => void
  /** Called when a step throws. The step runs again after its pause, and the other steps are not affected. */
  readonly onStepError: (step: ReconcileStepName, error: unknown) => void
}

export type Reconciler = {
  readonly start: () => void
  /** Lets each step finish the item that it works on, then gives up the lock. */
  readonly stop: () => Promise<void>
  readonly isLeader: () => boolean
}

/** How often the reconciler takes or checks its lock. */
const lockCheckEveryMs = 1_000
/** Limit for one execution of a step. After this time the step finishes its current item and stops. */
const runTimeoutMs = 30_000
/**
 * When this process stops being the leader, it waits this long at most for the steps to end. A step may hang in one
 * item.
 */
const stepsEndTimeoutMs = 5_000

/**
 * Creates the reconciler of one worker. It repairs what crashes and outages leave behind. Every worker has a
 * reconciler, but only the one with the lock is the leader and runs the steps. Each step has its own loop, so
 * a step that hangs does not delay the others. For a moment there may be two leaders. This does no harm,
 * because a change is written only if the row still has the expected state.
 */
export function createReconciler(deps: ReconcilerDeps): Reconciler {
  const stopping = new AbortController()
  let lead: Lead | undefined
  let loop = Promise.resolve()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (await deps.hold()) lead ??= startLead(deps)
      else await endLead()
      await pause(lockCheckEveryMs, stopping.signal)
    }
    await endLead()
    await deps.release()
  }

  async function endLead(): Promise<void> {
    const ended = lead
    lead = undefined
    await ended?.end()
  }

  return {
    start: () => {
      loop = run()
    },
    stop: async () => {
      stopping.abort()
      await loop
    },
    isLeader: () => lead !== undefined,
  }
}

/** The loops of all steps. They exist while this process is the leader. */
type Lead = { readonly end: () => Promise<void> }

function startLead(deps: ReconcilerDeps): Lead {
  const ending = new AbortController()
  const loops = deps.steps.map((step) => repeat(deps, step, ending.signal))
  return {
    end: async () => {
      ending.abort()
      await Promise.race([Promise.all(loops), sleep(stepsEndTimeoutMs, undefined, { ref: false })])
    },
  }
}

async function repeat(
  deps: ReconcilerDeps,
  step: ReconcileStep,
  ending: AbortSignal,
): Promise<void> {
  while (!ending.aborted) {
    const signal = AbortSignal.any([ending, AbortSignal.timeout(runTimeoutMs)])
    try {
      await step.run(signal, (finding) => deps.onFinding({ step: step.name, ...finding }))
    } catch (error) {
      deps.onStepError(step.name, error)
    }
    await pause(step.everyMs, ending)
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

type ReconcileStepName =
  | 'start'
  | 'check'
  | 'terminated'
  | 'end'
  | 'excess'
  | 'sweep'
  | 'purge'
  | 'count'
  | 'webhook'

/** One kind of repair. */
export type ReconcileStep = {
  readonly name: ReconcileStepName
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
  readonly step: ReconcileStepName
  readonly found:
    | 'started'
    | 'start_failed'
    | 'restarted'
    | 'unreachable'
    | 'settled'
    | 'failed'
    | 'cancelled'
    | 'made_due'
    | 'excess'
    | 'swept'
    | 'forgotten'
    | 'purged'
  readonly count: number
  readonly taskId?: string
}

export type ReportFinding = (finding: Omit<Finding, 'step'>) => void
