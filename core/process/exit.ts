import { writeSync } from 'node:fs';

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

/** Tells people what the log is not there for. What cannot be written is lost: it must not end the server. */
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
 * A plugin or a package that prints to a full disk or to a reader who went gets no error that would end the server. A
 * stream is opened only when someone asks for it: opening makes a pipe non-blocking.
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
