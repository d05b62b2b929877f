import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTypes } from '../../clients/python/makeTypes.ts'
import { runCommand } from '../../src/dev/command.ts'
import { usePython } from '../support/clients/runPython.ts'
import { calmService } from '../support/service/calmService.ts'
import { root, textOf } from '../support/sourceFiles.ts'
import { tempFolder } from '../support/tempFolder.ts'

const folder = join(root, 'clients/python')
const service = await calmService()
const { secret } = await service.account()
const python = usePython()

/** Runs a program to its end, and returns what it printed. */
async function run(file: string, args: readonly string[], cwd = folder): Promise<string> {
  const given = { DARKROOM_URL: service.url, DARKROOM_API_KEY: secret }
  const env = { ...process.env, ...python.tools().env, ...given }
  const { ok, end, output } = await runCommand(file, args, { env, cwd, timeoutMs: 150_000 })
  if (!ok) throw new Error(`${file} ${args.join(' ')}: ${end}\n${output}`)
  return output
}

/** What people write, and two mistakes that a type checker must find. */
const program = `
import asyncio
from darkroom_client import AsyncDarkroom, Darkroom, DarkroomError, TaskRecord

def use(darkroom: Darkroom) -> int:
    try:
        image = darkroom.images.edit(model="any", prompt="A lighthouse", images=["a.png", b""])
    except DarkroomError as error:
        raise SystemExit(error.idempotency_key) from error
    last: TaskRecord | None = None
    for last in darkroom.tasks.follow(image.task["task_id"]):
        print(last["status"], last["progress"])
    for row in darkroom.tasks.list(status="failed", limit=10):
        print(row["task_id"])
    darkroom.images.generate(model="any", prompt="", sizes="1K")  # type: ignore[call-arg]
    darkroom.tasks.create(model="any", prompt="", action="draw")  # type: ignore[arg-type]
    return len(image.variant(width=512, format="webp").bytes())

async def main() -> None:
    async with AsyncDarkroom(timeout_ms=60_000) as darkroom:
        async for row in darkroom.tasks.list():
            print((await darkroom.tasks.get(row["task_id"])).get("credits_charged", 0) + 1)

asyncio.run(main())
`

describe('the package of the Python client', () => {
  it('has types that are those of the API', () => {
    // Otherwise run `node clients/python/makeTypes.ts`.
    expect(textOf('clients/python/src/darkroom_client/api_types.py')).toBe(makeTypes())
  })

  it('has a blocking client that is made from the one for asyncio', async () => {
    // Otherwise run `python clients/python/make_sync.py`.
    const compare =
      'import make_sync as m; print(m.SOURCE.with_name("_sync.py").read_text() == m.make_sync())'
    expect(await run(python.tools().python, ['-Bc', compare])).toBe('True')
  })

  it.each([
    ['mypy', ['--config-file', 'pyproject.toml', '--cache-dir', '/dev/null']],
    ['pyright', ['--pythonpath']],
  ])('passes the strict checks of %s, and so do programs that use it', async (tool, args) => {
    const file = join(tempFolder(), 'program.py')
    writeFileSync(
      file,
      tool === 'pyright'
        ? `# pyright: strict, reportUnnecessaryTypeIgnoreComment=true\n${program}`
        : program,
    )
    const more = tool === 'pyright' ? [python.tools().python] : []
    const said = await run(python.tools().python, [
      '-m',
      tool,
      ...args,
      ...more,
      'src',
      '../../examples/python',
      file,
    ])
    expect(said).toMatch(/no issues|0 errors, 0 warnings/)
  })

  it('makes an image where only its wheel is installed', async () => {
    const { python: builder, wheels } = python.tools()
    const project = tempFolder()
    await run(builder, ['-m', 'build', '--no-isolation', '--outdir', project])
    const [wheel = '', sdist = ''] = readdirSync(project).toSorted()
    expect([wheel, sdist]).toEqual([
      expect.stringMatching(/^darkroom_client-[\d.]+-py3-none-any\.whl$/),
      expect.stringMatching(/^darkroom_client-[\d.]+\.tar\.gz$/),
    ])
    const installed = join(project, 'venv/bin/python')
    await run(builder, ['-m', 'venv', '--without-pip', 'venv'], project)
    const into = ['-m', 'pip', '--python', installed, 'install', '--quiet']
    const offline = ['--no-index', '--find-links', wheels]
    await run(builder, [...into, ...offline, `./${wheel}`], project)
    const script = `
import darkroom_client, importlib.metadata, pathlib
image = darkroom_client.Darkroom().images.generate(model="familyb-image-2-vip", prompt="installed")
image.save("installed.png")
assert pathlib.Path(darkroom_client.__file__).with_name("py.typed").exists()
print(importlib.metadata.version("darkroom-client") == darkroom_client.__version__)`
    expect(await run(installed, ['-c', script], project)).toBe('True')
    expect(readFileSync(join(project, 'installed.png')).subarray(1, 4).toString()).toBe('PNG')
  }, 180_000)
})
