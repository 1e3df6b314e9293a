/** The turns that run in this process, by id: where a cancellation finds its owner. */
export class RunningTurns {
  readonly #cancels = new Map<string, () => void>();

  /** Registered before the turn's row is visible, so that no cancellation falls between the two. */
  add(turnId: string, cancel: () => void): void {
    this.#cancels.set(turnId, cancel);
  }

  remove(turnId: string): void {
    this.#cancels.delete(turnId);
  }

  /** False when the turn does not run here. */
  cancel(turnId: string): boolean {
    const cancel = this.#cancels.get(turnId);
    cancel?.();
    return cancel !== undefined;
  }

  get size(): number {
    return this.#cancels.size;
  }
}
