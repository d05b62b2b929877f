import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { CallMatcher } from './callLog.ts'
import { digestOf, matches } from './callLog.ts'
import type { Fault } from './faults.ts'
import { checkFault } from './faults.ts'
import type { ImageOrder } from './imageOrder.ts'

/** Decides which fault each call gets. A fault from a script goes before the directives in the prompt. */
export type FaultPlan = {
  /**
   * Adds faults, written as in a directive, for the calls that match. Each fault is for one call, unless it
   * has `times`. Throws a TypeError when a fault cannot be read.
   */
  readonly script: (matcher: CallMatcher, faults: readonly string[]) => void
  /**
   * Returns the fault for this call, or `undefined` for an answer without a fault. A script that matches comes first.
   * Without one, the directives of the prompt are used in order. Calls with the same prompt are counted for this,
   * except those that got a fault from a script. Fails when a directive cannot be read. The message contains the kind
   * of fault that the directive names.
   */
  readonly next: (order: ImageOrder) => Result<Fault | undefined, string>
  /** Removes all scripts, and forgets how many calls each prompt had. */
  readonly clear: () => void
}

type QueuedFault = { readonly fault: Fault; left: number }
type Script = { readonly matcher: CallMatcher; readonly queue: QueuedFault[] }

/**
 * Limit for the number of prompts that are counted, so that memory stays small. Beyond this number, the
 * prompt that was not called for the longest time is forgotten, and its count begins again.
 */
const countedPromptsMax = 50_000

export function createFaultPlan(): FaultPlan {
  let scripts: Script[] = []
  const callsByPrompt = new Map<string, number>()

  /** Returns how many calls with the same prompt came before this call. Then counts this call too. */
  function countCall(prompt: string): number {
    const key = digestOf(prompt)
    const before = callsByPrompt.get(key) ?? 0
    callsByPrompt.delete(key)
    callsByPrompt.set(key, before + 1)
    const [oldest] = callsByPrompt.keys()
    if (callsByPrompt.size > countedPromptsMax && oldest !== undefined) callsByPrompt.delete(oldest)
    return before
  }

  return {
    script(matcher, faults) {
      scripts.push({ matcher, queue: faults.map(queued) })
    },
    next(order) {
      scripts = scripts.filter(({ queue }) => queue.length > 0)
      const script = scripts.find(({ matcher }) => matches(matcher, order))
      if (script !== undefined) return succeed(takeFirst(script.queue))
      const directives = findDirectives(order.prompt)
      if (!directives.ok || directives.value.length === 0) {
        return directives.ok ? succeed(undefined) : directives
      }
      return succeed(faultOfCall(directives.value, countCall(order.prompt)))
    },
    clear() {
      scripts = []
      callsByPrompt.clear()
    },
  }
}

function queued(text: string): QueuedFault {
  const parsed = parseFault(text)
  if (!parsed.ok) throw new TypeError(parsed.failure)
  return { fault: parsed.value, left: timesOf(parsed.value, 1) }
}

function takeFirst(queue: QueuedFault[]): Fault | undefined {
  const [first] = queue
  if (first === undefined) return undefined
  first.left -= 1
  if (first.left <= 0) queue.shift()
  return first.fault
}

/**
 * Returns the fault for a call when `before` calls with the same prompt came earlier. Returns `undefined` when
 * these calls have used up all directives.
 */
function faultOfCall(faults: readonly Fault[], before: number): Fault | undefined {
  let passed = before
  return faults.find((candidate) => {
    const times = timesOf(candidate, Infinity)
    if (passed < times) return true
    passed -= times
    return false
  })
}

function timesOf(fault: Fault, otherwise: number): number {
  return fault.times === 'forever' ? Infinity : (fault.times ?? otherwise)
}

/**
 * The grammar of directives:
 *
 *     directive = "[sim:" fault "]"
 *     fault     = kind *( SP name "=" value )
 *     value     = *( any character but white space, double quotes and brackets ) | DQUOTE text DQUOTE
 *
 * Values such as `3` and `true` without quotes are read as numbers and booleans. A prompt may contain several
 * directives. They take effect one after the other, each for `times` calls. A directive without `times` takes
 * effect for all further calls. Only the first 50 directives count. A directive whose fault has more than 500
 * characters does not count: it stays in the prompt as text.
 */
const directivePattern = /\[sim:([^\][]{1,500})\]/g
const fieldPattern = /([a-z][a-z-]*)=(?:"([^"]*)"|([^\s"]*))(?:\s+|$)/y
const directivesMax = 50

/**
 * Returns the faults that a prompt asks for, in order. Fails when a directive cannot be read, and names the
 * first one.
 */
export function findDirectives(prompt: string): Result<readonly Fault[], string> {
  const faults: Fault[] = []
  for (const [, text = ''] of prompt.matchAll(directivePattern)) {
    if (faults.length >= directivesMax) break
    const parsed = parseFault(text)
    if (!parsed.ok) return parsed
    faults.push(parsed.value)
  }
  return succeed(faults)
}

/**
 * Returns the prompt with a space in the place of each directive. The simulator draws this text on the image. If it
 * contains nothing to draw, the simulator draws the whole prompt.
 */
export function withoutDirectives(prompt: string): string {
  return prompt.replaceAll(directivePattern, ' ')
}

/** Reads one fault, such as `429 retry-after=3 form=date`. When that fails, returns what is wrong. */
export function parseFault(text: string): Result<Fault, string> {
  const trimmed = text.trim()
  const [kind = ''] = trimmed.split(/\s/, 1)
  const rest = trimmed.slice(kind.length).trim()
  const fields: Record<string, unknown> = {}
  const pattern = new RegExp(fieldPattern)
  while (pattern.lastIndex < rest.length) {
    const match = pattern.exec(rest)
    if (match === null) return fail(`fault "${kind}": expected name=value`)
    const [, name = '', quoted, bare = ''] = match
    fields[name === 'retry-after' ? 'retryAfter' : name] = quoted ?? readValue(bare)
  }
  return checkFault(kind, fields)
}

function readValue(text: string): string | number | boolean {
  if (text === 'true') return true
  if (text === 'false') return false
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}
