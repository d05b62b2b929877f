import { fileURLToPath } from 'node:url'
import type { GoTools } from './buildGoTools.ts'

/** Prometheus' own checker of rules and metrics, in the version that tools/promtool/go.mod pins. */
export const promtoolTool: GoTools = {
  title: 'promtool',
  moduleDir: fileURLToPath(new URL('../../../tools/promtool', import.meta.url)),
  tools: [
    {
      name: 'promtool',
      goPackage: 'github.com/prometheus/prometheus/cmd/promtool',
      // Without the clients of two dozen clouds, that find targets to scrape: half the build.
      tags: ['remove_all_sd'],
    },
  ],
}
