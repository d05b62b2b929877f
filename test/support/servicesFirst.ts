import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Folders whose files start services of their own, and folders whose files wait for a service or a process. */
const services = /\/test\/(?:mortal|rough|wiring)\//
const waiting = /\/test\/(?:admin|calm|cli|dev|examples|operations|telemetry|web|workflows)\//

/**
 * Runs slow files first, so that no core is idle at the end while one slow file is still running. Vitest itself
 * would order a fresh clone by the sizes of the files, which puts some of the slowest files last.
 */
export class ServicesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification) => {
      if (project.config.isolate || services.test(moduleId)) return 0
      return waiting.test(moduleId) ? 1 : 2
    }
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}
