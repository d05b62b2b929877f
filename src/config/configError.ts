import type { z } from 'zod'

/** A message for the operator that names the variable or the path in the file; no stack is of use. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** One line per fault, each beginning with the variable or the path in the file. */
export function explainIssues(error: z.ZodError): string {
  return error.issues.map(issueText).join('\n')
}

/** What is wrong with the file as a whole has no path. */
function issueText({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${pathText(path)}: ${message}`
}

function pathText(parts: readonly PropertyKey[]): string {
  return parts.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}

/** Variables by name, as a process has them. */
export type Environment = Readonly<Record<string, string | undefined>>
