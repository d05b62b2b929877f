import type { SmallerPrice } from '../../../src/domain/models/smallerPrices.ts'
import type { OutcomeClass, OutcomeReason } from '../../../src/domain/upstream/upstreamCall.ts'

// What the transitions of a task promise, in plain TypeScript and for one caller at a time.

export type UploadState = 'kept' | 'later' | 'due'
export type ModelAttempt = {
  readonly answerId: string
  readonly channel: string
  readonly process: string
  class: OutcomeClass | 'open'
  isLeaseOver: boolean
  /** Opened by a step of this round. */
  isNew: boolean
}
export type ModelTask = {
  readonly account: string
  readonly model: string
  readonly credits: number
  readonly smallerPrices: readonly SmallerPrice[]
  readonly isSync: boolean
  readonly isRetry: boolean
  status: 'live' | 'succeeded' | 'failed' | 'gone'
  cause: string
  isWorkPossible: boolean
  attempts: ModelAttempt[]
  answerId: string
  hasRequest: boolean
  hasKey: boolean
  uploads: Record<string, UploadState>
  ledger: string
  refunded: number
  isPastDeadline: boolean
  isPastEnd: boolean
  isPurgeDue: boolean
  retriedAs: string
}
export type ModelState = {
  readonly deposits: Readonly<Record<string, number>>
  readonly tasks: Record<string, ModelTask>
  processes: Record<string, 'steady' | 'present' | 'late' | 'silent'>
  paused: Record<string, boolean>
}

/** One call of a transition. Each kind uses the fields that it needs. */
export type Step = {
  readonly kind:
    | 'open'
    | 'close'
    | 'abandon'
    | 'lose'
    | 'settle'
    | 'fail'
    | 'cancel'
    | 'retry'
    | 'purge'
  readonly taskId: string
  readonly n: number
  readonly answerId: string
  readonly channel: string
  readonly process: string
  readonly outcome: readonly [OutcomeClass, OutcomeReason]
  readonly newTaskId: string
  readonly credits: number
  readonly smallerPrices: readonly SmallerPrice[]
  /** For a settlement: the width and height of the image. 0: not known. */
  readonly side: number
  /** For a failure: it is a refusal, and no work is possible. For a cancel: the client has left. */
  readonly isMild: boolean
}

/** What is known of steps that run at the same time. */
export type Around = {
  /** The tasks that still have a row afterwards. */
  readonly kept: ReadonlySet<string>
  /**
   * Whether the statement of an end may have begun before the attempts of this round, whose uploads it then does not
   * see. The close of such an attempt, or the purge, makes its upload due all the same.
   */
  readonly isEarlyEnd: boolean
  /** Whether another step or transaction may have locked the task. */
  readonly isContended: (taskId: string) => boolean
}

export const placesMax = 2

/** Takes one step. Returns whether the model allows the result. The state is then the state after the step. */
export function takeStep(state: ModelState, step: Step, result: string, around: Around): boolean {
  const task = state.tasks[step.taskId]
  if (task === undefined) throw new Error(`no task ${step.taskId}`)
  const open = openOf(task)
  const attempt = task.status === 'gone' ? undefined : task.attempts[step.n - 1]
  switch (step.kind) {
    case 'open': {
      if (task.status !== 'live') return result === 'over'
      if (open === step.n && task.attempts[open - 1]?.answerId === step.answerId) {
        return result === 'opened'
      }
      const had = task.attempts.length
      if (open > 0 || had !== step.n - 1 || task.isPastDeadline) {
        // The look without locks reads the task first. Another step may then take the last place of the channel.
        const sawTaskBefore = result === 'full' && around.isContended(step.taskId)
        return result === 'changed' || sawTaskBefore
      }
      const process = state.processes[step.process]
      if (process === 'late' || process === 'silent') return result === 'not_present'
      const bar = barOf(state, step.channel)
      if (result !== 'opened') return bar.allowed.includes(result)
      const { answerId, channel } = step
      task.attempts.push({
        answerId,
        channel,
        process: step.process,
        class: 'open',
        isLeaseOver: false,
        isNew: true,
      })
      task.uploads[answerId] = 'kept'
      return bar.mayOpen
    }
    case 'abandon':
    case 'close': {
      const isMeant = step.kind === 'close' || step.answerId === attempt?.answerId
      if (attempt?.class !== 'open' || !isMeant) {
        const isLate = step.kind === 'close' && step.outcome[0] === 'succeeded'
        if (attempt !== undefined && isLate) dropAnswer(task, attempt)
        return result === 'false'
      }
      closeAttempt(task, attempt, step.kind === 'close' ? step.outcome[0] : 'refused')
      return result === 'true'
    }
    case 'lose': {
      const isLost =
        attempt?.class === 'open' &&
        (attempt.isLeaseOver || state.processes[attempt.process] === 'silent') &&
        state.processes[step.process] === 'steady'
      if (result === 'false') return !isLost || around.isContended(step.taskId)
      // Its worker may live after all and store its answer, which is swept later then.
      if (isLost) closeAttempt(task, attempt, 'unknown', 'later')
      return isLost
    }
    case 'settle': {
      if (task.status === 'live' && attempt !== undefined) {
        attempt.class = 'succeeded'
        task.answerId = step.answerId
        const { credits, smallerPrices } = task
        const price = smallerPrices.find(({ belowPixels }) => step.side ** 2 < belowPixels)
        task.refunded = price === undefined || step.side === 0 ? 0 : credits - price.credits
        endTask(task, 'succeeded', '', around)
      }
      const isPublished = task.status === 'succeeded' && task.answerId === step.answerId
      return result === String(isPublished)
    }
    case 'fail': {
      if (task.status === 'succeeded') return result === 'succeeded'
      if (task.status !== 'live') return result === 'over'
      const isFree = open === 0 || task.isPastEnd
      if (task.attempts.length !== step.n || !isFree) return result === 'call_under_way'
      task.isWorkPossible ||= open > 0 || !step.isMild
      endTask(task, 'failed', step.isMild ? 'refused' : 'unknown', around)
      return result === 'failed'
    }
    case 'cancel': {
      if (task.status === 'gone') return result === 'missing'
      if (task.status === 'succeeded') return result === 'succeeded'
      const wasCancelled = task.cause === 'cancelled' || task.cause === 'client_left'
      if (task.status === 'failed') return result === (wasCancelled ? 'cancelled' : 'failed')
      if (open > 0) return result === 'call_under_way'
      if (task.isWorkPossible) return result === 'work_possible'
      endTask(task, 'failed', step.isMild ? 'client_left' : 'cancelled', around)
      return result === 'cancelled'
    }
    case 'retry':
      return retry(state, task, step, result)
    case 'purge':
      return Object.entries(state.tasks).every(([taskId, due]) => {
        if (!due.isPurgeDue) return true
        if (around.kept.has(taskId)) return around.isContended(taskId)
        due.status = 'gone'
        for (const id of Object.keys(due.uploads)) due.uploads[id] = 'due'
        return true
      })
    default:
      return step.kind satisfies never
  }
}

/** The number of the open attempt of a live task, or 0. */
export function openOf(task: ModelTask): number {
  return task.status === 'live' ? task.attempts.findIndex((one) => one.class === 'open') + 1 : 0
}

function closeAttempt(
  task: ModelTask,
  attempt: ModelAttempt,
  outcome: OutcomeClass,
  swept: UploadState = 'due',
): void {
  attempt.class = outcome
  if (task.status === 'live') task.isWorkPossible ||= outcome === 'unknown'
  else dropAnswer(task, attempt, swept)
}

/** The answer of an ended task that is not published is swept. */
function dropAnswer(
  { status, answerId, uploads }: ModelTask,
  attempt: ModelAttempt,
  swept: UploadState = 'due',
): void {
  if (status !== 'live' && attempt.answerId !== answerId) uploads[attempt.answerId] = swept
}

function endTask(
  task: ModelTask,
  status: 'succeeded' | 'failed',
  cause: string,
  { isEarlyEnd }: Around,
): void {
  task.status = status
  task.cause = cause
  const { credits, refunded } = task
  const settled = `,settle=${credits - refunded}${refunded > 0 ? `,refund=${refunded}` : ''}`
  task.ledger += status === 'succeeded' ? settled : `,release=${credits}`
  task.hasRequest = status === 'failed' && cause !== 'client_left'
  const isFinal = status === 'succeeded' || cause === 'cancelled'
  const mayRepeat = !task.isWorkPossible || cause === 'refused'
  if (task.isSync && !isFinal && mayRepeat) task.hasKey = false
  for (const id of Object.keys(task.uploads)) {
    task.uploads[id] = id.startsWith('in') && !task.hasRequest ? 'due' : 'later'
  }
  for (const { answerId, isNew } of task.attempts) {
    if (isNew && isEarlyEnd) task.uploads[answerId] = 'kept'
  }
}

function retry(
  state: ModelState,
  task: ModelTask,
  { newTaskId, credits, smallerPrices }: Step,
  result: string,
): boolean {
  if (task.status === 'gone' || task.isPurgeDue) return result === 'unknown'
  // Who has retried a task is read from the new one, so it is known until that is purged.
  const isKnown = task.retriedAs !== '' && state.tasks[task.retriedAs]?.status !== 'gone'
  if (isKnown) return result === 'already_retried'
  if (task.status !== 'failed') return result === 'not_failed'
  const inputs = Object.keys(task.uploads).filter((id) => id.startsWith('in'))
  const isThere = task.hasRequest && inputs.every((id) => task.uploads[id] === 'later')
  if (!isThere) return result === 'inputs_gone'
  if (moneyOf(state, task.account).available < credits) return result === 'insufficient'
  for (const id of inputs) delete task.uploads[id]
  task.hasRequest = false
  task.retriedAs = newTaskId
  const { account, model } = task
  const uploads = Object.fromEntries(inputs.map((id) => [id, 'kept' as const]))
  state.tasks[newTaskId] = {
    ...newTask({ account, model, credits, smallerPrices }),
    isRetry: true,
    uploads,
  }
  return result === 'retried'
}

export function newTask(
  given: Pick<ModelTask, 'account' | 'model' | 'credits' | 'smallerPrices'>,
): ModelTask {
  return {
    ...given,
    isSync: false,
    isRetry: false,
    status: 'live',
    cause: '',
    isWorkPossible: false,
    attempts: [],
    answerId: '',
    hasRequest: true,
    hasKey: false,
    uploads: {},
    ledger: `hold=${given.credits}`,
    refunded: 0,
    isPastDeadline: false,
    isPastEnd: false,
    isPurgeDue: false,
    retriedAs: '',
  }
}

/**
 * The results other than `opened` that a channel may give, and whether it may give `opened`. What bars a task during a
 * cooldown is in cooldown.test.ts.
 */
function barOf(
  { paused, tasks }: ModelState,
  channel: string,
): { readonly allowed: readonly string[]; readonly mayOpen: boolean } {
  if (paused[channel] === true) return { allowed: ['paused'], mayOpen: false }
  const calls = Object.values(tasks)
    .filter(({ status }) => status !== 'gone')
    .flatMap(({ attempts }) => attempts)
    .filter((one) => one.channel === channel && one.class === 'open' && !one.isLeaseOver)
  if (calls.length >= placesMax) return { allowed: ['full'], mayOpen: false }
  return { allowed: ['cooldown', 'full'], mayOpen: true }
}

/** The balance of an account. */
export function moneyOf(state: ModelState, account: string) {
  const own = Object.values(state.tasks).filter((task) => task.account === account)
  const sum = (tasks: readonly ModelTask[]) =>
    tasks.reduce((all, { credits, refunded }) => all + credits - refunded, 0)
  const held = sum(own.filter(({ status }) => status === 'live'))
  const spent = sum(own.filter(({ ledger }) => ledger.includes('settle')))
  const submitted = own.filter((task) => !task.isRetry)
  const used = sum(submitted.filter((task) => !task.ledger.includes('release')))
  const available = (state.deposits[account] ?? 0) - held - spent
  const submittedCredits = submitted.reduce((all, { credits }) => all + credits, 0)
  return { available, held, spent, used, submitted: submittedCredits }
}
