import { writeSync } from 'node:fs';

/** How long running file and name look-ups may take to end, milliseconds. */
const patienceMs = 250;

const exit = process.exit.bind(process);

/**
 * Ends the process, whatever hangs. `process.exit` waits for system calls in flight, which may never return (a named pipe
 * without a writer, a dead network drive): the process then kills itself with SIGKILL.
 */
export async function endProcess(code: number): Promise<never> {
  const last = performance.now() + patienceMs;
  while (hasSystemCalls() && performance.now() < last) await new Promise((resolve) => setTimeout(resolve, 10));
  if (hasSystemCalls()) process.kill(process.pid, 'SIGKILL');
  try {
    return exit(code);
  } catch {
    // A listener of `exit` threw; it is called only once.
    return exit(code);
  }
}

/** Whether a thread of the process waits for the system. */
function hasSystemCalls(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(?:FSReq|GetAddrInfoReq|GetNameInfoReq)/.test(name));
}

/** Writes lines for people to stderr. What cannot be written is lost: it must not end the server. */
export function say(lines: readonly string[]): void {
  for (const line of lines) {
    try {
      writeSync(2, `mortise: ${line}\n`);
    } catch {
      return;
    }
  }
}

/**
 * Errors of stdout and stderr (a full disk, a reader that has gone) do not end the server. The streams are opened on first
 * use only: opening makes a pipe non-blocking.
 */
export function outliveStreamErrors(): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const opened = Object.getOwnPropertyDescriptor(process, name);
    if (opened?.get === undefined) continue;
    Object.defineProperty(process, name, {
      ...opened,
      get() {
        Object.defineProperty(process, name, opened);
        const stream = process[name];
        stream.on('error', () => {});
        return stream;
      },
    });
  }
}
