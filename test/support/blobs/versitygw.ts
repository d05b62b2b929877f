import { fileURLToPath } from 'node:url'
import type { GoTools } from '../../../src/dev/goTools.ts'

/** A real S3 server, in the version that tools/versitygw/go.mod pins. */
export const versitygwTool: GoTools = {
  name: 'versitygw',
  title: 'an S3 server',
  moduleDir: fileURLToPath(new URL('../../../tools/versitygw', import.meta.url)),
  tools: [{ name: 'versitygw', goPackage: 'github.com/versity/versitygw/cmd/versitygw' }],
}
