/**
 * node bench/hosts/detour.ts '[[PORT, "HOST:PORT"], …]'
 *
 * Listens on each port, and passes on to its server what arrives, and what comes back, after 300 ms each way: no kernel
 * here has netem.
 */
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'

const delayMs = 300
/** A way that nobody uses any more ends. */
const idleMs = 60_000

const ways: readonly (readonly [port: number, server: string])[] = JSON.parse(
  process.argv[2] ?? '[]',
)
for (const [port, server] of ways) {
  const [host = '', serverPort = ''] = server.split(':')
  createServer((near) => {
    const far = connect(Number(serverPort), host)
    pass(near, far)
    pass(far, near)
  }).listen(port)
}

function pass(from: Socket, to: Socket): void {
  const later = (work: () => void) => void setTimeout(work, delayMs)
  from
    .setTimeout(idleMs, () => from.destroy())
    .on('error', () => {})
    .on('data', (bytes) => later(() => to.write(bytes)))
    .on('end', () => later(() => to.end()))
    .on('close', () => later(() => to.destroy()))
}
