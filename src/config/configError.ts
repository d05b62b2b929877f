import type { z } from 'zod'

/**
 * An error in an environment variable, in the operator's file, or in `runtime.json`, in which a running
 * `npm start` leaves the variables for the CLI. The process prints only the message of this error, without a
 * stack, because the message names the variable, or the place in the file.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/**
 * Returns one line per error. Each line begins with the variable, or with the path of the value in the file.
 */
export function explainIssues(error: z.ZodError): string {
  return error.issues.map(issueText).join('\n')
}

/** Returns the line of one issue. An issue about the whole file has no path. */
function issueText({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${pathText(path)}: ${message}`
}

function pathText(parts: readonly PropertyKey[]): string {
  return parts.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}
