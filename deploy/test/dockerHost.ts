import { mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand, spawnBound } from '../../src/dev/command.ts'
import { userCacheDir } from '../../src/dev/goTools.ts'
import { until } from '../../test/support/timing.ts'

/** The address of this machine in every container, by which workers reach the simulated upstream. */
export const hostAddress = '10.213.2.1'

const startMsMax = 60_000
/** The daemon waits for its containers, and a worker for calls under way. */
const stopMsMax = 700_000
const commandMsMax = 30 * 60_000

/** A Docker daemon with data of its own. Images and volumes stay from run to run, in the user's cache. */
export function createDockerHost(folder: string) {
  const exec = join(folder, 'exec')
  const dataRoot = join(userCacheDir(), 'docker')
  const env = { ...process.env, DOCKER_HOST: `unix://${join(folder, 'docker.sock')}` }
  mkdirSync(dataRoot, { recursive: true })
  const args = [
    ['--data-root', dataRoot],
    ['--exec-root', exec],
    ['--pidfile', join(folder, 'docker.pid')],
    ['-H', env.DOCKER_HOST],
    ['--bip', `${hostAddress}/24`],
    ['--log-level', 'error'],
  ].flat()
  let daemon: ReturnType<typeof spawnBound> | undefined

  /** Runs a command that reaches this daemon, and returns its output. Throws when it fails. */
  async function run(
    file: string,
    words: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ) {
    const cwd = join(folder, 'checkout')
    const ran = await runCommand(file, words, {
      env: { ...env, ...more },
      cwd,
      timeoutMs: commandMsMax,
    })
    if (ran.ok) return ran.output
    throw new Error(`${file} ${words.join(' ')}: ${ran.end}\n${ran.output.slice(-3_000)}`)
  }

  return {
    run,
    compose: (...words: readonly string[]) =>
      run('docker', ['compose', '--progress', 'quiet', ...words]),
    start: async () => {
      const program = { file: 'dockerd', args, env, endSignal: 'SIGTERM' } as const
      const log = openSync(join(folder, 'dockerd.log'), 'a+')
      daemon = spawnBound(program, { stdio: [log, log, log] })
      const answers = async () => {
        const end = daemon?.end()
        if (end !== undefined) throw new Error(`Docker cannot run here: dockerd ended with ${end}`)
        const asked = { env, timeoutMs: 5_000 }
        return (await runCommand('docker', ['version'], asked)).ok || undefined
      }
      await until('an answer of dockerd', answers, startMsMax)
    },
    stop: async () => {
      daemon?.kill('SIGTERM')
      const timer = setTimeout(() => daemon?.kill('SIGKILL'), stopMsMax)
      await daemon?.ended
      clearTimeout(timer)
      // What dockerd leaves of its own network namespace.
      await runCommand('umount', [join(exec, 'netns/default')], { env, timeoutMs: 10_000 })
    },
  }
}

export type DockerHost = ReturnType<typeof createDockerHost>
