import { fileURLToPath } from 'node:url'
import type { Config } from '../config/environment.ts'
import { httpUrl } from '../config/environment.ts'
import type { Launch } from './child.ts'
import { httpFault, startChild } from './child.ts'
import type { ServiceName } from './serviceEnvironment.ts'
import { processEnvironment, serviceAllocator, serviceNodeFlags } from './serviceEnvironment.ts'

const titles = { api: 'The api', worker: 'The worker', admin: 'The admin process' } as const
/** Limit for one answer of `/readyz`. Longer than the API process and the worker wait for their own parts. */
const answerTimeoutMs = 5_000

/**
 * Starts `src/worker.ts`, and then `src/api.ts` and `src/admin.ts`, as separate processes, as in production. So the
 * worker runs when the API's `GET /readyz` is 200. Also asks the internal `/readyz`, because only that one lists the
 * parts that are not ready. Throws `ConfigError` when a process refuses its configuration.
 */
export async function startService(
  config: Config,
  environment: Readonly<Record<string, string>>,
  launch: Launch,
): Promise<void> {
  const { internalHost, internalPort, workerInternalPort, host, port, adminHost, adminPort } =
    config
  await start('worker', [httpUrl(internalHost, workerInternalPort)])
  await Promise.all([
    start('api', [httpUrl(internalHost, internalPort), httpUrl(host, port)]),
    start('admin', [httpUrl(adminHost, adminPort)]),
  ])

  async function start(name: ServiceName, urls: readonly string[]): Promise<void> {
    const script = fileURLToPath(new URL(`../${name}.ts`, import.meta.url))
    await startChild(
      {
        name: titles[name],
        file: process.execPath,
        args: [...serviceNodeFlags, script, '--exit-with-parent'],
        env: { ...serviceAllocator, ...processEnvironment(name, environment) },
        isOurs: true,
        faultOf: async () => {
          const faults = urls.map((url) => httpFault(`${url}/readyz`, answerTimeoutMs))
          return (await Promise.all(faults)).find((fault) => fault !== undefined)
        },
      },
      launch,
    )
  }
}
