import type { Backoff, ReconcileStore } from '../../domain/ports/reconcileStore.ts'

/**
 * Runs the effect for every item, at most `parallel` at once, until the signal aborts. An item that throws
 * does not stop the others. At the end the first error is thrown.
 */
export async function inParallel<Item>(
  items: readonly Item[],
  options: { readonly parallel: number; readonly signal: AbortSignal },
  effect: (item: Item) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  const queue = items.values()
  const runs = Array.from({ length: Math.min(options.parallel, items.length) }, async () => {
    for (const item of queue) {
      if (options.signal.aborted) return
      await effect(item).catch((error: unknown) => errors.push(error))
    }
  })
  await Promise.all(runs)
  if (errors.length > 0) throw errors[0]
}

export type PostponeOnErrorDeps = {
  readonly store: Pick<ReconcileStore, 'postponeChecks'>
  /** The work for one task failed, for example because the blob store is unreachable. */
  readonly onError: (taskId: string, error: unknown) => void
}

const errorBackoff: Backoff = { firstMs: 2_000, mostMs: 60_000 }

/**
 * Runs the work for one task. If it throws, the error is reported and the task is looked at again later,
 * so that it does not take the place of other tasks in the next batch.
 */
export async function postponeOnError(
  deps: PostponeOnErrorDeps,
  taskId: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    deps.onError(taskId, error)
    await deps.store.postponeChecks([taskId], errorBackoff)
  }
}
