import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { buildGoTools } from '../../src/dev/stack/goTools.ts'
import { promtoolTool } from './goTools.ts'

export type Promtool = (
  args: readonly string[],
  input?: string,
) => Promise<{ readonly exitCode: number; readonly output: string }>

/** Prometheus' own checker, built once into the user's cache. Throws when it cannot be built. */
export async function openPromtool(): Promise<Promtool> {
  const say = (line: string): boolean => process.stderr.write(`${line}\n`)
  const built = await buildGoTools(promtoolTool, { env: process.env, say })
  if (built.kind === 'failed') throw new Error(`No promtool to check with: ${built.why}`)
  return async (args, input = '') => {
    const child = spawn(join(built.binDir, 'promtool'), [...args], { stdio: 'pipe' })
    const exited = once(child, 'exit')
    child.stdin.end(input)
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [exitCode] = await exited
    return { exitCode: Number(exitCode), output: out + err }
  }
}
