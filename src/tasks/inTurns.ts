import { setImmediate as nextTurn } from 'node:timers/promises'

/** Other work of the process waits about this long. */
const turnMsMax = 5

/** Runs the effect for each item, and gives the event loop to other work every few milliseconds. */
export async function inTurns<Item>(
  items: Iterable<Item>,
  effect: (item: Item) => void,
): Promise<void> {
  let startedAtMs = performance.now()
  for (const item of items) {
    effect(item)
    if (performance.now() - startedAtMs < turnMsMax) continue
    await nextTurn()
    startedAtMs = performance.now()
  }
}
