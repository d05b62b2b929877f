import type { EntryOf } from '../hosts/history.ts'
import type { Facts } from './facts.ts'
import { promise } from './promise.ts'

/** No refusal holds a model up for longer. */
const refusalMsMax = 15 * 60_000
/** The upstream notes the end of its answer a little after the worker has read it. */
const clockMs = 250

type Call = EntryOf<'call'>

/** What the upstream and the receivers of webhooks saw. */
export const outsidePromises = [
  promise(
    'the calls of a task that may have done work are bounded',
    ({ callsOf }) => callsOf,
    function* ([marker, calls], { run, tasksOf, keyOfMarker }) {
      const working = calls.filter(mayHaveWorked)
      for (const [key, same] of Map.groupBy(working, (call) => call.key)) {
        if (key !== undefined && same.length > run.callsMax)
          yield `${marker} had ${same.length} calls under one key of the upstream`
      }
      const rows = tasksOf.get(keyOfMarker.get(marker ?? '') ?? '')
      if (rows === undefined) return
      if (working.length > run.callsMax * rows.length) {
        yield `${marker} had ${working.length} calls that may have done work, in ${rows.length} tasks`
      }
      const begins = Math.min(...rows.map(({ createdAt }) => createdAt))
      if (calls.some(({ from }) => from < begins - run.slackMs))
        yield `${marker} had a call before its task existed`
    },
  ),
  promise(
    'each call belongs to an attempt that was opened for it, before its task ended',
    ({ callsOf, keyOfMarker }) => [...callsOf].filter(([marker]) => keyOfMarker.has(marker ?? '')),
    function* ([marker, calls], { tasksOf, attemptsOf, keyOfMarker }) {
      const rows = tasksOf.get(keyOfMarker.get(marker ?? '') ?? '') ?? []
      const attempts = rows.flatMap(({ task }) => attemptsOf.get(task) ?? [])
      if (calls.length > attempts.length)
        yield `${marker} has ${calls.length} calls and ${attempts.length} attempts`
      for (const { task, completedAt = Infinity } of rows) {
        const late = attemptsOf.get(task)?.some(({ openedAt }) => openedAt > completedAt)
        if (late === true) yield `${task} has an attempt after its end`
      }
    },
  ),
  promise(
    'when the upstream says Retry-After, no worker calls that model there before',
    (facts) =>
      facts.calls.flatMap((call) => {
        const span = refusedSpan(call, facts)
        return span === undefined ? [] : [{ ...call, ...span }]
      }),
    function* ({ knownAt, until, retryAfterMs, channel, model }, facts) {
      for (const { id, marker, from } of facts.callsAt.get(`${channel} ${model}`) ?? []) {
        if (from <= knownAt || from >= until || wasOpenedBy(knownAt, { id, marker }, facts))
          continue
        yield `a call of ${model} came ${until - from} ms before the end of a Retry-After of ${retryAfterMs} ms: ${id}`
      }
    },
  ),
  promise(
    'each webhook is told of each end at least once',
    (facts) =>
      facts.hooks.flatMap(({ is, hook, account, at }) => {
        const isDeleted = facts.hooks.some((each) => each.hook === hook && each.is === 'deleted')
        const ended = facts.rows.filter(
          (row) => row.account === account && (row.completedAt ?? 0) > at + facts.run.slackMs,
        )
        return is === 'registered' && !isDeleted ? ended.map((row) => ({ hook, ...row })) : []
      }),
    function* ({ hook, task, status }, { deliveriesOf }) {
      const taken = (deliveriesOf.get(task) ?? []).some(
        (each) =>
          each.hook === hook &&
          each.event === `task.${status}` &&
          each.status !== undefined &&
          each.status < 300,
      )
      if (!taken) yield `${hook} was never told that ${task} ${status}`
    },
  ),
  promise(
    'each delivery is signed, and one id is one event',
    ({ deliveries }) => Map.groupBy(deliveries, ({ hook, id }) => `${hook} ${id}`),
    function* ([name, tries], { hooks, run, deletedTasks, faults }) {
      const [first] = tries
      for (const { refused } of tries) if (refused !== undefined) yield `${name}: ${refused}`
      // An event that is sent after the deletion of its task has no image.
      const isDeleted = deletedTasks.has(first?.task ?? '')
      if (!isDeleted && new Set(tries.map(({ body }) => body)).size > 1)
        yield `${name} has two events`
      const deleted = hooks.find(({ hook, is }) => hook === first?.hook && is === 'deleted')
      const deletedAt = deleted?.at ?? Infinity
      // A worker that is stopped in the middle of a try goes on with it.
      const stops = faults.filter(
        ({ from, at }) => from <= deletedAt + webhookTryMsMax && at >= deletedAt,
      )
      const lastAt = Math.max(deletedAt, ...stops.map(({ at }) => at)) + webhookTryMsMax
      if (tries.some(({ at }) => at > lastAt + run.slackMs))
        yield `${name} arrived after its webhook was deleted`
    },
  ),
]

/** A try that was under way when its webhook was deleted. */
const webhookTryMsMax = 16_000

/** A call did no work when it was refused, or not even understood. */
const mayHaveWorked = ({ status, paid }: Call): boolean =>
  paid || status === undefined || status < 400 || (status >= 500 && status !== 503)

/**
 * From when to when no worker may call the model of a refused call. They know of the refusal when its attempt is closed,
 * and later when the database had a fault then: others do not see the close before it is committed. A refusal that its
 * worker could not tell anybody is nobody's.
 */
function refusedSpan(
  { id, status = 0, at, retryAfterMs = 0 }: Call,
  { closedAt, faults, run }: Facts,
) {
  const told = closedAt.get(id)
  if (![429, 503].includes(status) || told === undefined) return undefined
  const hidden = faults.filter(
    ({ parts, from, ...fault }) =>
      parts.some((part) => part.startsWith('pg')) && from <= told + run.slackMs && told <= fault.at,
  )
  const knownAt = Math.max(at, told, ...hidden.map((fault) => fault.at)) + clockMs
  const until = at + Math.min(retryAfterMs, refusalMsMax) - clockMs
  return knownAt < until ? { knownAt, until } : undefined
}

/** Whether the attempt of a call was opened by then, or may have been: its answer was lost, and it was long on its way. */
function wasOpenedBy(
  knownAt: number,
  { id, marker }: Pick<Call, 'id' | 'marker'>,
  facts: Facts,
): boolean {
  const rows = facts.tasksOf.get(facts.keyOfMarker.get(marker ?? '') ?? '') ?? []
  const attempts = rows.flatMap(({ task }) => facts.attemptsOf.get(task) ?? [])
  const own = attempts.filter(({ call }) => call === id)
  const lost = attempts.filter(
    ({ call, closedAt = Infinity }) => call === undefined && closedAt > knownAt,
  )
  return (own.length > 0 ? own : lost).some(({ openedAt }) => openedAt <= knownAt)
}
