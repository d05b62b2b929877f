import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Entry } from '../../bench/hosts/history.ts'
import { readHistory } from '../../bench/hosts/history.ts'
import { judge } from '../../bench/referee/judge.ts'

/**
 * A run in which every promise is tried and kept. `first` is sent twice, refused by the upstream once, and made smaller than
 * asked. `sync` is repeated after a lost answer, and its image deleted. `third` is cancelled in time.
 */
const honest = readHistory(fileURLToPath(new URL('honest.jsonl', import.meta.url)))

const isMeant = (one: Entry, which: object) =>
  Object.entries(which).every(([name, value]) => Reflect.get(one, name) === value)

/** The run with the fields of some entries changed. */
const set = (which: object, fields: object): readonly Entry[] =>
  honest.map((one) => (isMeant(one, which) ? Object.assign({}, one, fields) : one))

/** The run with a changed copy of its first such entry. */
const again = (which: object, fields: object, history = honest): readonly Entry[] => {
  const found = history.find((one) => isMeant(one, which))
  if (found === undefined) throw new Error(`The run has no ${JSON.stringify(which)}`)
  return [...history, Object.assign({}, found, fields)]
}
/** The run with one more call, and its attempt. */
const called = (at: number, id: string, fields: object, task = 'first', history = honest) => {
  const more = again({ id: 'made' }, { id, from: at, at: at + 1, ...fields }, history)
  return again({ call: 'made' }, { task, call: id, openedAt: at, closedAt: at + 1 }, more)
}

const shown = { type: 'image', task: 'first', address: 'given' }
const lookup = { type: 'read', task: 'first', observer: 'client' }
const queued = { status: 'queued', progress: 10, digest: 'q' }
const otherEnd = { status: 'failed', code: 'upstream_error', progress: 0, digest: 'f' }
const refused = { status: 400, paid: false }
const late = { marker: 'third', key: 'third' }

/** Violations of each promise, by its beginning: that promise alone must notice them. */
const plants: Readonly<Record<string, readonly (readonly Entry[])[]>> = {
  'no accepted task is lost': [
    again({ type: 'submit' }, { marker: 'gone', task: 'gone', key: 'gone' }),
    set({ task: 'third', observer: 'end' }, { status: 404, record: undefined }),
  ],
  'no task ends twice': [
    again(lookup, { task: 'third', from: 23_000, at: 23_100, record: otherEnd }),
    set({ type: 'delivery', task: 'third' }, { record: otherEnd }),
  ],
  'status and progress never go back': [
    again(lookup, { from: 6_000, at: 6_100, record: queued }),
    again(lookup, {
      from: 6_000,
      at: 6_100,
      record: { ...queued, progress: 5 },
      observer: 'other',
    }),
    again(lookup, { from: 26_000, at: 26_100, record: queued, task: 'third' }),
  ],
  'a repeated request gets the task': [
    set({ marker: 'first', replayed: true }, { task: 'sync' }),
    set({ marker: 'first', replayed: true }, { replayed: false }),
    again({ image: 'i' }, { image: 'j' }),
  ],
  'one key never makes two tasks': [
    set({ type: 'taskRow', task: 'third' }, { key: 'first' }),
    again({ replayed: true }, { body: 'other' }),
  ],
  'a cancel that was confirmed': [
    set({ type: 'cancel' }, { task: 'first' }),
    set({ type: 'cancel' }, { charged: 20 }),
    called(11_000, 'late', late, 'third'),
  ],
  'another account sees nothing': [
    set({ account: 'bob' }, { status: 200 }),
    set({ address: 'forged' }, { status: 200 }),
  ],
  'one image is charged once': [again({ task: 'first', kind: 'settle' }, { credits: 0 })],
  'no image without its charge': [again(shown, { task: 'third' })],
  'nothing is charged without': [set(shown, { status: 500 }), set(shown, { pixels: undefined })],
  'a deleted image': [set({ type: 'image', task: 'sync' }, { status: 200 })],
  'never more than the hold': [
    set({ task: 'third', kind: 'release' }, { credits: 19 }),
    again({ type: 'books' }, { observer: 'client', available: -1 }),
  ],
  'an image is held and charged': [set(shown, { pixels: 2048 * 2048 })],
  'answers, usage and balance': [
    set({ charged: 10 }, { charged: 20 }),
    set({ type: 'books' }, { usage: { credits: 20, succeeded: 1, failed: 1 } }),
    set({ type: 'books' }, { available: 79 }),
  ],
  'the calls of a task': [
    [11_000, 12_000, 13_000].reduce((run, at) => called(at, `${at}`, {}, 'first', run), honest),
  ],
  'each call belongs to an attempt': [again({ id: 'refused' }, { id: 'stray', from: 11_000 })],
  'when the upstream says Retry-After': [called(7_000, 'early', refused)],
  'each webhook is told': [
    set({ type: 'delivery', task: 'first' }, { hook: 'other' }),
    set({ type: 'delivery', task: 'third' }, { status: 500 }),
  ],
  'each delivery is signed': [
    set({ type: 'delivery', task: 'sync' }, { refused: 'No matching signature' }),
    set({ type: 'delivery', status: 500 }, { body: 'other' }),
    again({ type: 'hook' }, { at: 1_000, is: 'deleted' }),
  ],
}

describe('the referee', () => {
  it('finds nothing in an honest history, which tries every promise', () => {
    const { verdicts, broken } = judge(honest)
    expect(broken).toEqual([])
    expect(verdicts.filter(({ tried }) => tried === 0)).toEqual([])
  })

  it.each(Object.entries(plants))(
    'notices, and by its name alone, that a promise is broken: %s',
    (says, all) => {
      const found = all.map((history) =>
        judge(history).verdicts.flatMap((one) => (one.broken.length > 0 ? one.says : [])),
      )
      expect(found).toEqual(all.map(() => [expect.stringMatching(`^${says}`)]))
    },
  )

  it('is tried by a planted violation of each promise', () => {
    const tried = Object.keys(plants)
    const { verdicts } = judge(honest)
    expect(verdicts.filter(({ says }) => !tried.some((name) => says.startsWith(name)))).toEqual([])
  })

  it('refuses a long run that has missed a rare state', () => {
    const missed = expect.stringContaining('never tried: a call outlived its lease')
    expect(judge(set({ type: 'run' }, { long: true })).broken).toContainEqual(missed)
  })
})
