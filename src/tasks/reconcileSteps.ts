import type { AttemptStore } from '../domain/attemptStore.ts'
import type { BlobStore } from '../domain/blobStore.ts'
import type { KilledRun, RunReport, StartTask } from '../domain/execution.ts'
import type { ReconcileStore } from '../domain/reconcileStore.ts'
import type { ProduceResult } from './produceResult.ts'
import { createCheckStep } from './reconcileChecks.ts'
import { createEndStep } from './reconcileEnds.ts'
import { createKilledStep } from './reconcileKilled.ts'
import { createPurgeStep } from './reconcilePurge.ts'
import { createStartStep } from './reconcileStarts.ts'
import type { ReconcileStep } from './reconcileStep.ts'
import { createSweepStep } from './reconcileSweep.ts'
import { createSettleStored } from './settleOrFail.ts'

export type ReconcileStepsDeps = {
  readonly store: ReconcileStore
  readonly attempts: AttemptStore
  readonly blobs: BlobStore
  readonly produceImage: (input: { readonly taskId: string }) => Promise<ProduceResult>
  readonly startTask: StartTask
  readonly reportRun: (taskId: string) => Promise<RunReport>
  readonly killedRuns: () => Promise<readonly KilledRun[]>
  /** A task past its end that could not be ended now: PostgreSQL or the blob store is away. */
  readonly onError: (taskId: string, error: unknown) => void
}

/** Everything the reconciler does. `end`, `sweep` and `purge` never ask Temporal. */
export function createReconcileSteps(deps: ReconcileStepsDeps): readonly ReconcileStep[] {
  const { cancelTask, failTask } = deps.attempts
  const settleStored = createSettleStored(deps)
  return [
    createStartStep(deps),
    createCheckStep({ ...deps, cancelTask, failTask, settleStored }),
    createKilledStep(deps),
    createEndStep({ ...deps, failTask }),
    createSweepStep(deps),
    createPurgeStep(deps),
  ]
}
