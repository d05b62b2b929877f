import { InvalidArgumentError } from 'commander'
import { accountNamePattern, depositCreditsMax } from '../domain/account.ts'
import { taskIdPattern } from '../domain/ids.ts'
import type { ModelId } from '../domain/models.ts'
import { isModelId, modelIds } from '../domain/models.ts'
import type { Since } from '../domain/ports/taskAdmin.ts'

/** Parsers of arguments and options: what they refuse is wrong usage, exit code 2. */

/** Of accounts to be made; existing ones are looked up by whatever was typed. */
export function parseAccountName(text: string): string {
  if (accountNamePattern.test(text)) return text
  throw new InvalidArgumentError(
    'A name is 1 to 100 letters, digits and . _ @ + - and begins with a letter or digit.',
  )
}

/** Whole credits, zero allowed. */
export function parseCredits(text: string): number {
  const credits = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN
  if (credits <= depositCreditsMax) return credits
  throw new InvalidArgumentError(`Credits are a whole number from 0 to ${depositCreditsMax}.`)
}

/** `a,b`: models of the service, at least one. */
export function parseModels(text: string): readonly ModelId[] {
  const names = text.split(',').map((name) => name.trim())
  const models = names.filter(isModelId)
  if (models.length === names.length) return [...new Set(models)]
  throw new InvalidArgumentError(`Models are ${modelIds.join(', ')}.`)
}

const expiresDaysMax = 36_500

/** Days, decimals allowed, as milliseconds. */
export function parseDays(text: string): number {
  const days = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
  if (days > 0 && days <= expiresDaysMax) return days * 86_400_000
  throw new InvalidArgumentError(`Days are a number above 0, decimals allowed, 0.5 for 12 hours.`)
}

/** A task id by its shape. */
export function parseTaskId(text: string): string {
  if (taskIdPattern.test(text)) return text
  throw new InvalidArgumentError('A task id is task_ and 32 letters or digits.')
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90s`, `30m`, `2h`, `1d`: so long ago; or an ISO 8601 time. */
export function parseSince(text: string): Since {
  const ago = /^(\d{1,6})([smhd])$/.exec(text)
  if (ago !== null) return { agoMs: Number(ago[1]) * unitMs[unitOf(ago[2])] }
  const atMs = isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN
  if (Number.isFinite(atMs)) return { atMs }
  throw new InvalidArgumentError('Write 90s, 30m, 2h, 1d, or an ISO 8601 time.')
}

/** `Date.parse` would take February 30 for March 2. */
function isDay(text: string): boolean {
  const atMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(atMs) && new Date(atMs).toISOString().startsWith(text)
}

function unitOf(letter: string | undefined): keyof typeof unitMs {
  return letter === 'm' || letter === 'h' || letter === 'd' ? letter : 's'
}

const limitMax = 10_000

/** How many at most. */
export function parseLimit(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (limit >= 1 && limit <= limitMax) return limit
  throw new InvalidArgumentError(`A limit is a whole number from 1 to ${limitMax}.`)
}
