import { beforeAll, describe, expect, it } from 'vitest'
import { processFaults } from '../support/chaos/chaosFaults.ts'
import { runChaos } from '../support/chaos/runChaos.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { assertLedgerVerifies } from '../support/database/money.ts'
import type { OperatorAction, End, Scenario } from '../support/service/operatorRuns.ts'
import { operatorActions, createOperatorRuns } from '../support/service/operatorRuns.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

// The rows of docs/money.md that start in Temporal's UI or CLI, tested on the whole service. At the end its processes are
// killed and stopped.

const stops = ['terminate', 'cancel'] as const

const waitMs = 3_000

const scenarios = {
  waitingTerminate: {
    action: 'terminate',
    model: 'familya-2.5-flash-image',
    fault: '429 retry-after=60',
    closed: 1,
  },
  waitingCancel: {
    action: 'cancel',
    model: 'familya-3.1-flash-lite-image',
    fault: '429 retry-after=60',
    closed: 1,
  },
  waitingReset: {
    action: 'reset',
    model: 'familya-3.1-flash-image',
    fault: `429 retry-after=${waitMs / 1_000} times=1`,
    closed: 1,
  },
  callingTerminate: { action: 'terminate', fault: 'hold', begun: 1 },
  callingCancel: { action: 'cancel', fault: 'hold', begun: 1 },
  callingReset: { action: 'reset', fault: 'hold', begun: 1 },
  silentTerminate: {
    action: 'terminate',
    model: 'familya-3-pro-image',
    fault: 'hang',
    begun: 1,
  },
  triedTerminate: { action: 'terminate', fault: '500 times=2', closed: 2 },
  triedCancel: { action: 'cancel', fault: '500 times=2', closed: 2 },
  triedReset: { action: 'reset', fault: '500 times=2', closed: 2 },
} as const satisfies Readonly<Record<string, Scenario>>
type Name = keyof typeof scenarios

/** The call of family A that hangs may be checked only half a minute after its timeout, so this timeout is short. */
function twoTimeouts(url: string): unknown {
  const a = { family: 'A', baseUrl: url, apiKeyEnv: 'FAMILYA_API_KEY' }
  const b = { family: 'B', baseUrl: `${url}/v1`, apiKeyEnv: 'FAMILYB_API_KEY' }
  return {
    channels: [
      { ...a, name: 'a-main', timeoutSeconds: 5 },
      { ...b, name: 'b-main', timeoutSeconds: 15 },
    ],
  }
}

let service: TestService
let client: Client
let runs: ReturnType<typeof createOperatorRuns>
const ends = new Map<string, Promise<End>>()
/** Task ids by the action that stopped their run before any worker was started. */
const unseen = new Map<OperatorAction, string>()

beforeAll(async () => {
  service = await startTestService({
    apis: 2,
    workers: 0,
    operatorFile: twoTimeouts,
    simulator: { latency: { minMs: 20, maxMs: 400 } },
    environment: { LOG_LEVEL: 'warn', PUBLIC_URL: 'https://images.example.test' },
  })
  client = createClient(service.url, (await service.account()).secret)
  runs = createOperatorRuns(service, client)
  for (const name of stops) {
    const taskId = await runs.submit(`Unseen, ${name}`)
    await runs.runIs(taskId, 'RUNNING')
    await operatorActions[name](service.temporal, taskId)
    unseen.set(name, taskId)
  }
  await service.startWorker()
  for (const [name, scenario] of Object.entries(scenarios)) {
    const end = runs.play(name, scenario)
    end.catch(() => {})
    ends.set(name, end)
  }
  return () => service.stop()
}, stackStartMsMax)

async function played(name: Name): Promise<Omit<End, 'callsAtMs'> & { calls: number }> {
  const end = await ends.get(name)
  if (end === undefined) throw new Error(`${name} was not played`)
  const { callsAtMs, ...rest } = end
  return { ...rest, calls: callsAtMs.length }
}

const released = { money: 'hold, release' }
const charged = { end: 'succeeded', money: 'hold, settle' }
const refused = 'refused rate_limited'
const failed = 'unknown server_error'
const image = 'succeeded image'

describe('a run stopped before any worker saw it', () => {
  it.each(stops)('costs nothing and makes no upstream call: %s [money-7]', async (name) => {
    const end = await runs.endOf(unseen.get(name) ?? '', `Unseen, ${name}`)
    const run = name === 'cancel' ? 'CANCELLED' : 'TERMINATED'
    expect(end).toEqual({ end: 'cancelled', ...released, outcomes: [], callsAtMs: [], run })
  })
})

describe('a run that waits out a cooldown', () => {
  const stopped = { end: 'cancelled', ...released, outcomes: [refused], calls: 1 }

  it('costs nothing when it is terminated [money-7]', async () => {
    expect(await played('waitingTerminate')).toEqual({ ...stopped, run: 'TERMINATED' })
  })

  it('costs nothing when it is cancelled, and ends as Cancelled [money-7]', async () => {
    expect(await played('waitingCancel')).toEqual({ ...stopped, run: 'CANCELLED' })
  })

  it('keeps waiting in a new run when it is reset; the task is charged once [money-10]', async () => {
    const outcomes = [refused, image]
    expect(await played('waitingReset')).toEqual({
      ...charged,
      outcomes,
      calls: 2,
      run: 'COMPLETED',
    })
    const [first = 0, second = 0] = (await ends.get('waitingReset'))?.callsAtMs ?? []
    expect(second - first).toBeGreaterThanOrEqual(waitMs)
  })
})

describe('a run with its call under way', () => {
  const once = { ...charged, outcomes: [image], calls: 1 }

  it('leads to a charge when the image arrives after the run was terminated [money-8]', async () => {
    expect(await played('callingTerminate')).toEqual({ ...once, run: 'TERMINATED' })
  })

  it('leads to a charge when the image arrives after a request to cancel the run [money-8]', async () => {
    expect(await played('callingCancel')).toEqual({ ...once, run: 'COMPLETED' })
  })

  it('costs nothing when it is terminated and the call returns no image [money-8]', async () => {
    const outcomes = ['unknown timeout']
    const end = { end: 'upstream_error', ...released, outcomes, calls: 1, run: 'TERMINATED' }
    expect(await played('silentTerminate')).toEqual(end)
  })

  it('is replaced when it is reset by a run that waits for the call; the task is charged once [money-10]', async () => {
    const end = { ...charged, outcomes: [image], calls: 1, run: 'COMPLETED' }
    expect(await played('callingReset')).toEqual(end)
  })
})

describe('a run whose calls had unknown outcomes', () => {
  it('fails and costs nothing when it is terminated [money-9]', async () => {
    const outcomes = [failed, failed]
    const end = { end: 'upstream_error', ...released, outcomes, calls: 2, run: 'TERMINATED' }
    expect(await played('triedTerminate')).toEqual(end)
  })

  it.each(['triedCancel', 'triedReset'] as const)(
    'continues, and its image is charged: %s [money-9]',
    async (name) => {
      const outcomes = [failed, failed, image]
      expect(await played(name)).toEqual({ ...charged, outcomes, calls: 3, run: 'COMPLETED' })
    },
  )
})

describe('a run that is over', () => {
  it.each([
    ['', 'COMPLETED'],
    ['[sim:moderation]', 'FAILED'],
  ] as const)(
    'changes nothing and makes no upstream call when it is stopped or reset: "%s"; the new run is %s [money-10]',
    async (fault, run) => {
      const prompt = `Over ${fault}`
      const taskId = await runs.submit(prompt)
      const before = await runs.endOf(taskId, prompt)
      for (const name of stops) {
        await operatorActions[name](service.temporal, taskId).catch(() => {})
        expect(await runs.endOf(taskId, prompt)).toEqual(before)
      }
      await operatorActions.reset(service.temporal, taskId)
      await runs.runIs(taskId, run)
      expect(await runs.endOf(taskId, prompt)).toEqual({ ...before, run })
    },
  )
})

describe('the ledger after all tests', () => {
  it('verifies, and no credits are held', async () => {
    await assertLedgerVerifies(service.pool)
    const { rows } = await service.pool.query('select sum(held)::int as held from account_balance')
    expect(rows).toEqual([{ held: 0 }])
  })
})

/** With this seed each kind of fault strikes, and a worker has been replaced when the next one ends. */
const seed = 3866
const [strikeMs, drainMs] = [4_000, 90_000]

describe('the service while processes are killed and stopped, connections are cut and the upstream fails', () => {
  let report: Awaited<ReturnType<typeof runChaos>>
  beforeAll(
    async () => {
      // Some processes live on while chaos kills others.
      await service.startWorker()
      // The refusals of the tests above hold up two models for a minute.
      await service.pool.query('delete from cooldown')
      report = await runChaos({
        service,
        seed,
        strikeMs,
        pauseMs: 1_000,
        drainMs,
        tasks: 40,
        faults: (chance) => processFaults(service, chance, [500, 2_500]),
      })
      console.log(report.sums)
    },
    stackStartMsMax + strikeMs + drainMs,
  )

  it('keeps every promise [record-5, hook-24]', () => {
    expect(report.broken).toEqual([])
    expect(report.sums['faults']).toBeGreaterThan(0)
  })
})
