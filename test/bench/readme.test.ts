import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const folder = new URL('../../bench/', import.meta.url)

describe('the README of bench/', () => {
  it('lists exactly the commands of bench/', () => {
    const readme = readFileSync(new URL('README.md', folder), 'utf8')
    const named = [...readme.matchAll(/^\| \[(\w+\.ts)\]\(\1\)/gm)].map(([, name]) => name)
    const commands = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.ts'))
    expect(new Set(named)).toEqual(new Set(commands))
  })
})
