/** How long file and name look-ups that still run may take to come to an end, milliseconds. */
const patienceMs = 250;

const exit = process.exit.bind(process);

/**
 * Ends the process, whatever hangs. A look-up that the system does not answer (a named pipe nobody writes to, a dead
 * network drive) would hold `process.exit` for ever: the process then ends itself as `kill -9` does.
 */
export async function endProcess(code: number): Promise<never> {
  const last = performance.now() + patienceMs;
  while (systemIsAsked() && performance.now() < last) await new Promise((resolve) => setTimeout(resolve, 10));
  if (systemIsAsked()) process.kill(process.pid, 'SIGKILL');
  try {
    return exit(code);
  } catch {
    // A listener of the end threw, which is asked only once.
    return exit(code);
  }
}

/** Whether a thread of the process waits for the system; `process.exit` waits for those threads. */
function systemIsAsked(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(?:FSReq|GetAddrInfoReq|GetNameInfoReq)/.test(name));
}
