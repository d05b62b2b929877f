import { Worker } from '@temporalio/worker'
import type { WorkflowBundle } from './workflowBundle.ts'

export type ReplayHistory = { readonly workflowId: string; readonly history: unknown }
export type ReplayResult = {
  readonly workflowId: string
  /** Why this checkout's workflow code would not have done what the history says. Absent: it would. */
  readonly error?: string
}

/**
 * Runs recorded histories against the workflow code of this checkout, without a server and without
 * effects (design section 3, `task replay`). `history` is Temporal's JSON, as `task history` writes it.
 */
export async function replayHistories(
  bundle: WorkflowBundle,
  histories: readonly ReplayHistory[],
): Promise<readonly ReplayResult[]> {
  const results: ReplayResult[] = []
  const replays = Worker.runReplayHistories({ workflowBundle: bundle }, histories)
  for await (const { workflowId, error } of replays) {
    results.push(error === undefined ? { workflowId } : { workflowId, error: error.message })
  }
  return results
}
