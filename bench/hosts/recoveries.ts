import type { Entry, EntryOf } from './history.ts'

/** What a history says of one kind of fault: how often it struck, and the slowest recovery in seconds. */
export type Recovery = {
  readonly count: number
  readonly nextImage: number
  readonly lastTask: number
}

/**
 * `nextImage`: from the end of the fault until somebody who asked after it had an image. `lastTask`: until every task
 * that was there at its end had ended. Both contain what other faults did meanwhile.
 */
export function recoveriesOf(entries: readonly Entry[]): ReadonlyMap<string, Recovery> {
  const rows = entries.filter((entry): entry is EntryOf<'taskRow'> => entry.type === 'taskRow')
  const byKind = new Map<string, Recovery>()
  for (const fault of entries) {
    if (fault.type !== 'fault') continue
    const sinceEnd = ({ completedAt = Infinity }: EntryOf<'taskRow'>) =>
      (completedAt - fault.at) / 1000
    const later = rows.filter(
      ({ createdAt, status }) => createdAt >= fault.at && status === 'succeeded',
    )
    const there = rows.filter(({ createdAt }) => createdAt < fault.at)
    const { count = 0, nextImage = 0, lastTask = 0 } = byKind.get(fault.kind) ?? {}
    byKind.set(fault.kind, {
      count: count + 1,
      nextImage: Math.max(nextImage, later.length > 0 ? Math.min(...later.map(sinceEnd)) : 0),
      lastTask: Math.max(lastTask, ...there.map(sinceEnd)),
    })
  }
  return byKind
}
