/**
 * node bench/hosts.ts [--seed N] [--seconds N] [--tasks N] [--failover] [--only GROUP,…] [--history FILE]
 *
 * Runs two APIs, two workers, PostgreSQL with a synchronous standby, PgBouncer, Temporal, an S3 server, the upstream and the
 * clients, each on a host of its own: a network namespace of this machine, which nothing leaves. Faults from a seed
 * strike them, several at once, and `referee.ts` judges what the clients and the upstream saw. It needs root, iproute2,
 * nftables and PgBouncer, and libfaketime for wrong clocks.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { spawnBound } from '../src/dev/command.ts'
import { createPool } from '../src/store/connection/pool.ts'
import { createAccounts } from '../test/support/service/testAccount.ts'
import { ownCheckout } from '../test/support/service/testProcess.ts'
import { dataParent } from '../test/support/stack/calmProcesses.ts'
import { databaseUrl } from './hosts/databases.ts'
import { makeDisk } from './hosts/disks.ts'
import { faultGroups, planFaults, strike } from './hosts/faults.ts'
import { readHistory } from './hosts/history.ts'
import { keyPepper, startInstallation } from './hosts/installation.ts'
import { runLoad } from './hosts/load.ts'
import { onHost, serverOf } from './hosts/network.ts'
import { canLimitMemory, canMoveClocks, removeMemoryGroups } from './hosts/parts.ts'
import { recoveriesOf } from './hosts/recoveries.ts'
import { chooseFrom } from './support/runBench.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '120' },
    tasks: { type: 'string', default: '400' },
    failover: { type: 'boolean', default: false },
    only: { type: 'string' },
    history: { type: 'string' },
    /** The folder of this run. Only this command sets it, when it runs itself inside. */
    inside: { type: 'string' },
  },
})
const [seed, seconds, tasks] = [Number(values.seed), Number(values.seconds), Number(values.tasks)]
const asked = chooseFrom(faultGroups, values.only?.split(',') ?? [])
const groups = (asked.length > 0 ? asked : faultGroups).filter(
  (group) => group !== 'failover' || values.failover || asked.includes(group),
)
const pauseMs = seconds < 60 ? 4_000 : 12_000
const longSeconds = 300
/** Clients, of which many wait for what is cut off. */
const parallel = 160
const drainMsMax = 900_000

process.exit(await (values.inside === undefined ? runInside() : run(values.inside)))

/** Runs this command as the first process of namespaces that are gone, with all processes in them, when it ends. */
async function runInside(): Promise<number> {
  const folder = mkdtempSync(join(await dataParent(), 'darkroom-hosts-'))
  const own = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const args = [...own, process.execPath, ...process.argv.slice(1), '--inside', folder]
  const inside = spawnBound(
    { file: 'unshare', args, env: process.env },
    { stdio: ['inherit', 'inherit', 'inherit'] },
  )
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => inside.kill('SIGKILL'))
  const end = await inside.ended
  removeMemoryGroups(folder)
  rmSync(folder, { recursive: true, force: true })
  return Number(/^exit (\d+)$/.exec(end)?.[1] ?? 1)
}

async function run(folder: string): Promise<number> {
  for (const host of ['pg1', 'pg2', 's3']) makeDisk(join(folder, host))
  const lockFd = openSync('/dev/null', 'r')
  const stopping = new AbortController().signal
  const launch = { dataDir: folder, lockFd, say: () => {}, show: () => {}, stopping, children: [] }
  const installation = await startInstallation(launch)
  const planned = planFaults(seed, seconds, groups, pauseMs)
  console.log(
    `seed ${seed}: ${tasks} tasks in ${seconds} s, ${planned.length} faults, ${planned.filter(({ kind }) => kind.partial).length} of them partial`,
  )
  for (const { atMs, ms, kind, places } of planned) {
    console.log(
      `${(atMs / 1000).toFixed(1).padStart(7)} s  ${kind.name.padEnd(32)} ${places.join(' ')}, ${ms / 1000} s`,
    )
  }
  if (!canMoveClocks) console.log('libfaketime is missing: no clock moves')
  if (!canLimitMemory(folder)) console.log('there are no control groups: no memory limit')

  const history = resolve(values.history ?? join(folder, 'history.jsonl'))
  rmSync(history, { force: true })
  const pool = createPool({
    databaseUrl: databaseUrl(serverOf('pgbouncer')),
    applicationName: 'hosts',
    connectionsMax: 4,
    pooled: true,
    onConnectionError: () => {},
  })
  const apis = (['api1', 'api2'] as const).map((host) => `http://${serverOf(host)}`)
  const quietMs = await runLoad(
    { history, seed, tasks, seconds, parallel, apis, receiver: serverOf('clients') },
    {
      account: createAccounts(pool, keyPepper),
      pool,
      upstreamUrl: `http://${serverOf('upstream')}`,
      bucketFolder: join(folder, 's3/buckets'),
      drainMsMax,
      within: onHost('clients'),
      long: seconds >= longSeconds,
      meanwhile: (add) => strike(planned, installation, add),
    },
  )
  console.log(`quiet after ${Math.round(quietMs / 1000)} s`)
  for (const [kind, { count, nextImage, lastTask }] of recoveriesOf(readHistory(history))) {
    console.log(
      `${String(count).padStart(4)} ${kind.padEnd(32)} next image after ${nextImage.toFixed(1)} s, last task after ${lastTask.toFixed(1)} s`,
    )
  }
  const { status } = spawnSync(process.execPath, [join(ownCheckout, 'bench/referee.ts'), history], {
    stdio: 'inherit',
  })
  return status ?? 1
}
