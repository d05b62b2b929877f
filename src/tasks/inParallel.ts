/**
 * Runs the effect for every item, for at most `parallel` items at once. Starts no further item after the signal has aborted.
 * An item that throws does not stop the others. When all items are done, throws the first error.
 */
export async function inParallel<Item>(
  items: readonly Item[],
  options: { readonly parallel: number; readonly signal?: AbortSignal },
  effect: (item: Item) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  const queue = items.values()
  const runs = Array.from({ length: Math.min(options.parallel, items.length) }, async () => {
    for (const item of queue) {
      if (options.signal?.aborted === true) return
      await effect(item).catch((error: unknown) => errors.push(error))
    }
  })
  await Promise.all(runs)
  if (errors.length > 0) throw errors[0]
}
