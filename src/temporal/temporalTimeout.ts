/** The deadline passed. What was asked may still happen. */
export class TemporalTimeout extends Error {
  override readonly name = 'TemporalTimeout'

  constructor(limitMs: number) {
    super(`Temporal did not answer in ${limitMs} ms`)
  }
}
