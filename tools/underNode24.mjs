// The child's side of runUnderNode24.mjs: imports the script in this process, and dies, with all its
// process group, when the process that started it was killed.
import { fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const lifelineFd = 3

const [, self, script, ...args] = process.argv
if (script === undefined) throw new Error(`usage: node ${self} SCRIPT [args…]`)

const lifelineGiven = () => {
  try {
    const stat = fstatSync(lifelineFd)
    return stat.isSocket() || stat.isFIFO()
  } catch {
    return false
  }
}

if (lifelineGiven()) {
  const lifeline = new Socket({ fd: lifelineFd })
  const die = () => {
    try {
      // We lead a group of our own; what we started and did not detach goes too.
      process.kill(-process.pid, 'SIGKILL')
    } catch {
      process.kill(process.pid, 'SIGKILL')
    }
  }
  lifeline.on('error', die)
  lifeline.on('close', die)
  lifeline.resume()
  lifeline.unref()
}

process.argv = [process.argv[0], resolve(script), ...args]
await import(pathToFileURL(resolve(script)).href)
