/** Whether a process should be given work, and how each part stands: words without detail, fit to be shown. */
export type Readiness = {
  readonly ready: boolean
  readonly parts: Readonly<Record<string, string>>
}
