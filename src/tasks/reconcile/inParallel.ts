import type { ReconcileStore } from '../../domain/ports/reconcileStore.ts'

/**
 * Runs the effect for every item, for at most `parallel` items at once. Starts no further item after the
 * signal has aborted. An item that throws does not stop the others. When all items are done, throws the first
 * error.
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
  /** Called when the work for one task fails, for example because the blob store is unreachable. */
  readonly onError: (taskId: string, error: unknown) => void
}

/**
 * Runs the work for one task. If the work throws, reports the error and postpones the task's next check, so
 * that the next batch has room for other tasks.
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
    await deps.store.postponeChecks([taskId], 'error')
  }
}
