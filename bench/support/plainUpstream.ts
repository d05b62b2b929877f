/**
 * A worker thread with an upstream of family B that keeps nothing of what it reads: the simulator keeps the
 * prompts of its calls. Answers a generation with a tiny image, and an edit with one of 6 MiB. Posts its port.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import { freePort } from '../../test/support/ports.ts'
import { paddedPng, redPixelPng } from '../../test/support/images.ts'

const latencyMs = Number(workerData)
const large = paddedPng(6 * 1024 * 1024, 1)

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const image = request.url?.endsWith('/edits') === true ? large : redPixelPng
    const answer = JSON.stringify({ created: 1, data: [{ b64_json: image.toString('base64') }] })
    setTimeout(() => response.end(answer), latencyMs)
  })
})
const port = await freePort()
await once(server.listen(port, '127.0.0.1'), 'listening')
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread, not a window
parentPort?.postMessage(port)
