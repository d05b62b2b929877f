/** A lock that was taken. */
export type HeldLock = { readonly release: () => void }

/** Takes the lock at once, or says which process has it. A holder that died holds nothing. */
export function tryLock(path: string): HeldLock | { heldBy: number }

/** Waits for the lock; throws when `timeoutMs` have passed. `onWait` is called once, on waiting. */
export function waitForLock(
  path: string,
  options: { timeoutMs: number; onWait?: (heldBy: number) => void },
): Promise<HeldLock>
