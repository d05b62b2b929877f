/** Makes sure that what package-lock.json names is installed; throws with npm's output if not. */
export function ensureInstalled(
  root: string,
  options?: { say?: (line: string) => void; onlyIfMissing?: boolean },
): Promise<void>

/** Whether this very lock file and package.json were installed by us. */
export function isMarkedFresh(root: string): boolean

/** Accepts, and marks, an installation whose versions are those of the lock file. */
export function adoptFresh(root: string): boolean
