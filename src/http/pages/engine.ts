import { readFile } from 'node:fs/promises'
import type { Handler } from '../context.ts'

/**
 * Answers with what `npm start` says while Temporal's server is still being built, one line of text, and with an empty
 * text when nothing is under way. `path` is the file to which it writes.
 */
export function engineProgress(path: string): Handler {
  return async (context) => {
    context.set({ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
    context.status = 200
    context.body = await readFile(path, 'utf8').catch(() => '')
    return undefined
  }
}
