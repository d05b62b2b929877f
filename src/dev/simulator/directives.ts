import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { Fault } from './faults.ts'
import { checkFault } from './faults.ts'

/**
 * The grammar of directives:
 *
 *     directive = "[sim:" fault "]"
 *     fault     = kind *( SP name "=" value )
 *     value     = *( any character but white space, double quotes and brackets ) | DQUOTE text DQUOTE
 *
 * Values such as `3` and `true` without quotes are read as numbers and booleans.
 * A directive whose fault has more than 500 characters does not count: it stays in the
 * prompt as text.
 */
const directivePattern = /\[sim:([^\][]{1,500})\]/g
const fieldPattern = /([a-z][a-z-]*)=(?:"([^"]*)"|([^\s"]*))(?:\s+|$)/y

/** Returns the faults that a prompt asks for, in order. When one cannot be read, fails and says why. */
export function findDirectives(prompt: string): Result<readonly Fault[], string> {
  const faults: Fault[] = []
  for (const [, text = ''] of prompt.matchAll(directivePattern)) {
    const parsed = parseFault(text)
    if (!parsed.ok) return parsed
    faults.push(parsed.value)
  }
  return succeed(faults)
}

/** Returns the prompt with a space in the place of each directive: the text to draw. */
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
