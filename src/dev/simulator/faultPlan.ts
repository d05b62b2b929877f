import { type CallMatcher, digestOf, matches } from './callLog.ts'
import { findDirectives, parseFault } from './directives.ts'
import type { Fault, FaultSpec } from './faults.ts'
import type { ImageOrder } from './imageOrder.ts'

/** A queue of faults. What it did not serve by the time it is cancelled is dropped. */
export type ScriptHandle = { readonly remaining: () => number; readonly cancel: () => void }

export type PlannedFault = { ok: true; fault: Fault | null } | { ok: false; message: string }

export type FaultPlan = {
  /** Throws when a fault cannot be read: a mistake in the program that calls. */
  script: (matcher: CallMatcher, faults: readonly FaultSpec[]) => ScriptHandle
  /** The next fault for this call, counted as served: scripts first, in order, then the prompt's directives. */
  next: (order: ImageOrder) => PlannedFault
  clear: () => void
}

type Script = { readonly matcher: CallMatcher; queue: { fault: Fault; left: number }[] }

/** Prompts whose directives are counted; beyond this the oldest start again. */
const countedPromptsMax = 50_000

export function createFaultPlan(): FaultPlan {
  let scripts: Script[] = []
  const callsByPrompt = new Map<string, number>()

  return {
    script(matcher, faults) {
      const script: Script = { matcher, queue: faults.map(readFault) }
      scripts.push(script)
      return {
        remaining: () => script.queue.reduce((sum, { left }) => sum + left, 0),
        cancel() {
          script.queue = []
        },
      }
    },
    next(order) {
      scripts = scripts.filter(({ queue }) => queue.length > 0)
      const script = scripts.find(({ matcher }) => matches(matcher, order))
      return script === undefined
        ? nextDirective(order.prompt, callsByPrompt)
        : { ok: true, fault: takeFirst(script) }
    },
    clear() {
      scripts = []
      callsByPrompt.clear()
    },
  }
}

function readFault(spec: FaultSpec): { fault: Fault; left: number } {
  const parsed = parseFault(spec)
  if (!parsed.ok) throw new TypeError(parsed.message)
  return { fault: parsed.fault, left: timesOf(parsed.fault, 1) }
}

function takeFirst(script: Script): Fault | null {
  const [first] = script.queue
  if (first === undefined) return null
  first.left -= 1
  if (first.left <= 0) script.queue.shift()
  return first.fault
}

function nextDirective(prompt: string, callsByPrompt: Map<string, number>): PlannedFault {
  const { faults, problem } = findDirectives(prompt)
  if (problem !== null) return { ok: false, message: problem }
  if (faults.length === 0) return { ok: true, fault: null }
  const key = digestOf(prompt)
  let served = callsByPrompt.get(key) ?? 0
  callsByPrompt.delete(key)
  callsByPrompt.set(key, served + 1)
  const [oldest] = callsByPrompt.keys()
  if (callsByPrompt.size > countedPromptsMax && oldest !== undefined) callsByPrompt.delete(oldest)
  const fault = faults.find((candidate) => {
    const times = timesOf(candidate, Infinity)
    if (served < times) return true
    served -= times
    return false
  })
  return { ok: true, fault: fault ?? null }
}

function timesOf(fault: Fault, otherwise: number): number {
  return fault.times === 'forever' ? Infinity : (fault.times ?? otherwise)
}
