import type { ActiveServer, ServerSource } from '../load/run-clients.js';

/** The running server processes, their addresses and numbers of responses. */
export interface ServerPool extends ServerSource {
  open(slot: number, origin: string): void;
  close(slot: number): void;
  /** Waits until a process has sent this many responses since it was opened, at most until the limit. */
  answered(slot: number, answers: number, limitMs: number): Promise<void>;
  /** Stops offering servers, and releases waiting clients. */
  shutDown(): void;
}

interface PooledServer extends ActiveServer {
  answers: number;
  changed(): void;
}

export function createServerPool(): ServerPool {
  const servers = new Map<number, PooledServer>();
  const waiting: (() => void)[] = [];
  let isShutDown = false;

  const wake = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };

  return {
    open(slot, origin) {
      const server: PooledServer = {
        origin,
        answers: 0,
        answered() {
          server.answers += 1;
          server.changed();
        },
        changed() {},
      };
      servers.set(slot, server);
      wake();
    },
    close: (slot) => void servers.delete(slot),
    async answered(slot, answers, limitMs) {
      const server = servers.get(slot);
      if (server === undefined || server.answers >= answers) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        server.changed = () => {
          if (server.answers < answers) return;
          clearTimeout(timer);
          resolve();
        };
      });
    },
    shutDown() {
      isShutDown = true;
      wake();
    },
    async any(client) {
      while (!isShutDown) {
        const found = [...servers.values()];
        if (found.length > 0) return found[client % found.length];
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      return undefined;
    },
  };
}
