/** A lock that this process holds. */
export type HeldLock = { readonly release: () => void }

/**
 * Takes the lock, or returns the id of the process that holds it (0 when the holder is unknown). A lock
 * whose holder has ended is free.
 */
export function tryLock(path: string): HeldLock | { readonly heldBy: number }

/** Waits for the lock. Throws after `timeoutMs`. Calls `onWait` once, with the holder, when it must wait. */
export function waitForLock(
  path: string,
  options: { readonly timeoutMs: number; readonly onWait?: (heldBy: number) => void },
): Promise<HeldLock>
