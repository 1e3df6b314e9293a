/** Requests that run for a session, so that a notification can cancel them. */
export interface InFlight {
  /** Returns what removes it again. */
  add(session: string, idText: string, cancel: () => void): () => void;
  /** False when no such request runs here. */
  cancel(session: string, idText: string): boolean;
}

export function createInFlight(): InFlight {
  const running = new Map<string, () => void>();
  const keyOf = (session: string, idText: string) => `${session} ${idText}`;
  return {
    add(session, idText, cancel) {
      const key = keyOf(session, idText);
      running.set(key, cancel);
      return () => {
        if (running.get(key) === cancel) running.delete(key);
      };
    },
    cancel(session, idText) {
      const cancel = running.get(keyOf(session, idText));
      cancel?.();
      return cancel !== undefined;
    },
  };
}
