/**
 * One account attacks with everything its API key allows, at once, on S3: the largest prompts, small bodies that
 * unpack to much work, bodies that are declared and not sent, images that are left, slow readers of images, and
 * invented keys. Another account submits, looks up and calls synchronously as before. With `--each`, first comes
 * each attack alone, for a short time, to see where its CPU time goes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { describeCpu, readCpuTimes } from './support/cpuTimes.ts'
import type { HostileAttack } from './support/hostileAttacks.ts'
import { hostileAttacks } from './support/hostileAttacks.ts'
import type { Check } from './support/runBench.ts'
import { describeMs, percentile, runBench } from './support/runBench.ts'
import { verifyLedger } from '../src/store/accounts/verifyLedger.ts'
import { startS3Server } from '../test/support/blobs/s3Server.ts'
import type { Client } from '../test/support/clients/client.ts'
import { createClient } from '../test/support/clients/client.ts'
import { generateBody } from '../test/support/clients/requestBodies.ts'
import { generate } from '../test/support/clients/syncCalls.ts'
import { peakMiB } from '../test/support/service/processUsage.ts'
import type { TestService } from '../test/support/service/testService.ts'
import { startTestService } from '../test/support/service/testService.ts'
import { timed } from '../test/support/timing.ts'

const each = process.argv.includes('--each')
// The p99 of fewer samples than in two minutes differs by half from run to run.
const phaseMs = each ? 20_000 : 120_000
const eachMs = 8_000
const upstreamMs = 300
const factorMax = 2
/** After an attack alone, its tasks end within this time. */
const settleMs = 4_000
const residentMibMax = 700
const turnMsMax = 50

const here = (name: string) => fileURLToPath(new URL(`./support/${name}`, import.meta.url))

await runBench(async ({ check }) => {
  const upstream = new Worker(here('plainUpstream.ts'), { workerData: upstreamMs })
  const [port] = await once(upstream, 'message')
  const s3 = await startS3Server()
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-hostile-'))
  const turnsFile = join(folder, 'turns')
  const service = await startTestService({
    operatorFile: () => ({
      channels: [
        {
          name: 'b-main',
          family: 'B',
          baseUrl: `http://127.0.0.1:${port}/v1`,
          apiKeyEnv: 'FAMILYB_API_KEY',
          concurrencyMax: 50,
        },
      ],
    }),
    environment: {
      ...s3.environment,
      BLOB_STORE: `s3://${s3.bucket}/hostile`,
      LOG_LEVEL: 'warn',
      NODE_OPTIONS: `--import ${here('turnProbe.ts')}`,
      TURNS_FILE: turnsFile,
    },
  })
  try {
    await attack(service, turnsFile, check)
  } finally {
    await service.stop()
    await s3.stop()
    await upstream.terminate()
    await rm(folder, { recursive: true, force: true })
  }
})

async function attack(service: TestService, turnsFile: string, check: Check): Promise<void> {
  const { apis, workers, url } = service
  const ended: string[] = []
  for (const { name, ended: end } of [...apis, ...workers]) void end.then(() => ended.push(name))
  const other = createClient(url, (await service.account()).secret)
  const attacker = await service.account()
  await measure(other, 10_000)
  await writeFile(turnsFile, '')
  const names = new Map([...apis, ...workers].map(({ name, pid }) => [pid, name]))
  const idle = await withCpu('idle', names, () => measure(other, phaseMs))
  const idleTurns = await turnsOf(turnsFile, apis[0]?.pid ?? 0)
  for (const attack of each ? hostileAttacks : []) {
    const end = await startAttack(url, attacker.secret, names, [attack])
    const samples = await withCpu(attack, names, () => measure(other, eachMs))
    for (const [name, sample] of Object.entries(samples)) {
      process.stdout.write(`  ${describeMs(name, sample)}\n`)
    }
    await end()
    await sleep(settleMs)
  }
  const end = await startAttack(url, attacker.secret, names, [])
  await writeFile(turnsFile, '')
  const attacked = await withCpu('all attacks', names, () => measure(other, phaseMs))
  const turns = await turnsOf(turnsFile, apis[0]?.pid ?? 0)
  await end()
  for (const [name, sample] of Object.entries(attacked)) {
    const before = idle[name] ?? []
    process.stdout.write(`${describeMs(`${name}, idle`, before)}\n`)
    process.stdout.write(`${describeMs(`${name}, attacked`, sample)}\n`)
    const factor = percentile(sample, 0.99) / percentile(before, 0.99)
    check(
      `${name}: p99 ${factor.toFixed(2)} times its idle p99, at most ${factorMax}`,
      factor <= factorMax,
    )
  }
  const [longest, longestIdle] = [Math.max(...turns), Math.max(...idleTurns)]
  const most = Math.max(turnMsMax, longestIdle)
  check(
    `longest turn of the API ${longest} ms (idle ${longestIdle} ms), at most ${most} ms`,
    longest <= most,
  )
  for (const { name, pid } of [...apis, ...workers]) {
    const mib = Math.round(peakMiB(pid))
    check(`${name}: at most ${mib} MiB, below ${residentMibMax} MiB`, mib < residentMibMax)
  }
  check(`${ended.length} processes ended`, ended.length === 0)
  const violations = await verifyLedger(service.pool)
  check(`the ledger has ${violations.length} violations`, violations.length === 0)
}

/** Starts the hostile account. Returns the function that ends it and prints how it was answered. */
async function startAttack(
  url: string,
  secret: string,
  names: Map<number, string>,
  attacks: readonly HostileAttack[],
): Promise<() => Promise<void>> {
  const account = spawn(process.execPath, [here('hostileAccount.ts'), url, secret, ...attacks], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (account.pid !== undefined) names.set(account.pid, 'hostile account')
  await once(account.stdout, 'data')
  await sleep(2_000)
  account.stdout.on('data', (counts: Buffer) => process.stdout.write(`  ${counts.toString()}`))
  return async () => {
    account.kill('SIGTERM')
    await once(account, 'exit')
  }
}

/** Runs `work` and prints how much CPU time each part of the service took for it. */
async function withCpu<Value>(
  name: string,
  names: ReadonlyMap<number, string>,
  work: () => Promise<Value>,
): Promise<Value> {
  const before = readCpuTimes(names)
  const value = await work()
  process.stdout.write(`${name}, CPU: ${describeCpu(before, readCpuTimes(names))}\n`)
  return value
}

type Samples = Readonly<Record<string, readonly number[]>>

/** Submits, looks up and calls for some time, and returns how long each took in milliseconds. */
async function measure(client: Client, forMs: number): Promise<Samples> {
  const samples = { submit: [0], lookup: [0], call: [0] }
  for (const sample of Object.values(samples)) sample.length = 0
  const endsAtMs = performance.now() + forMs
  const tasks = async () => {
    while (performance.now() < endsAtMs) {
      let taskId = ''
      const submitMs = await timed(async () => {
        taskId = (await client.accepted(generateBody({ prompt: 'of the other' }))).task_id
      })
      samples.submit.push(submitMs)
      samples.lookup.push(await timed(async () => (await client.lookup(taskId)).arrayBuffer()))
      await sleep(100)
    }
  }
  const calls = async () => {
    while (performance.now() < endsAtMs) {
      const callMs = await timed(async () => {
        const answer = await generate(client, { prompt: 'waiting' })
        await answer.arrayBuffer()
        if (answer.status !== 200) throw new Error(`a call was answered ${answer.status}`)
      })
      samples.call.push(callMs)
    }
  }
  await Promise.all([tasks(), calls()])
  return samples
}

async function turnsOf(file: string, pid: number): Promise<readonly number[]> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  return lines.flatMap((line) => {
    const [who, ms] = line.split(' ').map(Number)
    return who === pid && ms !== undefined ? [ms] : []
  })
}
