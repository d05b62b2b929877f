import { meaningOf } from '../../domain/upstream/vendorWords.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Recorders } from '../../telemetry/metrics.ts'

export type VendorCodes = ReturnType<typeof createVendorCodes>

/** Limit for the codes of one channel that are kept in an hour. A relay may send a new one with every answer. */
const codesMax = 50
const hourMs = 3_600_000

/**
 * Creates the memory of a worker of which codes and reasons its vendors send. A word that Darkroom does not know is
 * counted each time, and logged once per channel and hour: it may want a place in `vendorWords.ts`.
 */
export function createVendorCodes(deps: {
  readonly log: Pick<Logger, 'warn'>
  readonly metrics: Pick<Recorders, 'unknownWord'>
  /** Milliseconds of a clock that only goes forward. */
  readonly nowMs?: () => number
}) {
  const { log, metrics, nowMs = () => performance.now() } = deps
  const seen = new Map<string, Map<string, number>>()
  return {
    /** Takes note of the code of an answer. Returns what may be recorded of it: itself, or `other`. */
    note: (channel: string, code: string): string => {
      const known = seen.get(channel) ?? new Map<string, number>()
      seen.set(channel, known)
      const sinceMs = nowMs() - hourMs
      for (const [each, atMs] of known) if (atMs <= sinceMs) known.delete(each)
      const kept = known.has(code) || known.size < codesMax ? code : 'other'
      const isNew = !known.has(kept)
      if (isNew) known.set(kept, nowMs())
      if (meaningOf(code) === undefined) {
        metrics.unknownWord(channel)
        if (isNew) log.warn('unknown word of a vendor', { channel, vendorCode: kept })
      }
      return kept
    },
  }
}
