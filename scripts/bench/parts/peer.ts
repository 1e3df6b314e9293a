import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A program of `scripts/bench/peers` in a separate process. */
export interface Peer {
  readonly pid: number;
  /** Its first message. */
  readonly hello: unknown;
  /** Sends a message and waits for the reply. @throws when the peer ends instead */
  ask(message: object): Promise<unknown>;
  close(): void;
}

export async function startPeer(name: string, args: readonly string[] = []): Promise<Peer> {
  const child = fork(fileURLToPath(new URL(`../peers/${name}.js`, import.meta.url)), args);
  const hello = await nextMessage(child, name);
  return {
    pid: child.pid ?? 0,
    hello,
    ask(message) {
      child.send(message);
      return nextMessage(child, name);
    },
    close() {
      if (child.connected) child.disconnect();
    },
  };
}

function nextMessage(child: ChildProcess, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error(`The peer ${name} ended.`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}
