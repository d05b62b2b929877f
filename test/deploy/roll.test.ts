import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../src/dev/command.ts'
import { root } from '../support/sourceFiles.ts'
import { tempFolder } from '../support/tempFolder.ts'

/** Programs in the place of the real ones. A file in `up` is a container that runs. */
const programs = {
  docker: `case "$*" in
    *config*) printf 'admin\\napi-1\\napi-2\\nworker-1\\n' ;;
    *port*) [ -f "up/$3" ] && echo "127.0.0.1:808\${3#api-}" ;;
    *up*) for service; do :; done; touch "up/$service" ;;
  esac`,
  nginx: 'grep -c down conf >>reloads || true',
  sleep: 'true',
}

it('roll.sh brings an API that a broken run left marked and ended back into nginx', async () => {
  const cwd = tempFolder()
  for (const folder of ['deploy', 'bin', 'up']) mkdirSync(join(cwd, folder))
  copyFileSync(join(root, 'deploy/roll.sh'), join(cwd, 'deploy/roll.sh'))
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(cwd, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }
  writeFileSync(join(cwd, 'up/api-2'), '')
  writeFileSync(join(cwd, 'conf'), 'server 127.0.0.1:8081 down;\nserver 127.0.0.1:8082;\n')
  const ran = await runCommand('sh', ['deploy/roll.sh'], {
    env: { PATH: `${join(cwd, 'bin')}:${process.env['PATH']}`, NGINX_CONF: 'conf' },
    timeoutMs: 20_000,
    cwd,
  })
  expect({ ok: ran.ok, output: ran.output }).toEqual({ ok: true, output: expect.any(String) })
  expect(readFileSync(join(cwd, 'conf'), 'utf8')).not.toContain('down')
  // How many were marked at each reload: never both.
  expect(readFileSync(join(cwd, 'reloads'), 'utf8').trim().split('\n')).toEqual(['0', '1', '0'])
})
