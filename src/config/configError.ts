import type { z } from 'zod'

/**
 * An error in a variable, the operator's file or the runtime file. Process entries print its message without
 * a stack: it names the variable or the path in the file.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** One line per error. Each begins with the variable or the path in the file. */
export function explainIssues(error: z.ZodError): string {
  return error.issues.map(issueText).join('\n')
}

/** An error of the file as a whole has no path. */
function issueText({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${pathText(path)}: ${message}`
}

function pathText(parts: readonly PropertyKey[]): string {
  return parts.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}
