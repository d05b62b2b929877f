import type { z } from 'zod'

/**
 * An error in an environment variable, in the operator's file, or in `runtime.json`. The process prints only its
 * message, without a stack, because the message names the variable, or the place in the file.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/**
 * Returns one line per error. Each begins with the variable, or with the path of the value in the file, such as
 * `channels[0].baseUrl`. An error about the whole file has no path.
 */
export function explainIssues(error: z.ZodError): string {
  return error.issues
    .map((issue) => {
      const { path } = issue
      const { message } = (issue.code === 'invalid_key' ? issue.issues[0] : undefined) ?? issue
      const parts = path.map((part) =>
        typeof part === 'number' ? `[${part}]` : `.${String(part)}`,
      )
      return path.length === 0 ? message : `${parts.join('').replace(/^\./, '')}: ${message}`
    })
    .join('\n')
}
