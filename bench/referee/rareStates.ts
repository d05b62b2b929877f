import type { Facts } from './facts.ts'
import { isEnded } from './facts.ts'

/** Longer than what a fault holds up the storing of an answer before it kills. */
const killMsMax = 10_000

/** States that few runs reach, and how often this one has. A long run that has not reached one proves too little. */
export function rareStates(facts: Facts): Readonly<Record<string, number>> {
  const { submitsOf, callsOf, cancels, deliveries, rowOf, closedAt, run } = facts
  const events = Map.groupBy(deliveries, ({ hook, id }) => `${hook} ${id}`)
  return {
    'a worker was killed between the answer of the upstream and the settlement': count(
      facts.calls,
      ({ id, paid, cut, status, at }) =>
        paid &&
        !cut &&
        status === 200 &&
        closedAt.get(id) === undefined &&
        facts.faults.some(
          (fault) => fault.kind.startsWith('kill') && at <= fault.at && fault.at - at < killMsMax,
        ),
    ),
    'the 202 of a committed task was lost': count(submitsOf.values(), (submits) => {
      const accepted = submits.filter(({ status }) => status === 202)
      return accepted.length > 0 && accepted.every(({ replayed }) => replayed === true)
    }),
    'a webhook was taken, and its try was lost': count(events.values(), (tries) => {
      const taken = tries.find(({ status = 500 }) => status < 300)
      return taken !== undefined && tries.some(({ at }) => at > taken.at)
    }),
    'a cancel met the end of its task': count(cancels, ({ task, from, at }) => {
      const endedAt = rowOf.get(task)?.completedAt ?? 0
      return from <= endedAt && endedAt <= at + run.slackMs
    }),
    'a deadline passed between two tries': count(facts.rows, ({ task, code }) => {
      const tried = facts.attemptsOf.get(task)?.some((attempt) => attempt.class === 'refused')
      return tried === true && (code === 'generation_timeout' || code === 'rate_limit_exceeded')
    }),
    'a call outlived its lease': count(callsOf.values(), (calls) =>
      calls.some(({ key, at, id }) =>
        calls.some((next) => next.id !== id && next.key === key && next.from < at && at <= next.at),
      ),
    ),
    'two observers read at the moment of the end': count(facts.readsOf.values(), (reads) => {
      const end = reads.find(({ record }) => isEnded(record?.status))
      return reads.some(
        ({ record, from, at }) =>
          end && !isEnded(record?.status) && from <= end.at && end.from <= at,
      )
    }),
  }
}

function count<One>(all: Iterable<One>, is: (one: One) => boolean): number {
  return [...all].filter(is).length
}
