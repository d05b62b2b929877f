import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  findDirectives,
  parseFault,
  withoutDirectives,
} from '../../../src/dev/simulator/directives.ts'
import { faultKinds } from '../../../src/dev/simulator/faults.ts'

const sources = new URL('../../../src/dev/simulator/', import.meta.url)

describe('a directive', () => {
  it('sets fields by their names with a hyphen, numbers as numbers', () => {
    expect(parseFault('429 retry-after=2.5 form=ms skew=-3 details=false')).toEqual({
      ok: true,
      fault: { kind: '429', retryAfter: 2.5, form: 'ms', skew: -3, details: false },
    })
  })

  it('takes values with spaces in quotes', () => {
    expect(parseFault('400 message="Too many dogs." param=n')).toEqual({
      ok: true,
      fault: { kind: '400', message: 'Too many dogs.', param: 'n' },
    })
  })

  it('may be one of several in a prompt', () => {
    const found = findDirectives('[sim:500 times=2] a red [sim:ok] bicycle [not one]')
    expect(found).toEqual({
      faults: [{ kind: '500', times: 2 }, { kind: 'ok' }],
      problem: null,
    })
  })

  it.each([
    ['an unknown kind', '[sim:5000]', /unknown fault "5000", one of 429/],
    ['an unknown field', '[sim:429 retry=3]', /fault "429".*retry/],
    ['a value out of range', '[sim:status code=200]', /fault "status": code/],
    ['a field without value', '[sim:429 soon]', /expected name=value/],
    ['nothing', '[sim: ]', /unknown fault ""/],
  ])('with %s is a problem that says so', (_what, prompt, message) => {
    expect(findDirectives(prompt).problem).toMatch(message)
  })

  it('is left out of what a person sees', () => {
    expect(withoutDirectives('a [sim:429 retry-after=3]bicycle [2]').trim()).toBe('a  bicycle [2]')
  })

  it('of every kind is explained in the README, which explains no other', () => {
    const readme = readFileSync(new URL('README.md', sources), 'utf8')
    const rows = readme.matchAll(/^\| `([a-z0-9-]+)` +\|/gm)
    expect(new Set(Array.from(rows, ([, kind]) => kind))).toEqual(new Set(faultKinds))
  })

  it('given as an example in the README can be read', () => {
    const readme = readFileSync(new URL('README.md', sources), 'utf8')
    const { faults, problem } = findDirectives(readme)
    expect(problem).toBeNull()
    expect(faults.length).toBeGreaterThan(3)
  })
})
