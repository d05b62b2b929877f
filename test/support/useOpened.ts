import { beforeAll } from 'vitest'
import { stackStartMsMax } from './stack/embeddedStack.ts'

/**
 * Opens something before the tests of the calling file or `describe`, and closes it after them. Returns the given
 * fields of it, which can be read from the first test or hook on. When `open` opens nothing, they cannot be read.
 */
export function useOpened<Opened extends object, Field extends keyof Opened>(
  open: () => Promise<Opened | undefined>,
  close: (opened: Opened) => Promise<void>,
  fields: readonly Field[],
): Pick<Opened, Field> {
  let opened: Opened | undefined
  beforeAll(async () => {
    opened = await open()
    return async () => {
      if (opened !== undefined) await close(opened)
    }
  }, stackStartMsMax)
  const readable: Pick<Opened, Field> = Object.create(null)
  for (const field of fields) {
    const get = () => {
      if (opened === undefined) throw new Error(`nothing with ${String(field)} is open`)
      return opened[field]
    }
    Object.defineProperty(readable, field, { enumerable: true, get })
  }
  return readable
}
