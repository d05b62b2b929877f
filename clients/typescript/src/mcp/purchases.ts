import { createHash, randomBytes } from 'node:crypto'
import {
  constants,
  copyFile,
  link,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'

/** What is kept of a purchase: neither prompt nor image nor key. */
type Purchase = {
  /** The idempotency keys of these arguments are this and a number. */
  readonly salt: string
  /** Counts the purchases of these arguments, from 0. */
  readonly number: number
  readonly taskId?: string
  /** When its image was first answered, in epoch milliseconds. */
  readonly answeredAtMs?: number
}

export type Purchases = ReturnType<typeof createPurchases>

/** For so long the same arguments are the same task after its image was answered: the answer may have been lost. */
const sameAfterAnswerMs = 10 * 60_000
/** A task older than this has expired. */
const forgottenAfterMs = 24 * 60 * 60_000

/** Names a call by all that decides what is bought, and by who pays. */
export function digestOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/**
 * Remembers in files of `folder` which task belongs to which arguments, so that a client that lost an answer, or a
 * server that was killed, buys nothing twice.
 */
export function createPurchases(folder: string) {
  const fileOf = (digest: string) => join(folder, `${digest}.json`)

  /** Throws for what is there but cannot be read: with another salt it would be bought again. */
  async function read(digest: string): Promise<Purchase | undefined> {
    const text = await readFile(fileOf(digest), 'utf8').catch(unless('ENOENT'))
    if (text === undefined) return undefined
    try {
      const purchase: Purchase = JSON.parse(text)
      return purchase
    } catch (cause) {
      throw new Error(`${fileOf(digest)} cannot be read.`, { cause })
    }
  }

  /** Writes a file whole: first aside, then under its name. */
  async function write(
    digest: string,
    purchase: Purchase,
    give: (from: string, to: string) => Promise<void> = rename,
  ): Promise<void> {
    const aside = `${fileOf(digest)}.${randomBytes(6).toString('hex')}`
    try {
      await writeFile(aside, JSON.stringify(purchase), { mode: 0o600, flush: true })
      await give(aside, fileOf(digest))
    } finally {
      await rm(aside, { force: true })
    }
  }

  /** Returns the digests of all purchases, once more of those that are forgotten now. */
  async function digests(): Promise<readonly string[]> {
    const names = await readdir(folder).catch(() => [])
    const found = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5))
    for (const path of found.map(fileOf)) {
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }))
      if (mtimeMs + forgottenAfterMs < Date.now()) await rm(path, { force: true })
    }
    return found
  }

  /** Returns the purchase of these arguments that counts now. It is on disk before anything is bought. */
  async function current(digest: string): Promise<Purchase> {
    const known = await read(digest)
    if (known === undefined) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const first = { salt: randomBytes(16).toString('hex'), number: 0 }
      // Another server may be first: its salt counts.
      await write(digest, first, linkOrCopy).catch(unless('EEXIST'))
      const kept = await read(digest)
      if (kept === undefined) throw new Error(`${fileOf(digest)} cannot be kept.`)
      return kept
    }
    const { answeredAtMs = Infinity } = known
    if (Date.now() < answeredAtMs + sameAfterAnswerMs) return known
    await write(digest, following(known))
    return following(known)
  }

  return {
    /** Returns the task of these arguments. `submit` is given the key of the purchase, and returns the task's id. */
    async taskOf(digest: string, submit: (key: string) => Promise<string>): Promise<string> {
      const purchase = await current(digest)
      if (purchase.taskId !== undefined) return purchase.taskId
      const taskId = await submit(`${purchase.salt}-${purchase.number}`)
      // It is bought. Where that cannot be kept, the same call has the same key, and is answered with the same task.
      await write(digest, { ...purchase, taskId }).catch(() => {})
      return taskId
    },
    /** A task has ended. With an image its arguments mean another task soon, without one at once. */
    async answered(taskId: string, { hasImage }: { readonly hasImage: boolean }): Promise<void> {
      for (const digest of await digests()) {
        // A file that cannot be read is that of another purchase, or keeps its own from being bought again.
        const purchase = await read(digest).catch(() => undefined)
        if (purchase?.taskId !== taskId || purchase.answeredAtMs !== undefined) continue
        const answeredAtMs = Date.now()
        await write(digest, hasImage ? { ...purchase, answeredAtMs } : following(purchase))
      }
    },
  }
}

/** The next purchase of the same arguments. Servers that share the folder come to the same key. */
function following({ salt, number }: Purchase): Purchase {
  return { salt, number: number + 1 }
}

/** Gives a file a second name, or where the file system has no links a copy. Fails where the name is taken. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyFile(from, to, constants.COPYFILE_EXCL))
}

/** Handles the error with a code, and throws any other. */
function unless(code: string) {
  return (error: unknown): undefined => {
    if (!(error instanceof Error && 'code' in error && error.code === code)) throw error
  }
}
