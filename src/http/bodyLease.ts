import type { ByteBudget } from './byteBudget.ts'

/** Bodies up to this size never wait: submits with a prompt alone are unaffected by large uploads. */
const freeBytes = 256 * 1024

/** A body of unknown size takes room in steps of this. */
const stepBytes = 8 * 1024 * 1024

/** A brief wait smooths a burst; longer ones are the client's, which is told when to come back. */
const waitMs = 3_000

/** One body's share of the budget for large bodies (design section 4, Overload). */
export type BodyLease = {
  /** Room for a body of so many bytes in all; false when there was none within a brief wait. */
  readonly cover: (bytes: number) => Promise<boolean>
  /** Gives everything back; safe to call twice. */
  readonly end: () => void
}

export function leaseFrom(budget: ByteBudget, holder: string): BodyLease {
  const taken: number[] = []
  let coveredBytes = freeBytes
  let ended = false

  async function cover(bytes: number): Promise<boolean> {
    if (bytes <= coveredBytes) return true
    const more = Math.max(stepBytes, bytes - coveredBytes)
    if (!(await budget.take(holder, more, waitMs))) return false
    if (ended) {
      budget.give(holder, more)
      return false
    }
    taken.push(more)
    coveredBytes += more
    return true
  }

  function end(): void {
    ended = true
    for (const bytes of taken.splice(0)) budget.give(holder, bytes)
  }

  return { cover, end }
}
