import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { CallMatcher } from './callLog.ts'
import { digestOf, matches } from './callLog.ts'
import type { Fault } from './faults.ts'
import { checkFault } from './faults.ts'
import type { ImageOrder } from './imageOrder.ts'

/** Decides which fault each call gets. Scripts come before the directives of the prompt. */
export type FaultPlan = {
  /**
   * Queues faults, written as in a directive, for the calls that match. Each fault serves one call
   * unless it has `times`. Throws a TypeError when a fault cannot be read.
   */
  readonly script: (matcher: CallMatcher, faults: readonly string[]) => void
  /**
   * The fault for this call, counted as served; undefined: a plain answer. The failure says which
   * directive of the prompt cannot be read.
   */
  readonly next: (order: ImageOrder) => Result<Fault | undefined, string>
  /** Drops all scripts and restarts the counts of directives. */
  readonly clear: () => void
}

type QueuedFault = { readonly fault: Fault; left: number }
type Script = { readonly matcher: CallMatcher; readonly queue: QueuedFault[] }

/** Limits memory: beyond this number of prompts, the count of the oldest one restarts. */
const countedPromptsMax = 50_000

export function createFaultPlan(): FaultPlan {
  let scripts: Script[] = []
  const callsByPrompt = new Map<string, number>()

  /** Calls with the same prompt so far; counts this call too. */
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

/** The directive that the call number `before` (from 0) falls into; undefined after the last one. */
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
 *     value     = 1*( any character but white space, quotes and brackets ) | DQUOTE text DQUOTE
 *
 * Numbers, `true` and `false` are read as such. A prompt may contain several directives. Each serves its
 * `times` calls, in order; a directive without `times` serves every further call.
 */
const directivePattern = /\[sim:([^\][]{1,500})\]/g
const fieldPattern = /([a-z][a-z-]*)=(?:"([^"]*)"|([^\s"]*))(?:\s+|$)/y
const directivesMax = 50

/** The faults that a prompt asks for, in order. The failure is about the first unreadable directive. */
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

/** The prompt as it is drawn on the image: each directive is replaced by a space. */
export function withoutDirectives(prompt: string): string {
  return prompt.replaceAll(directivePattern, ' ')
}

/** Reads one fault, such as `429 retry-after=3 form=date`. The failure says what is wrong. */
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
