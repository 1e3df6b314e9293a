import type { OpenDoor, OpenDoors } from '../load/run-clients.js';

/** Which processes serve at the moment, where, and how much they have answered. */
export interface Doors extends OpenDoors {
  open(slot: number, origin: string): void;
  close(slot: number): void;
  /** Waits until a process has given so many answers since it opened its door, but not longer than the limit. */
  answered(slot: number, answers: number, limitMs: number): Promise<void>;
  /** Nobody is let in any more; who waits is sent away. */
  lock(): void;
}

interface Door extends OpenDoor {
  answers: number;
  changed(): void;
}

export function createDoors(): Doors {
  const doors = new Map<number, Door>();
  const waiting: (() => void)[] = [];
  let isLocked = false;

  const wake = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };

  return {
    open(slot, origin) {
      const door: Door = {
        origin,
        answers: 0,
        answered() {
          door.answers += 1;
          door.changed();
        },
        changed() {},
      };
      doors.set(slot, door);
      wake();
    },
    close: (slot) => void doors.delete(slot),
    async answered(slot, answers, limitMs) {
      const door = doors.get(slot);
      if (door === undefined || door.answers >= answers) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        door.changed = () => {
          if (door.answers < answers) return;
          clearTimeout(timer);
          resolve();
        };
      });
    },
    lock() {
      isLocked = true;
      wake();
    },
    async any(client) {
      while (!isLocked) {
        const found = [...doors.values()];
        if (found.length > 0) return found[client % found.length];
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      return undefined;
    },
  };
}
