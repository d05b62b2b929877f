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
