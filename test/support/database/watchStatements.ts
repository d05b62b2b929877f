import { Client } from 'pg'
import { onTestFinished, vi } from 'vitest'

type Statement = { readonly name?: string; values?: unknown[] }

/**
 * Until the end of the test, calls `seen` with each prepared statement before any connection of this process sends it.
 * `seen` may change the values. Returns the names of the statements that were sent, which grow during the test.
 */
export function watchStatements(
  seen: (statement: Statement) => void = () => {},
): readonly string[] {
  const names: string[] = []
  const send: unknown = Reflect.get(Client.prototype, 'query')
  if (typeof send !== 'function') throw new Error('pg has no Client.query')
  const spy = vi.spyOn(Client.prototype, 'query')
  spy.mockImplementation(function query(this: Client, ...args: unknown[]) {
    const [statement] = args
    if (isPrepared(statement)) {
      names.push(statement.name)
      seen(statement)
    }
    return Reflect.apply(send, this, args)
  })
  onTestFinished(() => spy.mockRestore())
  return names
}

function isPrepared(given: unknown): given is Statement & { readonly name: string } {
  return typeof given === 'object' && given !== null && 'name' in given
}
