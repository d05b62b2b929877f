import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Which files run first, by their path. All others are short, and run at the end. */
const order = [
  // The longest one has the shared service started.
  /\/test\/mortal\/stoppedProcesses/,
  // These need no service.
  /\/test\/(?:bytes|domain|http|schema|upstream)\//,
  // They start services and processes of their own.
  /\/test\/(?:dev|mortal|rough|wiring)\//,
  // They wait for the shared service.
  /\/test\/(?:admin|calm|cli|clients|examples|operations|telemetry|web|workflows)\//,
]

/**
 * Runs long files first, so that no core is idle at the end while one long file is still running, nor at the begin
 * while the shared service starts. Vitest itself would order a fresh clone by the sizes of the files.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification) => {
      // Between other files it would end a process that could run more of them.
      if (project.config.isolate) return -1
      const found = order.findIndex((path) => path.test(moduleId))
      return found === -1 ? order.length : found
    }
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}
