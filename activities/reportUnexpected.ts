/** Tells the log of an error that is no expected end: a bug, or PostgreSQL or the blob store away. */
export type ReportUnexpected = (seen: {
  readonly activity: 'produceImage' | 'recordFailure' | 'cancelTask'
  readonly taskId: string
  readonly error: unknown
}) => void
