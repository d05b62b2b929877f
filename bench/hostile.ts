/**
 * node bench/hostile.ts [--quick]
 *
 * One account attacks with everything its API key allows, at once, on S3: the largest prompts, small bodies
 * that unpack to much work, bodies that are declared and not sent, images that are left, slow readers of
 * images, and invented keys. Another account submits, looks up and calls synchronously as before.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyLedger } from '../src/store/accounts/verifyLedger.ts'
import { startS3Server } from '../test/support/blobs/s3Server.ts'
import { peakMiB } from '../test/support/service/processUsage.ts'
import type { BenchService } from './support/benchWorld.ts'
import { generationBody, startOthers, taskBody, withWorld } from './support/benchWorld.ts'
import { startScript } from './support/processes.ts'
import type { Bench } from './support/runBench.ts'
import { describeMs, percentile, runBench } from './support/runBench.ts'

const quick = process.argv.includes('--quick')
// The p99 of fewer samples than in two minutes differs by half from run to run.
const phaseMs = quick ? 10_000 : 120_000
const latencyMs = 300

await runBench((bench) =>
  withWorld(bench, quick, async ({ startService }) => {
    const s3 = await startS3Server()
    const environment = { ...s3.environment, BLOB_STORE: `s3://${s3.bucket}/hostile` }
    const service = await startService({ channel: { concurrencyMax: 50 }, environment })
    try {
      await attack(bench, service)
    } finally {
      await service.stop()
      await s3.stop()
    }
  }),
)

async function attack({ figure }: Bench, service: BenchService): Promise<void> {
  const { url, headers, apis, workers } = service
  const ended: string[] = []
  for (const { name, ended: end } of [...apis, ...workers]) void end.then(() => ended.push(name))
  const lookupUrl = `${url}/v1/tasks`
  const submit = { url: `${url}/v1/images/tasks`, body: taskBody({ latencyMs }), lookupUrl }
  const call = { url: `${url}/v1/images/generations`, body: generationBody({ latencyMs }) }
  const others = await startOthers([
    { name: 'submit', headers, everyMs: 100, ...submit },
    { name: 'call', headers, everyMs: 1, ...call },
  ])
  const phase = async () => {
    await others.report()
    await sleep(phaseMs)
    return others.report()
  }
  const idle = await phase()
  const { secret } = await service.account()
  const hostile = await startScript('bench/support/hostileAccount.ts', [url, secret])
  const attacked = await phase()
  console.log(`the attacker got ${await (await fetch(hostile.url)).text()}`)
  await hostile.stop()
  await others.stop()
  for (const [name, sample] of Object.entries(attacked)) {
    const before = idle[name]
    if (before === undefined) {
      figure(name, sample.length, 'times', { atMost: 0 })
      continue
    }
    console.log(describeMs(`${name}, idle`, before))
    console.log(describeMs(`${name}, attacked`, sample))
    const idleMs = percentile(before, 0.99)
    const mostMs = Math.max(2 * idleMs, idleMs + 25)
    figure(`${name}: p99`, percentile(sample, 0.99), 'ms', { atMost: mostMs })
  }
  for (const { name, pid } of [...apis, ...workers]) {
    figure(name, peakMiB(pid), 'MiB', { atMost: 700 })
  }
  figure('processes that ended', ended.length, '', { atMost: 0 })
  const violations = await verifyLedger(service.pool)
  figure('violations of the ledger', violations.length, '', { atMost: 0 })
}
