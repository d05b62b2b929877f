/**
 * node deploy/test/walk.ts [--quick]
 *
 * What an operator does with docker-compose.yml, on a daemon of its own: run.sh starts this in a network namespace.
 * Prints each step with its time. Exit code 0: every step did what docs/operating.md says. --quick: one first start,
 * no rotation.
 */
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand, spawnBound } from '../../src/dev/command.ts'
import { buildGoTools } from '../../src/dev/goTools.ts'
import { startSimulator } from '../../src/dev/simulator/startSimulator.ts'
import { temporalTools } from '../../src/dev/temporalPrograms.ts'
import { root } from '../../test/support/sourceFiles.ts'
import { versitygwTool } from '../../test/support/blobs/versitygw.ts'
import { until } from '../../test/support/timing.ts'
import { createClient } from '../../test/support/clients/client.ts'
import { generateBody } from '../../test/support/clients/requestBodies.ts'
import { createDockerHost, hostAddress } from './dockerHost.ts'
import { startLoad } from './load.ts'

const quick = process.argv.includes('--quick')
const processes = ['worker-1', 'worker-2', 'api-1', 'api-2', 'admin']
/** For a busy machine, on which a health check is late for some minutes. */
const healthyMsMax = 20 * 60_000
const callsPerSecond = 10

const folder = mkdtempSync(join(tmpdir(), 'darkroom-compose-'))
const checkout = join(folder, 'checkout')
const docker = createDockerHost(folder)
const { compose } = docker
const cli = (...words: readonly string[]) =>
  compose('exec', '-T', 'api-1', 'node', 'src/cli.ts', ...words)

async function step<Value>(title: string, work: () => Promise<Value>): Promise<Value> {
  const startedAtMs = performance.now()
  const value = await work()
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1)
  console.log(`${seconds.padStart(7)} s  ${title}`)
  return value
}

/** A copy of the files of this checkout that git knows, with an operator's `.env` and file beside them. */
async function prepareCheckout() {
  const listed = await runCommand(
    'git',
    ['-C', root, 'ls-files', '--cached', '--others', '--exclude-standard'],
    {
      env: process.env,
      timeoutMs: 30_000,
    },
  )
  for (const file of listed.output.split('\n')) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true })
    cpSync(join(root, file), join(checkout, file))
  }
  await runBlock('umask')
  setVariables({
    PUBLIC_URL: 'http://images.example.com',
    FAMILYA_API_KEY: 'a',
    FAMILYB_API_KEY: 'b',
  })
  writeChannels(20)
}

/** Runs the block of commands of docs/operating.md with this word in it, but for a text that cannot be run here. */
async function runBlock(
  word: string,
  [text, instead]: readonly [string, string] = ['', ''],
  variables: Readonly<Record<string, string>> = {},
) {
  const page = readFileSync(join(root, 'docs/operating.md'), 'utf8')
  const blocks = [...page.matchAll(/^```sh\n(.+?)^```$/gms)].map(([, block = '']) => block)
  const block = blocks.find((each) => each.includes(word) && each.includes(text))
  if (block === undefined)
    throw new Error(`docs/operating.md has no commands with ${word}, ${text}`)
  return docker.run('sh', ['-euc', block.replace(text, instead)], variables)
}

/** Writes variables into `.env`. The last line of a name counts. */
function setVariables(variables: Readonly<Record<string, string>>) {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(join(checkout, '.env'), lines.join(''), { flag: 'a' })
}

function writeChannels(concurrencyMax: number) {
  const shared = { concurrencyMax, timeoutSeconds: 60 }
  const url = `http://${hostAddress}:8090`
  const channels = [
    { name: 'a-main', family: 'A', baseUrl: url, apiKeyEnv: 'FAMILYA_API_KEY', ...shared },
    { name: 'b-main', family: 'B', baseUrl: `${url}/v1`, apiKeyEnv: 'FAMILYB_API_KEY', ...shared },
  ]
  writeFileSync(join(checkout, 'darkroom.config.json'), JSON.stringify({ channels }), {
    mode: 0o644,
  })
}

async function makeImages() {
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  for (const tools of [temporalTools, versitygwTool]) {
    const built = await buildGoTools(tools, console.log)
    if (built.kind === 'failed') throw new Error(built.why)
    cpSync(built.binDir, programs, { recursive: true })
  }
  const scratch = join(folder, 'images')
  const variables = { BIN: programs, NODE: process.execPath }
  await docker.run('sh', [join(root, 'deploy/test/standIns.sh'), scratch], variables)
}

/** Waits until the health checks of these processes are true. */
async function healthy(services: readonly string[] = processes) {
  const areHealthy = async () => {
    const listed = await compose('ps', '--format', '{{.Service}} {{.Health}}')
    return services.every((service) => listed.includes(`${service} healthy`)) || undefined
  }
  await until(`healthy: ${services.join(', ')}`, areHealthy, healthyMsMax)
}

/** A file beside docker-compose.yml that Compose reads by itself. An empty text removes it. */
function override(text: string) {
  const path = join(checkout, 'docker-compose.override.yml')
  if (text === '') rmSync(path, { force: true })
  else writeFileSync(path, text)
}

const slowCpu = 'services: { postgres: { cpus: 0.1 } }\n'
const slowInit =
  'services: { postgres: { volumes: ["./slow.sql:/docker-entrypoint-initdb.d/slow.sql:ro"] } }\n'

async function firstStarts() {
  writeFileSync(join(checkout, 'slow.sql'), 'select pg_sleep(7);\n')
  const all = [
    [', with little CPU for PostgreSQL', slowCpu],
    [', with little CPU for PostgreSQL', slowCpu],
    [', with an init script of 7 s', slowInit],
    ['', ''],
    ['', ''],
  ] as const
  for (const [title, text] of quick ? all.slice(-1) : all) {
    await compose('down', '--volumes')
    override(text)
    await step(`first start${title}`, async () => {
      await compose('up', '--detach')
      await healthy()
    })
  }
  override('')
}

/** Makes an account with a key by the words of the guide, and the first images by it. */
async function firstImages() {
  await runBlock('up --build')
  await healthy()
  const printed = await runBlock('account create', ['check openai', 'check b-main'])
  const [, key = ''] = /(\S+) {2}\(cannot be shown again/.exec(printed) ?? []
  await cli('account', 'topup', 'alice', '100000000', '--id', 'walk')
  const load = startLoad('http://127.0.0.1:8080', key, 1)
  await sleep(2_500)
  const { failures, taskIds } = await load.stop()
  if (failures.length > 0) throw new Error(failures.join('\n'))
  return { client: createClient('http://127.0.0.1:8080', key), key, taskId: taskIds[0] ?? '' }
}

type Made = Awaited<ReturnType<typeof firstImages>>

/** nginx with the file that docs/operating.md names, without TLS. `nginx -s reload` reaches it by PATH. */
async function startNginx() {
  const home = join(folder, 'nginx')
  mkdirSync(join(home, 'bin'), { recursive: true })
  const conf = join(home, 'darkroom.conf')
  const given = readFileSync(join(root, 'deploy/nginx.conf'), 'utf8')
  writeFileSync(conf, given.replace('listen 443 ssl;', 'listen 127.0.0.1:80;'))
  const main = `pid ${home}/pid; error_log ${home}/errors; events { worker_connections 4096; } http { access_log ${home}/log; include ${conf}; }`
  writeFileSync(join(home, 'nginx.conf'), main)
  const program = `#!/bin/sh\nexec /usr/sbin/nginx -p ${home} -c ${home}/nginx.conf "$@"\n`
  writeFileSync(join(home, 'bin/nginx'), program, { mode: 0o755 })
  const { env } = process
  const child = spawnBound(
    { file: join(home, 'bin/nginx'), args: ['-g', 'daemon off;'], env, endSignal: 'SIGTERM' },
    { stdio: ['pipe', 'inherit', 'inherit'] },
  )
  const serves = () =>
    fetch('http://127.0.0.1/healthz').then(
      ({ ok }) => ok || undefined,
      () => undefined,
    )
  await until('an answer of nginx', serves)
  const PATH = `${join(home, 'bin')}:${env['PATH']}`
  return { variables: { NGINX_CONF: conf, PATH }, stop: () => child.kill('SIGTERM') }
}

/** Writes what the processes log to a file, also those that are replaced. */
async function keepLogs() {
  const command = 'docker compose logs --follow --no-color >>../logs 2>&1'
  await docker.run('sh', ['-c', `nohup ${command} </dev/null &`])
}

/** Each call of the load has its image, and the upstream saw one call for each. */
async function roll({ client, key }: Made) {
  await keepLogs()
  const nginx = await startNginx()
  setVariables({ DARKROOM_VERSION: 'next' })
  const load = startLoad('http://127.0.0.1', key, callsPerSecond)
  const upgrade = runBlock('roll.sh', ['git pull && ', ''], nginx.variables)
  const rolled = await upgrade.finally(load.end)
  console.log(rolled)
  const { prompts, taskIds, failures } = await load.stop()
  nginx.stop()
  const notMade: string[] = []
  for (const taskId of taskIds) {
    const { status } = await client.ended(taskId)
    if (status !== 'succeeded') notMade.push(`${taskId} ${status}`)
  }
  const seen = Map.groupBy(simulator.calls(), ({ prompt }) => prompt ?? '')
  const wrong = prompts.filter((prompt) => seen.get(prompt)?.length !== 1)
  const images = await compose('ps', '--format', '{{.Service}} {{.Image}}')
  const faults = [
    ...failures,
    ...notMade,
    ...wrong.map((prompt) => `${prompt}: ${seen.get(prompt)?.length ?? 0} calls`),
    ...processes.filter((name) => !images.includes(`${name} darkroom:next`)),
  ]
  if (faults.length > 0) throw new Error(`${prompts.length} calls\n${faults.join('\n')}`)
  console.log(
    `${prompts.length} calls, ${taskIds.length} of them asynchronous: each has its image, of one upstream call`,
  )
}

/** A file that is mounted changes no container by itself. */
async function changeOperatorFile() {
  const started = () => compose('ps', '--format', '{{.ID}}', 'worker-1')
  const before = await started()
  writeChannels(31)
  await docker.run('deploy/roll.sh', ['worker-1'])
  if ((await started()) === before) throw new Error('worker-1 is the same container')
}

/** The three steps of the guide. An address of the old secret works until the last. */
async function rotate({ client }: Made) {
  // The images of before are gone with the blob store.
  const { task_id: taskId } = await client.accepted(generateBody())
  await client.ended(taskId)
  const status = async (address: string) => (await fetch(address)).status
  const address = await addressNow(client, taskId)
  const after = randomBytes(32).toString('hex')
  const before = variable('SIGNING_KEYS')
  await replacePassword()
  const seen: number[] = []
  for (const keys of [`${before},${after}`, `${after},${before}`, after]) {
    setVariables({ SIGNING_KEYS: keys })
    await docker.run('deploy/roll.sh', [])
    seen.push(await status(address))
  }
  seen.push(await status(await addressNow(client, taskId)))
  if (seen.join() !== '200,200,404,200') throw new Error(`The image answered ${seen.join()}`)
}

/** The first line of `.env` with this name, which the guide's commands wrote. */
function variable(name: string) {
  const [, value = ''] =
    new RegExp(`^${name}=(.+)$`, 'm').exec(readFileSync(join(checkout, '.env'), 'utf8')) ?? []
  return value
}

async function addressNow(client: Made['client'], taskId: string) {
  const { output } = await client.ended(taskId)
  return output?.assets[0]?.url.replace('http://images.example.com', client.url) ?? ''
}

/** The roll that follows brings it to every process. Without a terminal, psql reads it from standard input, twice. */
async function replacePassword() {
  const password = randomBytes(32).toString('hex')
  const psql = "docker compose exec -T postgres psql -U postgres -c '\\password darkroom_app'"
  await docker.run('sh', ['-euc', `printf '%s\n%s\n' ${password} ${password} | ${psql}`])
  setVariables({ APP_PASSWORD: password })
}

/** All are healthy, Temporal works, the ledger adds up, a task of before is known, and a new one gets its image. */
async function wholeAgain({ client, taskId, key }: Made) {
  await healthy()
  const works = async () => {
    const parts = await compose('exec', '-T', 'worker-1', 'node', 'tools/ready.mjs', '9465')
    const needed = ['temporal', 'search_attributes', 'polling'].map((part) => `"${part}":"ok"`)
    return needed.every((part) => parts.includes(part)) || undefined
  }
  await until('a worker that polls Temporal', works, healthyMsMax)
  await cli('ledger', 'verify')
  const { status } = await client.ended(taskId)
  if (status !== 'succeeded') throw new Error(`The task of before is ${status}`)
  const load = startLoad(client.url, key, 1)
  await sleep(2_500)
  const { failures, taskIds } = await load.stop()
  for (const each of taskIds) {
    const made = await client.ended(each)
    if (made.status !== 'succeeded') failures.push(`${each} ${made.status}`)
  }
  if (failures.length > 0) throw new Error(failures.join('\n'))
}

/** The disasters of the guide, by its own words. */
async function disasters(made: Made) {
  await step('dump', () => runBlock('pg_dump'))
  await step('restore, up to a ledger that adds up', () => runBlock('pg_restore'))
  await wholeAgain(made)
  await step("Temporal's databases are lost, up to a worker that polls", async () => {
    await runBlock('drop database')
    await wholeAgain(made)
  })
  await step('the dump on a new host', async () => {
    await compose('down')
    await docker.run('docker', ['volume', 'rm', 'darkroom_postgres'])
    await compose('up', '--detach', '--wait', 'postgres')
    await runBlock('pg_restore')
    await wholeAgain(made)
  })
  await step('the blob store is lost', async () => {
    const address = await addressNow(made.client, made.taskId)
    await compose('rm', '--force', '--stop', 's3')
    await docker.run('docker', ['volume', 'rm', 'darkroom_s3'])
    await runBlock('delete from installation')
    await runBlock('drop database')
    await compose('up', '--detach')
    await wholeAgain(made)
    const { status } = await fetch(address)
    if (status !== 404) throw new Error(`An image that is lost answered ${status}`)
  })
}

async function stopDaemon() {
  await step('the daemon stops', docker.stop)
  await step('the daemon starts again, and all are healthy', async () => {
    await docker.start()
    await healthy()
  })
}

async function thirdWorker() {
  override('services: { worker-3: { extends: { file: docker-compose.yml, service: worker-2 } } }\n')
  await compose('up', '--detach', '--no-deps', '--no-recreate', 'worker-3')
  await healthy([...processes, 'worker-3'])
}

// On every address, because the workers reach it from containers.
const simulator = await startSimulator({
  host: '0.0.0.0',
  port: 8090,
  latency: { minMs: 500, maxMs: 1_500 },
  image: 'tiny',
})
let failed = false
try {
  await prepareCheckout()
  await step('the Docker daemon starts', docker.start)
  await step('stand-ins of the base images', makeImages)
  await step('docker compose build', () => compose('build'))
  await firstStarts()
  const made = await step('account, key, check of a channel, images', firstImages)
  await step('deploy/roll.sh to another version', () => roll(made))
  await step('deploy/roll.sh worker-1 after a change of the operator file', changeOperatorFile)
  await stopDaemon()
  await disasters(made)
  await step('a third worker', thirdWorker)
  if (!quick)
    await step("SIGNING_KEYS replaced, in three steps, and PostgreSQL's password", () =>
      rotate(made),
    )
  console.log('Every step did what docs/operating.md says.')
} catch (error) {
  failed = true
  console.error(error)
  console.error(`More is in ${folder}`)
} finally {
  await compose('down', '--volumes').catch(console.error)
  await docker.stop()
  await simulator.close()
  if (!failed) rmSync(folder, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)
