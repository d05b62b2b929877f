// node hostileAccount.ts URL SECRET PORT attacks with everything an API key allows, as fast as it is
// answered. It is a process of its own, so that it does not disturb what hostile.ts measures. GET / answers
// with how often it got what.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, constants } from 'node:zlib'
import { requestTextBytesMax } from '../../src/domain/limits.ts'
import { createClient } from '../../test/support/clients/client.ts'
import * as bodies from '../../test/support/clients/requestBodies.ts'
import { paddedPng } from '../../test/support/images.ts'
import { mebibyte } from '../../test/support/service/processUsage.ts'

const [, , url = '', secret = '', ownPort] = process.argv
const client = createClient(url, secret)
const { hostname, port } = new URL(url)
const tasksPath = '/v1/images/tasks'
const counts: Record<string, number> = {}

function count(what: string): void {
  counts[what] = (counts[what] ?? 0) + 1
}

/** Runs `work` again and again, `parallel` at once, at most about 20 times a second each. */
function repeat(name: string, parallel: number, work: () => Promise<string | number>): void {
  const one = async (): Promise<never> => {
    for (;;) {
      count(`${name}: ${await work().catch((error: Error) => error.name)}`)
      await sleep(50)
    }
  }
  for (let each = 0; each < parallel; each += 1) void one()
}

/** Sends a compressed body again and again. */
function repeatPost(name: string, parallel: number, path: string, body: string): void {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5 }
  const coded = new Uint8Array(brotliCompressSync(body, { params }))
  const type = { 'content-type': 'application/json', 'content-encoding': 'br' }
  const headers = { authorization: client.authorization, ...type }
  repeat(name, parallel, async () => {
    const answer = await fetch(url + path, { method: 'POST', headers, body: coded })
    await answer.arrayBuffer()
    return answer.status
  })
}

/** Opens a connection, writes the head of a request, and returns the connection. */
function open(...lines: readonly string[]) {
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`${lines.join('\r\n')}\r\nHost: x\r\n\r\n`)
  return socket
}

function openPost(path: string, bytes: number, type: string) {
  return open(
    `POST ${path} HTTP/1.1`,
    `Authorization: ${client.authorization}`,
    `Content-Type: ${type}`,
    `Content-Length: ${bytes}`,
  )
}

// An image for the slow readers.
const edit = bodies.editBody({ prompt: `${6 * mebibyte} bytes after 0 ms` })
const { task_id: taskId } = await client.accepted(edit)
const record = await client.ended(taskId)
const asset = new URL(record.output?.assets[0]?.url ?? '')

// The largest prompts, from a few hundred bytes each.
const filler = '\u0001'.repeat(Math.floor((requestTextBytesMax - 1024) / 6))
const largest = bodies.generateBody({ prompt: `4096 bytes after 300 ms${filler}` })
repeatPost('large prompt', 6, tasksPath, JSON.stringify(largest))

// Few bytes that unpack to much work.
const contentPath = '/v1beta/models/familya-3-pro-image:asyncGenerateContent'
const texts = Array.from({ length: 33_000 }, () => '{"text":"a"}').join()
repeatPost('many values', 4, contentPath, `{"contents":[{"parts":[${texts}]}]}`)
repeatPost('white space', 4, tasksPath, ' '.repeat(64 * mebibyte))

// Bodies that are declared and not sent.
for (let holder = 0; holder < 8; holder += 1) {
  const socket = openPost(tasksPath, 128 * mebibyte, 'application/json')
  setInterval(() => socket.write(' '), 1_000)
}

// Images that are stored and then left.
const largeEdit = bodies.formBody([
  { name: 'model', value: 'familyb-image-2-vip' },
  { name: 'prompt', value: 'images that are left' },
  { name: 'image', filename: 'large.png', value: paddedPng(16 * mebibyte, 1) },
])
repeat('images left', 1, async () => {
  const socket = openPost('/v1/images/edits', largeEdit.length, bodies.formType)
  await new Promise((resolve) => socket.write(largeEdit, resolve))
  await sleep(200)
  socket.resetAndDestroy()
  return 'reset'
})

// Slow readers of an image.
for (let reader = 0; reader < 200; reader += 1) {
  const socket = open(`GET ${asset.pathname}${asset.search} HTTP/1.1`)
  socket.once('data', (chunk: Buffer) => count(`slow reader: ${chunk.toString('latin1', 9, 12)}`))
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 1_000)
  })
}

repeat('invented key', 4, async () => {
  const invented = createClient(url, `sk-${randomBytes(24).toString('hex')}`)
  return (await invented.lookup(taskId)).status
})

const report = createServer((_request, response) => response.end(JSON.stringify(counts)))
report.listen(Number(ownPort), '127.0.0.1')
