/** A process, by its id and its start time. */
export type ProcessIdentity = { readonly pid: number; readonly start: string }

/**
 * When the process started. The text is good only for comparing. Returns `undefined` when no such process
 * runs. A process that has ended counts as not running before its parent has collected it, because it holds
 * no file, no port and no memory.
 */
export function processStart(pid: number): string | undefined

/** Whether the recorded process still runs. */
export function isSameProcessAlive(identity: ProcessIdentity): boolean
