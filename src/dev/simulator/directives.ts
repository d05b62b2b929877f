import { checkFault, type Fault, type FaultSpec, type ParsedFault } from './faults.ts'

/**
 * Faults written as text, in a prompt or in a script.
 *
 *     directive = "[sim:" fault "]"
 *     fault     = kind *( SP name "=" value )
 *     value     = 1*( any character but white space, quotes and brackets ) | DQUOTE text DQUOTE
 *
 * `retry-after=3` sets the field `retryAfter` to the number 3; `true` and `false` are booleans. A
 * prompt may hold several directives: each serves its `times`, in order; one without `times` serves
 * for ever. Calls are counted per prompt text.
 */
const directivePattern = /\[sim:([^\][]{1,500})\]/g
const fieldPattern = /([a-z][a-z-]*)=(?:"([^"]*)"|([^\s"]*))(?:\s+|$)/y
const directivesMax = 50

export type Directives = { faults: Fault[]; problem: string | null }

/** Every directive of a prompt, in order; the first one that cannot be read is the problem. */
export function findDirectives(prompt: string): Directives {
  const faults: Fault[] = []
  for (const [, text] of prompt.matchAll(directivePattern)) {
    if (faults.length >= directivesMax) break
    const parsed = parseFault(text ?? '')
    if (!parsed.ok) return { faults, problem: parsed.message }
    faults.push(parsed.fault)
  }
  return { faults, problem: null }
}

/** The prompt as a person wants to see it drawn. */
export function withoutDirectives(prompt: string): string {
  return prompt.replaceAll(directivePattern, ' ')
}

/** Reads `429 retry-after=3 form=date`, or checks an object. */
export function parseFault(spec: FaultSpec): ParsedFault {
  if (typeof spec !== 'string') return checkFault(spec)
  const text = spec.trim()
  const [kind = ''] = text.split(/\s/, 1)
  const rest = text.slice(kind.length).trim()
  const fields: Record<string, unknown> = { kind }
  const pattern = new RegExp(fieldPattern)
  while (pattern.lastIndex < rest.length) {
    const match = pattern.exec(rest)
    if (match === null) return { ok: false, message: `fault "${kind}": expected name=value` }
    const [, name = '', quoted, bare] = match
    fields[camelCase(name)] = quoted ?? readValue(bare ?? '')
  }
  return checkFault(fields)
}

function readValue(text: string): string | number | boolean {
  if (text === 'true') return true
  if (text === 'false') return false
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function camelCase(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
