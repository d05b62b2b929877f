import type { EntryOf } from '../hosts/history.ts'
import type { Facts } from './facts.ts'
import { creditsOf, keyOf } from './facts.ts'
import { promise } from './promise.ts'

type TaskRow = EntryOf<'taskRow'>
type Model = EntryOf<'model'>

/** What was held, charged and given back. */
export const moneyPromises = [
  promise(
    'one image is charged once: one task, one hold, one charge',
    ({ rows }) => rows,
    function* (row, { ledgerOf, tasksOf, submitsOf }) {
      const ledger = ledgerOf.get(row.task) ?? []
      for (const kind of ['hold', 'settle', 'refund', 'release']) {
        const count = ledger.filter((each) => each.kind === kind).length
        if (count > 1 || (kind === 'hold' && count === 0))
          yield `${row.task} has ${count} rows ${kind}`
      }
      const paid = (row.key === undefined ? undefined : tasksOf.get(keyOf(row)))?.filter(
        ({ task }) => ledgerOf.get(task)?.some(({ kind }) => kind === 'settle'),
      )
      if (paid !== undefined && paid.length > 1 && paid[0] === row) {
        yield `${submitsOf.get(keyOf(row))?.[0]?.marker} was charged for ${paid.length} tasks`
      }
    },
  ),
  promise(
    'no image without its charge',
    (facts) =>
      new Set([
        ...facts.rows.flatMap(({ task, status }) => (status === 'succeeded' ? task : [])),
        ...facts.reads.flatMap(({ task, record }) => (record?.status === 'succeeded' ? task : [])),
        ...facts.submits.flatMap(({ task, image }) =>
          image !== undefined && task !== undefined ? task : [],
        ),
        ...facts.images.flatMap(({ task, image, address }) =>
          image !== undefined && address === 'given' ? task : [],
        ),
      ]),
    function* (task, { ledgerOf }) {
      const isCharged = ledgerOf.get(task)?.some(({ kind }) => kind === 'settle')
      if (isCharged !== true) yield `${task} has an image and no charge`
    },
  ),
  promise(
    'nothing is charged without a stored image, or one that its owner deleted',
    ({ ledger }) => ledger.filter(({ kind }) => kind === 'settle'),
    function* ({ task = '' }, { imagesOf, rowOf, deletedTasks }) {
      if (deletedTasks.has(task)) return
      const image = imagesOf.get(task)?.findLast(({ address }) => address === 'given')
      if (image?.status !== 200) yield `${task} is charged, and its image answers ${image?.status}`
      else if (image.pixels === undefined) yield `the image of ${task} does not decode`
      else if (image.image !== rowOf.get(task)?.image)
        yield `the image of ${task} is not the published one`
    },
  ),
  promise(
    'a deleted image stays deleted',
    ({ deletions, imagesOf }) =>
      deletions.filter(({ status, task }) => status === 200 && imagesOf.has(task)),
    function* ({ task, at }, { imagesOf }) {
      const later = (imagesOf.get(task) ?? []).filter(
        ({ from, status }) => from > at && status === 200,
      )
      if (later.length > 0) yield `the image of ${task} was served after its deletion`
    },
  ),
  promise(
    'never more than the hold: a charge and what goes back are the hold, and no account is below 0',
    ({ ledgerOf, books }) => [...ledgerOf, ...books],
    function* (one) {
      if (!Array.isArray(one)) {
        const { account, available, held } = one
        if (available < 0 || held < 0)
          yield `${account} has ${available} available and ${held} held`
        return
      }
      const [task, ledger] = one
      const held = creditsOf(ledger, 'hold')
      const back = creditsOf(ledger, 'refund', 'release')
      // Counted once: what is charged twice breaks another promise.
      const charged = ledger.find(({ kind }) => kind === 'settle')?.credits ?? 0
      if (charged > held) yield `${task} was charged ${charged} of ${held}`
      else if (charged + back !== held)
        yield `${task} held ${held}, charged ${charged}, got ${back} back`
    },
  ),
  promise(
    'an image is held and charged as what it is, at the published prices',
    ({ rows, models }) => (models.length > 0 ? rows : []),
    function* (row, { models, ledgerOf, imagesOf }) {
      const model = models.find((each) => each.model === row.model)
      if (model === undefined) return
      const hold = priceOf(model, row, row.size)
      const held = ledgerOf.get(row.task)?.find(({ kind }) => kind === 'hold')?.credits
      if (held !== undefined && held !== hold)
        yield `${row.task} held ${held}, and the price is ${hold}`
      const pixels = imagesOf
        .get(row.task)
        ?.find((image) => image.address === 'given' && image.pixels)?.pixels
      const charged = ledgerOf.get(row.task)?.find(({ kind }) => kind === 'settle')?.credits
      if (pixels === undefined || charged === undefined || charged > hold) return
      const due = Math.min(hold, dueOf(model, row, pixels))
      if (charged !== due)
        yield `${row.task} was charged ${charged} for ${pixels} pixels, and not ${due}`
    },
  ),
  promise(
    'answers, usage and balance say what the ledger says',
    ({ submits, reads, cancels, books }) => [...submits, ...reads, ...cancels, ...lastBooks(books)],
    function* (one, facts) {
      if (one.type === 'books') {
        yield* brokenBooks(one, facts)
        return
      }
      const ledger = facts.ledgerOf.get(one.task)
      if (ledger === undefined) return
      const held = 'held' in one ? one.held : undefined
      const hold = creditsOf(ledger, 'hold')
      if (held !== undefined && held !== hold)
        yield `${one.task} was told a hold of ${held}, and it is ${hold}`
      // A cancel that costs breaks another promise.
      const charged = one.type === 'cancel' ? undefined : one.charged
      const settled = ledger.find(({ kind }) => kind === 'settle')?.credits ?? 0
      if (charged !== undefined && charged !== settled)
        yield `${one.task} was told ${charged} credits, and the ledger has ${settled}`
    },
  ),
]

const lastBooks = (books: readonly EntryOf<'books'>[]) =>
  new Map(
    books.filter(({ observer }) => observer === 'end').map((each) => [each.account, each]),
  ).values()

function* brokenBooks(
  { account, available, held, spent, usage }: EntryOf<'books'>,
  { ledger, rows }: Facts,
): Generator<string> {
  const own = ledger.filter((row) => row.account === account)
  const settled = creditsOf(own, 'settle')
  const deposited = creditsOf(own, 'deposit') - creditsOf(own, 'withdraw')
  if (spent !== settled) yield `${account} has spent ${spent}, and the ledger says ${settled}`
  if (available + held + spent !== deposited) {
    yield `${account} has ${available} available, ${held} held and ${spent} spent of ${deposited}`
  }
  const live = rows.filter((row) => row.account === account && row.completedAt === undefined)
  const holds = live.reduce((sum, { credits }) => sum + credits, 0)
  if (held !== holds) yield `${account} holds ${held}, and its live tasks ${holds}`
  if (usage === undefined) return
  if (usage.credits !== settled)
    yield `the usage of ${account} is ${usage.credits}, and the ledger says ${settled}`
  for (const status of ['succeeded', 'failed'] as const) {
    const count = rows.filter((row) => row.account === account && row.status === status).length
    if (usage[status] !== count)
      yield `the usage of ${account} counts ${usage[status]} ${status}, and there are ${count}`
  }
}

function priceOf(model: Model, { action, quality }: TaskRow, size = defaultSizeOf(model)): number {
  const line = model.prices.find(
    (price) =>
      (price.size ?? size) === size &&
      (price.action ?? action) === action &&
      (price.quality ?? quality) === quality,
  )
  // The tasks of a run edit one image each.
  return (
    (line?.credits ?? Number.NaN) + (action === 'edit' ? (line?.credits_per_input_image ?? 0) : 0)
  )
}

const defaultSizeOf = ({ family }: Model) => (family === 'A' ? '1K' : undefined)

function pixelsOf(size: string): number {
  const [, k] = /^(\d+)K$/.exec(size) ?? []
  if (k !== undefined) return (Number(k) * 1024) ** 2
  return size.split('x').reduce((product, side) => product * Number(side), 1)
}

/** What an image of so many pixels costs: the largest size that it reaches with 0.7 of its pixels, or the smallest size. */
function dueOf(model: Model, row: TaskRow, pixels: number): number {
  const asked = row.size ?? defaultSizeOf(model)
  if (asked === undefined || pixels >= 0.7 * pixelsOf(asked)) return priceOf(model, row, asked)
  const sizes = Map.groupBy(model.sizes, pixelsOf)
  const reached = [...sizes.keys()].filter((each) => pixels >= 0.7 * each)
  const size = reached.length > 0 ? Math.max(...reached) : Math.min(...sizes.keys())
  return Math.min(...(sizes.get(size) ?? []).map((each) => priceOf(model, row, each)))
}
