/** A process named so that it can be recognised later. */
export type ProcessIdentity = { pid: number; start: string }

/** When the process started, only good for comparing; undefined when no such process runs. */
export function processStart(pid: number): string | undefined

/** Whether the very process that was recorded still runs. */
export function isSameProcessAlive(identity: ProcessIdentity): boolean
