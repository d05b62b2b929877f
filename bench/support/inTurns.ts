/** Does the work `times` times, at most `parallel` at once; `n` counts from 0. */
export async function inTurns(
  times: number,
  parallel: number,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < times) {
      next += 1
      await work(next - 1)
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, times) }, lane))
}
