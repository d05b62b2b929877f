import { setTimeout as sleep } from 'node:timers/promises'

type ReconcilerDeps = {
  /** True while this process is the one that reconciles; never throws. `src/store/reconcilerLock.ts`. */
  readonly hold: () => Promise<boolean>
  readonly release: () => Promise<void>
  readonly steps: readonly ReconcileStep[]
  readonly onFinding: (finding: Finding) => void
  /** A step that threw; it runs again after its pause, the others run on. */
  readonly onStepError: (step: ReconcileStepName, error: unknown) => void
}

export type Reconciler = {
  readonly start: () => void
  /** Ends the steps between two items and gives the lock up. */
  readonly stop: () => Promise<void>
  readonly isLeader: () => boolean
}

/** How often the lock is looked after. */
const leadEveryMs = 1_000
/** After this a run of a step stops at its next item. */
const stepTimeoutMs = 30_000
/** A step that hangs in one item (the blob store, say) is left behind. */
const endTimeoutMs = 5_000

/**
 * Heals what execution leaves behind (design 1.12): a loop in every worker, one of which leads. Every
 * step has a loop of its own, so that one that hangs holds up no other. Two leaders for a moment do no
 * harm: every change is a compare-and-set.
 */
export function createReconciler(deps: ReconcilerDeps): Reconciler {
  const stopping = new AbortController()
  let reign: Reign | undefined
  let loop = Promise.resolve()

  async function lead(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (await deps.hold()) reign ??= startReign(deps)
      else await endReign()
      await pause(leadEveryMs, stopping.signal)
    }
    await endReign()
    await deps.release()
  }

  async function endReign(): Promise<void> {
    const ended = reign
    reign = undefined
    await ended?.end()
  }

  return {
    start: () => {
      loop = lead()
    },
    stop: async () => {
      stopping.abort()
      await loop
    },
    isLeader: () => reign !== undefined,
  }
}

type Reign = { readonly end: () => Promise<void> }

/** All steps of one leader, from taking the lock to losing it. */
function startReign(deps: ReconcilerDeps): Reign {
  const over = new AbortController()
  const loops = deps.steps.map((step) => repeat(deps, step, over.signal))
  return {
    end: async () => {
      over.abort()
      await Promise.race([Promise.all(loops), sleep(endTimeoutMs, undefined, { ref: false })])
    },
  }
}

async function repeat(deps: ReconcilerDeps, step: ReconcileStep, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const signal = AbortSignal.any([over, AbortSignal.timeout(stepTimeoutMs)])
    try {
      await step.run(signal, (finding) => deps.onFinding({ step: step.name, ...finding }))
    } catch (error) {
      deps.onStepError(step.name, error)
    }
    await pause(step.everyMs, over)
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

const reconcileSteps = ['start', 'check', 'killed', 'end', 'sweep', 'purge'] as const
type ReconcileStepName = (typeof reconcileSteps)[number]

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

/**
 * Runs the effect for every item, at most `parallel` at once, until the signal aborts. An item that
 * throws stops none of the others; its error is thrown when all are through (the first of several).
 */
export async function inParallel<Item>(
  items: readonly Item[],
  options: { readonly parallel: number; readonly signal: AbortSignal },
  effect: (item: Item) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  const queue = items.values()
  const lanes = Array.from({ length: Math.min(options.parallel, items.length) }, async () => {
    for (const item of queue) {
      if (options.signal.aborted) return
      await effect(item).catch((error: unknown) => errors.push(error))
    }
  })
  await Promise.all(lanes)
  if (errors.length > 0) throw errors[0]
}
