/** node bench/hosts/clients.ts '{…}': the clients of a run, and the receiver of their webhooks, on a host of their own. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyedRequest } from '../../test/support/chaos/chaosRequest.ts'
import { pickKind, upstreamFaults } from '../../test/support/chaos/chaosRequest.ts'
import { createSeeded } from '../../test/support/seeded.ts'
import { runParallel } from '../../test/support/timing.ts'
import { openRecorder } from './history.ts'
import type { Owner, World } from './owner.ts'
import { actAs, isEnded, retryMs } from './owner.ts'
import { startReceiver } from './receiver.ts'

export type ClientsOptions = {
  readonly history: string
  readonly seed: number
  readonly tasks: number
  /** Over which the tasks are begun, or longer when no client is free. A long run has calls that take long. */
  readonly seconds: number
  /** Each does one task after the other, so that a slow machine is not buried in tries. Default: 24. */
  readonly parallel?: number
  /** The only fault of the upstream. Default: all that end soon in a run of less than a minute, else all. */
  readonly fault?: string
  readonly owners: readonly Owner[]
  readonly apis: readonly string[]
  /** HOST:PORT of the receiver. */
  readonly receiver: string
}

const options: ClientsOptions = JSON.parse(process.argv[2] ?? '')
const { seed, tasks, seconds, owners, apis, receiver } = options
const over = new AbortController()
const chance = createSeeded(seed)
const { add } = openRecorder(options.history)
const world: World = { apis, chance, add, over: over.signal }
const [shortSeconds, pollMs, deleteTriesMax] = [60, 250, 20]
const { fault: only, parallel = 24 } = options
const isShort = seconds < shortSeconds
/** Waits that are longer than a refusal or a lost worker takes to be known. */
const longFaults = [
  'delay ms=20000',
  'delay ms=32000',
  'delay ms=36000',
  'delay ms=38000',
  'delay ms=80000',
  '429 retry-after=6 times=1',
  '503 retry-after=9 times=1',
]
const shortFaults = upstreamFaults.filter(
  (each) => each.endsWith('times=1') && !each.startsWith('hang'),
)
const faults =
  only !== undefined ? [only] : isShort ? shortFaults : [...upstreamFaults, ...longFaults]
const syncTriesMax = isShort ? 5 : 20

const secrets = new Map<string, string>()
startReceiver({
  port: Number(receiver.split(':')[1]),
  secrets,
  chance: createSeeded(seed + 1),
  add,
  onOver: () => over.abort(),
})
for (const [n, owner] of owners.entries()) await register(owner, String(n))
const removeOne = await register(chance.pick(owners), 'removed')
console.log('ready')
const startedAt = performance.now()
const tasksDone = runParallel(tasks, parallel, async (n) => {
  await sleep(Math.max(0, startedAt + (n * seconds * 1000) / tasks - performance.now()))
  if (!over.signal.aborted) await runTask(n)
})
await Promise.all([tasksDone, sleep((seconds * 1000) / 2).then(removeOne)])
console.log('done')

/** Registers a webhook, whose deliveries go to the path `hook`. Returns what deletes it. */
async function register(owner: Owner, hook: string): Promise<() => Promise<void>> {
  const { ask } = actAs(owner, world)
  const tell = (is: 'registered' | 'deleted') =>
    add({ type: 'hook', at: Date.now(), hook, account: owner.account, is })
  const { json } = await ask('/v1/webhooks', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: `http://${receiver}/${hook}` }),
  })
  const { webhook_id: id, secret } = json()
  secrets.set(hook, secret)
  tell('registered')
  return async () => {
    while (!over.signal.aborted) {
      const { status } = (await ask(`/v1/webhooks/${id}`, { method: 'DELETE' })).told
      // 404: it was deleted, and the answer was lost.
      if (status === 200 || status === 404) return tell('deleted')
      await sleep(retryMs)
    }
    return undefined
  }
}

/** Asks for an image in one of all ways, and does with the task what its owner may do. */
async function runTask(n: number): Promise<void> {
  const owner = chance.pick(owners)
  const { buy, look, listen, cancel, remove, download } = actAs(owner, world)
  const marker = `hosts ${n}`
  const fault = chance.chance(0.5) ? ` [sim:${chance.pick(faults)}]` : ''
  const route = pickKind(chance)
  const prompt = `${marker};${fault}`
  const stream = route.isSync && chance.chance(0.5)
  const request: KeyedRequest = { ...route, stream, prompt, key: `hosts-${n}` }
  const copies = !route.isSync && chance.chance(0.25) ? 3 : 1
  const [changes, cancels, listens, repeats, intrudes, deletes] = [
    0.15, 0.2, 0.3, 0.2, 0.1, 0.15,
  ].map(chance.chance)
  const address = chance.pick(['given', 'given', 'variant', 'forged'] as const)
  const cancelMs = chance.between(0, 2_500)

  async function follow(task: string) {
    while (!over.signal.aborted) {
      const record = await look(task, `${marker} polls`, chance.chance(0.3) ? 3 : 0)
      if (record !== undefined && isEnded(record)) return record
      await sleep(pollMs + chance.between(0, pollMs))
    }
    return undefined
  }

  const triesMax = route.isSync ? syncTriesMax : Infinity
  const bought = await Promise.all(Array.from({ length: copies }, () => buy(request, triesMax)))
  const task = bought.find(Boolean)
  if (task === undefined) return
  if (changes) await buy({ ...request, prompt: `${marker}; changed` }, 3)
  const [record] = await Promise.all([
    follow(task),
    listens && listen(task, `${marker} listens`),
    cancels && sleep(cancelMs).then(() => cancel(task)),
  ])
  const other = owners.find((each) => each !== owner)
  if (intrudes && other !== undefined)
    await actAs(other, world).look(task, `${marker} is not theirs`)
  const url = record?.output?.assets[0]?.url
  if (url !== undefined) await download(task, url, address)
  if (repeats) await buy(request, 3)
  if (!deletes) return
  for (let tries = 0; tries < deleteTriesMax && !(await remove(task)); tries += 1) {
    await sleep(retryMs)
  }
}
