/**
 * Installs what package-lock.json lists, unless it is installed. Throws with npm's output when npm fails.
 * `onlyIfMissing` keeps a stale installation, for commands that run next to a running service.
 */
export function ensureInstalled(
  root: string,
  options?: { readonly say?: (line: string) => void; readonly onlyIfMissing?: boolean },
): Promise<void>

/** Whether the installation is marked as the one of the present lock file and package.json. */
export function isMarkedFresh(root: string): boolean

/**
 * Marks an installation whose versions are those of the lock file, and returns whether it did. So nothing is
 * installed again after `npm ci` by hand, or after an edit of package.json that changes no dependency.
 */
export function adoptFresh(root: string): boolean
