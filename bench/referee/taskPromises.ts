import type { EntryOf } from '../hosts/history.ts'
import type { Facts } from './facts.ts'
import { isEnded, keyOf } from './facts.ts'
import { promise } from './promise.ts'

/** What became of tasks and keys. */
export const taskPromises = [
  promise(
    'no accepted task is lost: it is there, and ended',
    (facts) =>
      new Map(
        [...facts.submits, ...facts.rows].flatMap((one) =>
          one.task === undefined ? [] : [[one.task, one.account]],
        ),
      ),
    function* ([task, account], { rowOf, readsOf }) {
      const row = rowOf.get(task)
      if (row === undefined) yield `${task} was accepted and is gone`
      else if (!isEnded(row.status)) yield `${task} is ${row.status} in the end`
      const last = readsOf
        .get(task)
        ?.findLast((read) => read.observer === 'end' && read.account === account)
      if (last?.record === undefined)
        yield `${task} cannot be read by its owner in the end: ${last?.status}`
    },
  ),
  promise(
    'no task ends twice: everybody sees the same end, which does not change',
    ({ rows }) => rows,
    function* ({ task, status, code }, { readsOf, deliveriesOf, ledgerOf, deletedTasks }) {
      const kinds = new Set((ledgerOf.get(task) ?? []).map(({ kind }) => kind))
      if (kinds.has('settle') && kinds.has('release')) yield `${task} was settled and released`
      const ends = (readsOf.get(task) ?? []).flatMap(({ record }) =>
        isEnded(record?.status) ? [record] : [],
      )
      const events = (deliveriesOf.get(task) ?? []).flatMap(({ record }) => record ?? [])
      for (const end of [...ends, ...events]) {
        const isGone = end?.status === 'expired' && status === 'succeeded'
        if (!isGone && (end?.status !== status || end.code !== code)) {
          yield `${task} is ${status} ${code ?? ''}, and somebody read ${end?.status} ${end?.code ?? ''}`
        }
      }
      const digests = new Set(ends.map((end) => end?.digest))
      if (digests.size > 1 && !deletedTasks.has(task))
        yield `the record of ${task} changed after its end`
    },
  ),
  promise(
    'status and progress never go backwards, for any observer',
    ({ readsOf }) => readsOf,
    function* ([task, reads], { deliveriesOf }) {
      const known = [...reads, ...(deliveriesOf.get(task) ?? [])]
      for (const [n, { observer, from, record }] of reads.entries()) {
        if (record === undefined) continue
        const before = known.filter(
          (one, earlier) =>
            one.at < from || ('observer' in one && one.observer === observer && earlier < n),
        )
        const isBack = before.some((one) => one.record !== undefined && isLess(record, one.record))
        if (isBack) yield `${task} went back to ${record.status} ${record.progress} for ${observer}`
      }
    },
  ),
  promise(
    'a repeated request gets the task and the image of the first one',
    ({ submitsOf }) => submitsOf.values(),
    function* (submits) {
      const [marker, accepted] = [
        submits[0]?.marker,
        submits.filter(({ status }) => status === 202),
      ]
      if (differ(accepted.map(({ task }) => task))) yield `${marker} was accepted as two tasks`
      if (accepted.filter(({ replayed }) => replayed === false).length > 1)
        yield `${marker} was accepted as new twice`
      if (differ(submits.flatMap(({ image }) => image ?? []))) yield `${marker} got two images`
      const isLost = submits.some(({ status = 500 }) => status >= 500)
      if (accepted.length > 0 && !isLost && accepted.every(({ replayed }) => replayed === true)) {
        yield `${marker} was only ever accepted as a replay`
      }
    },
  ),
  promise(
    'one key never makes two tasks, whatever is sent under it',
    ({ tasksOf }) => tasksOf,
    function* ([key, rows], { submitsOf }) {
      const submits = submitsOf.get(key) ?? []
      const marker = submits[0]?.marker ?? key
      // A synchronous task that failed may free its key.
      const lasting = rows.filter(
        ({ status }) => status !== 'failed' || submits.some(({ door }) => door === 'async'),
      )
      if (lasting.length > 1) yield `${marker} has ${lasting.length} tasks`
      const accepted = submits.filter(({ status, image }) => status === 202 || image !== undefined)
      if (differ(accepted.map(({ body }) => body))) yield `${marker} was accepted with two bodies`
      const isRefused =
        submits.length > 0 &&
        submits.every(({ status = 500, task }) => status < 500 && task === undefined)
      if (isRefused && lasting.length > 0) yield `${marker} was refused, and has a task`
    },
  ),
  promise(
    'a cancel that was confirmed is final and free',
    ({ cancels }) => cancels.filter(({ status }) => status === 200),
    function* ({ task, charged }, facts) {
      const row = facts.rowOf.get(task)
      if (row?.code !== 'cancelled')
        yield `${task} was cancelled, and ended as ${row?.code ?? row?.status}`
      if (charged !== undefined && charged !== 0)
        yield `the cancel of ${task} says that it costs ${charged}`
      if (facts.ledgerOf.get(task)?.some(({ kind }) => kind === 'settle'))
        yield `${task} was cancelled and charged`
      if (callsOfTask(row, facts).some(({ paid }) => paid))
        yield `${task} was cancelled although the upstream was paid`
    },
  ),
  promise(
    'another account sees nothing: no task, no image, no event',
    (facts) => [
      ...[...facts.reads, ...facts.cancels, ...facts.deletions].map(
        ({ account, task, status }) => ({ account, task, status }),
      ),
      ...facts.submits.map(({ account, task }) => ({ account, task, status: 202 })),
      ...facts.images.map(({ address, task, status }) => ({
        account: address === 'forged' ? address : undefined,
        task,
        status,
      })),
      ...facts.deliveries.map(({ hook, task }) => ({
        account: accountOf(hook, facts),
        task,
        status: 200,
      })),
    ],
    function* ({ account, task, status }, { rowOf }) {
      const owner = rowOf.get(task ?? '')?.account
      if (owner === undefined || account === undefined || account === owner) return
      const told = status ?? 404
      if (told < 400 || told === 409) yield `${task} of ${owner} answered ${account} with ${told}`
    },
  ),
]

type TaskRecord = NonNullable<EntryOf<'read'>['record']>

const rankOf = ({ status }: TaskRecord) => (status === 'queued' ? 0 : isEnded(status) ? 2 : 1)

const isLess = (now: TaskRecord, before: TaskRecord): boolean =>
  rankOf(now) < rankOf(before) || now.progress < before.progress

/** The calls of a task, if they can be told from those of other tasks. */
function callsOfTask(
  row: EntryOf<'taskRow'> | undefined,
  facts: Facts,
): readonly EntryOf<'call'>[] {
  if (row?.key === undefined || facts.tasksOf.get(keyOf(row))?.length !== 1) return []
  return facts.callsOf.get(facts.submitsOf.get(keyOf(row))?.[0]?.marker) ?? []
}

const accountOf = (hook: string, { hooks }: Facts) =>
  hooks.find((each) => each.hook === hook)?.account

const differ = (values: readonly unknown[]): boolean => new Set(values).size > 1
