/**
 * node bench/mutations.ts [NAME…]
 *
 * Breaks the product in one place after the other, each time in a copy, and runs the same load on it without any fault. The referee must
 * find that the promise is broken which the place keeps. Without a mutation it must find nothing. A name is a part of the promise.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined } from '../src/domain/defined.ts'
import { freePort } from '../test/support/ports.ts'
import { ownCheckout } from '../test/support/service/testProcess.ts'
import { readHistory } from './hosts/history.ts'
import { runLoad } from './hosts/load.ts'
import type { Judgement } from './referee/judge.ts'
import { judge } from './referee/judge.ts'
import { withSimulated } from './support/benchWorld.ts'
import { runBench } from './support/runBench.ts'

/** The promise that must break, where, the text that keeps it, what stands there instead, and the fault that shows it. */
type Mutation = readonly [
  promise: string,
  file: string,
  kept: string,
  broken: string,
  fault?: string,
]

const [ends, tail] = ['src/store/tasks/ends.ts', 'src/store/tasks/afterEnd.ts']
const schema = 'src/store/schema/migrations/000001.sql'
const record = 'src/domain/tasks/taskRecord.ts'
const waits = '429 retry-after=2 times=1'

const mutations: readonly Mutation[] = [
  [
    'no accepted task is lost',
    ends,
    `+ $6 * interval '1 second',`,
    `+ $6 * interval '0 seconds',`,
    'moderation',
  ],
  [
    'no task ends twice',
    record,
    'code: failure.code,',
    `code: Date.now() % 2 ? failure.code : 'upstream_error',`,
    'moderation',
  ],
  [
    'status and progress never go back',
    'src/store/attempts/closeAttempt.ts',
    'set open_attempt = null,',
    `set status = 'queued', open_attempt = null,`,
    waits,
  ],
  [
    'a repeated request gets the task',
    'src/tasks/acceptTask.ts',
    'credits, replayed: true',
    'credits, replayed: false',
  ],
  [
    'one key never makes two tasks',
    'src/store/tasks/insertTask.ts',
    'known.task_id and purge_at <= now()',
    'known.task_id',
  ],
  [
    'a cancel that was confirmed',
    ends,
    'open_attempt is null and not work_possible',
    'true',
    'delay ms=3000',
  ],
  [
    'another account sees nothing',
    'src/store/tasks/readTask.ts',
    'or account_id = $2)',
    'or $2 is not null)',
  ],
  [
    'another account sees nothing',
    'src/http/assetUrl.ts',
    '...path }), signature) ?',
    '...path }), signature) || true ?',
  ],
  [
    'one image is charged once',
    tail,
    `and done.status = 'failed'\n      and \${isSyncSql}\n      and done.failure_cause <> 'cancelled'`,
    'and ${isSyncSql}',
  ],
  [
    'no image without its charge',
    tail,
    `case status when 'succeeded' then 'settle'`,
    `case status when 'none' then 'settle'`,
  ],
  [
    'nothing is charged without',
    'src/tasks/produce/storedAnswer.ts',
    'blobs.put([answerImageKey(answerId), bytes]',
    'blobs.put([answerImageKey(answerId), bytes.subarray(9)]',
  ],
  [
    'a deleted image',
    'src/tasks/taskDeletion.ts',
    'expireTask(client, taskId, accountId),',
    `Promise.resolve({ kind: 'expired', uploadIds: [] }),`,
  ],
  ['never more than the hold', tail, 'done.credits - refunded)', 'done.credits)'],
  [
    'an image is held and charged',
    ends,
    'refund_of(credits, smaller_prices, $7::integer::bigint * $8::integer)',
    '0 * coalesce($7::integer, $8::integer, 0)',
  ],
  [
    'answers, usage and balance',
    'src/store/accounts/readUsage.ts',
    `count('credits', 'settle')`,
    `count('credits', 'release')`,
  ],
  [
    'the calls of a task',
    'src/wiring/execution.ts',
    'callsMax: config.upstreamCallsMax',
    'callsMax: 100',
    '500',
  ],
  [
    'each call belongs to an attempt',
    'src/upstream/callUpstream.ts',
    'const sent = await',
    'await send(dispatcher, preparedCall(call, credential, deps).request, createAnswerBody(deps.tempDir))\nconst sent = await',
  ],
  [
    'when the upstream says Retry-After',
    schema,
    `bar := 'cooldown';\n      return;`,
    'continue;',
    waits,
  ],
  [
    'each webhook is told',
    tail,
    `where webhook.status = 'active'`,
    `where done.status = 'failed' and webhook.status = 'active'`,
  ],
  [
    'each delivery is signed',
    'src/tasks/webhooks/tryDelivery.ts',
    'webhookSecret(deps.keys, webhookId,',
    'webhookSecret(deps.keys, deliveryId,',
  ],
]

const [seed, tasks, seconds, drainMs] = [7, 100, 6, 600_000]

await runBench(async ({ figure }) => {
  const chosen = process.argv.slice(2)
  const honest = await judged()
  for (const one of honest.broken) console.log(one)
  figure('violations without a mutation', honest.broken.length, '', { atMost: 0 })
  for (const mutation of mutations) {
    const [promise, file] = mutation
    if (chosen.length > 0 && !chosen.some((name) => promise.includes(name))) continue
    const { verdicts } = await judged(mutation)
    const { tried = 0, broken = [] } = verdicts.find(({ says }) => says.startsWith(promise)) ?? {}
    figure(`${promise}: ${file}`, broken.length, `violations in ${tried}`, { atLeast: 1 })
    const found = verdicts.flatMap((each) => (each.broken.length > 0 ? each.says : []))
    console.log(`        ${broken[0] ?? `found instead: ${found.join('; ')}`}`)
  }
})

/** Runs the load on the product with a mutation, and returns what the referee says. */
async function judged(mutation?: Mutation): Promise<Judgement> {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-mutation-'))
  const history = join(folder, 'history.jsonl')
  const options = {
    latency: '100-1000',
    channel: { timeoutSeconds: 5 },
    checkout: copyTo(folder, mutation),
    environment: { PUBLIC_URL: 'https://images.example.test' },
  }
  // What is broken may never end.
  const drainMsMax = mutation ? drainMs / 20 : drainMs
  try {
    await withSimulated(options, async ({ account, apis, blobDir, pool, simulator }) => {
      const receiver = `127.0.0.1:${await freePort()}`
      const fault = defined({ fault: mutation?.[4] })
      const clients = { history, seed, tasks, seconds, ...fault, receiver }
      const store = { account, pool, upstreamUrl: simulator.url, bucketFolder: blobDir }
      await runLoad({ ...clients, apis: apis.map(({ url }) => url) }, { ...store, drainMsMax })
    })
    return judge(readHistory(history))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Copies what a process runs, with a mutation. */
function copyTo(folder: string, mutation: Mutation | undefined): string {
  for (const name of ['src', 'workflows', 'activities', 'package.json']) {
    cpSync(join(ownCheckout, name), join(folder, name), { recursive: true })
  }
  for (const name of ['node_modules', 'clients', 'docs'])
    symlinkSync(join(ownCheckout, name), join(folder, name))
  if (mutation === undefined) return folder
  const [promise, file, kept, broken] = mutation
  const text = readFileSync(join(folder, file), 'utf8')
  if (text.split(kept).length !== 2)
    throw new Error(`${promise}: ${file} has not one place with: ${kept}`)
  writeFileSync(
    join(folder, file),
    text.replace(kept, () => broken),
  )
  return folder
}
