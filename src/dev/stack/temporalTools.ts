import { fileURLToPath } from 'node:url'
import type { GoTools } from './buildGoTools.ts'

/** The Temporal programs, in the versions that tools/temporal/go.mod pins. */
export const temporalTools: GoTools = {
  title: 'temporal',
  moduleDir: fileURLToPath(new URL('../../../tools/temporal', import.meta.url)),
  tools: [
    { name: 'temporal-server', goPackage: 'go.temporal.io/server/cmd/server' },
    { name: 'temporal-sql-tool', goPackage: 'go.temporal.io/server/cmd/tools/sql' },
    { name: 'temporal-ui', goPackage: 'github.com/temporalio/ui-server/v2/cmd/server' },
    { name: 'temporal', goPackage: 'github.com/temporalio/cli/cmd/temporal' },
  ],
}
