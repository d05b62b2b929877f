import type { Entry } from '../hosts/history.ts'
import { gather } from './facts.ts'
import { moneyPromises } from './moneyPromises.ts'
import { outsidePromises } from './outsidePromises.ts'
import type { Verdict } from './promise.ts'
import { rareStates } from './rareStates.ts'
import { taskPromises } from './taskPromises.ts'

export type Judgement = {
  readonly verdicts: readonly Verdict[]
  readonly rare: Readonly<Record<string, number>>
  readonly sums: Readonly<Record<string, number>>
  /** One line per violation, and per thing that a long run should have tried and has not. */
  readonly broken: readonly string[]
}

/** Judges a history. It must hold nothing but what was seen from outside: see `history.ts`. */
export function judge(entries: readonly Entry[]): Judgement {
  const facts = gather(entries)
  const promises = [...taskPromises, ...moneyPromises, ...outsidePromises]
  const verdicts = promises.map((promised) => promised.judge(facts))
  const rare = rareStates(facts)
  const untried = [
    ...verdicts.flatMap(({ says, tried }) => (tried === 0 ? says : [])),
    ...Object.entries(rare).flatMap(([state, times]) => (times === 0 ? state : [])),
  ]
  const paid = facts.calls.filter((call) => call.paid).length
  const charged = facts.ledger.filter(({ kind }) => kind === 'settle').length
  return {
    verdicts,
    rare,
    sums: {
      tasks: facts.rows.length,
      requests: facts.submits.length,
      'unanswered requests': facts.submits.filter(({ status }) => status === undefined).length,
      reads: facts.reads.length,
      faults: facts.faults.length,
      'calls of the upstream': facts.calls.length,
      'of them to pay': paid,
      'images charged': charged,
      'paid and not charged': paid - charged,
      deliveries: facts.deliveries.length,
    },
    broken: [
      ...verdicts.flatMap(({ says, broken }) => broken.map((one) => `${says}: ${one}`)),
      ...(facts.run.long ? untried.map((one) => `never tried: ${one}`) : []),
    ],
  }
}
