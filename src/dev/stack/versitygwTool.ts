import { fileURLToPath } from 'node:url'
import type { GoTools } from './buildGoTools.ts'

/** A real S3 server for tests, in the version that tools/versitygw/go.mod pins. */
export const versitygwTool: GoTools = {
  title: 'versitygw',
  moduleDir: fileURLToPath(new URL('../../../tools/versitygw', import.meta.url)),
  tools: [{ name: 'versitygw', goPackage: 'github.com/versity/versitygw/cmd/versitygw' }],
}
