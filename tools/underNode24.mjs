// The child that runUnderNode24.mjs starts. Imports the script into this process, and kills its own process
// group when the parent was killed.
import { fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The pipe to the parent. It closes when the parent ends. */
const parentPipeFd = 3

const [, self, script, ...args] = process.argv
if (script === undefined) throw new Error(`usage: node ${self} SCRIPT [args…]`)

if (hasParentPipe()) {
  const pipe = new Socket({ fd: parentPipeFd })
  pipe.on('error', killGroup)
  pipe.on('close', killGroup)
  pipe.resume()
  pipe.unref()
}

process.argv = [process.argv[0], resolve(script), ...args]
await import(pathToFileURL(resolve(script)).href)

function hasParentPipe() {
  try {
    const stat = fstatSync(parentPipeFd)
    return stat.isSocket() || stat.isFIFO()
  } catch {
    return false
  }
}

function killGroup() {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.kill(process.pid, 'SIGKILL')
  }
}
