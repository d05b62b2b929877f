import { Client } from 'pg'
import { onTestFinished, vi } from 'vitest'

type Statement = { readonly name?: string; values?: unknown[] }

/**
 * Until the end of the test, calls `seen` with each prepared statement before any connection of this process sends it.
 * `seen` may change the values. A statement is sent late if `seen` returns a promise. Returns the names of the statements that were sent, which grow during the test.
 */
export function watchStatements(
  seen: (statement: Statement) => Promise<void> | void = () => {},
): readonly string[] {
  const names: string[] = []
  const send: unknown = Reflect.get(Client.prototype, 'query')
  if (typeof send !== 'function') throw new Error('pg has no Client.query')
  const spy = vi.spyOn(Client.prototype, 'query')
  spy.mockImplementation(function query(this: Client, ...args: unknown[]) {
    const [statement] = args
    if (!isPrepared(statement)) return Reflect.apply(send, this, args)
    names.push(statement.name)
    const delay = seen(statement)
    if (delay === undefined) return Reflect.apply(send, this, args)
    return delay.then(() => Reflect.apply(send, this, args))
  })
  onTestFinished(() => spy.mockRestore())
  return names
}

function isPrepared(given: unknown): given is Statement & { readonly name: string } {
  return typeof given === 'object' && given !== null && 'name' in given
}
