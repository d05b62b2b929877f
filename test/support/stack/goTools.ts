import { fileURLToPath } from 'node:url'
import type { GoTools } from '../../../src/dev/stack/goTools.ts'

/** Prometheus' checker of rules and metrics, in the version that tools/promtool/go.mod pins. */
export const promtoolTool: GoTools = {
  title: 'promtool',
  moduleDir: fileURLToPath(new URL('../../../tools/promtool', import.meta.url)),
  tools: [
    {
      name: 'promtool',
      goPackage: 'github.com/prometheus/prometheus/cmd/promtool',
      // Leaves out the clients that find scrape targets in two dozen clouds, which take half of the build.
      tags: ['remove_all_sd'],
    },
  ],
}

/** A real S3 server, in the version that tools/versitygw/go.mod pins. */
export const versitygwTool: GoTools = {
  title: 'versitygw',
  moduleDir: fileURLToPath(new URL('../../../tools/versitygw', import.meta.url)),
  tools: [{ name: 'versitygw', goPackage: 'github.com/versity/versitygw/cmd/versitygw' }],
}
