import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { buildGoTools } from '../../../src/dev/stack/goTools.ts'
import { promtoolTool } from '../stack/goTools.ts'

/** The metric names of an exposition in Prometheus text format, each with its label names. */
export type Exposition = ReadonlyMap<string, ReadonlySet<string>>

/** Parses one exposition, or several that were concatenated. */
export function readExposition(text: string): Exposition {
  const metrics = new Map<string, Set<string>>()
  const labelsOf = (name: string) => {
    const labels = metrics.get(name) ?? new Set<string>()
    metrics.set(name, labels)
    return labels
  }
  for (const line of text.split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)/.exec(line) ?? []
    if (typed !== undefined) {
      const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      for (const suffix of suffixes) labelsOf(typed + suffix)
    }
    const [, name, labels = ''] = /^([a-zA-Z_]\w*)(?:\{(.*)\})? /.exec(line) ?? []
    if (name === undefined) continue
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) labelsOf(name).add(label)
  }
  return metrics
}

export type Selector = { readonly metric: string; readonly labels: readonly string[] }

const words = new Set(['by', 'without', 'on', 'ignoring', 'or', 'and', 'unless', 'bool'])

/** Returns the metrics that a PromQL expression uses, each with the labels of its selector. */
export function selectorsOf(expression: string): readonly Selector[] {
  const plain = expression
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, '')
    .replaceAll(/"[^"]*"/g, '""')
  const outside = plain.replaceAll(/\{[^}]*\}/g, '')
  const named = [...outside.matchAll(/(?<![\w.$])([a-zA-Z_]\w*)(?!\w*\s*\()/g)]
    .map((match) => match[1] ?? '')
    .filter((word) => !words.has(word))
  return named.map((metric) => {
    const inside = new RegExp(`${metric}\\{([^}]*)\\}`).exec(plain)?.[1] ?? ''
    return { metric, labels: [...inside.matchAll(/(\w+)\s*[=!]/g)].map((match) => match[1] ?? '') }
  })
}

/** Runs promtool with the arguments and the standard input. `output` is standard output and error. */
export type Promtool = (
  args: readonly string[],
  input?: string,
) => Promise<{ readonly exitCode: number; readonly output: string }>

/** Builds promtool, the checker of Prometheus, once into the user's cache. Throws when it cannot be built. */
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
