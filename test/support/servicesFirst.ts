import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Folders whose files start whole services and wait for them. Such a file can take a minute. */
const slowFolders =
  /\/test\/(?:conformance|dev|examples|extensions|openapi|telemetry|web|wiring|workflows)\//

/**
 * Runs slow files first, so that no core is idle at the end while one slow file is still running. Vitest itself
 * would order a fresh clone by the sizes of the files, which puts some of the slowest files last.
 */
export class ServicesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification) =>
      project.config.isolate ? 0 : slowFolders.test(moduleId) ? 1 : 2
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}
