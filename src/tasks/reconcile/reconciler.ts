import { setTimeout as sleep } from 'node:timers/promises'

type ReconcilerDeps = {
  /** Takes or keeps the lock; true while this process has it. Never throws. */
  readonly hold: () => Promise<boolean>
  readonly release: () => Promise<void>
  readonly steps: readonly ReconcileStep[]
  readonly onFinding: (finding: Finding) => void
  /** A step threw. It runs again after its pause; the other steps are not affected. */
  readonly onStepError: (step: ReconcileStepName, error: unknown) => void
}

export type Reconciler = {
  readonly start: () => void
  /** Lets each step finish the item that it works on, and releases the lock. */
  readonly stop: () => Promise<void>
  readonly isLeader: () => boolean
}

/** How often the lock is checked. */
const lockCheckEveryMs = 1_000
/** A run of a step stops after this time, at its next item. */
const runTimeoutMs = 30_000
/** How long the end of the lead waits for a step that hangs in one item. */
const stepsEndTimeoutMs = 5_000

/**
 * Repairs what crashes and outages leave behind. Every worker runs a reconciler; the one that has the lock
 * is the leader and runs the steps. Each step has a loop of its own, so that a step that hangs does not
 * delay the others. Two leaders for a moment do no harm: every change is a compare-and-set.
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

/** The loops of all steps, while this process is the leader. */
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

type ReconcileStepName = 'start' | 'check' | 'killed' | 'end' | 'excess' | 'sweep' | 'purge'

/** One kind of repair. */
export type ReconcileStep = {
  readonly name: ReconcileStepName
  /** Pause between two runs. */
  readonly everyMs: number
  /** One bounded run. When `signal` aborts, the run ends after the current item. */
  readonly run: (signal: AbortSignal, report: ReportFinding) => Promise<void>
}

/** What a step did, for metrics and the log. `taskId` is present when it concerns one task. */
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
    | 'excess'
    | 'swept'
    | 'purged'
  readonly count: number
  readonly taskId?: string
}

export type ReportFinding = (finding: Omit<Finding, 'step'>) => void
