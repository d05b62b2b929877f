import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const folder = new URL('../../bench/', import.meta.url)

describe('the list of longer proofs', () => {
  it('names every command of bench/, and none that is not there', () => {
    const readme = readFileSync(new URL('README.md', folder), 'utf8')
    const named = [...readme.matchAll(/^\| \[(\w+\.ts)\]\(\1\)/gm)].map(([, name]) => name)
    const there = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.ts'))
    expect(new Set(named)).toEqual(new Set(there))
  })
})
