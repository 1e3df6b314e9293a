import { writeSync } from 'node:fs';

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
