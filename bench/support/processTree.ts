import { execFileSync } from 'node:child_process'

/** The process and all that it started, and what those started, as they are now. */
export function processTree(root: number): readonly number[] {
  const listing = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
  const parents = listing
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const tree = [root]
  for (const pid of tree) {
    for (const [child = 0, parent = 0] of parents) if (parent === pid) tree.push(child)
  }
  return tree
}

/** As a power cut: nothing gets a chance to say goodbye. */
export function killAtOnce(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It was a child of one just killed, and quicker.
    }
  }
}
