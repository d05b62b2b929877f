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
