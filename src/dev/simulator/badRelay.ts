import { parseFault } from './directives.ts'
import type { Fault } from './faults.ts'

/**
 * What a bad relay answers to one call after the other: the shapes of images and the refusals that users of relays
 * report, without a moment at which nothing works for long.
 */
const answers = [
  'ok',
  'shape as=raw',
  '403 about=html',
  'shape as=data-url',
  '503-html',
  'shape as=events',
  'shape as=b64',
  'empty',
  'shape as=flat',
  '502',
  'shape as=images',
  '429 retry-after=2',
  'shape as=total',
  'two',
] as const

/** Creates the function that returns the fault of each next call of a bad relay. */
export function createBadRelay(): () => Fault {
  let calls = 0
  return () => {
    const fault = parseFault(answers[calls++ % answers.length] ?? '')
    if (!fault.ok) throw new Error(`Bug: ${fault.failure}`)
    return fault.value
  }
}
