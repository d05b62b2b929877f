import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined } from '../../../src/domain/defined.ts'
import type { ClientsOptions } from '../../../bench/hosts/clients.ts'
import { readHistory } from '../../../bench/hosts/history.ts'
import { runLoad } from '../../../bench/hosts/load.ts'
import type { Judgement } from '../../../bench/referee/judge.ts'
import { judge } from '../../../bench/referee/judge.ts'
import { freePort } from '../ports.ts'
import type { TestService } from '../service/testService.ts'
import type { FaultRound } from './chaosFaults.ts'
import { strikeFaults } from './chaosFaults.ts'

/**
 * Runs clients, receivers of webhooks and faults from a seed on a service, until all tasks have ended and all ends are
 * delivered. Returns what the referee says of the history. An API that is replaced keeps its address.
 */
export async function runChaos({
  service,
  tasks,
  seconds,
  parallel,
  drainMs,
  meanwhile,
  ...round
}: Pick<ClientsOptions, 'tasks' | 'parallel'> &
  FaultRound & {
    readonly service: TestService
    /** Over which the tasks are begun. Default: as long as faults strike. */
    readonly seconds?: number
    /** The time from the last fault in which all tasks must end and their ends be delivered. */
    readonly drainMs: number
    /** What happens besides the faults. */
    readonly meanwhile?: () => Promise<void>
  }): Promise<Judgement> {
  const { account, apis, blobDir: bucketFolder, pool, simulator } = service
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-chaos-'))
  try {
    const history = join(folder, 'history.jsonl')
    await runLoad(
      {
        history,
        seed: round.seed,
        tasks,
        seconds: seconds ?? round.strikeMs / 1000,
        ...defined({ parallel }),
        apis: apis.map(({ url }) => url),
        receiver: `127.0.0.1:${await freePort()}`,
      },
      {
        account,
        pool,
        upstreamUrl: simulator.url,
        bucketFolder,
        drainMsMax: drainMs,
        meanwhile: async (add) => {
          await Promise.all([strikeFaults(round, add), meanwhile?.()])
        },
      },
    )
    return judge(readHistory(history))
  } finally {
    await rm(folder, { recursive: true })
  }
}
