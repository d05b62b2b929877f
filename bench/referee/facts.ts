import type { Entry, EntryOf, EntryType } from '../hosts/history.ts'

/** A history, by what the promises ask of it. */
export type Facts = ReturnType<typeof gather>

export function gather(entries: readonly Entry[]) {
  const of = <Type extends EntryType>(type: Type): readonly EntryOf<Type>[] =>
    entries.filter((entry): entry is EntryOf<Type> => entry.type === type)
  const [run] = of('run')
  if (run === undefined) throw new Error('The history has no entry `run`')
  const [submits, reads, calls, rows] = [of('submit'), of('read'), of('call'), of('taskRow')]
  const [cancels, deletions, images, ledger] = [
    of('cancel'),
    of('deletion'),
    of('image'),
    of('ledgerRow'),
  ]
  const [attempts, deliveries] = [of('attemptRow'), of('delivery')]
  const keyed = submits.filter(({ key }) => key !== undefined)
  return {
    run,
    submits,
    reads,
    calls,
    rows,
    cancels,
    deletions,
    images,
    ledger,
    attempts,
    deliveries,
    books: of('books'),
    hooks: of('hook'),
    models: of('model'),
    faults: of('fault'),
    rowOf: new Map(rows.map((row) => [row.task, row])),
    ledgerOf: Map.groupBy(
      ledger.filter(({ task }) => task !== undefined),
      ({ task }) => task,
    ),
    readsOf: Map.groupBy(reads, ({ task }) => task),
    imagesOf: Map.groupBy(images, ({ task }) => task),
    attemptsOf: Map.groupBy(attempts, ({ task }) => task),
    callsOf: Map.groupBy(calls, ({ marker }) => marker),
    deliveriesOf: Map.groupBy(deliveries, ({ task }) => task),
    /** The calls of one model of one channel. */
    callsAt: Map.groupBy(calls, ({ channel, model }) => `${channel} ${model}`),
    /** When the attempt of a call was closed, by the id of the call. */
    closedAt: new Map(attempts.map(({ call, closedAt }) => [call, closedAt])),
    deletedTasks: new Set(deletions.map(({ task }) => task)),
    /** The tries of each Idempotency-Key, and the tasks that it made. */
    submitsOf: Map.groupBy(keyed, keyOf),
    tasksOf: Map.groupBy(
      rows.filter(({ key }) => key !== undefined),
      keyOf,
    ),
    keyOfMarker: new Map(keyed.map((submit) => [submit.marker, keyOf(submit)])),
  }
}

/** Names an Idempotency-Key among those of all accounts. */
export const keyOf = ({
  account,
  key,
}: {
  readonly account: string
  readonly key?: string | undefined
}) => `${account} ${key}`

export const isEnded = (status: string | undefined): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'expired'

/** Sums the credits of some kinds of ledger rows. */
export function creditsOf(
  rows: readonly EntryOf<'ledgerRow'>[] | undefined,
  ...kinds: readonly string[]
): number {
  return (rows ?? []).reduce(
    (sum, { kind, credits }) => sum + (kinds.includes(kind) ? credits : 0),
    0,
  )
}
