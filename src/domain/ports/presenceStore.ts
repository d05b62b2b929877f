/** What a process reports with each beat. */
export type Beat = {
  readonly processId: string
  /** Whether the process takes offers of synchronous tasks. */
  readonly accepting: boolean
  /** The answer ids of the attempts that this process works on. */
  readonly heldAnswerIds: readonly string[]
  /** How old an attempt may be to be returned as an orphan. Most beats look back for a minute, to stay cheap. */
  readonly lookBackSeconds: number
}

/** Another process whose last beat is too long ago. */
export type SilentProcess = {
  readonly processId: string
  /** The time of its last beat, as PostgreSQL writes it. */
  readonly seenAt: string
}

/** An open attempt of the process that beats, which the process does not work on. */
export type OrphanedAttempt = {
  readonly taskId: string
  readonly n: number
  readonly answerId: string
}

export type BeatResult = {
  readonly silent: readonly SilentProcess[]
  readonly orphans: readonly OrphanedAttempt[]
}

/**
 * The presence of the processes that make upstream calls. Each has one row and updates it with every beat.
 * Implemented in `src/store/attempts/workerProcesses.ts`.
 */
export type PresenceStore = {
  /**
   * Records that this process is present. Returns the other processes that are silent, and the open attempts
   * of this process that are older than ten seconds, not older than `lookBackSeconds` and not in
   * `heldAnswerIds`.
   */
  readonly beat: (beat: Beat) => Promise<BeatResult>
  /**
   * Marks a silent process as lost, unless it has sent a beat since. Makes its tasks with an open call due for
   * a check now, and closes its attempts of ended tasks. Returns whether the process was marked.
   */
  readonly markLost: (silent: SilentProcess) => Promise<boolean>
  /** Deletes the row of a process that makes no more calls. Keeps the row while an attempt of it is open. */
  readonly leave: (processId: string) => Promise<void>
}
