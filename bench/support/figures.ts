/** The value below which the share `p` (0 to 1) of the sample lies, by nearest rank. */
export function percentile(sample: readonly number[], p: number): number {
  const sorted = sample.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN
}

/** One line for a sample of milliseconds. */
export function describeMs(name: string, sample: readonly number[]): string {
  const at = (p: number) => `${percentile(sample, p).toFixed(1)} ms`
  return `${name}: n ${sample.length}, least ${at(0)}, p10 ${at(0.1)}, p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, most ${at(1)}`
}
