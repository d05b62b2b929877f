/**
 * node bench/upgrade.ts [--from REF] [--seed N] [--tasks N]
 *
 * Runs the code of a release under load, migrates its database with this checkout, replaces one process after the other,
 * workers first, and then goes back to the release on the new schema. Clients send tasks of every kind meanwhile, against
 * an upstream that fails at random. Then `referee.ts` judges, and it replays the release's runs with this code.
 *
 * --from is the tag or commit of the release; without it, the newest tag. While there is no release, this commit stands
 * in for it, and for the new version this commit with one more migration.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { replayHistories } from '../src/temporal/worker/replay.ts'
import { workflowBundle } from '../src/temporal/worker/workflowBundle.ts'
import { fetchHistory } from '../src/temporal/runs.ts'
import { runChaos } from '../test/support/chaos/runChaos.ts'
import { ownCheckout } from '../test/support/service/testProcess.ts'
import type { TestService } from '../test/support/service/testService.ts'
import { withSimulated } from './support/benchWorld.ts'
import { runBench } from './support/runBench.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    seed: { type: 'string', default: '1' },
    tasks: { type: 'string', default: '2000' },
  },
})
/** How long each mixture of versions works before the next process is replaced. */
const betweenMs = 10_000
/** More clients than all channels call at once, so that some tasks are always in each state. */
const load = { tasks: Number(values.tasks), seconds: 60, parallel: 300, drainMs: 600_000 }
const stopMsMax = 60_000
/** How many tasks live when the first process is replaced. */
const liveMin = 200
const replaysMax = 50

if (git('rev-parse', '--is-shallow-repository') === 'true') {
  console.error(
    'This clone has no history, so there is no release to start from: git fetch --unshallow --tags',
  )
  process.exit(1)
}
const folder = mkdtempSync(join(tmpdir(), 'darkroom-upgrade-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const release = values.from ?? git('tag', '--list', 'v*', '--sort=-version:refname').split('\n')[0]
const from = checkoutOf(release || 'HEAD', 'release')
const to = release ? ownCheckout : withOneMoreMigration(checkoutOf('HEAD', 'next'))
console.log(
  `from ${release || 'this commit'} to ${release ? 'this checkout' : 'it with 000002.sql'}`,
)

await runBench(async ({ figure }) => {
  const options = {
    apis: 2,
    workers: 2,
    latency: '500-8000',
    channel: { timeoutSeconds: 15, concurrencyMax: 120 },
    checkout: from,
    environment: { PUBLIC_URL: 'https://images.example.test' },
  }
  await withSimulated(options, async (service) => {
    const round = { seed: Number(values.seed), strikeMs: 0, pauseMs: 0, faults: () => [] }
    let live = 0
    const meanwhile = async () => void (live = await forthAndBack(service))
    const { broken, sums } = await runChaos({ service, ...round, ...load, meanwhile })
    console.log(JSON.stringify(sums, null, 2))
    for (const one of broken) console.log(one)
    figure('live tasks when the first process was replaced', live, '', { atLeast: liveMin })
    figure('promises broken', broken.length, '', { atMost: 0 })
    figure('runs of the release that this code does not replay', await unreplayed(service), '', {
      atMost: 0,
    })
  })
})

/** Goes to the new version and back. Resolves with the number of live tasks at the first replacement. */
async function forthAndBack(service: TestService): Promise<number> {
  const countLive = `select count(*)::int as live from task where completed_at is null`
  let live = 0
  for (
    const endsAtMs = performance.now() + stopMsMax;
    live < liveMin && performance.now() < endsAtMs;
  ) {
    await sleep(500)
    live = (await service.pool.query<{ live: number }>(countLive)).rows[0]?.live ?? 0
  }
  await service.migrate(to)
  await roll(service, to)
  await sleep(betweenMs)
  await roll(service, from)
  return live
}

/** Replaces one process after the other, workers first. An API keeps its address, and the other one is there meanwhile. */
async function roll(service: TestService, checkout: string): Promise<void> {
  const { workers, apis, startWorker, startApi } = service
  for (const old of workers.slice()) {
    await startWorker({}, checkout)
    workers.splice(workers.indexOf(old), 1)
    await old.stop(stopMsMax)
    await sleep(betweenMs / 5)
  }
  for (const old of apis.slice()) {
    apis.splice(apis.indexOf(old), 1)
    await old.stop(stopMsMax)
    await startApi({ PORT: new URL(old.url).port }, checkout)
    await sleep(betweenMs / 5)
  }
}

/** Replays runs of all versions with the workflow code of this checkout. Returns how many differ. */
async function unreplayed({ pool, temporal }: TestService): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select task_id as id from task where started_at is not null order by created_at limit $1`,
    [replaysMax],
  )
  const histories = await Promise.all(
    rows.map(async ({ id }) => {
      const text = await fetchHistory(temporal.temporal, id)
      return { workflowId: id, history: JSON.parse(text ?? '{}') }
    }),
  )
  const results = await replayHistories(await workflowBundle(), histories)
  for (const { workflowId, error } of results)
    if (error !== undefined) console.log(workflowId, error)
  return histories.length - results.filter(({ error }) => error === undefined).length
}

/** Writes the files of a commit, with the packages that it needs, and returns the folder. */
function checkoutOf(ref: string, name: string): string {
  const checkout = join(folder, name)
  mkdirSync(checkout)
  const archive = join(folder, `${name}.tar`)
  git('archive', '--output', archive, ref)
  execFileSync('tar', ['--extract', '--file', archive, '--directory', checkout])
  const lockOf = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lockOf(checkout) === lockOf(ownCheckout)) {
    symlinkSync(join(ownCheckout, 'node_modules'), join(checkout, 'node_modules'))
  } else execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: checkout, stdio: 'inherit' })
  return checkout
}

function withOneMoreMigration(checkout: string): string {
  const migrations = join(checkout, 'src/store/schema/migrations')
  const added = `alter table task add column added text;\ncreate index on task (added) where added is not null;\n`
  writeFileSync(join(migrations, '000002.sql'), added)
  return checkout
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ownCheckout, encoding: 'utf8' }).trim()
}
