// Whether the process at a port of this machine is ready, and which of its parts are: node tools/ready.mjs 9464
// For health checks and for people in containers, which have no curl. Exit code 0: ready.
try {
  const signal = AbortSignal.timeout(3_500)
  const answer = await fetch(`http://127.0.0.1:${process.argv[2]}/readyz`, { signal })
  console.log(await answer.text())
  process.exitCode = answer.ok ? 0 : 1
} catch (error) {
  console.log(`no answer: ${error.cause?.code ?? error.name}`)
  process.exitCode = 1
}
